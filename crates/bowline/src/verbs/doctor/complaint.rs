//! The doctor's report for another verb, before it depends on messages that arrive.

use super::checks;
use super::gather::{self, Sending};
use super::report::{self, Colours};
use super::url::Target;
use bowline_bus::diagnosis::Verdict;

/// The doctor's report on the place that a URL names, or None if messages arrive there.
pub(crate) fn complaint(url: &str) -> Option<String> {
    let snapshot = gather::gather(Target::choose(Some(url), None, None), Sending::Allowed);
    let mut findings = checks::check(&snapshot);
    if report::is_healthy(&findings) {
        return None;
    }
    findings.retain(|(_, finding)| finding.verdict == Verdict::Bad);
    Some(report::to_text(&snapshot, &findings, Colours::Off))
}
