//! Network namespaces: whole networks that only the tests see.
//!
//! `cargo test` runs many tests in one process, so a namespace here belongs to a holder process of its own, and programs
//! are started inside it. It is gone when its [`Namespace`] is dropped or when the test process dies. Root needs nothing
//! more; other users get a user namespace, where the system lets them.
//!
//! The test process itself never enters: Rust code that has to be inside is a program in `src/bin/`.

use crate::peers::run;
use crate::process::Process;
use std::ffi::OsStr;
use std::process::Command;
use std::sync::OnceLock;

/// A network namespace with its loopback up. Dropped, it is gone, with its links.
#[derive(Debug)]
pub struct Namespace {
    holder: Process,
}

/// One end of a link between two namespaces.
#[derive(Clone, Copy, Debug)]
pub struct Port<'p> {
    /// Whose end.
    pub namespace: &'p Namespace,
    /// What the device is called there.
    pub device: &'p str,
    /// Its address, like `10.7.0.1/24`. Without one it only carries frames, and multicast is not routed to it.
    pub address: Option<&'p str>,
}

impl Namespace {
    /// A host alone: multicast stays on the loopback.
    #[must_use]
    pub fn new() -> Self {
        let alone = Self::without_multicast();
        alone.route_multicast("lo");
        alone
    }

    /// A host whose multicast goes nowhere, until a link with an address takes it.
    #[must_use]
    pub fn without_multicast() -> Self {
        let mut command = match user_namespace() {
            None => Command::new("unshare"),
            Some(user) => {
                let mut command = Command::new("nsenter");
                command.args(["--preserve-credentials", "--user", "--target"]);
                command.args([&user.id().to_string(), "unshare"]);
                command
            }
        };
        // `cat` ends when its stdin is closed, which the system does for a process that dies.
        let script = "ip link set lo up && ip link set lo multicast on && echo ready && exec cat";
        let holder = Process::start_ready(
            "namespace (needs iproute2 and util-linux, and to be root or to be let make user namespaces)",
            command.args(["--net", "sh", "-c", script]),
        );
        Self { holder }
    }

    /// A command that runs inside.
    #[must_use]
    pub fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new("nsenter");
        if user_namespace().is_some() {
            command.args(["--preserve-credentials", "--user"]);
        }
        command.arg("--net").arg("--target");
        command.arg(self.holder.id().to_string()).arg(program);
        command
    }

    /// Moves the calling thread inside, and threads that it starts from now on. For tests that use the bus themselves;
    /// needs to be root.
    pub fn enter(&self) {
        let path = format!("/proc/{}/ns/net", self.holder.id());
        let network = std::fs::File::open(path).expect("the holder has a network");
        nix::sched::setns(network, nix::sched::CloneFlags::CLONE_NEWNET)
            .expect("to enter a network namespace; run the tests as root");
    }

    /// Runs a command line inside, split at spaces. Panics when it fails.
    pub fn run(&self, line: &str) {
        let mut words = line.split_whitespace();
        let program = words.next().expect("a command line has a program");
        run(self.command(program).args(words));
    }

    /// Sends multicast out of a device, and only there.
    pub fn route_multicast(&self, device: &str) {
        self.run(&format!("ip route replace 224.0.0.0/4 dev {device}"));
    }

    /// Lets a device send at a rate at most. Whoever sends more has to wait, and so a sender that knows no pacing does
    /// not overrun a receiver's buffer.
    pub fn limit_rate(&self, device: &str, megabits_per_second: u32) {
        // The bucket must hold the largest datagram; the queue must be longer than any socket's send buffer.
        self.run(&format!(
            "tc qdisc replace dev {device} root tbf rate {megabits_per_second}mbit burst 128kb limit 16mb"
        ));
    }

    /// Joins two namespaces with a link of Ethernet's usual 1500 bytes. Nothing is left to hardware that is not there:
    /// datagrams cross it with their checksums, cut to size.
    pub fn link(ends: [Port<'_>; 2]) {
        let [here, there] = ends;
        here.namespace.run(&format!(
            "ip link add {} type veth peer name {} netns {}",
            here.device,
            there.device,
            there.namespace.holder.id()
        ));
        for end in ends {
            end.bring_up();
        }
    }
}

impl Default for Namespace {
    fn default() -> Self {
        Self::new()
    }
}

impl Port<'_> {
    fn bring_up(&self) {
        let Self {
            namespace, device, ..
        } = self;
        // A device that only carries frames says nothing itself.
        let addresses = if self.address.is_some() {
            "eui64"
        } else {
            "none"
        };
        namespace.run(&format!(
            "ip link set {device} mtu 1500 addrgenmode {addresses}"
        ));
        // With `tx` off the sender computes checksums and cuts what it would have left to the device. Otherwise whoever
        // takes frames from a link and puts them onto another passes on datagrams whose checksum nobody has computed.
        namespace.run(&format!("ethtool -K {device} tx off"));
        if let Some(address) = self.address {
            namespace.run(&format!("ip address add {address} dev {device}"));
        }
        namespace.run(&format!("ip link set {device} up"));
        if self.address.is_some() {
            namespace.route_multicast(device);
        }
    }
}

/// What gives a user who is not root the right to make networks, once for all namespaces, for links only join those of
/// one owner.
fn user_namespace() -> Option<&'static Process> {
    static HOLDER: OnceLock<Option<Process>> = OnceLock::new();
    let start = || {
        let id = Command::new("id").arg("-u").output().expect("id runs");
        (id.stdout != b"0\n").then(|| {
            Process::start_ready(
                "user namespace (the system may forbid them: see user.max_user_namespaces; or run the tests as root)",
                Command::new("unshare").args(["--user", "--map-root-user", "sh", "-c", "echo ready && exec cat"]),
            )
        })
    };
    HOLDER.get_or_init(start).as_ref()
}
