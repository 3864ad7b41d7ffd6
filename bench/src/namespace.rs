//! A network of our own: multicast must not leave the benchmark, nor strangers' traffic come in.
//!
//! Not the one of the tests, which is held by another process and entered by a thread: here all threads and peers of a part
//! are inside from their start, and nothing of ours runs beside what is measured. Links between networks, which parts
//! measure across, are those of the tests.

use crate::peers;
use anyhow::{Context as _, ensure};
use std::process::Command;

/// The argument that marks that the namespace exists.
pub(crate) const IN_NAMESPACE: &str = "--in-namespace";

/// Starts this program again with these arguments, in a new network namespace.
pub(crate) fn run_again(arguments: &[String]) -> anyhow::Result<()> {
    let mut command = Command::new("unshare");
    // Only root of the machine may force large receive buffers, so a user namespace is the second choice.
    let is_root = Command::new("unshare")
        .args(["--net", "true"])
        .output()
        .is_ok_and(|output| output.status.success());
    if !is_root {
        println!("not root: receive buffers stay within net.core.rmem_max");
        command.arg("--map-root-user");
    }
    command
        .arg("--net")
        .arg(std::env::current_exe()?)
        .arg(IN_NAMESPACE)
        .args(arguments);
    let status = command
        .status()
        .with_context(|| format!("cannot run {command:?}: is util-linux installed?"))?;
    ensure!(status.success(), "{command:?} failed: {status}");
    Ok(())
}

/// A loopback that carries multicast.
pub(crate) fn prepare() -> anyhow::Result<()> {
    for arguments in [
        "link set lo up",
        "link set lo multicast on",
        "route add 224.0.0.0/4 dev lo",
    ] {
        peers::run(Command::new("ip").args(arguments.split(' ')))?;
    }
    Ok(())
}
