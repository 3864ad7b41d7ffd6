//! `bowline parameters`: what components are set to, and to something else while they run.

use crate::input::Usage;
use crate::{Outcome, input, output};
use anyhow::Context as _;
use bowline_bus::Bus;
use bowline_host::service::call;
use bowline_msgs::{Parameters, ParametersRequest};
use clap::Args;
use serde_json::json;
use std::time::Duration;

const EXAMPLES: &str = "\
Examples:
  bowline parameters keeper                   what it is set to, and what may change
  bowline parameters keeper gain=0.5          another value, from now on
  bowline parameters keeper gain=0.5 mode=go  all of them, or none

A change is a call of the service COMPONENT.parameters, so it is in every log, and replays with it.
It lasts until the component starts again: what is to stay goes into the robot file.
Exit code 0 if it is so now; 1 if the component refuses or does not answer.";

#[derive(Args, Debug)]
#[command(about = "Show and set parameters of components that run", after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// The component
    component: String,
    /// What to set, as in a robot file
    #[arg(value_name = "NAME=VALUE")]
    settings: Vec<String>,
    #[arg(
        short = 'l',
        long,
        value_name = "URL",
        default_value = "",
        hide_default_value = true,
        help = "Where the bus is; without it $BOWLINE_URL, then $LCM_DEFAULT_URL, then udpm://239.255.76.67:7667?ttl=0"
    )]
    url: String,
    /// How long to wait for the component
    #[arg(long, value_name = "DURATION", default_value = "2s", value_parser = input::period)]
    timeout: Duration,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<Outcome> {
    let request = request(&arguments.settings)?;
    let bus = Bus::open(&arguments.url)?;
    let service = format!("{}.parameters", arguments.component);
    let reply = call::<_, Parameters>(&bus, &service, &request, arguments.timeout);
    let reply = reply.with_context(|| format!("component {:?}", arguments.component))?;
    if arguments.json {
        output::line(&format!("{:#}", to_json(&reply)))?;
    } else {
        output::bytes(table(&reply).as_bytes())?;
    }
    Ok(Outcome::Fine)
}

fn request(settings: &[String]) -> anyhow::Result<ParametersRequest> {
    let mut request = ParametersRequest::default();
    for setting in settings {
        let Some((name, value)) = setting.split_once('=') else {
            return Err(Usage(format!("expected NAME=VALUE, found {setting:?}")).into());
        };
        request.names.push(name.trim().to_owned());
        request.values.push(value.to_owned());
    }
    Ok(request.with_lengths())
}

fn table(reply: &Parameters) -> String {
    if reply.parameters.is_empty() {
        return format!("{} has no parameters\n", reply.component);
    }
    let rows = reply.parameters.iter().map(|row| {
        let change = if row.is_live {
            "at any time"
        } else {
            "at start"
        };
        let limits = if row.limits.is_empty() {
            &row.kind
        } else {
            &row.limits
        };
        let cells = [
            &row.name,
            &row.value,
            &row.default_value,
            limits,
            change,
            &row.doc,
        ];
        cells.map(str::to_owned).to_vec()
    });
    let header = ["name", "is", "default", "may be", "changes", "for"].map(str::to_owned);
    let rows: Vec<Vec<String>> = std::iter::once(header.to_vec()).chain(rows).collect();
    output::table_within(output::width(), &rows, &[0, 1, 2, 3, 4, 5])
}

fn to_json(reply: &Parameters) -> serde_json::Value {
    let rows = reply.parameters.iter().map(|row| {
        json!({
            "name": row.name,
            "value": row.value,
            "default": row.default_value,
            "kind": row.kind,
            "limits": row.limits,
            "is_live": row.is_live,
            "doc": row.doc,
        })
    });
    json!({ "component": reply.component, "parameters": rows.collect::<Vec<_>>() })
}
