//! Networks of their own for tests: multicast must not leave them.

use crate::stderr;
use std::io::{BufRead as _, BufReader};
use std::process::{Child, ChildStdin, Command, Stdio};

/// What makes a loopback carry multicast.
pub(crate) const HEALTHY: &str =
    "ip link set lo up && ip link set lo multicast on && ip route add 224.0.0.0/4 dev lo";

/// A network of its own, which ends with the value. Its shell runs commands in it.
pub(crate) struct Namespace {
    shell: Child,
    input: Option<ChildStdin>,
}

impl Namespace {
    /// A new network, prepared by a command.
    pub(crate) fn new(prepare: &str) -> Self {
        // Root may always; others are root in a user namespace of their own.
        let mut shell = Command::new("unshare")
            .args(if is_root() {
                &["--net"][..]
            } else {
                &["--map-root-user", "--net"]
            })
            .args(["sh", "-c", "echo ready; read line"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("unshare, of util-linux, is there");
        let input = shell.stdin.take();
        let mut line = String::new();
        let mut output = BufReader::new(shell.stdout.take().expect("it is piped"));
        output
            .read_line(&mut line)
            .expect("the shell's output can be read");
        assert_eq!(
            line, "ready\n",
            "network namespaces are needed: run as root, or allow user namespaces"
        );
        let namespace = Self { shell, input };
        namespace.sh(prepare);
        namespace
    }

    pub(crate) fn command(&self, program: &str) -> Command {
        let mut command = Command::new("nsenter");
        command.args(["--target", &self.shell.id().to_string(), "--net"]);
        if !is_root() {
            command.args(["--user", "--preserve-credentials"]);
        }
        command.args(["--", program]);
        command
            .env_remove("BOWLINE_URL")
            .env_remove("LCM_DEFAULT_URL");
        command
    }

    /// Runs a command that must work.
    pub(crate) fn sh(&self, command: &str) {
        let output = self
            .command("sh")
            .args(["-ec", command])
            .output()
            .expect("nsenter is there");
        assert!(output.status.success(), "{command}: {}", stderr(&output));
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        // The shell ends with its input, and the network with the shell.
        drop(self.input.take());
        let _ended = self.shell.wait();
    }
}

fn is_root() -> bool {
    let output = Command::new("id").arg("-u").output().expect("id is there");
    output.stdout == b"0\n"
}
