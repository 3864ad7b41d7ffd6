//! The Python module `bowline_bus`: the names and semantics of LCM's Python module, on Bowline's bus.
//!
//! In: calls from Python. Out: messages on a bus, and calls of handlers. The GIL is released while a thread waits or
//! sends. A handler's exception leaves `handle()` as it would leave any function, and the bus goes on.
//!
//! `lcm.rs` has the bus, `subscription.rs` its handlers, `eventlog.rs` the logs, `payload.rs` what may be published,
//! `deterministic.rs` programs that take steps on request.
//! `sys.rs` is the only file with `unsafe`, and argues for it.

mod counts;
mod deterministic;
mod errors;
mod eventlog;
mod lcm;
mod payload;
mod subscription;
mod sys;

/// Publish and subscribe, with LCM on the wire.
///
/// The names are those of the module lcm, so that a program needs one line changed: `import bowline_bus as lcm`
#[pyo3::pymodule]
#[pyo3(name = "bowline_bus")]
mod module {
    use pyo3::prelude::*;

    #[pymodule_export]
    use crate::deterministic::{Step, deterministic};
    #[pymodule_export]
    use crate::eventlog::{Event, EventLog};
    #[pymodule_export]
    use crate::lcm::Lcm;
    #[pymodule_export]
    use crate::subscription::Subscription;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
