#![doc = include_str!("../README.md")]

pub mod clock;
mod complaints;
pub mod directory;
pub mod graph;
mod live;
mod lockstep;
mod logged;
pub mod presence;
pub mod program;
mod recall;
pub mod robot;
pub mod service;
pub mod supervise;
mod tape;
pub mod verify;

pub use complaints::Complaints;
pub use live::{Ended, Live, LiveError, LiveOptions};
pub use lockstep::{Lockstep, LockstepError, Silence, Source};
pub use logged::{Logged, Scope};
pub use recall::RecallCounts;
pub use tape::Tape;
