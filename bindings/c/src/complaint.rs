//! Why a call failed, for people. C functions say only that they did.

use std::fmt::Display;
use std::io::Write as _;

/// Says on stderr what is wrong. A program without stderr does not hear it, and goes on.
pub(crate) fn complain(what: impl Display) {
    drop(writeln!(std::io::stderr(), "liblcm (bowline): {what}"));
}
