//! Network namespaces: whole networks that only the tests see.
//!
//! `cargo test` runs many tests in one process, so a namespace here belongs to a holder process of its own. It is gone
//! when its [`Namespace`] is dropped or when the test process dies. Root needs nothing more; other users get a user
//! namespace, where the system lets them.
//!
//! Programs are started inside. Rust code gets inside on a thread of its own, which needs root.

use std::ffi::OsStr;
use std::io::{BufRead as _, BufReader};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::OnceLock;

/// A network namespace with its loopback up. Dropped, it is gone, with its links.
#[derive(Debug)]
pub struct Namespace {
    holder: Holder,
}

/// A process that a namespace belongs to. It ends with its stdin, and so with the process that started it.
#[derive(Debug)]
struct Holder {
    child: Child,
    stdin: Option<ChildStdin>,
}

impl Holder {
    /// Starts it, and waits until it reports that it is ready.
    fn start(command: &mut Command) -> Self {
        let command = command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("unshare, of util-linux, is there");
        let stdin = child.stdin.take();
        let mut line = String::new();
        let stdout = child.stdout.take().expect("it is piped");
        let read = BufReader::new(stdout).read_line(&mut line);
        read.expect("its output can be read");
        assert_eq!(
            line, "ready\n",
            "namespaces are needed: run the tests as root, or allow user namespaces (see user.max_user_namespaces)"
        );
        Self { child, stdin }
    }

    fn id(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for Holder {
    fn drop(&mut self) {
        drop(self.stdin.take());
        let _ended = self.child.wait();
    }
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
        let bare = Self::bare();
        bare.run("ip link set lo up && ip link set lo multicast on");
        bare
    }

    /// A host without even a loopback.
    #[must_use]
    pub fn bare() -> Self {
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
        let holder = Holder::start(command.args(["--net", "sh", "-c", "echo ready && exec cat"]));
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
        command
            .arg(self.holder.id().to_string())
            .arg("--")
            .arg(program);
        // What the user of this machine has set is not for tests.
        command
            .env_remove("BOWLINE_URL")
            .env_remove("LCM_DEFAULT_URL");
        command
    }

    /// Moves the calling thread inside, and threads that it starts from now on. Needs to be root.
    pub fn enter(&self) {
        let path = format!("/proc/{}/ns/net", self.holder.id());
        let network = std::fs::File::open(path).expect("the holder has a network");
        nix::sched::setns(network, nix::sched::CloneFlags::CLONE_NEWNET)
            .expect("to enter a network namespace; run the tests as root");
    }

    /// Runs Rust inside, on a thread of its own. Threads that it starts are inside too.
    pub fn inside<T: Send>(&self, work: impl FnOnce() -> T + Send) -> T {
        std::thread::scope(|scope| {
            let thread = std::thread::Builder::new().name("inside".to_owned());
            let enter_and_work = || {
                self.enter();
                work()
            };
            let thread = thread.spawn_scoped(scope, enter_and_work);
            let outcome = thread.expect("a thread can start").join();
            outcome.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    }

    /// Runs a script of the shell inside, up to its first failure, which panics.
    pub fn run(&self, script: &str) {
        let output = self.command("sh").args(["-ec", script]).output();
        let output = output.expect("nsenter, of util-linux, is there");
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{script}: {stderr}");
    }

    /// Sends multicast out of a device, and only there.
    pub fn route_multicast(&self, device: &str) {
        self.run(&format!("ip route replace 224.0.0.0/4 dev {device}"));
    }

    /// Lets a device send at a rate at most. A program that sends more has to wait, and so a sender that knows no pacing
    /// does not overrun a receiver's buffer.
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
        // A device that only carries frames sends nothing itself.
        let addresses = if self.address.is_some() {
            "eui64"
        } else {
            "none"
        };
        namespace.run(&format!(
            "ip link set {device} mtu 1500 addrgenmode {addresses}"
        ));
        // With `tx` off the sender computes checksums and cuts what it would have left to the device. Otherwise a
        // relay that takes frames from one link to another passes on datagrams without a checksum.
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
fn user_namespace() -> Option<&'static Holder> {
    static HOLDER: OnceLock<Option<Holder>> = OnceLock::new();
    let start = || {
        let id = Command::new("id").arg("-u").output().expect("id runs");
        (id.stdout != b"0\n").then(|| {
            let script = "echo ready && exec cat";
            Holder::start(Command::new("unshare").args([
                "--user",
                "--map-root-user",
                "sh",
                "-c",
                script,
            ]))
        })
    };
    HOLDER.get_or_init(start).as_ref()
}

/// Runs a test on a thread in a network of its own, where only loopback exists and carries multicast.
pub fn alone<T: Send>(test: impl FnOnce() -> T + Send) -> T {
    Namespace::new().inside(test)
}

/// Runs `ip` in the network of this thread.
pub fn ip(arguments: &str) {
    let status = Command::new("ip").args(arguments.split(' ')).status();
    let status = status.expect("iproute2 is installed");
    assert!(status.success(), "ip {arguments}: {status}");
}

/// What `ip` prints in the network of this thread.
#[must_use]
pub fn ip_output(arguments: &str) -> String {
    let output = Command::new("ip").args(arguments.split(' ')).output();
    let output = output.expect("iproute2 is installed");
    String::from_utf8_lossy(&output.stdout).into_owned()
}
