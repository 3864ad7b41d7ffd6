//! The URL, and what stands at the other end of it where that is no group.

use crate::verbs::doctor::finding::{Finding, Fix, Verdict, quote};
use crate::verbs::doctor::snapshot::{Hub, Log, Snapshot};
use crate::verbs::doctor::url::{Origin, Place};

/// How a hub is started on this machine.
const HUB_COMMAND: &str = "bowline hub";

pub(super) fn url(snapshot: &Snapshot) -> Vec<Finding> {
    let target = &snapshot.target;
    let mut findings = Vec::new();
    for fault in &target.faults {
        let mut finding = Finding::new(fault.verdict, fault.found.clone(), fault.why);
        if let Some(instead) = &fault.instead {
            finding.fix = with_url(target.origin, instead);
        }
        findings.push(finding);
    }
    if !findings
        .iter()
        .any(|finding| finding.verdict == Verdict::Bad)
    {
        findings.extend(target.place.as_ref().map(describe));
    }
    findings
}

/// Has programs use another URL, by the way that the present one came: a variable, or what was typed.
pub(super) fn with_url(origin: Origin, instead: &str) -> Vec<Fix> {
    let instead = quote(instead);
    let variables = match origin {
        Origin::Argument => return vec![Fix::User(format!("bowline doctor {instead}"))],
        Origin::Variable(name) => [name, "LCM_DEFAULT_URL"],
        Origin::Default => ["BOWLINE_URL", "LCM_DEFAULT_URL"],
    };
    let mut fixes = variables
        .map(|variable| Fix::User(format!("export {variable}={instead}")))
        .to_vec();
    fixes.dedup();
    fixes
}

fn describe(place: &Place) -> Finding {
    Finding::ok(match place {
        Place::Multicast(group) => {
            let iface = group
                .iface
                .as_deref()
                .map_or(String::new(), |iface| format!(", on {iface}"));
            let reach = match group.ttl {
                0 => "this host only",
                1 => "this network",
                _ => "beyond this network",
            };
            format!(
                "Group {}, port {}, ttl {} ({reach}){iface}.",
                group.addr, group.port, group.ttl
            )
        }
        Place::Hub { host, port } => format!("A hub at {host}, port {port}."),
        Place::Log { path, mode } => format!("The log {path}, mode {mode}."),
        Place::Process => "Messages stay inside one process.".to_string(),
        Place::SharedMemory => "Shared memory of this host.".to_string(),
    })
}

pub(super) fn hub(snapshot: &Snapshot) -> Vec<Finding> {
    let (Some(hub), Some(Place::Hub { host, port })) = (&snapshot.hub, &snapshot.target.place)
    else {
        return Vec::new();
    };
    let why = "Every message goes through the hub; without it none arrives.";
    let is_here = matches!(host.as_str(), "127.0.0.1" | "localhost" | "::1");
    let command = if is_here {
        let host = if host.contains(':') {
            format!("[{host}]")
        } else {
            host.clone()
        };
        format!("{HUB_COMMAND} tcpq://{host}:{port}")
    } else {
        format!("ssh {} {HUB_COMMAND} tcpq://0.0.0.0:{port}", quote(host))
    };
    vec![match hub {
        Hub::Answered => Finding::ok(format!("A hub answers at {host}:{port}.")),
        Hub::Unreachable(reason) => {
            Finding::bad(format!("No hub at {host}:{port}: {reason}."), why).user(command)
        }
        Hub::Strange(reason) => Finding::bad(
            format!("Something listens at {host}:{port}, but {reason}."),
            why,
        )
        .look(Fix::Root(format!("ss -tlnp 'sport = :{port}'"))),
    }]
}

pub(super) fn log(snapshot: &Snapshot) -> Vec<Finding> {
    let (Some(log), Some(Place::Log { path, mode })) = (&snapshot.log, &snapshot.target.place)
    else {
        return Vec::new();
    };
    vec![match log {
        Log::Readable => Finding::ok("The file can be read and begins as a log does."),
        Log::Writable => Finding::ok("The file can be written."),
        Log::Empty => Finding::warn(
            "The file is empty.",
            "A log that was never written to has nothing to play.",
        ),
        Log::Strange => Finding::bad(
            "The file does not begin as a log does, with the bytes ed a1 da 01.",
            "A reader looks for the first event and may find none.",
        )
        .look(Fix::User(format!("file {}", quote(path)))),
        Log::Failed(reason) => Finding::bad(
            format!("The file cannot be opened in mode {mode}: {reason}."),
            "No program can use the log then.",
        )
        .look(Fix::User(format!("ls -l {}", quote(path)))),
        Log::NoFolder(folder) => Finding::bad(
            format!("The folder {folder} is not there."),
            "A log is written or read there.",
        )
        .user(format!("mkdir -p {}", quote(folder))),
    }]
}
