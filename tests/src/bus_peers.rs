//! Both ends of a bus, each a program, so that every implementation can stand at either end.
//!
//! Each implementation is a program with three verbs:
//!
//! ```text
//! receive URL PATTERN COUNT        prints `CHANNEL SIZE DIGEST` for each message; ends after COUNT (0: never)
//! send URL CHANNEL N_CHANNELS SEED COUNT PACE SIZE...
//!                                  publishes; ends after COUNT (0: never)
//! echo URL PATTERN REPLY_CHANNEL   publishes what it receives on another channel
//! ```
//!
//! All print `ready` once they can do their work, `done N messages N bytes` as their last line, and end when stdin is
//! closed. Message number `index` has the `index % n`th of the sizes, the content of [`crate::content`], and goes to
//! CHANNEL, or with more than one channel to CHANNEL followed by `index % N_CHANNELS`. PACE is a number of messages a
//! second (0: as fast as it can), or `step`: then each line of stdin is the index of a message to publish, and is
//! answered with `sent INDEX`.
//!
//! Ours also answers the line `counts` on stdin of a receiver; see [`ask_counts`].
//!
//! A new implementation is one row in [`IMPLEMENTATIONS`].

use crate::built::{own_program, scratch_root};
use crate::content::{content, digest};
use crate::liblcm;
use crate::netns::Namespace;
use crate::peers::{Peers, run, workspace};
use crate::process::Process;
use serde_json::Value;
use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The usual group, in a namespace of the test's own. TTL 0 keeps it on the host besides.
pub const URL: &str = "udpm://239.255.76.67:7667?ttl=0";
/// The same for links between namespaces, which are one hop.
pub const URL_ACROSS_LINKS: &str = "udpm://239.255.76.67:7667?ttl=1";

/// An implementation of LCM, and what it can and cannot do.
#[derive(Clone, Copy, Debug)]
pub struct Implementation {
    /// What it is called.
    pub name: &'static str,
    /// Builds the program where that is needed, and returns how it is started.
    program: fn(&Peers) -> Vec<OsString>,
    /// What it wants to have at the end of the URL.
    pub url_options: &'static str,
    /// The largest message that it surely receives from a sender that does not pace. Larger ones may overrun the buffer
    /// of its socket and be lost, so that they have to be sent again.
    pub surely_receives_bytes: usize,
    /// The rate at which it keeps up with fragments.
    pub keeps_up_megabits_per_second: u32,
    /// Whether it does not send the last byte of a message.
    pub forgets_last_byte: fn(channel: &str, size: usize) -> bool,
    /// Whether it delivers messages of which a byte never came.
    pub delivers_unsent_bytes: bool,
}

/// liblcm asks for a receive buffer only on request, and Linux gives at most `net.core.rmem_max`, often 208 KiB: three
/// fragments. It counts fragments, not bytes.
const C: Implementation = Implementation {
    name: "C",
    program: build_c,
    url_options: "&recv_buf_size=4194304",
    surely_receives_bytes: 128_000,
    keeps_up_megabits_per_second: 1000,
    forgets_last_byte: |_, _| false,
    delivers_unsent_bytes: true,
};
/// Python is liblcm underneath.
const PYTHON: Implementation = Implementation {
    name: "Python",
    program: |peers| vec![peers.python().into(), source("peer.py").into()],
    ..C
};
/// lcm.jar knows no buffer size, so its program sets one. It cuts messages at 64,000 bytes and does not count the NUL behind the channel, so that
/// the last byte has no fragment to be in when channel and message are a multiple of that.
const JAVA: Implementation = Implementation {
    name: "Java",
    program: build_java,
    url_options: "",
    keeps_up_megabits_per_second: 400,
    forgets_last_byte: |channel, size| {
        let n_bytes = channel.len() + size;
        n_bytes > 64_000 && n_bytes.is_multiple_of(64_000)
    },
    ..C
};

/// The program for liblcm, not built again, on our library in its place.
const DROP_IN: Implementation = Implementation {
    name: "drop-in",
    program: |peers| {
        let program = build_c(peers).pop().expect("it is one word");
        liblcm::on_library(&liblcm::our_library(), Path::new(&program))
    },
    delivers_unsent_bytes: false,
    ..C
};

/// Ours. Asks for as large a buffer as it can have by itself, and tracks which bytes arrived.
const BOWLINE: Implementation = Implementation {
    name: "bowline",
    program: |_| vec![own_program("peer").into()],
    url_options: "",
    surely_receives_bytes: usize::MAX,
    keeps_up_megabits_per_second: 4000,
    forgets_last_byte: |_, _| false,
    delivers_unsent_bytes: false,
};

/// All of them.
pub const IMPLEMENTATIONS: &[&Implementation] = &[&C, &DROP_IN, &PYTHON, &JAVA, &BOWLINE];

/// The one with that name.
#[must_use]
pub fn implementation(name: &str) -> &'static Implementation {
    let mut all = IMPLEMENTATIONS.iter();
    all.find(|implementation| implementation.name == name)
        .unwrap_or_else(|| panic!("expected an implementation called {name}, found none"))
}

/// What a sender sends.
#[derive(Clone, Debug)]
pub struct Sending<'s> {
    /// The channel, or what their names begin with.
    pub channel: &'s str,
    /// How many channels.
    pub n_channels: u64,
    /// The seed of the content.
    pub seed: u64,
    /// After how many messages it ends by itself; 0 for never.
    pub count: u64,
    /// When.
    pub pace: Pace,
    /// How large the messages are, in turn.
    pub sizes: &'s [usize],
}

/// When a sender sends.
#[derive(Clone, Copy, Debug)]
pub enum Pace {
    /// When it is asked to.
    Step,
    /// So many messages a second.
    PerSecond(u32),
}

impl Sending<'_> {
    /// What a receiver must print of a message.
    #[must_use]
    pub fn line(&self, index: u64) -> String {
        let size = self.size(index);
        let digest = digest(&content(self.seed, index, size));
        format!("{} {size} {digest:08x}", self.channel(index))
    }

    /// The channel of a message.
    #[must_use]
    pub fn channel(&self, index: u64) -> String {
        if self.n_channels > 1 {
            format!("{}{}", self.channel, index % self.n_channels)
        } else {
            self.channel.to_string()
        }
    }

    fn size(&self, index: u64) -> usize {
        let n_sizes = self.sizes.len() as u64;
        self.sizes[usize::try_from(index % n_sizes).expect("below the number of sizes")]
    }
}

impl fmt::Display for Pace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Step => f.write_str("step"),
            Self::PerSecond(n) => write!(f, "{n}"),
        }
    }
}

/// Asks a receiver of ours what its bus counted. What it prints of messages meanwhile is added to `heard`.
#[must_use]
pub fn ask_counts(receiver: &mut Process, heard: &mut Vec<String>) -> Value {
    receiver.tell("counts");
    loop {
        let line = receiver.line();
        if line.starts_with('{') {
            return serde_json::from_str(&line).expect("our peer prints JSON");
        }
        heard.push(line);
    }
}

/// As [`ask_counts`], again and again until it has had so many datagrams.
#[must_use]
pub fn await_datagrams(
    receiver: &mut Process,
    n_datagrams: usize,
    heard: &mut Vec<String>,
) -> Value {
    // Only guards against asking for ever.
    const MAX_QUESTIONS: usize = 200_000;
    for _ in 0..MAX_QUESTIONS {
        let counts = ask_counts(receiver, heard);
        if counts["datagrams"] == n_datagrams {
            return counts;
        }
    }
    let counts = ask_counts(receiver, heard);
    panic!("expected {n_datagrams} datagrams, found {counts}");
}

impl Implementation {
    /// The same with the system's default buffers.
    #[must_use]
    pub fn with_default_buffers(self) -> Self {
        Self {
            url_options: "",
            ..self
        }
    }

    /// Starts a receiver, which has subscribed when this returns.
    #[must_use]
    pub fn receive(
        &self,
        peers: &Peers,
        place: &Namespace,
        url: &str,
        pattern: &str,
        count: u64,
    ) -> Process {
        let mut command = self.command(peers, place, "receive", url);
        command.arg(pattern).arg(count.to_string());
        Process::start_ready(format!("{} receiver", self.name), &mut command)
    }

    /// Starts a sender.
    #[must_use]
    pub fn send(
        &self,
        peers: &Peers,
        place: &Namespace,
        url: &str,
        sending: &Sending<'_>,
    ) -> Process {
        let mut command = self.command(peers, place, "send", url);
        command.arg(sending.channel);
        command.args([sending.n_channels, sending.seed, sending.count].map(|n| n.to_string()));
        command.arg(sending.pace.to_string());
        command.args(sending.sizes.iter().map(usize::to_string));
        Process::start_ready(format!("{} sender", self.name), &mut command)
    }

    /// Starts an echo, which has subscribed when this returns.
    #[must_use]
    pub fn echo(
        &self,
        peers: &Peers,
        place: &Namespace,
        url: &str,
        pattern: &str,
        reply_channel: &str,
    ) -> Process {
        let mut command = self.command(peers, place, "echo", url);
        command.args([pattern, reply_channel]);
        Process::start_ready(format!("{} echo", self.name), &mut command)
    }

    fn command(&self, peers: &Peers, place: &Namespace, verb: &str, url: &str) -> Command {
        let mut words = (self.program)(peers).into_iter();
        let mut command = place.command(words.next().expect("a command line has a program"));
        command
            .args(words)
            .arg(verb)
            .arg(format!("{url}{}", self.url_options));
        command
    }
}

pub(crate) fn source(name: &str) -> PathBuf {
    workspace().join("tests/peers").join(name)
}

fn build_c(peers: &Peers) -> Vec<OsString> {
    let library = peers.library();
    let program = compiled("peer", &source("peer.c"), |target| {
        let mut gcc = Command::new("gcc");
        gcc.args(["-std=c11", "-D_GNU_SOURCE", "-O2", "-Wall", "-Wextra", "-I"])
            .arg(peers.include());
        gcc.arg(source("peer.c")).arg("-o").arg(target);
        let mut rpath = OsString::from("-Wl,-rpath,");
        rpath.push(&library);
        run(gcc.arg("-L").arg(&library).arg("-llcm").arg(rpath));
    });
    vec![program.into()]
}

fn build_java(peers: &Peers) -> Vec<OsString> {
    let classes = compiled("java", &source("Peer.java"), |target| {
        let mut javac = Command::new("javac");
        javac.args(["-J-XX:TieredStopAtLevel=1", "-J-XX:+UseSerialGC", "-cp"]);
        run(javac
            .arg(peers.jar())
            .arg("-d")
            .arg(target)
            .arg(source("Peer.java")));
    });
    let mut path = classes.into_os_string();
    path.push(":");
    path.push(peers.jar());
    // The serial collector uses one core, and a fixed heap does not grow while fragments wait.
    let options = [
        "-XX:+UseSerialGC",
        "-XX:TieredStopAtLevel=1",
        "-Xms512m",
        "-Xmx512m",
        "-cp",
    ];
    let mut words: Vec<OsString> = vec!["java".into()];
    words.extend(options.map(OsString::from));
    words.extend([path, "Peer".into()]);
    words
}

/// What is built from a source, below the target folder, once for each text of the source.
///
/// Tests run at the same time, in several threads and maybe processes, so it is built under another name and then moved.
pub(crate) fn compiled(name: &str, source: &Path, build: impl FnOnce(&Path)) -> PathBuf {
    static BUILDING: std::sync::Mutex<()> = std::sync::Mutex::new(());
    let text = std::fs::read(source).expect("the source of a peer can be read");
    let folder = scratch_root().join("bus-peers");
    let target = folder.join(format!("{name}-{:08x}", digest(&text)));
    let _one_at_a_time = BUILDING
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner);
    if !target.exists() {
        std::fs::create_dir_all(&folder).expect("the target folder can be written");
        let fresh = folder.join(format!("{name}-{}", std::process::id()));
        build(&fresh);
        if let Err(error) = std::fs::rename(&fresh, &target) {
            // Another process was quicker, and a folder that is there is not replaced.
            assert!(target.exists(), "cannot make {}: {error}", target.display());
        }
    }
    target
}
