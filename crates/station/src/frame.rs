//! Frames between a station and its page, as `web/PROTOCOL.md` has them.
//!
//! In: bytes of one WebSocket message. Out: a frame, or an error with what was expected; and the other way round.

use bowline_wire::Fingerprint;
use bytes::{BufMut as _, Bytes, BytesMut};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// The version of the protocol.
pub(crate) const VERSION: u32 = 1;

/// The longest frame that a page may send: a task with hundreds of corners has a few kilobytes.
pub(crate) const MAX_FROM_PAGE: usize = 64 << 10;

/// The longest name of a channel, as LCM has it.
const MAX_CHANNEL: usize = 63;

const HELLO: u8 = 0x01;
const CHANNEL: u8 = 0x02;
const SCHEMA: u8 = 0x03;
const MESSAGE: u8 = 0x04;
const STATUS: u8 = 0x05;
const REPLY: u8 = 0x06;
const PONG: u8 = 0x07;
const RESET: u8 = 0x08;
const SUBSCRIBE: u8 = 0x11;
const PUBLISH: u8 = 0x12;
const REQUEST: u8 = 0x13;
const PING: u8 = 0x17;

/// A frame from a page.
#[derive(Debug)]
pub(crate) enum FromPage<'a> {
    Subscribe(Vec<WishRow>),
    Publish { channel: &'a str, message: &'a [u8] },
    Request { id: u32, request: Request },
    Ping(u32),
}

/// One row of a subscription.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct WishRow {
    pub(crate) pattern: String,
    #[serde(rename = "type")]
    pub(crate) type_name: Option<String>,
    pub(crate) max_hz: f64,
    /// How many messages of the past are wanted, beside the last one.
    #[serde(default)]
    pub(crate) past: usize,
}

#[derive(Deserialize)]
struct Subscription {
    patterns: Vec<WishRow>,
}

/// What a page may ask of the station itself.
#[derive(Debug, Deserialize)]
#[serde(tag = "what", rename_all = "lowercase")]
pub(crate) enum Request {
    Service {
        name: String,
        #[serde(rename = "type")]
        type_name: String,
        request: serde_json::Value,
    },
    Transform {
        frame: String,
        reference: String,
        #[serde(default)]
        vehicle: String,
    },
    Player {
        action: String,
        value: Option<serde_json::Value>,
    },
    Acknowledge {
        alarm: String,
        #[serde(default)]
        since_utime: serde_json::Value,
    },
}

/// The first frame of a station.
#[derive(Debug, Serialize)]
pub(crate) struct Hello<'a> {
    pub(crate) version: u32,
    pub(crate) user: &'a str,
    pub(crate) role: &'a str,
    pub(crate) station: &'a str,
    pub(crate) source: &'a str,
    pub(crate) utime: i64,
    pub(crate) charts: &'a [String],
    pub(crate) panels: &'a [String],
    pub(crate) rank: i32,
}

/// How a request ended.
#[derive(Debug, Serialize)]
pub(crate) struct Reply {
    pub(crate) ok: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) result: Option<Box<RawValue>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) error: Option<String>,
}

/// A frame that violates the protocol.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub(crate) enum BadFrame {
    #[error("expected a kind of frame, found nothing")]
    Empty,
    #[error("expected 0x11, 0x12, 0x13 or 0x17, found 0x{0:02x}")]
    UnknownKind(u8),
    #[error("expected at least {expected} bytes, found {found}")]
    TooShort { expected: usize, found: usize },
    #[error("expected a channel of 1 to 63 bytes of UTF-8")]
    BadChannel,
    #[error("expected JSON as the protocol has it: {0}")]
    BadJson(String),
}

/// Reads a frame from a page.
pub(crate) fn read(bytes: &[u8]) -> Result<FromPage<'_>, BadFrame> {
    let (&kind, body) = bytes.split_first().ok_or(BadFrame::Empty)?;
    match kind {
        SUBSCRIBE => Ok(FromPage::Subscribe(json::<Subscription>(body)?.patterns)),
        PUBLISH => read_publish(body),
        REQUEST => {
            let (id, body) = number(body)?;
            let request = json(body)?;
            Ok(FromPage::Request { id, request })
        }
        PING => Ok(FromPage::Ping(number(body)?.0)),
        other => Err(BadFrame::UnknownKind(other)),
    }
}

fn read_publish(body: &[u8]) -> Result<FromPage<'_>, BadFrame> {
    let (&length, rest) = body.split_first().ok_or(BadFrame::TooShort {
        expected: 3,
        found: 1,
    })?;
    let length = usize::from(length);
    let (name, message) = rest.split_at_checked(length).ok_or(BadFrame::TooShort {
        expected: 2 + length,
        found: 2 + rest.len(),
    })?;
    let channel = std::str::from_utf8(name).ok();
    let channel = channel.filter(|name| (1..=MAX_CHANNEL).contains(&name.len()));
    let channel = channel.ok_or(BadFrame::BadChannel)?;
    Ok(FromPage::Publish { channel, message })
}

fn number(body: &[u8]) -> Result<(u32, &[u8]), BadFrame> {
    let Some((number, rest)) = body.split_first_chunk() else {
        return Err(BadFrame::TooShort {
            expected: 5,
            found: 1 + body.len(),
        });
    };
    Ok((u32::from_be_bytes(*number), rest))
}

fn json<'a, T: Deserialize<'a>>(body: &'a [u8]) -> Result<T, BadFrame> {
    serde_json::from_slice(body).map_err(|error| BadFrame::BadJson(error.to_string()))
}

pub(crate) fn hello(hello: &Hello<'_>) -> Bytes {
    with_json(HELLO, &[], hello)
}

pub(crate) fn channel(id: u32, fingerprint: Fingerprint, name: &str) -> Bytes {
    let mut frame = BytesMut::with_capacity(13 + name.len());
    frame.put_u8(CHANNEL);
    frame.put_u32(id);
    frame.put_u64(fingerprint.0);
    frame.put_slice(name.as_bytes());
    frame.freeze()
}

pub(crate) fn schema(fingerprint: Fingerprint, compact: &[u8]) -> Bytes {
    let mut frame = BytesMut::with_capacity(9 + compact.len());
    frame.put_u8(SCHEMA);
    frame.put_u64(fingerprint.0);
    frame.put_slice(compact);
    frame.freeze()
}

pub(crate) fn message(id: u32, utime: i64, n_skipped: u32, payload: &[u8]) -> Bytes {
    let mut frame = BytesMut::with_capacity(17 + payload.len());
    frame.put_u8(MESSAGE);
    frame.put_u32(id);
    frame.put_i64(utime);
    frame.put_u32(n_skipped);
    frame.put_slice(payload);
    frame.freeze()
}

pub(crate) fn status(status: &impl Serialize) -> Bytes {
    with_json(STATUS, &[], status)
}

pub(crate) fn reply(request: u32, reply: &Reply) -> Bytes {
    with_json(REPLY, &request.to_be_bytes(), reply)
}

pub(crate) fn pong(ping: u32) -> Bytes {
    let mut frame = BytesMut::with_capacity(5);
    frame.put_u8(PONG);
    frame.put_u32(ping);
    frame.freeze()
}

pub(crate) fn reset(utime: i64, why: &str) -> Bytes {
    with_json(
        RESET,
        &[],
        &serde_json::json!({ "utime": utime, "why": why }),
    )
}

fn with_json(kind: u8, head: &[u8], value: &impl Serialize) -> Bytes {
    let mut frame = vec![kind];
    frame.extend_from_slice(head);
    serde_json::to_writer(&mut frame, value).expect("a station's messages have string keys only");
    frame.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_of_a_page_are_read_as_the_protocol_has_them() {
        let subscribe =
            b"\x11{\"patterns\":[{\"pattern\":\".*\",\"type\":\"bowline.map_t\",\"max_hz\":1}]}";
        let Ok(FromPage::Subscribe(rows)) = read(subscribe) else {
            panic!("a subscription");
        };
        assert_eq!(rows[0].type_name.as_deref(), Some("bowline.map_t"));
        assert_eq!(rows[0].past, 0);
        let Ok(FromPage::Publish { channel, message }) = read(b"\x12\x03abcxyz") else {
            panic!("a message");
        };
        assert_eq!((channel, message), ("abc", &b"xyz"[..]));
        let request =
            b"\x13\x00\x00\x01\x02{\"what\":\"player\",\"action\":\"seek_to\",\"value\":5}";
        let Ok(FromPage::Request { id, request }) = read(request) else {
            panic!("a request");
        };
        assert_eq!(id, 258);
        assert!(matches!(request, Request::Player { action, .. } if action == "seek_to"));
        assert!(matches!(
            read(b"\x17\x00\x00\x00\x07"),
            Ok(FromPage::Ping(7))
        ));
    }

    #[test]
    fn invalid_frame_error_has_what_was_expected() {
        let cases: [(&[u8], &str); 9] = [
            (b"", "expected a kind of frame, found nothing"),
            (b"\x01{}", "expected 0x11, 0x12, 0x13 or 0x17, found 0x01"),
            (b"\x12", "expected at least 3 bytes, found 1"),
            (b"\x12\x05abc", "expected at least 7 bytes, found 5"),
            (
                b"\x12\x00abc",
                "expected a channel of 1 to 63 bytes of UTF-8",
            ),
            (
                b"\x12\x02\xff\xfeabc",
                "expected a channel of 1 to 63 bytes of UTF-8",
            ),
            (b"\x13\x00\x00", "expected at least 5 bytes, found 3"),
            (
                b"\x13\x00\x00\x00\x01{\"what\":\"fly\"}",
                "expected JSON as the protocol has it: unknown variant `fly`",
            ),
            (b"\x11[1,2", "expected JSON as the protocol has it: "),
        ];
        for (bytes, expected) in cases {
            let error = read(bytes).unwrap_err().to_string();
            assert!(error.starts_with(expected), "{error}");
        }
    }

    #[test]
    fn frames_of_a_station_are_what_the_page_reads() {
        assert_eq!(
            &channel(1, Fingerprint(2), "pose")[..],
            b"\x02\0\0\0\x01\0\0\0\0\0\0\0\x02pose"
        );
        assert_eq!(
            &message(1, 2, 3, b"xy")[..],
            b"\x04\0\0\0\x01\0\0\0\0\0\0\0\x02\0\0\0\x03xy"
        );
        assert_eq!(&pong(9)[..], b"\x07\0\0\0\x09");
        assert_eq!(&reset(5, "seek")[..], b"\x08{\"utime\":5,\"why\":\"seek\"}");
        let refused = Reply {
            ok: false,
            result: None,
            error: Some("no".to_owned()),
        };
        assert_eq!(
            &reply(1, &refused)[..],
            b"\x06\0\0\0\x01{\"ok\":false,\"error\":\"no\"}"
        );
    }
}
