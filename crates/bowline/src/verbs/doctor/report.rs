//! What people read, and what programs read.

use super::printable;
use super::snapshot::Snapshot;
use super::url::Origin;
use bowline_bus::diagnosis::{Finding, Fix, Verdict};
use serde_json::{Value, json};

/// As wide as a terminal has been since there were terminals.
const WIDTH: usize = 80;
/// Where a finding's text begins: after the verdict and the longest name.
const INDENT: usize = 23;

const RED: &str = "\x1b[1;31m";
const YELLOW: &str = "\x1b[1;33m";
const GREEN: &str = "\x1b[32m";
const GREY: &str = "\x1b[2m";
const PLAIN: &str = "\x1b[0m";

/// Whether the output is a terminal with colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Colours {
    On,
    Off,
}

/// Whether every check finds that messages arrive.
pub(crate) fn is_healthy(findings: &[(&str, Finding)]) -> bool {
    !findings
        .iter()
        .any(|(_, finding)| finding.verdict == Verdict::Bad)
}

/// The report for programs.
pub(crate) fn to_json(snapshot: &Snapshot, findings: &[(&str, Finding)]) -> Value {
    let commands = |fixes: &[Fix]| -> Vec<String> {
        fixes
            .iter()
            .map(|fix| fix.command(snapshot.is_root))
            .collect()
    };
    let row = |(name, finding): &(&str, Finding)| {
        json!({
            "check": name,
            "verdict": finding.verdict.word(),
            "found": finding.found,
            "why": finding.why,
            "fix": commands(&finding.fix),
            "keep": commands(&finding.keep),
            "look": commands(&finding.look),
        })
    };
    json!({
        "url": snapshot.target.text,
        "healthy": is_healthy(findings),
        "findings": findings.iter().map(row).collect::<Vec<_>>(),
    })
}

/// The report for people.
pub(crate) fn to_text(
    snapshot: &Snapshot,
    findings: &[(&str, Finding)],
    colours: Colours,
) -> String {
    let origin = match snapshot.target.origin {
        Origin::Argument => String::new(),
        Origin::Variable(name) => format!(" (from {name})"),
        Origin::Default => " (the default)".to_string(),
    };
    let mut text = format!("{}{origin}\n\n", printable(&snapshot.target.text));
    for (name, finding) in findings {
        text += &row(name, finding, snapshot.is_root, colours);
    }
    text + "\n" + &summary(findings, snapshot.is_root)
}

fn row(name: &str, finding: &Finding, is_root: bool, colours: Colours) -> String {
    let word = finding.verdict.word();
    let colour = match finding.verdict {
        Verdict::Ok => GREEN,
        Verdict::Warn => YELLOW,
        Verdict::Bad => RED,
        Verdict::Unseen => GREY,
    };
    let (colour, plain) = match colours {
        Colours::On => (colour, PLAIN),
        Colours::Off => ("", ""),
    };
    let mut lines = wrap(&finding.found);
    if !finding.why.is_empty() {
        lines.extend(wrap(&format!("Why it matters: {}", finding.why)));
    }
    let mut text = String::new();
    for (i, line) in lines.iter().enumerate() {
        let head = if i == 0 {
            format!("{colour}{word:<6}{plain}  {name:<15}")
        } else {
            " ".repeat(INDENT)
        };
        text += &format!("{head}{line}\n");
    }
    for (title, fixes) in [
        ("Fix:", &finding.fix),
        ("To keep it so:", &finding.keep),
        ("Look closer:", &finding.look),
    ] {
        if !fixes.is_empty() {
            text += &format!("{}{title}\n", " ".repeat(INDENT));
        }
        for fix in fixes {
            // Never broken, so that it can be copied.
            text += &format!("    {}\n", printable(&fix.command(is_root)));
        }
    }
    text
}

fn summary(findings: &[(&str, Finding)], is_root: bool) -> String {
    let n = |verdict| {
        findings
            .iter()
            .filter(|(_, finding)| finding.verdict == verdict)
            .count()
    };
    let (n_bad, n_warn, n_unseen) = (n(Verdict::Bad), n(Verdict::Warn), n(Verdict::Unseen));
    let s = |n| if n == 1 { "" } else { "s" };
    let mut text = match (n_bad, n_warn) {
        (0, 0) => "Healthy.".to_string(),
        (0, _) => format!("Healthy, with {n_warn} warning{}.", s(n_warn)),
        (_, 0) => format!("Not healthy: {n_bad} problem{}.", s(n_bad)),
        (_, _) => format!(
            "Not healthy: {n_bad} problem{}, {n_warn} warning{}.",
            s(n_bad),
            s(n_warn)
        ),
    };
    if n_bad > 0 {
        text += " Run the commands from the top, then ask again.";
    }
    if n_unseen > 0 {
        text += &format!(" {n_unseen} could not be looked at");
        text += if is_root { "." } else { "; root may see more." };
    }
    let lines = wrap_to(&text, WIDTH);
    lines.join("\n")
}

fn wrap(text: &str) -> Vec<String> {
    wrap_to(text, WIDTH - INDENT)
}

/// Lines of at most `width` letters, except for words that are longer.
fn wrap_to(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in printable(text).split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_string()),
        }
    }
    lines
}
