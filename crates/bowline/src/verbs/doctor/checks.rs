//! Every check, in the order in which people should read them. A check is a function of a snapshot and a row here.

mod buffers;
mod host;
mod network;
mod place;
mod receivers;
mod rules;

#[cfg(test)]
mod tests;

use super::snapshot::Snapshot;
use crate::output::count;
use bowline_bus::diagnosis::Finding;

/// A check's name, and what it makes of a snapshot: nothing where it is beside the point.
pub(crate) type Check = (&'static str, fn(&Snapshot) -> Vec<Finding>);

/// All checks.
pub(crate) const CHECKS: &[Check] = &[
    ("url", place::url),
    ("interfaces", network::interfaces),
    ("route", network::route),
    ("reach", network::reach),
    ("source check", network::source_check),
    ("bridge", network::bridge),
    ("firewall", rules::firewall),
    ("port", receivers::port),
    ("membership", receivers::membership),
    ("buffers", buffers::receive),
    ("losses", buffers::losses),
    ("fragments", buffers::fragments),
    ("live test", receivers::live),
    ("clock", host::clock),
    ("surroundings", host::surroundings),
    ("shared memory", host::shared_memory),
];

/// Runs every check. What the transport's own checks found comes after the URL.
pub(crate) fn check(snapshot: &Snapshot) -> Vec<(&'static str, Finding)> {
    let named = |(name, check): &Check| {
        let findings = check(snapshot).into_iter();
        findings.map(|finding| (*name, finding)).collect::<Vec<_>>()
    };
    let mut findings: Vec<_> = CHECKS.iter().flat_map(named).collect();
    let after_url = findings.iter().take_while(|(name, _)| *name == "url");
    let place = after_url.count();
    findings.splice(place..place, snapshot.transport.iter().cloned());
    findings
}
