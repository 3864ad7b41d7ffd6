//! What the components of vehicles promise.

#[path = "it/drive.rs"]
mod drive;
