//! A network of a test's own.

use std::process::Command;
use std::time::{Duration, Instant};

/// Guards against hanging for ever; nothing is measured with it.
const LONG: Duration = Duration::from_secs(30);

/// Runs `test` on a thread in a network namespace where only loopback exists and carries multicast. Threads that
/// `test` starts are in it too.
pub(crate) fn run<T: Send + 'static>(test: impl FnOnce() -> T + Send + 'static) -> T {
    let thread = std::thread::Builder::new().name("namespace".to_owned());
    let inside = move || {
        nix::sched::unshare(nix::sched::CloneFlags::CLONE_NEWNET)
            .expect("a network namespace: run the tests as root, or in `unshare -rn`");
        ip("link set lo up");
        ip("link set lo multicast on");
        ip("route add 224.0.0.0/4 dev lo");
        test()
    };
    let outcome = thread.spawn(inside).expect("a thread").join();
    outcome.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// Runs `ip` in the namespace of this thread.
pub(crate) fn ip(arguments: &str) {
    let status = Command::new("ip").args(arguments.split(' ')).status();
    let status = status.expect("iproute2 is installed");
    assert!(status.success(), "ip {arguments}: {status}");
}

/// What `ip` prints in the namespace of this thread.
pub(crate) fn ip_says(arguments: &str) -> String {
    let output = Command::new("ip").args(arguments.split(' ')).output();
    let output = output.expect("iproute2 is installed");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// What the kernel calls this thread: `ip` puts links into the namespace of a thread by it.
pub(crate) fn thread_id() -> u32 {
    let path = std::fs::read_link("/proc/thread-self").expect("proc is mounted");
    let name = path.file_name().and_then(|name| name.to_str());
    let id = name.and_then(|name| name.parse().ok());
    id.expect("proc names threads by number")
}

/// Asks until the answer is yes. For what no event tells.
#[expect(
    clippy::disallowed_methods,
    reason = "guards against asking for ever; nothing is measured with it"
)]
pub(crate) fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let deadline = Instant::now() + LONG;
    while !is_so() {
        assert!(Instant::now() < deadline, "expected {what}, found none");
        std::thread::yield_now();
    }
}
