//! The URL: the faults in it, and the place that it names.

use crate::verbs::doctor::snapshot::Snapshot;
use crate::verbs::doctor::url::Origin;
use bowline_bus::diagnosis::{Finding, Fix, Verdict, quote};

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
        let place = target.place.as_ref();
        findings.extend(place.map(|place| Finding::ok(&*place.description)));
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
