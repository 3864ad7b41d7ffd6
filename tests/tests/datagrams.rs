//! Datagrams recorded from the reference: we cut messages as it does, and put together what it cut.

use bowline_wire::datagram::{
    Cut, Datagram, Fragment, MAX_FRAGMENT_BODY, MAX_SHORT_SIZE, Short, write_short_header,
};
use bowline_wire::reassembly::{Limits, Outcome, Reassembler};
use std::fs;
use std::path::Path;

struct Golden {
    publisher: String,
    channel: String,
    size: usize,
    datagrams: Vec<Sample>,
}

/// A datagram, of which the middle is left out.
#[derive(Debug, PartialEq, Eq)]
struct Sample {
    length: usize,
    head: String,
    tail: String,
}

impl Sample {
    fn of(datagram: &[u8]) -> Self {
        let head = &datagram[..datagram.len().min(96)];
        let tail = &datagram[datagram.len().saturating_sub(8)..];
        Self {
            length: datagram.len(),
            head: hex(head),
            tail: hex(tail),
        }
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn golden() -> Vec<Golden> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("golden/datagrams.toml");
    let text = fs::read_to_string(path).expect("golden datagrams are committed");
    let table: toml::Table = text.parse().expect("golden datagrams are TOML");
    let text = |row: &toml::Value, key: &str| row[key].as_str().expect("text").to_string();
    let number = |row: &toml::Value, key: &str| {
        usize::try_from(row[key].as_integer().expect("a number")).expect("a length")
    };
    let sample = |row: &toml::Value| Sample {
        length: number(row, "length"),
        head: text(row, "head"),
        tail: text(row, "tail"),
    };
    let read = |row: &toml::Value| Golden {
        publisher: text(row, "publisher"),
        channel: text(row, "channel"),
        size: number(row, "size"),
        datagrams: row["datagrams"]
            .as_array()
            .expect("a list")
            .iter()
            .map(sample)
            .collect(),
    };
    table["message"]
        .as_array()
        .expect("a list of messages")
        .iter()
        .map(read)
        .collect()
}

/// As `tests/golden/datagrams.py` makes messages.
fn payload(size: usize) -> Vec<u8> {
    (0..size)
        .map(|i| u8::try_from((i * 31 + i / 251) & 0xff).expect("masked"))
        .collect()
}

fn datagrams(
    channel: &str,
    message: &[u8],
    sequence: u32,
    max_short: usize,
    body: usize,
) -> Vec<Vec<u8>> {
    let mut datagram = Vec::new();
    if channel.len() + 1 + message.len() <= max_short {
        write_short_header(sequence, channel, &mut datagram);
        datagram.extend_from_slice(message);
        return vec![datagram];
    }
    let cut = Cut::new(channel, message.len(), body).expect("the reference can cut it");
    let write = |index| {
        let mut datagram = Vec::new();
        cut.write_header(sequence, index, &mut datagram);
        datagram.extend_from_slice(&message[cut.range(index)]);
        datagram
    };
    (0..cut.count()).map(write).collect()
}

/// The whole datagram: its middle is a part of the message.
fn whole(sample: &Sample, message: &[u8]) -> Vec<u8> {
    let head: Vec<u8> = (0..sample.head.len() / 2)
        .map(|at| u8::from_str_radix(&sample.head[2 * at..2 * at + 2], 16).expect("hex"))
        .collect();
    let (offset, n_present) = match Datagram::parse(&head).expect("a head is a shorter datagram") {
        Datagram::Short(Short { payload, .. }) => (0, payload.len()),
        Datagram::Fragment(Fragment {
            offset, payload, ..
        }) => (offset as usize, payload.len()),
    };
    let n_missing = sample.length - head.len();
    let rest = &message[offset + n_present..][..n_missing];
    let datagram = [&head, rest].concat();
    assert_eq!(
        Sample::of(&datagram),
        *sample,
        "the middle is as in the message"
    );
    datagram
}

/// What arrives of a message if all its datagrams do.
fn receive(datagrams: &[Vec<u8>]) -> Option<(String, Vec<u8>)> {
    let mut reassembler = Reassembler::new(Limits::default());
    let mut received = None;
    for datagram in datagrams {
        match Datagram::parse(datagram).expect("the reference sends datagrams") {
            Datagram::Short(Short {
                channel, payload, ..
            }) => {
                received = Some((channel.to_string(), payload.to_vec()));
            }
            Datagram::Fragment(fragment) => {
                if let Outcome::Complete { channel, payload } =
                    reassembler.accept((), &fragment, 0, &mut |_| true)
                {
                    received = Some((channel.into(), payload));
                }
            }
        }
    }
    received
}

#[test]
fn messages_are_cut_as_liblcm_cuts_them() {
    let rows = golden().into_iter().filter(|row| row.publisher == "liblcm");
    for (
        sequence,
        Golden {
            channel,
            size,
            datagrams: expected,
            ..
        },
    ) in rows.enumerate()
    {
        let sequence = u32::try_from(sequence).unwrap();
        let ours = datagrams(
            &channel,
            &payload(size),
            sequence,
            MAX_SHORT_SIZE,
            MAX_FRAGMENT_BODY,
        );
        let ours: Vec<_> = ours.iter().map(|datagram| Sample::of(datagram)).collect();
        assert_eq!(ours, expected, "{size} bytes on {channel}");
    }
}

#[test]
fn messages_of_the_reference_arrive_unless_it_leaves_a_byte_out() {
    let mut n_mutilated = 0;
    for Golden {
        publisher,
        channel,
        size,
        datagrams,
    } in golden()
    {
        let message = payload(size);
        let datagrams: Vec<_> = datagrams
            .iter()
            .map(|sample| whole(sample, &message))
            .collect();
        let is_mutilated = publisher == "lcm.jar"
            && (channel.len() + size).is_multiple_of(64_000)
            && datagrams.len() > 1;
        n_mutilated += usize::from(is_mutilated);
        let expected = (!is_mutilated).then_some((channel, message));
        assert!(
            receive(&datagrams) == expected,
            "{size} bytes of {publisher}"
        );
    }
    assert_eq!(n_mutilated, 1, "the reference's fault is in the set");
}
