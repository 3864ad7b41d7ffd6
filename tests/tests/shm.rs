//! Shared memory between processes that are killed or stopped.

use bowline_tests::built::own_program;
use std::process::Command;

#[test]
fn killed_processes_harm_no_other_and_leave_nothing() {
    play("killed");
}

#[test]
fn stopped_receiver_is_left_behind_by_publishers_that_wait() {
    play("stopped");
}

/// Runs a scene with memory and files of its own, so that what is left is distinguished from what others use.
fn play(scene: &str) {
    let script = "mkdir -p /tmp/iceoryx2 \
        && mount -t tmpfs none /dev/shm && mount -t tmpfs none /tmp/iceoryx2 && exec \"$0\" \"$@\"";
    let output = Command::new("unshare")
        .args(["-m", "sh", "-c", script])
        .arg(own_program("shm"))
        .arg(scene)
        .output()
        .expect("unshare, of util-linux, is there");
    assert!(output.status.success(), "{output:#?}");
    let printed = String::from_utf8_lossy(&output.stderr);
    assert!(!printed.contains("iceoryx"), "iceoryx2 is quiet: {printed}");
}
