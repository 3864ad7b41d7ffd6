//! Any bytes are packets of a link or an error, and a session that receives them from its peer delivers nothing larger than it
//! declared, answers within bounds, and goes on.

use bowline_component::Time;
use bowline_link::packet::{Frame, HEADER_LEN, Header, MAX_PACKET, decode, seal, unseal};
use bowline_link::{Carriage, Incoming, Outgoing, Session, Setup, schedule};
use std::time::Duration;

const STREAMS: [&str; 3] = ["a", "b", "c"];
const MAX_BYTES: usize = 3_000;

fn session(life: u32) -> Session {
    let sends = STREAMS.iter().map(|name| Outgoing::new(name)).collect();
    let incoming = |name: &&str| Incoming {
        max_bytes: MAX_BYTES,
        ..Incoming::new(name)
    };
    let setup = Setup {
        life,
        sends,
        receives: STREAMS.iter().map(incoming).collect(),
        n_paths: 1,
    };
    let mut session = Session::new(setup, schedule::find("value").expect("there is one").make());
    session.path_up(0, Carriage::default(), Time::from_utime(1));
    session
}

/// Two ends that know each other.
fn acquainted() -> (Session, Session, Time) {
    let (mut ours, mut theirs) = (session(1), session(2));
    let mut now = Time::from_utime(1_000_000);
    let mut packet = Vec::new();
    for _ in 0..5 {
        while ours.transmit(now, &mut packet).is_some() {
            theirs.receive(0, &packet, now);
        }
        while theirs.transmit(now, &mut packet).is_some() {
            ours.receive(0, &packet, now);
        }
        now = now + Duration::from_millis(10);
    }
    (ours, theirs, now)
}

pub(crate) fn run(bytes: &[u8]) {
    // A sealed packet is believed; of all others a seal lets hardly any through.
    let mut sealed = bytes.to_vec();
    seal(&mut sealed);
    assert_eq!(unseal(&sealed), Ok(bytes));
    if let Ok((header, frames)) = decode(bytes) {
        let frames: Vec<Frame<'_>> = frames.map_while(Result::ok).collect();
        let mut again = Vec::new();
        header.encode(&mut again);
        frames.iter().for_each(|frame| frame.encode(&mut again));
        let (header_again, frames_again) = decode(&again).expect("what was read can be written");
        let frames_again: Vec<Frame<'_>> =
            frames_again.map(|it| it.expect("each of them")).collect();
        assert_eq!((header, frames), (header_again, frames_again));
    }
    let (mut ours, _, mut now) = acquainted();
    // Each piece, as long as its first byte gives, is a packet of the peer's with any frames.
    let mut rest = bytes;
    let mut packet = Vec::new();
    let mut sequence = 100;
    while let Some((length, more)) = rest.split_first() {
        let (piece, more) = more.split_at(more.len().min(usize::from(*length) * 4));
        rest = more;
        sequence += 1;
        let header = Header {
            generation: 0,
            life: 2,
            sequence,
            sent_utime: now.utime(),
        };
        header.encode(&mut packet);
        packet.extend_from_slice(piece);
        seal(&mut packet);
        ours.receive(0, &packet, now);
        ours.receive(0, piece, now);
        while let Some(message) = ours.deliver() {
            assert!(message.payload.len() <= MAX_BYTES);
        }
        ours.offer(0, vec![0; 100].into(), now);
        for _ in 0..10 {
            if ours.transmit(now, &mut packet).is_none() {
                break;
            }
            assert!((HEADER_LEN..=MAX_PACKET).contains(&packet.len()));
        }
        assert!(ours.wakes_at(now) >= now);
        now = now + Duration::from_millis(7);
    }
}
