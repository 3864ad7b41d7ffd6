//! What the components of vehicles promise.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test that cannot go on panics"
)]

#[path = "it/arbiter.rs"]
mod arbiter;
#[path = "it/drive.rs"]
mod drive;
#[path = "it/voters.rs"]
mod voters;
