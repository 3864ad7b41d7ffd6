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
        self.outbox.subscribe(START, &self.board, wishes);
    }

    fn hear(&mut self, now: Time, channel: &str, fingerprint: u64, len: usize) {
        self.utime += 1;
        let mut payload = fingerprint.to_be_bytes().to_vec();
        payload.resize(len.max(8), 7);
        let message = Message {
            utime: self.utime,
            payload: payload.into(),
        };
        let id = match self.board.hear(now, &Channel::from(channel), &message) {
            crate::board::Outcome::Changed(id) => {
                self.outbox.channel(&self.board, id);
                id
            }
            crate::board::Outcome::Known(id) => id,
            crate::board::Outcome::Refused => return,
        };
        self.outbox.offer(now, id, &message);
    }

    /// What is sent now: the kind of each frame, and what tells it from others of its kind.
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
fn a_slow_page_gets_the_newest_and_is_told_how_many_it_missed() {
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
fn a_page_that_comes_late_gets_the_past_it_wants_in_order_and_the_last_of_everything() {
    let mut bench = Bench::new();
    for i in 0..10 {
        bench.hear(START + ms(i), "pose", 5, 8);
        bench.hear(START + ms(i), "chart", 6, 8);
    }
    bench.sent(START);
    bench.want(&[("pose", None, 10.0, 100), (".*", None, 10.0, 0)]);
    let sent = bench.sent(START + ms(10));
    let poses = (0..9).map(|i| ('M', 1 + 2 * i));
    let expected: Vec<_> = poses.chain([('M', 19), ('M', 20)]).collect();
    assert_eq!(sent, expected);
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
