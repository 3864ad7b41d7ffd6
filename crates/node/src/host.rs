//! Whoever feeds an [`Engine`](crate::engine::Engine) with events and time, and carries away what it says.
//!
//! | host | events | time |
//! | --- | --- | --- |
//! | [`Live`] | a bus | the live clock |
//! | [`Lockstep`] | a [`Source`]: a log ([`Tape`]), or none (a simulator is a component) | the events' own, as fast as it goes |
//!
//! One component in its own process and several in one are both [`Live`]; a replay is [`Lockstep`] with a [`Tape`].

mod complaints;
mod live;
mod lockstep;
mod logged;
mod recall;
mod tape;

pub use complaints::Complaints;
pub use live::{Ended, Live, LiveError, LiveOptions};
pub use lockstep::{Lockstep, LockstepError, Silence, Source};
pub use logged::{Logged, Scope};
pub use recall::RecallCounts;
pub use tape::Tape;
pub(crate) use tape::time_of;
