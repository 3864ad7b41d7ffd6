//! Who takes part. Another system is a worker and a row here.

use crate::peers;
use bowline_measure::exchange::{Case, Launch};
use std::path::PathBuf;
use std::process::Command;

/// A system, as one way to set it up.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct System {
    pub(crate) name: &'static str,
    /// The worker's program, and what comes before the worker's verb.
    worker: &'static [&'static str],
    /// Where it is built, below `target/`.
    folder: &'static str,
    /// In the worker's notation.
    address: &'static str,
}

pub(super) static BOWLINE: System = System {
    name: "bowline",
    worker: &["bowline", "bench-worker", "bowline"],
    folder: "release",
    address: "udpm://239.255.76.67:7667?ttl=0",
};

pub(super) static BOWLINE_SHM: System = System {
    name: "bowline shm",
    worker: &["bowline", "bench-worker", "bowline"],
    folder: "release",
    // As the peers do.
    address: "shm://bench?wait=1s",
};

pub(super) static LCM: System = System {
    name: "liblcm",
    worker: &["bowline", "bench-worker", "liblcm"],
    folder: "release",
    address: "udpm://239.255.76.67:7667?ttl=0",
};

pub(super) static LCM_TUNED: System = System {
    name: "liblcm tuned",
    worker: &["bowline", "bench-worker", "liblcm"],
    folder: "release",
    address: "udpm://239.255.76.67:7667?ttl=0&recv_buf_size=4194304#unlimited",
};

pub(super) static RAW: System = System {
    name: "raw sockets",
    worker: &["bench-raw"],
    folder: "release",
    address: "239.255.76.67:7667",
};

pub(super) static ZENOH_TCP: System = System {
    name: "zenoh tcp",
    worker: &["bench-zenoh"],
    folder: "bench-peers/zenoh/release",
    address: "tcp:17447",
};

pub(super) static ZENOH_SHM: System = System {
    name: "zenoh shm",
    worker: &["bench-zenoh"],
    folder: "bench-peers/zenoh/release",
    address: "shm:17447",
};

pub(super) static ICEORYX2: System = System {
    name: "iceoryx2",
    worker: &["bench-iceoryx2"],
    folder: "bench-peers/iceoryx2/release",
    address: "bowline-bench",
};

pub(super) static ALL: [&System; 8] = [
    &BOWLINE,
    &BOWLINE_SHM,
    &LCM,
    &LCM_TUNED,
    &RAW,
    &ZENOH_TCP,
    &ZENOH_SHM,
    &ICEORYX2,
];

impl System {
    fn program(&self) -> PathBuf {
        peers::root()
            .join("target")
            .join(self.folder)
            .join(self.worker[0])
    }

    pub(super) fn is_built(&self) -> bool {
        self.program().exists()
    }

    pub(super) fn how_to_build(&self) -> String {
        format!(
            "there is no {}; `make bench` builds it",
            self.program().display()
        )
    }
}

impl Launch for System {
    fn name(&self) -> &str {
        self.name
    }

    fn address(&self) -> &str {
        self.address
    }

    fn command(&self, case: &Case) -> anyhow::Result<Command> {
        let mut command = if case.is_pinned {
            let mut command = Command::new("taskset");
            command.args(["--cpu-list", "0"]).arg(self.program());
            command
        } else {
            Command::new(self.program())
        };
        command.args(&self.worker[1..]);
        command.env("LD_LIBRARY_PATH", peers::lcm_lib()?);
        Ok(command)
    }
}
