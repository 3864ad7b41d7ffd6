//! JSON text to values and back, led by a schema.
//!
//! JSON cannot express some of what a message can hold, so, without loss in either direction:
//!
//! | in the message | in JSON |
//! | --- | --- |
//! | an integer beyond ±2^53, which JavaScript would round | a string of digits |
//! | NaN, infinities | `"NaN"`, `"Infinity"`, `"-Infinity"`; a NaN with other bits is `"NaN:0x..."` |
//! | a row of `byte` | a base64 string |
//! | a string that is not UTF-8 | `{"base64": "..."}` |
//! | an enum value | its name, or the number if it has none |
//!
//! Reading also takes the plain form of each (a number, an array of numbers), and fills in length fields that are
//! left out.

mod read;
mod write;

pub use read::ReadJsonError;
pub use write::Json;

/// Integers up to here are exact in JavaScript.
const MAX_SAFE_INTEGER: i64 = 1 << 53;
/// The key of a string that is not UTF-8.
const BASE64_KEY: &str = "base64";
/// The bits of the NaN that is written as `"NaN"`.
const PLAIN_NAN: u64 = 0x7ff8_0000_0000_0000;
const PLAIN_NAN_F32: u32 = 0x7fc0_0000;
