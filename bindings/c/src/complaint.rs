//! Why a call failed, for people. C functions return only that they did.

use std::fmt::Display;
use std::io::Write as _;

/// Prints on stderr what is wrong. A program without stderr goes on without it.
pub(crate) fn complain(what: impl Display) {
    drop(writeln!(std::io::stderr(), "liblcm (bowline): {what}"));
}
