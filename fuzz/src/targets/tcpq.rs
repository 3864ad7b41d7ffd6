//! Any bytes are frames or an error, the same in whatever pieces they come; what is read can be written again.

use bowline_wire::tcpq::{BadFrame, Limits, Side, parse};

const LIMITS: Limits = Limits {
    channel_len: 63,
    pattern_len: 100,
    payload_len: 1000,
};

/// The frames encoded again, and how it ended, for a reader that gets a byte at a time.
fn read_slowly(bytes: &[u8]) -> (Vec<u8>, Result<(), BadFrame>) {
    let mut said = Vec::new();
    let mut at = 0;
    for held in 0..=bytes.len() {
        match parse(&bytes[at..held], &LIMITS) {
            Ok(None) => {}
            Ok(Some((frame, consumed))) => {
                assert_eq!(
                    at + consumed,
                    held,
                    "a frame is seen when its last byte arrives"
                );
                frame
                    .write(&mut said)
                    .expect("what was read can be written");
                at += consumed;
            }
            Err(error) => return (said, Err(error)),
        }
        assert!(
            held - at < 12 + LIMITS.channel_len + LIMITS.payload_len,
            "no more is held than the limits allow"
        );
    }
    (said, Ok(()))
}

pub(crate) fn run(bytes: &[u8]) {
    for side in [Side::Client, Side::Server] {
        match side.read_hello(bytes) {
            Ok(Some(_)) => assert_eq!(bytes[..4], side.hello()[..4]),
            Ok(None) => assert!(
                bytes.len() < 8 && bytes.iter().zip(side.hello()).take(4).all(|(a, b)| *a == b)
            ),
            Err(error) => assert!(!error.to_string().is_empty()),
        }
    }
    let (slowly, end) = read_slowly(bytes);
    assert_eq!(
        slowly,
        bytes[..slowly.len()],
        "frames are the same when encoded again"
    );
    let mut rest = bytes;
    let mut said = Vec::new();
    let at_once = loop {
        match parse(rest, &LIMITS) {
            Ok(None) => break Ok(()),
            Ok(Some((frame, consumed))) => {
                frame
                    .write(&mut said)
                    .expect("what was read can be written");
                rest = &rest[consumed..];
            }
            Err(error) => break Err(error),
        }
    };
    assert_eq!((said, at_once), (slowly, end), "the pieces do not matter");
}
