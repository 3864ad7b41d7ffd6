//! The machine: its clock, what it runs in, its shared memory.

use crate::verbs::doctor::snapshot::Snapshot;
use bowline_bus::Capability;
use bowline_bus::diagnosis::Finding;
use bowline_inspect::text::size;

/// The first of January 2025: no right clock shows less.
const EARLIEST_UTIME: i64 = 1_735_689_600_000_000;
/// Room for a few large messages of a few programs.
const ENOUGH_SHARED_BYTES: u64 = 256 << 20;

pub(super) fn clock(snapshot: &Snapshot) -> Vec<Finding> {
    let host = &snapshot.host;
    let why = "Messages carry the time of their receipt; logs of several hosts must agree.";
    if host.utime < EARLIEST_UTIME {
        return vec![
            Finding::bad("The clock is years behind.", why).root("timedatectl set-ntp true"),
        ];
    }
    vec![match &host.is_clock_synchronised {
        Ok(true) => Finding::ok("Synchronised with a time server."),
        Ok(false) => Finding::warn("The clock is not synchronised with a time server.", why)
            .root("timedatectl set-ntp true"),
        Err(reason) => Finding::unseen("The clock is sane; whether it is synchronised", reason),
    }]
}

pub(super) fn surroundings(snapshot: &Snapshot) -> Vec<Finding> {
    let host = &snapshot.host;
    let is_leaving = snapshot.group().is_some_and(|group| group.ttl > 0);
    let mut findings = Vec::new();
    if let Some(container) = &host.container {
        let found = format!("This is a {container} container.");
        findings.push(if is_leaving {
            Finding::warn(
                found,
                "Its own network does not pass multicast on: start it with `docker run --network host`.",
            )
        } else {
            Finding::ok(format!("{found} Programs outside it are another host."))
        });
    }
    if host.is_wsl {
        let found = "This is the Windows Subsystem for Linux.";
        findings.push(if is_leaving {
            Finding::warn(found, "Its network does not pass multicast on unless it mirrors that of Windows.")
                .user("printf '[wsl2]\\nnetworkingMode=mirrored\\n' >> \"$(wslpath \"$(wslvar USERPROFILE)\")/.wslconfig\"")
        } else {
            Finding::ok(found)
        });
    }
    findings
}

pub(super) fn shared_memory(snapshot: &Snapshot) -> Vec<Finding> {
    let is_used = snapshot.target.has(Capability::SharedMemory);
    if !is_used && snapshot.group().is_none() {
        return Vec::new();
    }
    let memory = match &snapshot.host.shared_memory {
        Err(reason) => return vec![Finding::unseen("Shared memory", reason)],
        Ok(memory) => memory,
    };
    let free = memory.size.saturating_sub(memory.used);
    let lockable = match snapshot.host.lockable_bytes {
        Ok(u64::MAX) => ", all of it lockable".to_string(),
        Ok(bytes) => format!(", {} of it lockable", size(bytes)),
        Err(_) => String::new(),
    };
    let found = format!(
        "/dev/shm has {} free of {}{lockable}.",
        size(free),
        size(memory.size)
    );
    if free >= ENOUGH_SHARED_BYTES {
        return vec![Finding::ok(found)];
    }
    let why = "Transports over shared memory keep large messages there.";
    let finding = if is_used {
        Finding::warn(found, why).root("mount -o remount,size=1G /dev/shm")
    } else {
        Finding::ok(format!("{found} That is little, should you use shm://."))
    };
    vec![finding]
}
