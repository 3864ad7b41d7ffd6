//! Supervision: processes are started in order, watched, restarted, given up, stopped in order, and never left behind.
//!
//! ```text
//!   Plan ─▶ runner ◀─── orders, heartbeats ──── bus ◀── status, output, alarms ─┐
//!             │ events, time          ▲                                          │
//!             ▼                       │ exits, output                            │
//!          Machine ── actions ─▶ processes of the system ────────────────────────┘
//! ```
//!
//! [`Plan`] is what to run, [`machine`] decides and touches nothing, [`run`] does it.

mod capture;
mod claim;
mod desk;
mod exit;
mod keeper;
mod lines;
pub mod machine;
mod news;
mod plan;
mod proc;
mod process;
mod report;
mod roster;
mod runner;
mod slot;
mod starvation;
mod state;
mod sys;
mod takeover;
mod usage;

pub use desk::{DeskError, ORDER, OUTPUT, SUPERVISOR, service_name};
pub use exit::{Exit, Hang, NOT_STOPPED};
pub use keeper::keep;
pub use news::{Care, News, Options};
pub(crate) use plan::MIN_EVERY;
pub use plan::{
    ALL, BadPlan, HEARTBEAT_LIMIT, Heartbeat, Limits, MAX_HEARTBEAT_LIMIT, MIN_HEARTBEAT_LIMIT,
    Plan, PlanFault, ProcessSpec, Publication, Ready, Restart, SafeState, Start, StopSignal,
};
pub(crate) use proc::MARKER;
pub use report::{EXPERIMENT_CHANNEL, OUTPUT_CHANNEL, SUPERVISOR_CHANNEL};
pub use roster::{ChooseError, Entry, Roster, meant};
pub use runner::{SuperviseError, run};
pub use state::LockError;
pub(crate) use sys::end_with_parent;
pub use sys::unblock_signals;
