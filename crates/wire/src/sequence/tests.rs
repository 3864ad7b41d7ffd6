use super::*;
use alloc::collections::BTreeSet;
use alloc::vec::Vec;
use proptest::prelude::*;

fn counts_after(numbers: &[u32]) -> Counts {
    let (first, rest) = numbers.split_first().expect("at least one");
    let mut track = Track::new(*first);
    for number in rest {
        let _seen = track.see(*number);
    }
    track.counts()
}

#[test]
fn each_sequence_number_gives_its_outcome() {
    let mut track = Track::new(10);
    #[rustfmt::skip]
    let steps = [
        (11,    Seen::InOrder),
        (14,    Seen::Gap { missing: 2 }),
        (12,    Seen::Late),
        (12,    Seen::Duplicate),
        (14,    Seen::Duplicate),
        (15,    Seen::InOrder),
        (8,     Seen::Late),
        (5_000, Seen::Gap { missing: 4_984 }),
        (3_000, Seen::TooOld),
        (5_001, Seen::InOrder),
        (0,     Seen::Restarted),
        (1,     Seen::InOrder),
    ];
    for (number, expected) in steps {
        assert_eq!(track.see(number), expected, "{number}");
    }
    let expected = Counts {
        received: 10,
        lost: 1 + 1 + 4_984,
        duplicates: 2,
        late: 2,
        too_old: 1,
        restarts: 1,
    };
    assert_eq!(track.counts(), expected);
}

#[test]
fn nothing_is_lost_where_the_count_wraps() {
    let mut track = Track::new(u32::MAX - 1);
    for number in [u32::MAX, 0, 1] {
        assert_eq!(track.see(number), Seen::InOrder);
    }
    assert_eq!(track.see(3), Seen::Gap { missing: 1 });
    assert_eq!(track.see(2), Seen::Late);
    assert_eq!(track.see(u32::MAX), Seen::Duplicate);
    assert_eq!(
        track.counts(),
        Counts {
            received: 6,
            duplicates: 1,
            late: 1,
            ..Counts::default()
        }
    );
}

#[test]
fn oldest_message_of_the_window_is_still_distinguished() {
    for (gap, expected) in [(WINDOW - 1, Seen::Late), (WINDOW, Seen::TooOld)] {
        let mut track = Track::new(100_000);
        let _gap = track.see(100_001 + gap);
        assert_eq!(track.see(100_001), expected, "{gap}");
        assert_eq!(track.see(100_001 + gap), Seen::Duplicate);
    }
}

#[test]
fn gaps_of_every_length_clear_what_the_window_knew() {
    for gap in [1, 2, 63, 64, 65, 1_022, 1_023, 1_024, 1_025, 1_026, 5_000] {
        let mut track = Track::new(0);
        for number in 1..3_000 {
            assert_eq!(track.see(number), Seen::InOrder);
        }
        let next = 3_000 + gap;
        assert_eq!(track.see(next), Seen::Gap { missing: gap });
        for number in (next - gap.min(WINDOW - 1)..next).rev() {
            assert_eq!(track.see(number), Seen::Late, "{number} after {next}");
        }
    }
}

#[test]
fn fragments_of_one_message_count_once() {
    let mut track = Track::new(7);
    for (number, expected) in [
        (7, Seen::InOrder),
        (8, Seen::InOrder),
        (8, Seen::InOrder),
        (7, Seen::InOrder),
    ] {
        assert_eq!(track.see_fragment(number), expected);
    }
    assert_eq!(track.see_fragment(10), Seen::Gap { missing: 1 });
    assert_eq!(track.see_fragment(9), Seen::Late);
    assert_eq!(track.see_fragment(9), Seen::InOrder);
    assert_eq!(
        track.counts(),
        Counts {
            received: 4,
            late: 1,
            ..Counts::default()
        }
    );
}

#[test]
fn a_long_message_that_small_ones_overtake_is_no_restart() {
    let mut track = Track::new(3);
    for number in 4..4_000 {
        assert_eq!(track.see(number), Seen::InOrder);
        let seen = track.see_fragment(3);
        assert_eq!(
            seen,
            if number - 3 < WINDOW {
                Seen::InOrder
            } else {
                Seen::TooOld
            }
        );
    }
    assert_eq!(
        track.counts(),
        Counts {
            received: 3_997,
            ..Counts::default()
        }
    );
}

#[test]
fn a_sender_that_starts_anew_is_noticed_even_if_its_first_messages_are_lost() {
    for take in [Track::see, Track::see_fragment] {
        let mut track = Track::new(50_000);
        let seen: Vec<_> = (200..210).map(|number| take(&mut track, number)).collect();
        let expected = [
            [Seen::TooOld; 7].as_slice(),
            &[Seen::Restarted, Seen::InOrder, Seen::InOrder],
        ]
        .concat();
        assert_eq!(seen, expected);
        assert_eq!(track.counts().lost, 0);
    }
}

#[test]
fn a_number_out_of_nowhere_is_another_count_and_no_loss() {
    let counts = counts_after(&[5, 6, 6 + (1 << 30), 7 + (1 << 30)]);
    assert_eq!(
        counts,
        Counts {
            received: 4,
            restarts: 1,
            ..Counts::default()
        }
    );
}

proptest! {
    #[test]
    fn counts_are_those_of_a_set_of_numbers(
        first: u32,
        steps in proptest::collection::vec(prop_oneof![8 => Just(1i32), 2 => -300..300i32], 1..300),
    ) {
        // Relative to the first, so that wraps do not matter to the model.
        let mut numbers = alloc::vec![0i64];
        let mut highest = 0;
        for step in steps {
            let number = (highest + i64::from(step)).max(highest - i64::from(WINDOW) + 1);
            numbers.push(number);
            highest = highest.max(number);
        }
        let on_wire = |number: &i64| first.wrapping_add_signed(i32::try_from(*number).expect("small"));
        let counts = counts_after(&numbers.iter().map(on_wire).collect::<Vec<_>>());
        let unique: BTreeSet<_> = numbers.iter().collect();
        let span = unique.last().unwrap().abs_diff(**unique.first().unwrap()) + 1;
        prop_assert_eq!(counts.received, unique.len() as u64);
        prop_assert_eq!(counts.lost, span - unique.len() as u64);
        prop_assert_eq!(counts.duplicates, (numbers.len() - unique.len()) as u64);
        prop_assert_eq!((counts.too_old, counts.restarts), (0, 0));
    }

    #[test]
    fn no_numbers_whatever_upset_the_count(first: u32, numbers: Vec<(u32, bool)>) {
        let mut track = Track::new(first);
        for (number, is_fragment) in numbers {
            let _seen = if is_fragment { track.see_fragment(number) } else { track.see(number) };
            let counts = track.counts();
            prop_assert!(counts.late <= counts.received);
        }
    }
}
