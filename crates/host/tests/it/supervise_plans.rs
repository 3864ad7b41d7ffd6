//! What plans of supervisors are made of, in tests and in the processes that they start.

use bowline_host::supervise::ProcessSpec;
use std::time::Duration;

/// The name by which orders reach a supervisor.
pub(crate) const HOST: &str = "bench";

/// A process that runs a script.
pub(crate) fn script(name: &str, text: &str) -> ProcessSpec {
    ProcessSpec {
        grace: Duration::from_secs(20),
        ..ProcessSpec::new(name, ["sh", "-c", text])
    }
}

/// A process that does nothing, for ever.
pub(crate) fn idle(name: &str) -> ProcessSpec {
    ProcessSpec::new(name, ["sleep", "1000"])
}
