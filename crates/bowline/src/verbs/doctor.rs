//! `bowline doctor`: why messages do not arrive, and the commands that mend it.
//!
//! `gather.rs` looks at the system, once, and makes a `Snapshot`; `checks/` are functions of that and of nothing else,
//! one row each in `checks.rs`; `report.rs` writes down what they found. Nothing is changed: the commands are for people.

mod checks;
#[cfg(feature = "bench")]
pub(crate) mod complaint;
mod firewall;
mod gather;
mod live;
mod netlink;
mod proc;
mod report;
mod snapshot;
mod url;

pub(crate) use bowline_bus::diagnosis::quote;
pub(crate) use bowline_inspect::text::{printable, size};
pub(crate) use gather::{owners, sockets};

use crate::{Outcome, output};
use bowline_bus::{COMMON_OPTIONS, Scheme, Schemes, UrlOption};
use clap::Args;
use gather::Sending;
use report::Colours;
use std::io::IsTerminal as _;
use url::Target;

const EXAMPLES: &str = "\
Examples:
  bowline doctor                                     what programs use by default
  bowline doctor 'udpm://239.255.76.67:7667?ttl=1'   between hosts: run on each
  sudo bowline doctor                                sees firewalls and all programs
  bowline doctor --transports                        what URLs there are, and their options
  bowline doctor --json | jq -r '.findings[].fix[]'  only the commands that fix it

It changes nothing. It joins the group for a moment and sends itself two messages
on the channel BOWLINE_DOCTOR, which do not leave this host; --no-send forbids both.
Exit code 0 if messages arrive, warnings or not; 1 if they do not.";

#[derive(Args, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "flags of a command line")]
#[command(after_help = EXAMPLES)]
pub(crate) struct Doctor {
    #[arg(
        help = "Where the bus is; without it $BOWLINE_URL, then $LCM_DEFAULT_URL, then udpm://239.255.76.67:7667?ttl=0"
    )]
    url: Option<String>,
    /// List the transports and the options of their URLs
    #[arg(long, conflicts_with_all = ["url", "json", "no_send"])]
    transports: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Look only: send no test messages
    #[arg(long)]
    no_send: bool,
}

pub(crate) fn run(args: &Doctor) -> anyhow::Result<Outcome> {
    if args.transports {
        output::line(transports(Schemes::installed()).trim_end())?;
        return Ok(Outcome::Fine);
    }
    let (bowline, lcm) = (variable("BOWLINE_URL"), variable("LCM_DEFAULT_URL"));
    let target = Target::choose(args.url.as_deref(), bowline.as_deref(), lcm.as_deref());
    let sending = if args.no_send {
        Sending::Forbidden
    } else {
        Sending::Allowed
    };
    let snapshot = gather::gather(target, sending);
    let findings = checks::check(&snapshot);
    if args.json {
        output::line(&format!("{:#}", report::to_json(&snapshot, &findings)))?;
    } else {
        let colours = if std::io::stdout().is_terminal() {
            Colours::On
        } else {
            Colours::Off
        };
        output::line(&report::to_text(&snapshot, &findings, colours))?;
    }
    Ok(if report::is_healthy(&findings) {
        Outcome::Fine
    } else {
        Outcome::Diagnostics
    })
}

/// Every transport, with the options of its URLs.
fn transports(schemes: &Schemes) -> String {
    let options = |options: &[UrlOption]| -> String {
        let row = |option: &UrlOption| {
            let UrlOption {
                name,
                sample,
                default,
                meaning,
            } = option;
            format!("    {name}={sample}\n        {meaning}; without it {default}\n")
        };
        options.iter().map(row).collect()
    };
    let row = |row: &Scheme| {
        format!(
            "{}\n    {}\n{}\n",
            row.example,
            row.summary,
            options(row.options)
        )
    };
    let rows: String = schemes.iter().map(row).collect();
    format!("{rows}Every transport takes\n{}", options(COMMON_OPTIONS))
}

#[expect(
    clippy::disallowed_methods,
    reason = "the doctor asks which URL other programs would find there"
)]
fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}
