//! The promises that Bowline keeps to the users of the reference.

mod fingerprints;
mod messages;
