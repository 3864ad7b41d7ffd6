//! What each scheduler picks, candidate by candidate.

use bowline_component::Time;
use bowline_link::schedule::{self, Candidate, Choice, View};
use std::time::Duration;

const NOW: Time = Time::from_utime(1_000_000);

fn view() -> View {
    View {
        now: NOW,
        capacity_bytes_per_s: Some(8_000.0),
    }
}

fn candidate(stream: usize) -> Candidate {
    Candidate {
        stream,
        value: 1.0,
        deadline_at: None,
        expires_at: NOW + Duration::from_secs(1),
        since: Duration::from_millis(100),
        ttl: Duration::from_secs(1),
        max_period: None,
        n_left: 100,
        is_begun: false,
        is_reliable: false,
    }
}

fn picks(scheduler: &str, candidates: &[Candidate], n: usize) -> Vec<Choice> {
    let mut scheduler = schedule::find(scheduler).expect("there is one").make();
    (0..n).map(|_| scheduler.pick(candidates, view())).collect()
}

#[test]
fn round_robin_gives_each_its_turn_and_lets_it_finish() {
    let mut three = [candidate(0), candidate(4), candidate(7)];
    let turns = [0, 1, 2, 0, 1].map(Choice::Send);
    assert_eq!(picks("round_robin", &three, 5), turns);
    three[0].is_begun = true;
    assert_eq!(picks("round_robin", &three, 3), [0, 0, 0].map(Choice::Send));
}

#[test]
fn priority_takes_the_most_valuable_and_of_equals_the_first() {
    let mut three = [candidate(0), candidate(1), candidate(2)];
    assert_eq!(picks("priority", &three, 2), [0, 0].map(Choice::Send));
    three[2].value = 5.0;
    assert_eq!(picks("priority", &three, 2), [2, 2].map(Choice::Send));
}

#[test]
fn value_takes_the_earliest_deadline_before_everything_valuable() {
    let mut three = [candidate(0), candidate(1), candidate(2)];
    three[0].value = 1e6;
    three[1].deadline_at = Some(NOW + Duration::from_millis(80));
    three[2].deadline_at = Some(NOW + Duration::from_millis(20));
    assert_eq!(picks("value", &three, 1), [Choice::Send(2)]);
    three[1].deadline_at = Some(NOW - Duration::from_millis(5));
    assert_eq!(
        picks("value", &three, 1),
        [Choice::Send(1)],
        "one that is late is the earliest"
    );
}

#[test]
fn value_lets_a_starving_stream_take_turns_with_commands() {
    let mut two = [candidate(0), candidate(1)];
    two[0].deadline_at = Some(NOW);
    two[1].max_period = Some(Duration::from_millis(50));
    let turns = [1, 0, 1, 0].map(Choice::Send);
    assert_eq!(picks("value", &two, 4), turns);
    two[1].since = Duration::from_millis(50);
    assert_eq!(
        picks("value", &two, 2),
        [0, 0].map(Choice::Send),
        "one that is only due waits"
    );
}

#[test]
fn value_weighs_what_a_byte_is_worth_and_finishes_what_is_nearly_done() {
    let mut two = [candidate(0), candidate(1)];
    two[1].n_left = 99;
    assert_eq!(picks("value", &two, 1), [Choice::Send(1)], "smaller");
    two[0].value = 2.0;
    assert_eq!(picks("value", &two, 1), [Choice::Send(0)], "worth more");
    two[1].since = Duration::from_millis(300);
    assert_eq!(
        picks("value", &two, 1),
        [Choice::Send(1)],
        "longer without a word"
    );
    two[0].max_period = Some(Duration::from_millis(90));
    assert_eq!(picks("value", &two, 1), [Choice::Send(0)], "promised");
}

#[test]
fn value_sheds_what_cannot_be_there_in_time_but_nothing_that_was_begun() {
    let mut two = [candidate(0), candidate(1)];
    two[1].n_left = 8_001;
    assert_eq!(picks("value", &two, 1), [Choice::Shed(1)]);
    two[1].is_begun = true;
    assert_eq!(picks("value", &two, 1), [Choice::Send(0)]);
    two[1].is_begun = false;
    let unknown = View {
        capacity_bytes_per_s: None,
        ..view()
    };
    let mut scheduler = schedule::find("value").expect("there is one").make();
    assert_eq!(
        scheduler.pick(&two, unknown),
        Choice::Send(0),
        "the capacity of the link is unknown"
    );
}
