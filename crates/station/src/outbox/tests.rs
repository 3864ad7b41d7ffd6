use super::*;
use crate::frame::WishRow;
use bowline_bus::Channel;
use std::sync::Arc;

const START: Time = Time::from_utime(1_000_000_000);

/// A board and a page, as a feed would have them.
struct Bench {
    board: Board,
    outbox: Outbox,
    utime: i64,
}

impl Bench {
    fn new() -> Self {
        Self {
            board: Board::default(),
            outbox: Outbox::default(),
            utime: 0,
        }
    }

    fn want(&mut self, rows: &[(&str, Option<&str>, f64, usize)]) {
        let rows = rows
            .iter()
            .map(|(pattern, type_name, max_hz, past)| WishRow {
                pattern: (*pattern).to_owned(),
                type_name: type_name.map(str::to_owned),
                max_hz: *max_hz,
                past: *past,
            });
        let wishes = Wishes::new(rows.collect()).unwrap();
        let plan = Plan::new(wishes, self.board.list());
        self.outbox.subscribe(START, &self.board, plan);
    }

    fn hear(&mut self, now: Time, channel: &str, fingerprint: u64, len: usize) {
        self.utime += 1;
        let mut payload = fingerprint.to_be_bytes().to_vec();
        payload.resize(len.max(8), 7);
        let message = Message {
            utime: self.utime,
            payload: payload.into(),
        };
        let outcome = self.board.hear(now, &Channel::from(channel), &message);
        let (Outcome::Known(id) | Outcome::Changed { id, .. }) = outcome else {
            return;
        };
        self.outbox.learn(&self.board, outcome);
        let is_kept = self.board.channel(id).unwrap().last.is_some();
        self.outbox.offer(now, id, &message, is_kept);
    }

    fn describe(&mut self, fingerprint: u64, name: &str) {
        let described = Described {
            name: Arc::from(name),
            compact: Bytes::from_static(b"schema"),
        };
        let fingerprint = Fingerprint(fingerprint);
        self.board.describe(fingerprint, described.clone());
        self.outbox.schema(fingerprint, &described);
    }

    /// What is sent now: the kind of each frame, and its key among others of its kind.
    fn sent(&mut self, now: Time) -> Vec<(char, i64)> {
        std::iter::from_fn(|| self.outbox.take(now))
            .map(|frame| {
                let number = |at: usize| {
                    let bytes = frame.get(at..at + 8).unwrap();
                    i64::from_be_bytes(bytes.try_into().unwrap())
                };
                match frame[0] {
                    0x02 => ('C', number(5)),
                    0x03 => ('S', number(1)),
                    0x04 => ('M', number(5)),
                    0x05 => ('T', 0),
                    0x08 => ('R', 0),
                    other => (char::from(other), -1),
                }
            })
            .collect()
    }
}

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

#[test]
fn nothing_but_channels_and_types_is_sent_before_a_subscription() {
    let mut bench = Bench::new();
    bench.hear(START, "pose", 5, 8);
    bench.hear(START, "pose", 5, 8);
    let described = Described {
        name: Arc::from("pose_t"),
        compact: Bytes::from_static(b"schema"),
    };
    bench.outbox.schema(Fingerprint(5), &described);
    assert_eq!(bench.sent(START), [('C', 5), ('S', 5)]);
}

#[test]
fn slow_page_gets_the_newest_and_the_count_of_dropped() {
    let mut bench = Bench::new();
    bench.want(&[(".*", None, 10.0, 0)]);
    for _ in 0..5 {
        bench.hear(START, "pose", 5, 8);
    }
    bench.outbox.take(START).unwrap();
    let message = bench.outbox.take(START).unwrap();
    assert_eq!(message[0], 0x04);
    assert_eq!(&message[5..13], 5_i64.to_be_bytes(), "the newest");
    assert_eq!(&message[13..17], 4_u32.to_be_bytes(), "and 4 were skipped");
    assert_eq!(bench.outbox.counts.skipped, 4);
}

#[test]
fn a_channel_is_not_sent_more_often_than_is_wished_for_and_not_forgotten() {
    let mut bench = Bench::new();
    bench.want(&[(".*", None, 10.0, 0)]);
    bench.hear(START, "pose", 5, 8);
    assert_eq!(bench.sent(START), [('C', 5), ('M', 1)]);
    bench.hear(START + ms(10), "pose", 5, 8);
    bench.hear(START + ms(20), "pose", 5, 8);
    assert_eq!(bench.sent(START + ms(99)), []);
    assert_eq!(bench.outbox.next_due(), Some(START + ms(100)));
    assert_eq!(bench.sent(START + ms(100)), [('M', 3)]);
    assert_eq!(bench.outbox.next_due(), None);
}

#[test]
fn where_every_message_is_wanted_a_burst_arrives_whole_and_a_flood_is_cut_and_counted() {
    let mut bench = Bench::new();
    bench.want(&[(".*", None, 0.0, 0)]);
    for _ in 0..MAX_QUEUED {
        bench.hear(START, "alarm", 5, 8);
    }
    assert_eq!(bench.sent(START).len(), 1 + MAX_QUEUED);
    for _ in 0..10_000 {
        bench.hear(START, "alarm", 5, 60_000);
    }
    let sent = bench.sent(START);
    assert_eq!(sent.len(), MAX_QUEUED_BYTES / 60_000);
    assert_eq!(sent.last(), Some(&('M', 10_256)));
    assert_eq!(bench.outbox.counts.skipped, 10_000 - sent.len() as u64);
}

#[test]
fn a_page_that_comes_late_sees_what_is_before_what_was() {
    let mut bench = Bench::new();
    for i in 0..10 {
        bench.hear(START + ms(i), "chart", 6, 5_000);
        bench.hear(START + ms(i), "pose", 5, 8);
        bench.hear(START + ms(i), "gate.state", 7, 8);
    }
    for (fingerprint, name) in [(5, "pose_t"), (6, "chart_t"), (7, "gate_t"), (8, "other_t")] {
        bench.describe(fingerprint, name);
    }
    while bench.outbox.unannounced.pop_first().is_some() {}
    bench.want(&[("pose", None, 10.0, 100), (".*", None, 10.0, 0)]);
    let sent = bench.sent(START + ms(10));
    // The gate, then what is longer, each with its type; then the past of the pose, and after it its last.
    let mut expected = vec![('C', 7), ('S', 7), ('M', 30), ('C', 6), ('S', 6), ('M', 28)];
    expected.extend([('S', 5), ('S', 8), ('C', 5)]);
    expected.extend((0..10).map(|i| ('M', 2 + 3 * i)));
    assert_eq!(sent, expected);
}

#[test]
fn what_comes_does_not_wait_for_the_past_of_others_nor_the_past_for_what_comes() {
    let mut bench = Bench::new();
    for _ in 0..100 {
        bench.hear(START, "pose", 5, 8);
    }
    bench.want(&[("pose", None, 10.0, 100), (".*", None, 0.0, 0)]);
    for _ in 0..100 {
        bench.hear(START, "alarm", 6, 8);
    }
    let sent = bench.sent(START);
    let alarms = sent.iter().position(|it| *it == ('M', 110)).unwrap();
    let poses = sent.iter().position(|it| *it == ('M', 10)).unwrap();
    assert!(alarms < 40 && poses < 40, "{alarms} {poses}");
    let of_pose = sent.iter().filter(|(kind, it)| *kind == 'M' && *it <= 100);
    assert!(of_pose.map(|it| it.1).is_sorted(), "in the order of time");
}

#[test]
fn all_that_waits_for_a_page_is_bounded_and_the_fullest_channel_pays() {
    let mut bench = Bench::new();
    bench.want(&[(".*", None, 0.0, 0)]);
    bench.hear(START, "gate.state", 5, 100);
    bench.hear(START, "gate.state", 5, 100);
    let mut n = 2;
    for i in 0..200 {
        for _ in 0..100 {
            bench.hear(START, &format!("flood{i}"), 5, 50_000);
            n += 1;
        }
        assert!(bench.outbox.queued_bytes <= MAX_BYTES);
    }
    let held: usize = bench.outbox.slots.values().map(Slot::weight).sum();
    assert_eq!(held, bench.outbox.queued_bytes);
    assert!(held > MAX_BYTES - 60_000);
    let sent = bench.sent(START);
    let n_messages = sent.iter().filter(|it| it.0 == 'M').count() as u64;
    assert_eq!(n_messages + bench.outbox.counts.skipped, n);
    assert!(sent.contains(&('M', 1)) && sent.contains(&('M', 2)));
    assert_eq!(bench.outbox.queued_bytes, 0);
    assert!(bench.outbox.weights.is_empty());
}

#[test]
fn last_messages_cost_a_page_nothing_and_are_sent_however_large() {
    let mut bench = Bench::new();
    for i in 0..12 {
        bench.hear(START, &format!("camera{i}"), 5, 6 << 20);
    }
    bench.want(&[(".*", None, 10.0, 0)]);
    assert_eq!(bench.outbox.queued_bytes, 0);
    let sent = bench.sent(START);
    assert_eq!(sent.iter().filter(|it| it.0 == 'M').count(), 12);
    assert_eq!(bench.outbox.counts.skipped, 0);
}

#[test]
fn what_waits_when_a_page_subscribes_anew_is_sent_or_counted() {
    let mut bench = Bench::new();
    bench.want(&[(".*", None, 0.0, 0)]);
    for _ in 0..10 {
        bench.hear(START, "alarm", 5, 8);
        bench.hear(START, "stop", 5, 8);
    }
    bench.want(&[("alarm", None, 0.0, 0), ("stop", None, 0.0, 100)]);
    assert_eq!(bench.outbox.counts.skipped, 9, "stops are of the past now");
    let frames: Vec<Bytes> = std::iter::from_fn(|| bench.outbox.take(START)).collect();
    let alarm = frames.iter().find(|it| it[0] == 0x04).unwrap();
    assert_eq!(&alarm[5..13], 19_i64.to_be_bytes());
    assert_eq!(&alarm[13..17], 9_u32.to_be_bytes());
}

#[test]
fn a_channel_that_made_room_is_not_sent_any_more() {
    let mut bench = Bench::new();
    bench.hear(START, "old", 5, 8);
    bench.hear(START, "old", 5, 8);
    bench.want(&[(".*", None, 0.0, 10)]);
    bench.hear(START, "old", 5, 8);
    bench.outbox.forget(ChannelId(0));
    assert_eq!(bench.sent(START), []);
    assert_eq!(bench.outbox.queued_bytes + bench.outbox.past_bytes, 0);
    assert_eq!(bench.outbox.next_due(), None);
}

#[test]
fn a_row_with_a_type_counts_once_the_type_is_known() {
    let mut bench = Bench::new();
    bench.want(&[(".*", Some("map_t"), 1.0, 0)]);
    bench.hear(START, "terrain", 5, 8);
    assert_eq!(bench.sent(START), [('C', 5)]);
    let described = Described {
        name: Arc::from("map_t"),
        compact: Bytes::from_static(b"schema"),
    };
    bench.board.describe(Fingerprint(5), described);
    bench.outbox.channel(&bench.board, ChannelId(0));
    bench.hear(START, "terrain", 5, 8);
    assert_eq!(bench.sent(START), [('C', 5), ('M', 2)]);
}

#[test]
fn after_a_reset_nothing_of_before_is_sent() {
    let mut bench = Bench::new();
    bench.want(&[(".*", None, 0.0, 10)]);
    bench.hear(START, "pose", 5, 8);
    bench.board.forget();
    bench.outbox.reset(START, &bench.board, 7, "seek");
    bench.hear(START, "pose", 5, 8);
    assert_eq!(bench.sent(START), [('R', 0), ('C', 5), ('M', 2)]);
}

#[test]
fn page_is_notified_once_that_time_went_back() {
    let mut bench = Bench::new();
    bench.want(&[(".*", None, 0.0, 10)]);
    for _ in 0..10_000 {
        bench.board.forget();
        bench.outbox.reset(START, &bench.board, 7, "seek");
        bench.hear(START, "pose", 5, 8);
    }
    assert!(!bench.outbox.is_overrun());
    assert_eq!(bench.sent(START), [('R', 0), ('C', 5), ('M', 10_000)]);
}

#[test]
fn a_channel_whose_type_changes_is_announced_before_each_kind_of_message() {
    let mut bench = Bench::new();
    bench.want(&[(".*", None, 0.0, 0)]);
    for fingerprint in [5, 6, 5] {
        bench.hear(START, "odd", fingerprint, 8);
    }
    let expected = [('C', 5), ('M', 1), ('C', 6), ('M', 2), ('C', 5), ('M', 3)];
    assert_eq!(bench.sent(START), expected);
}

#[test]
fn a_page_that_asks_and_does_not_read_is_overrun_in_bounds() {
    let mut outbox = Outbox::default();
    for i in 0..10_000 {
        outbox.say(frame::pong(i));
        outbox.status(frame::pong(i));
    }
    assert!(outbox.is_overrun());
    assert_eq!(
        std::iter::from_fn(|| outbox.take(START)).count(),
        MAX_URGENT + 1
    );
}
