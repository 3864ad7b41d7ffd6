//! Promises of a station, kept over real sockets.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::wildcard_enum_match_arm,
    reason = "what goes wrong here fails the test that it stands in"
)]

mod attacks;
mod browser;
mod commands;
mod limits;
mod log_in;
mod pages;
mod replays;
