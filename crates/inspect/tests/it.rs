//! What inspectors see, through the library's public interface.

#[path = "it/source.rs"]
mod source;
