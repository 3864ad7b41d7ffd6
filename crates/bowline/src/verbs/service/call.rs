//! `bowline service call`: one call, from words to words.
//!
//! In: the name of a service, and a request as JSON or as fields. Out: its reply. The type of the request comes from
//! the server, and what that looks like from a program that describes it.

use super::lookout::Lookout;
use crate::input::{self, Usage};
use crate::known_types::Types;
use crate::listen::now;
use crate::{Outcome, output};
use anyhow::{Context as _, anyhow};
use bowline_bus::Bus;
use bowline_component::service::{CallError, Request, ServerId, ServiceName};
use bowline_host::directory::Life;
use bowline_host::service::{Client, ClientError};
use bowline_inspect::text::printable;
use bowline_inspect::{TextOptions, assign, blank, example, faults, to_lines};
use bowline_wire::Fingerprint;
use bowline_wire::schema::{Type, TypeId, TypeSet};
use clap::Args;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fs;
use std::io::Read as _;
use std::time::Duration;

const EXAMPLES: &str = "\
Examples:
  bowline service call model.transform --example         what the request looks like
  bowline service call model.transform foi=Flea:ImagePlane reference=Raptor:FrontBumperCenter
  bowline service call plan.arrival '{\"id\": \"dock\", \"position\": [12, -3.5]}'
  bowline service call plan.arrival id=dock 'position[0]=12' --timeout 500ms
  bowline service call plan.arrival @request.json --json | jq .reply

Fields that are not given are zero, empty or false. A path may lead into structs and arrays, as in
waypoints[0].id=dock; a whole array is JSON, as in 'position=[12, -3.5]'.
The type of the request is known from its server; --type names it for servers that do not describe it
who they are. Ctrl-C cancels the call.
Exit code 0 with a reply; 1 if there is none: the service refuses, does not answer in time or is not
there; 2 for wrong usage. With --json what went wrong is on standard output too.";

#[derive(Args, Debug)]
#[command(about = "Call a service, and print its reply", after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// The service, as `bowline service list` names it
    #[arg(value_name = "NAME")]
    service: String,
    /// The request: JSON, @FILE, - for standard input, or any number of field=value
    #[arg(value_name = "JSON|FIELD=VALUE")]
    request: Vec<String>,
    #[arg(
        short = 'l',
        long = "lcm-url",
        visible_alias = "url",
        value_name = "URL",
        help = "Where the bus is; without it $BOWLINE_URL, then $LCM_DEFAULT_URL, then udpm://239.255.76.67:7667?ttl=0"
    )]
    url: Option<String>,
    /// How long to wait for the reply, as in 500ms or 1m; seconds without a unit
    #[arg(long, value_name = "DURATION", default_value = "2s", value_parser = input::period)]
    timeout: Duration,
    /// The type of the request, for servers that do not announce themselves
    #[arg(long = "type", value_name = "TYPE")]
    type_name: Option<String>,
    /// Print an example of the request, with comments, and call no server
    #[arg(long)]
    example: bool,
    /// Print the reply, or what went wrong, as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    types: Types,
}

/// A little longer than it takes those to announce themselves that cannot be asked.
const PATIENCE: Duration = Duration::from_millis(2_500);
/// Searching is silent for so long.
const SOON: Duration = Duration::from_millis(800);

/// A type with all that it contains.
type Described = (TypeSet, TypeId);

/// What is known of a service before it is called.
struct Target {
    request: Described,
    reply: Option<Described>,
    reply_fingerprint: Option<Fingerprint>,
}

/// The announcement of a service.
struct Offered {
    server: String,
    request: (String, Fingerprint),
    reply: (String, Fingerprint),
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<Outcome> {
    let service = ServiceName::new(&arguments.service).map_err(|error| Usage(error.to_string()))?;
    let catalog = arguments.types.catalog()?;
    let mut lookout = Lookout::open(arguments.url.as_deref(), Some(catalog))?;
    let Some(bus) = lookout.listener.source.bus().cloned() else {
        return Err(Usage(
            "expected the URL of a bus, found a log, where no service answers".to_owned(),
        )
        .into());
    };
    let target = match &arguments.type_name {
        Some(name) => named_target(&mut lookout, name)?,
        None => offered_target(&mut lookout, &service)?,
    };
    let (types, id) = &target.request;
    if arguments.example {
        output::line(&example(types, *id))?;
        return Ok(Outcome::Fine);
    }
    let request = Request {
        service,
        body: encode(types, *id, &arguments.request)?,
        reply: target.reply_fingerprint,
        timeout: arguments.timeout,
    };
    bus.describe(&request.service.call_channel(), types, *id);
    call(arguments, &bus, &lookout, &target, request)
}

fn call(
    arguments: &Arguments,
    bus: &Bus,
    lookout: &Lookout,
    target: &Target,
    request: Request,
) -> anyhow::Result<Outcome> {
    let started = now();
    let is_wanted = || !lookout.listener.is_interrupted();
    let called = Client::new(bus).call_bytes_while(request, is_wanted);
    let elapsed = started.elapsed();
    match called {
        Ok((reply, server)) => {
            let reply = Reply::new(&reply, &server, elapsed, target.reply.as_ref());
            reply.print(arguments)?;
            Ok(Outcome::Fine)
        }
        Err(ClientError::Call { service, source }) => {
            if arguments.json {
                output::line(&error_json(&service, &source).to_string())?;
            }
            Err(anyhow!("{service}: {source}"))
        }
        Err(error) => Err(error.into()),
    }
}

/// The service as its server describes it.
fn offered_target(lookout: &mut Lookout, service: &ServiceName) -> anyhow::Result<Target> {
    let name = service.as_str();
    let mut offered = lookout.find(SOON, |lookout| offer(lookout, name))?;
    if offered.is_none() {
        output::note(&format!("looking for who serves {name}"));
        offered = lookout.find(PATIENCE, |lookout| offer(lookout, name))?;
    }
    let Some(offered) = offered else {
        return Err(anyhow!("no process serves {name}; {}", who_else(lookout)));
    };
    let request =
        described(lookout, &offered.request)?.ok_or_else(|| unknown(lookout, &offered))?;
    // A reply that cannot be read is still a reply.
    let reply = described(lookout, &offered.reply)?;
    Ok(Target {
        request,
        reply,
        reply_fingerprint: Some(offered.reply.1),
    })
}

/// The service with a request of a type that the caller knows better than the bus.
fn named_target(lookout: &mut Lookout, name: &str) -> anyhow::Result<Target> {
    let find = |lookout: &Lookout| {
        let source = &lookout.listener.source;
        let known = source.catalog().by_name(name);
        let known = known.map(|(types, id)| (types.closure(id), TypeId(0)));
        known.or_else(|| source.type_named(name))
    };
    let request = lookout.find(PATIENCE, find)?;
    let request = request.ok_or_else(|| {
        Usage(format!(
            "expected the name of a type that is known here or described on the bus, found {name:?}; --types names its .lcm file"
        ))
    })?;
    Ok(Target {
        request,
        reply: None,
        reply_fingerprint: None,
    })
}

fn offer(lookout: &Lookout, name: &str) -> Option<Offered> {
    let offers = lookout.directory.offers(lookout.now());
    let offers = offers.iter().filter(|offer| offer.service.name == name);
    let best = offers.min_by_key(|offer| (offer.life, offer.health.clone()))?;
    let fingerprint = |bits: i64| Fingerprint(bits.cast_unsigned());
    let service = best.service;
    Some(Offered {
        server: format!("{} on {}", best.component, best.process.host),
        request: (
            service.request_type.clone(),
            fingerprint(service.request_fingerprint),
        ),
        reply: (
            service.reply_type.clone(),
            fingerprint(service.reply_fingerprint),
        ),
    })
}

/// What a type looks like, from what is known here or described on the bus.
fn described(
    lookout: &mut Lookout,
    (name, fingerprint): &(String, Fingerprint),
) -> anyhow::Result<Option<Described>> {
    lookout.find(PATIENCE, |lookout| {
        let source = &lookout.listener.source;
        if let Some((types, id)) = source.catalog().find(*fingerprint) {
            return Some((types.closure(id), TypeId(0)));
        }
        let named = source.type_named(name);
        named.filter(|(types, id)| types.fingerprint(*id) == Some(*fingerprint))
    })
}

fn unknown(lookout: &Lookout, offered: &Offered) -> anyhow::Error {
    let (name, fingerprint) = &offered.request;
    let (name, server) = (printable(name), printable(&offered.server));
    let known = lookout.listener.source.catalog().by_name(&name);
    let known = known.and_then(|(types, id)| types.fingerprint(id));
    match known {
        Some(known) => anyhow!(
            "{server} expects {name} with the fingerprint {fingerprint}, but the one that is known here has {known}: one of them is of another version"
        ),
        None => {
            anyhow!("{server} expects {name}, which is not described: --types names its .lcm file")
        }
    }
}

/// What is there instead of a service that is not.
fn who_else(lookout: &Lookout) -> String {
    const MAX_NAMES: usize = 20;
    let offers = lookout.directory.all_offers(lookout.now());
    let live = offers.iter().filter(|offer| offer.life != Life::Gone);
    let names: BTreeSet<&str> = live.map(|offer| offer.service.name.as_str()).collect();
    if names.is_empty() {
        return format!("no services are there: {}", lookout.listener.why_silent());
    }
    let shown: Vec<String> = names
        .iter()
        .take(MAX_NAMES)
        .map(|it| printable(it))
        .collect();
    let n_more = names.len().saturating_sub(MAX_NAMES);
    let more = output::some(n_more as u64, "other");
    let more = more.map_or(String::new(), |more| format!(" and {more}"));
    format!("these services are there: {}{more}", shown.join(", "))
}

/// A request from what was written.
fn encode(types: &TypeSet, id: TypeId, words: &[String]) -> anyhow::Result<Vec<u8>> {
    let json = match words {
        [word] if is_json(word) => read(word)?,
        words => {
            let mut message = blank(types, id);
            for word in words {
                let assigned = assign(types, id, &mut message, word);
                assigned.map_err(|error| Usage(error.to_string()))?;
            }
            message.to_string().into_bytes()
        }
    };
    let value = types.from_json(id, &json);
    let value = value.map_err(|error| explain(types, id, &json, &error.to_string()))?;
    let body = types.encode(id, &value);
    Ok(body.map_err(|error| explain(types, id, &json, &error.to_string()))?)
}

fn is_json(word: &str) -> bool {
    word.trim_start().starts_with('{') || word.starts_with('@') || word == "-"
}

fn read(word: &str) -> anyhow::Result<Vec<u8>> {
    if word == "-" {
        let mut json = Vec::new();
        let read = std::io::stdin().lock().read_to_end(&mut json);
        read.context("cannot read standard input")?;
        return Ok(json);
    }
    match word.strip_prefix('@') {
        Some(path) => {
            let read = fs::read(path);
            Ok(read.map_err(|error| Usage(format!("cannot read {path}: {error}")))?)
        }
        None => Ok(word.as_bytes().to_vec()),
    }
}

/// All that is wrong, and what would be right.
fn explain(types: &TypeSet, id: TypeId, json: &[u8], first: &str) -> Usage {
    let parsed = serde_json::from_slice(json);
    let found = parsed.map_or(Vec::new(), |json: Value| faults(types, id, &json));
    let name = types.def(id).full_name();
    let faults = if found.is_empty() {
        first.to_owned()
    } else {
        found.join("\n  ")
    };
    let example = example(types, id);
    Usage(format!(
        "the request is not a {name}:\n  {faults}\nan example of what is expected:\n{example}"
    ))
}

/// A reply, ready to be shown.
struct Reply<'r> {
    bytes: &'r [u8],
    server: &'r ServerId,
    elapsed: Duration,
    ty: Option<&'r Described>,
}

impl<'r> Reply<'r> {
    fn new(
        bytes: &'r [u8],
        server: &'r ServerId,
        elapsed: Duration,
        ty: Option<&'r Described>,
    ) -> Self {
        Self {
            bytes,
            server,
            elapsed,
            ty,
        }
    }

    fn print(&self, arguments: &Arguments) -> anyhow::Result<()> {
        let decoded = self.ty.map(|(types, id)| (types, *id));
        let decoded = decoded.map(|(types, id)| Ok((types, id, types.decode_as(id, self.bytes)?)));
        let decoded: Option<anyhow::Result<_>> = decoded;
        let decoded = decoded.transpose().context("the reply is damaged")?;
        if arguments.json {
            let reply = match &decoded {
                Some((types, id, value)) => types.to_json(*id, value),
                None => json!({ "base64": base64(self.bytes) }).to_string(),
            };
            let name = decoded.map(|(types, id, _)| types.def(id).full_name());
            let line = json!({
                "service": arguments.service,
                "server": self.server.name,
                "instance": self.server.instance,
                "elapsed_s": self.elapsed.as_secs_f64(),
                "type": name,
                "reply": Value::Null,
            });
            return output::line(&with_reply(&line, &reply)?);
        }
        let (server, elapsed) = (printable(&self.server.name), self.elapsed);
        output::note(&format!("{server} answered in {elapsed:.1?}"));
        let Some((types, id, value)) = decoded else {
            output::note("the type of the reply is not described: --types names its .lcm file");
            return output::line(&base64(self.bytes));
        };
        for line in to_lines(types, Type::Named(id), &value, TextOptions::default()) {
            output::line(&line)?;
        }
        Ok(())
    }
}

/// Puts the reply, as the text that it is, into a line: numbers of 64 bits stay what they are.
fn with_reply(line: &Value, reply: &str) -> anyhow::Result<String> {
    let mut parts: serde_json::Map<String, Value> = line.as_object().cloned().unwrap_or_default();
    parts.remove("reply");
    let reply = RawValue::from_string(reply.to_owned())?;
    let mut text = serde_json::to_string(&parts)?;
    text.pop();
    Ok(format!("{text},\"reply\":{}}}", reply.get()))
}

fn base64(bytes: &[u8]) -> String {
    use base64::Engine as _;
    base64::prelude::BASE64_STANDARD.encode(bytes)
}

fn error_json(service: &ServiceName, error: &CallError) -> Value {
    let (kind, code) = match error {
        CallError::Remote { code, .. } => ("remote", Some(*code)),
        CallError::Unanswered => ("unanswered", None),
        CallError::TimedOut { .. } => ("timed-out", None),
        CallError::Cancelled => ("cancelled", None),
        CallError::Restarted { .. } => ("restarted", None),
        CallError::Busy { .. } => ("busy", None),
        CallError::WrongType { .. } => ("wrong-type", None),
        CallError::WrongReply { .. } => ("wrong-reply", None),
        CallError::Refused { code, .. } => ("refused", Some(*code)),
    };
    json!({
        "service": service.as_str(),
        "error": { "kind": kind, "code": code, "text": error.to_string() },
    })
}
