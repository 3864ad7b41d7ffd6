//! The replies of a controller, a line at a time.

use crate::line::Shape;

/// Lines as they come: nothing to begin with, a carriage return to end with.
pub const SHAPE: Shape = Shape {
    begins: b"",
    ends: b"\r\n",
    between: b"\r\n",
    is_inner: |byte| byte.is_ascii_graphic() || byte == b' ',
    max_len: 64,
};

/// The value of a command for full thrust.
pub const MAX_RATIO: i32 = 1_000;

/// What a line of a controller means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reply {
    /// A command was understood.
    Taken,
    /// A command was not understood, or not followed.
    Refused,
    /// What is wrong, a bit each: [`faults`] has their names.
    Faults(u16),
    /// The echo of a command.
    Echo,
}

/// Why a line is no reply.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadReply {
    /// No reply of a controller.
    #[error("expected +, - or FF= and a number, found {0:?}")]
    Unknown(String),
    /// No number of faults.
    #[error("expected a number from 0 to 65535 after FF=, found {0:?}")]
    Number(String),
}

/// What a line means.
///
/// # Errors
/// When it is no reply of a controller.
pub fn parse(line: &[u8]) -> Result<Reply, BadReply> {
    let text = || String::from_utf8_lossy(line).into_owned();
    match line {
        b"+" => Ok(Reply::Taken),
        b"-" => Ok(Reply::Refused),
        [b'!' | b'^' | b'?' | b'~', ..] => Ok(Reply::Echo),
        [b'F', b'F', b'=', number @ ..] => {
            let is_number =
                (1..=5).contains(&number.len()) && number.iter().all(u8::is_ascii_digit);
            let number = std::str::from_utf8(number).ok().filter(|_| is_number);
            let faults = number.and_then(|number| number.parse().ok());
            faults
                .map(Reply::Faults)
                .ok_or_else(|| BadReply::Number(text()))
        }
        _ => Err(BadReply::Unknown(text())),
    }
}

const FAULTS: [&str; 8] = [
    "too hot",
    "too much voltage",
    "too little voltage",
    "short circuit",
    "emergency stop",
    "a sensor is wrong",
    "an output stage is broken",
    "started with settings of its own",
];

/// What is wrong, in words.
#[must_use]
pub fn faults(bits: u16) -> String {
    let named = FAULTS.iter().enumerate();
    let named = named.filter(|(nth, _)| bits >> nth & 1 == 1);
    let mut words: Vec<String> = named.map(|(_, name)| (*name).to_owned()).collect();
    if bits >> FAULTS.len() != 0 {
        words.push(format!(
            "faults {:#x}",
            bits >> FAULTS.len() << FAULTS.len()
        ));
    }
    words.join(", ")
}
