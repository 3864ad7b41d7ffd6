//! What inspectors see, through the library's public interface.

#![expect(clippy::unwrap_used, reason = "a test that panics has failed")]

#[path = "it/golden.rs"]
mod golden;
#[path = "it/picture.rs"]
mod picture;
#[path = "it/random.rs"]
mod random;
#[path = "it/series.rs"]
mod series;
#[path = "it/shown.rs"]
mod shown;
#[path = "it/source.rs"]
mod source;
#[path = "it/text.rs"]
mod text;
#[path = "it/tree.rs"]
mod tree;
#[path = "it/watch.rs"]
mod watch;
