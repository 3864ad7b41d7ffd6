//! Supervision: processes are started in order, watched, restarted, given up, stopped in order, and never left behind.
//!
//! ```text
//!   Plan ─▶ runner ◀─── orders, heartbeats ──── bus ◀── status, output, alarms ─┐
//!             │ events, time          ▲                                          │
//!             ▼                       │ exits, output                            │
//!          Machine ── actions ─▶ processes of the system ────────────────────────┘
//! ```
//!
//! [`Plan`] says what to run, [`machine`] decides, and nothing in it touches the system.

mod capture;
mod claim;
mod exit;
mod lines;
pub mod machine;
mod plan;
mod proc;
mod process;
mod state;

pub use exit::{Exit, Hang};
pub(crate) use plan::MIN_EVERY;
pub use plan::{
    ALL, BadPlan, HEARTBEAT_LIMIT, Heartbeat, Limits, Plan, PlanFault, ProcessSpec, Publication,
    Ready, Restart, SafeState, Start, StopSignal,
};
