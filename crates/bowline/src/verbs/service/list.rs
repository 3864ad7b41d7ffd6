//! `bowline service list`: the services on a bus or in a log, and who serves them.

use super::lookout::Lookout;
use crate::Outcome;
use crate::input;
use crate::listen::{PLACES_HELP, Place};
use crate::output::{self, table_within};
use bowline_component::{Health, Time};
use bowline_host::directory::{Life, Offer};
use bowline_inspect::text::printable;
use bowline_wire::Fingerprint;
use clap::Args;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::time::Duration;

const EXAMPLES: &str = "\
Examples:
  bowline service list                       what is served on the bus that programs use by default
  bowline service list -l 'udpm://239.255.76.67:7667?ttl=1'
  bowline service list -l day.log            what was served when a log was recorded
  bowline service list --json | jq -r 'select(.health != \"good\") | .service'

Health is that of the component: good, starting, degraded or failed; silent if its process was not
received when it should have been; gone if it ended. A service that several serve has a line for each,
and a note: a call goes to all of them, and takes the first answer.
With --json there is one line for each.";

const EXIT_CODES: &str = "Exit code 0 if there are services; 1 if there is none.";

/// All processes answer a request at once, unless they just did, or the request is lost.
const PERIOD: Duration = Duration::from_millis(1_200);

#[derive(Args, Debug)]
#[command(
    about = "List services: who serves them on which host, their types, and how they are",
    after_help = format!("{EXAMPLES}\n\n{PLACES_HELP}\n{EXIT_CODES}")
)]
pub(crate) struct Arguments {
    #[command(flatten)]
    place: Place,
    /// How long to listen to a bus, as in 500ms or 1m; seconds without a unit. Without it 1.2s
    #[arg(long = "for", value_name = "DURATION", value_parser = input::period)]
    period: Option<Duration>,
    /// Print lines of JSON, one for each service and server
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<Outcome> {
    let mut lookout = Lookout::open(arguments.place.url.as_deref(), None)?;
    if lookout.listener.source.bus().is_some() {
        lookout
            .listener
            .end_after(arguments.period.unwrap_or(PERIOD));
    }
    while lookout.next()? {}
    let offers = lookout.directory.all_offers(lookout.now());
    if arguments.json {
        for offer in &offers {
            output::line(&to_json(offer).to_string())?;
        }
    } else if !offers.is_empty() {
        output::bytes(text(&offers, lookout.now()).as_bytes())?;
    }
    note_rivals(&offers);
    let is_lossy = lookout.listener.note_damage();
    if offers.is_empty() {
        let why = lookout.listener.why_silent();
        output::note(&format!("no service is on the bus: {why}"));
    }
    if offers.is_empty() || is_lossy {
        return Ok(Outcome::Diagnostics);
    }
    Ok(Outcome::Fine)
}

fn text(offers: &[Offer<'_>], now: Time) -> String {
    let heads = [
        "service",
        "component",
        "robot",
        "host",
        "pid",
        "request",
        "reply",
        "health",
    ];
    let mut rows = vec![heads.map(str::to_owned).to_vec()];
    rows.extend(offers.iter().map(|offer| row(offer, now)));
    table_within(output::width(), &rows, &[0, 1, 2, 3, 5, 6, 7])
}

fn row(offer: &Offer<'_>, now: Time) -> Vec<String> {
    let or_dash = |text: &str| match text {
        "" => "-".to_owned(),
        text => printable(text),
    };
    vec![
        or_dash(&offer.service.name),
        or_dash(offer.component),
        or_dash(&offer.process.robot),
        or_dash(&offer.process.host),
        offer.process.pid.to_string(),
        or_dash(&offer.service.request_type),
        or_dash(&offer.service.reply_type),
        health_and_end(offer, now),
    ]
}

/// How a server is, in a word.
fn health(offer: &Offer<'_>) -> &'static str {
    match offer.life {
        Life::Alive => offer.health.as_ref().map_or("starting", Health::word),
        Life::Silent | Life::Gone => offer.life.word(),
    }
}

/// With how long ago it was last received, if it is gone: in a log, before its end.
fn health_and_end(offer: &Offer<'_>, now: Time) -> String {
    match offer.life {
        Life::Gone => format!(
            "gone for {:.0} s",
            now.since(offer.last_heard).as_secs_f64()
        ),
        Life::Alive | Life::Silent => health(offer).to_owned(),
    }
}

fn to_json(offer: &Offer<'_>) -> Value {
    let fingerprint = |bits: i64| Fingerprint(bits.cast_unsigned()).to_string();
    let (service, process) = (offer.service, offer.process);
    json!({
        "service": service.name,
        "component": offer.component,
        "robot": process.robot,
        "process": process.process,
        "host": process.host,
        "pid": process.pid,
        "instance": process.instance,
        "request": { "type": service.request_type, "fingerprint": fingerprint(service.request_fingerprint) },
        "reply": { "type": service.reply_type, "fingerprint": fingerprint(service.reply_fingerprint) },
        "health": health(offer),
        "last_heard_utime": offer.last_heard.utime(),
    })
}

/// Prints which services more than one live server has.
fn note_rivals(offers: &[Offer<'_>]) {
    let mut servers: BTreeMap<&str, usize> = BTreeMap::new();
    for offer in offers.iter().filter(|offer| offer.life != Life::Gone) {
        *servers.entry(&offer.service.name).or_default() += 1;
    }
    for (service, n_servers) in servers.into_iter().filter(|(_, n)| *n > 1) {
        let service = printable(service);
        output::note(&format!(
            "{n_servers} serve {service}: calls are executed by each of them, and the first answer counts"
        ));
    }
}
