extern crate std;

use super::{
    HEADER_LEN, MAX_CHANNEL_LEN, MAX_PAYLOAD_LEN, MAX_WITNESSES, Record, SYNC, Step,
    WriteRecordError, parse, write_header,
};
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;
use core::cell::Cell;
use proptest::prelude::{Just, Strategy, any, prop, prop_oneof, proptest};

const LIMIT: usize = 1 << 16;

std::thread_local! {
    /// How often a place or a byte of a log was looked at.
    pub(super) static WORK: Cell<u64> = const { Cell::new(0) };
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Event {
    number: i64,
    channel: String,
    payload: Vec<u8>,
}

impl Event {
    fn new(number: i64, channel: &str, payload: &[u8]) -> Self {
        Self {
            number,
            channel: channel.into(),
            payload: payload.into(),
        }
    }

    fn write(&self, log: &mut Vec<u8>) {
        write_header(self.number, 7, &self.channel, self.payload.len(), log).unwrap();
        log.extend_from_slice(&self.payload);
    }
}

impl From<Record<'_>> for Event {
    fn from(record: Record<'_>) -> Self {
        Self::new(record.number, record.channel, record.payload)
    }
}

fn write(events: &[Event]) -> Vec<u8> {
    let mut log = Vec::new();
    events.iter().for_each(|event| event.write(&mut log));
    log
}

/// What a reader finds that gets `chunk` bytes at a time: events and where they were, bytes skipped and trailing.
#[derive(Debug, Default, PartialEq, Eq)]
struct Found {
    events: Vec<(usize, Event)>,
    n_damaged: usize,
    n_trailing: usize,
}

impl Found {
    fn events(&self) -> Vec<Event> {
        self.events.iter().map(|(_, event)| event.clone()).collect()
    }
}

fn read(log: &[u8], chunk: usize) -> Found {
    let mut found = Found::default();
    let (mut at, mut held) = (0, chunk.min(log.len()));
    loop {
        match parse(&log[at..held], held == log.len(), LIMIT) {
            Step::Record(record) => {
                found.events.push((at, record.into()));
                at += record.encoded_len();
            }
            Step::NeedMore { n_bytes } => {
                assert!(n_bytes > held - at, "it asks for more than there is");
                assert!(
                    n_bytes <= 2 * (HEADER_LEN + MAX_CHANNEL_LEN + LIMIT) + 12,
                    "two records at most"
                );
                held = log.len().min((at + n_bytes).max(held + chunk));
            }
            Step::Damaged { skipped } => {
                assert!(skipped > 0, "it gets on");
                found.n_damaged += skipped;
                at += skipped;
            }
            Step::End { trailing } => {
                assert_eq!((held, at + trailing), (log.len(), log.len()));
                found.n_trailing = trailing;
                return found;
            }
        }
    }
}

fn sequence() -> Vec<Event> {
    (0..6)
        .map(|number| Event::new(number, "pose", &[0x55; 40]))
        .collect()
}

/// The log of [`sequence`], whose records have 72 bytes each.
const LEN: usize = HEADER_LEN + 4 + 40;

#[test]
fn what_was_written_is_read() {
    let longest = "c".repeat(MAX_CHANNEL_LEN);
    let events = [
        Event::new(0, "a", b""),
        Event::new(1, &longest, &SYNC),
        Event::new(i64::MAX, "d\u{e9}pth", &[0; LIMIT]),
        Event::new(i64::MIN, "a", b"after the last number comes the first"),
        Event::new(0, "a", b"appended"),
    ];
    for chunk in [1, 5, 1 << 20] {
        let found = read(&write(&events), chunk);
        assert_eq!(found.events(), events);
        assert_eq!((found.n_damaged, found.n_trailing), (0, 0));
    }
}

#[test]
fn what_no_reader_takes_is_not_written() {
    let long = "c".repeat(MAX_CHANNEL_LEN + 1);
    let mut out = Vec::new();
    for channel in ["", "nul\0", long.as_str()] {
        let error = write_header(0, 0, channel, 0, &mut out).unwrap_err();
        assert_eq!(
            error,
            WriteRecordError::Channel {
                found: channel.len()
            }
        );
        assert!(error.to_string().contains("1 to 999 bytes"), "{error}");
    }
    let error = write_header(0, 0, "a", MAX_PAYLOAD_LEN + 1, &mut out).unwrap_err();
    assert_eq!(
        error,
        WriteRecordError::Payload {
            found: MAX_PAYLOAD_LEN + 1
        }
    );
    assert_eq!(out, b"");
}

#[test]
fn a_flipped_bit_costs_at_most_the_record_that_it_is_in() {
    let events = sequence();
    let log = write(&events);
    for bit in 0..log.len() * 8 {
        let mut log = log.clone();
        log[bit / 8] ^= 1 << (bit % 8);
        let found = read(&log, 1 << 20).events();
        let touched = bit / 8 / LEN;
        for (i, event) in events.iter().enumerate().filter(|(i, _)| *i != touched) {
            assert!(
                found.contains(event),
                "bit {bit} of record {touched} costs record {i}"
            );
        }
    }
}

#[test]
fn a_cut_costs_at_most_the_record_that_it_is_in() {
    let events = sequence();
    let log = write(&events);
    for n in 0..log.len() {
        let found = read(&log[..n], 1 << 20);
        assert_eq!(found.events(), events[..n / LEN]);
        assert_eq!((found.n_damaged, found.n_trailing), (0, n % LEN));
    }
}

#[test]
fn an_intact_record_survives_damage_on_both_sides() {
    let events = sequence();
    let mut log = write(&events);
    for i in [0, 2, 4] {
        log[i * LEN..][..4].fill(0);
    }
    let intact = [1, 3, 5].map(|i| events[i].clone());
    assert_eq!(read(&log, 1).events(), intact);
    assert_eq!(read(&log, 1).n_damaged, 3 * LEN);
}

#[test]
fn a_length_that_reaches_exactly_to_another_record_is_found_out() {
    let events = sequence();
    let mut log = write(&events);
    log[27] += 72 * 2;
    let found = read(&log, 1 << 20);
    assert_eq!(found.events(), events[1..]);
    assert_eq!(found.n_damaged, LEN);
}

#[test]
fn a_payload_may_contain_a_log_even_before_a_damaged_record() {
    let inner = write(
        &(500..510)
            .map(|number| Event::new(number, "inner", b"x"))
            .collect::<Vec<_>>(),
    );
    for inner in [&inner[..], &inner[..inner.len() - 7], &inner[9..]] {
        let events = [
            Event::new(0, "file", inner),
            Event::new(1, "pose", b"?"),
            Event::new(2, "pose", b"!"),
        ];
        assert_eq!(read(&write(&events), 1 << 20).events(), events);
        let mut log = write(&events);
        log[HEADER_LEN + 4 + inner.len()] ^= 1;
        assert_eq!(
            read(&log, 1 << 20).events(),
            [events[0].clone(), events[2].clone()]
        );
    }
}

#[test]
fn headers_that_make_no_sense_are_damage() {
    let good = write(&[Event::new(0, "pose", b"")]);
    let too_large = i32::try_from(LIMIT + 1).unwrap().to_be_bytes();
    for (at, bytes, what) in [
        (20, &[0, 0, 0, 0][..], "no channel"),
        (20, &[0, 0, 0x03, 0xE8], "a channel of 1000 bytes"),
        (20, &[0xFF; 4], "a negative length"),
        (24, &[0xFF; 4], "a negative length"),
        (24, &too_large, "a payload beyond the limit"),
        (28, &[0xFF], "a channel that is not UTF-8"),
        (28, &[0], "a channel with NUL"),
    ] {
        let mut log = good.clone();
        log[at..][..bytes.len()].copy_from_slice(bytes);
        assert_eq!(
            parse(&log, true, LIMIT),
            Step::End {
                trailing: log.len()
            },
            "{what}"
        );
        log.extend_from_slice(&good);
        assert_eq!(
            parse(&log, true, LIMIT),
            Step::Damaged {
                skipped: good.len()
            },
            "{what}"
        );
    }
}

/// Logs that are much work: so many records, each of which claims more than it has.
fn hostile_logs(n_records: i64) -> [(&'static str, Vec<u8>); 4] {
    let claims = |number: fn(i64) -> i64| {
        let mut log = Vec::new();
        for place in 0..n_records {
            write_header(number(place), 0, "a", LIMIT, &mut log).unwrap();
        }
        log
    };
    let mut one_claims = Vec::new();
    for number in 0..n_records {
        // Every hundredth claims the next ones, which follow each other and do not end where it does.
        let len = if number % 100 == 0 { LIMIT } else { 0 };
        write_header(-number, 0, "a", len, &mut one_claims).unwrap();
    }
    let n_bytes = usize::try_from(n_records).unwrap() * HEADER_LEN;
    [
        ("each contains all that follow", claims(|place| place * 3)),
        ("each contains those before", claims(|place| -place)),
        ("some contain chains", one_claims),
        ("nothing but sync words", SYNC.repeat(n_bytes / SYNC.len())),
    ]
}

/// Looks at a place and at a byte, while a log is read.
fn work(log: &[u8]) -> u64 {
    let before = WORK.get();
    let found = read(log, 1 << 20);
    let n_events: usize = found
        .events
        .iter()
        .map(|(_, event)| HEADER_LEN + event.channel.len() + event.payload.len())
        .sum();
    assert_eq!(found.n_damaged + found.n_trailing + n_events, log.len());
    WORK.get() - before
}

#[test]
fn reading_a_hostile_log_twice_as_long_is_twice_the_work() {
    // Much longer than what one record may claim.
    const N_RECORDS: i64 = 20_000;
    let (short, long) = (hostile_logs(N_RECORDS), hostile_logs(2 * N_RECORDS));
    for ((name, short), (_, long)) in short.iter().zip(&long) {
        let (once, twice) = (work(short), work(long));
        assert!(
            once >= short.len() as u64 / 100,
            "{name}: {once} is counted"
        );
        assert!(twice <= once * 21 / 10, "{name}: {once}, then {twice}");
        // What one record may claim is looked through for it, and no more often than there are witnesses.
        let most = (MAX_WITNESSES * LIMIT) as u64;
        assert!(once <= most * N_RECORDS as u64, "{name}: {once}");
    }
}

/// Something that happens to a log: at a place, bytes go and others come.
#[derive(Clone, Debug)]
struct Damage {
    place: prop::sample::Index,
    n_removed: usize,
    inserted: Vec<u8>,
}

fn damage() -> impl Strategy<Value = Damage> {
    let byte = prop_oneof![any::<u8>(), 0..4_u8, prop::sample::select(SYNC.to_vec())];
    let inserted = prop::collection::vec(byte, 0..24);
    (
        any::<prop::sample::Index>(),
        0..40_usize,
        inserted,
        any::<bool>(),
    )
        .prop_map(|(place, n_removed, inserted, overwrites)| {
            let n_removed = if overwrites {
                inserted.len()
            } else {
                n_removed
            };
            Damage {
                place,
                n_removed,
                inserted,
            }
        })
}

fn events() -> impl Strategy<Value = Vec<Event>> {
    let channel = prop_oneof![
        Just("pose".to_string()),
        "[a-z\u{e9}]{1,40}".prop_map(String::from)
    ];
    // Payloads without sync words: see the module's header for those with them.
    let payload = prop_oneof![
        prop::collection::vec(0..0xED_u8, 0..80),
        prop::collection::vec(Just(0), 0..80)
    ];
    (
        0..1_000_000_i64,
        prop::collection::vec((channel, payload), 1..20),
    )
        .prop_map(|(first, events)| {
            let event = |(number, (channel, payload))| Event {
                number,
                channel,
                payload,
            };
            (first..).zip(events).map(event).collect()
        })
}

/// A log's bytes, each with its place in the log as it was written.
type Traced = Vec<(u8, Option<usize>)>;

fn apply(log: &[u8], damages: &[Damage]) -> Traced {
    let mut traced: Traced = log
        .iter()
        .enumerate()
        .map(|(at, byte)| (*byte, Some(at)))
        .collect();
    for Damage {
        place,
        n_removed,
        inserted,
    } in damages
    {
        let start = place.index(traced.len() + 1);
        let end = traced.len().min(start + n_removed);
        traced.splice(start..end, inserted.iter().map(|byte| (*byte, None)));
    }
    traced
}

fn is_untouched(traced: &[(u8, Option<usize>)]) -> bool {
    let origin = traced.first().and_then(|(_, at)| *at);
    origin.is_some_and(|origin| {
        traced
            .iter()
            .zip(origin..)
            .all(|((_, at), expected)| *at == Some(expected))
    })
}

proptest! {
    #[test]
    fn damage_costs_only_the_records_that_it_touches(
        events in events(),
        damages in prop::collection::vec(damage(), 0..4),
        chunk in 1..200_usize,
    ) {
        let traced = apply(&write(&events), &damages);
        let log: Vec<u8> = traced.iter().map(|(byte, _)| *byte).collect();
        let found = read(&log, chunk);
        assert_eq!(read(&log, log.len()).events, found.events, "the pieces do not matter");

        let mut start = 0;
        for event in &events {
            let length = HEADER_LEN + event.channel.len() + event.payload.len();
            let at = traced.iter().position(|(_, origin)| *origin == Some(start));
            start += length;
            let Some(at) = at.filter(|at| traced.get(*at..at + length).is_some_and(is_untouched)) else { continue };
            let is_found = found.events.contains(&(at, event.clone()));
            // Nothing can be known of a record inside one that is all damage but sane by chance.
            let is_swallowed = || found.events.iter().any(|(other, swallower)| {
                let end = other + HEADER_LEN + swallower.channel.len() + swallower.payload.len();
                *other < at && at < end && !is_untouched(&traced[*other..other + 12])
            });
            assert!(is_found || is_swallowed(), "{event:?} at {at} of {log:02x?}");
        }
    }

    #[test]
    fn any_bytes_are_read_to_their_end(log in prop::collection::vec(prop_oneof![any::<u8>(), prop::sample::select(SYNC.to_vec()), 0..2_u8], 0..400), chunk in 1..50_usize) {
        let found = read(&log, chunk);
        let n_events: usize = found.events.iter().map(|(_, event)| HEADER_LEN + event.channel.len() + event.payload.len()).sum();
        assert_eq!(n_events + found.n_damaged + found.n_trailing, log.len());
    }
}
