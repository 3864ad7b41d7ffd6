//! The rules of nftables, from its JSON.

use super::{Action, Chain, Hook, Match, Packet, Protocol, Rule, Ruleset, Table, is_inside};
use serde_json::{Map, Value};

/// Reads what `nft -j list ruleset` prints, as far as it concerns the packet.
pub(crate) fn read(text: &str, packet: &Packet) -> Option<Ruleset> {
    let document: Value = serde_json::from_str(text).ok()?;
    let items = document.get("nftables")?.as_array()?;
    let mut ruleset = Ruleset::default();
    for chain in items.iter().filter_map(|item| item.get("chain")) {
        ruleset.chains.extend(read_chain(chain, packet));
    }
    for rule in items.iter().filter_map(|item| item.get("rule")) {
        let (Some(table), Some(name)) = (table(rule), rule["chain"].as_str()) else {
            continue;
        };
        let mut chains = ruleset.chains.iter_mut();
        let Some(chain) = chains.find(|chain| chain.table == table && chain.name == name) else {
            continue;
        };
        chain.rules.push(read_rule(rule, packet));
    }
    Some(ruleset)
}

fn table(item: &Value) -> Option<Table> {
    Some(Table::Nft {
        family: item["family"].as_str()?.to_string(),
        name: item["table"].as_str()?.to_string(),
    })
}

fn read_chain(chain: &Value, packet: &Packet) -> Option<Chain> {
    let concerns = match chain["family"].as_str()? {
        "inet" => true,
        "ip" => packet.dest.is_ipv4(),
        "ip6" => packet.dest.is_ipv6(),
        _ => false,
    };
    let policy = match chain["policy"].as_str() {
        Some("drop") => Action::Drop,
        Some(_) | None => Action::Accept,
    };
    let hook = chain["hook"].as_str().and_then(Hook::named);
    concerns.then_some(Chain {
        table: table(chain)?,
        name: chain["name"].as_str()?.to_string(),
        base: hook.map(|hook| (hook, policy)),
        rules: Vec::new(),
    })
}

fn read_rule(rule: &Value, packet: &Packet) -> Rule {
    let statements = rule["expr"].as_array().map_or(&[][..], Vec::as_slice);
    let (matches_in, action) = read_statements(statements, packet, Hook::In);
    let (matches_out, action_out) = read_statements(statements, packet, Hook::Out);
    let counter = statements
        .iter()
        .find_map(|statement| statement.get("counter"));
    Rule {
        matches_in,
        matches_out,
        // They differ only where a map is keyed by interfaces, and nothing is understood of one way.
        action: if action == Action::Nothing {
            action_out
        } else {
            action
        },
        text: format!("the rule with handle {}", rule["handle"]),
        n_hits: counter.and_then(|counter| counter["packets"].as_u64()),
    }
}

fn read_statements(statements: &[Value], packet: &Packet, hook: Hook) -> (Match, Action) {
    let (mut matches, mut action) = (Match::Yes, Action::Nothing);
    for (kind, body) in statements.iter().filter_map(Value::as_object).flatten() {
        match kind.as_str() {
            "match" => matches = matches.and(condition(body, packet, hook)),
            "vmap" => match lookup(body, packet, hook) {
                Some(Some(verdict)) => action = verdict,
                Some(None) => matches = Match::No,
                None => (matches, action) = (matches.and(Match::Maybe), Action::Accept),
            },
            "counter" | "log" | "mangle" | "comment" | "notrack" => {}
            // A target of iptables: which one is not shown.
            "xt" if body["type"] == "target" => {
                (matches, action) = (matches.and(Match::Maybe), Action::Drop);
            }
            other => match verdict(other, body) {
                Some(verdict) => action = verdict,
                None => matches = matches.and(Match::Maybe),
            },
        }
    }
    (matches, action)
}

fn verdict(kind: &str, body: &Value) -> Option<Action> {
    let target = || body["target"].as_str().map(str::to_string);
    match kind {
        "accept" => Some(Action::Accept),
        "drop" | "reject" => Some(Action::Drop),
        "return" => Some(Action::Return),
        "continue" => Some(Action::Nothing),
        "jump" => target().map(Action::Jump),
        "goto" => target().map(Action::Goto),
        _ => None,
    }
}

/// The verdict of a map: some verdict, none for this packet, or nothing understood.
fn lookup(map: &Value, packet: &Packet, hook: Hook) -> Option<Option<Action>> {
    for pair in map["data"]["set"].as_array()? {
        match compare(&map["key"], pair.get(0)?, packet, hook) {
            Match::Yes => {
                let (kind, body) = pair.get(1)?.as_object()?.iter().next()?;
                return verdict(kind, body).map(Some);
            }
            Match::No => {}
            Match::Maybe => return None,
        }
    }
    Some(None)
}

fn condition(body: &Value, packet: &Packet, hook: Hook) -> Match {
    let is_negated = match body["op"].as_str() {
        Some("==" | "in") => false,
        Some("!=") => true,
        Some(_) | None => return Match::Maybe,
    };
    if !concerns(&body["left"], packet) {
        return Match::No;
    }
    compare(&body["left"], &body["right"], packet, hook).negated_if(is_negated)
}

/// Whether the packet has the header at all: a rule about TCP's ports is not about UDP, whatever its ports are not.
fn concerns(left: &Value, packet: &Packet) -> bool {
    match left["payload"]["protocol"].as_str() {
        Some("ip") => packet.dest.is_ipv4(),
        Some("ip6") => packet.dest.is_ipv6(),
        Some("udp" | "th") => packet.protocol == Protocol::Udp,
        Some("tcp" | "sctp" | "dccp" | "icmp" | "icmpv6" | "esp" | "ah") => false,
        Some(_) | None => true,
    }
}

fn compare(left: &Value, right: &Value, packet: &Packet, hook: Hook) -> Match {
    let Some((kind, left)) = left.as_object().and_then(only) else {
        return Match::Maybe;
    };
    // What of the packet is compared: a field of a header, or something that the kernel knows of it.
    let name = left["field"]
        .as_str()
        .or(left["key"].as_str())
        .unwrap_or_default();
    let family = if packet.dest.is_ipv4() {
        "ipv4"
    } else {
        "ipv6"
    };
    match (kind, name) {
        ("meta", "iif" | "iifname") => any(right, &|one| link(one, packet, hook == Hook::In)),
        ("meta", "oif" | "oifname") => any(right, &|one| link(one, packet, hook == Hook::Out)),
        ("meta", "l4proto") | ("payload", "protocol" | "nexthdr") => any(right, &|one| {
            Match::of(packet.protocol.is_called(&plain(one)))
        }),
        ("meta", "pkttype") => any(right, &|one| Match::of(plain(one) == "multicast")),
        ("meta", "nfproto") => any(right, &|one| Match::of(plain(one) == family)),
        ("payload", "daddr") => any(right, &|one| is_inside(packet.dest, &plain(one))),
        ("payload", "saddr") => match packet.source {
            Some(source) => any(right, &|one| is_inside(source, &plain(one))),
            None => Match::Maybe,
        },
        ("payload", "dport") => any(right, &|one| port(one, packet.dest_port)),
        // A multicast packet has no answer, so each one is the first of its flow.
        ("ct", "state") => any(right, &|one| Match::of(plain(one) == "new")),
        _ => Match::Maybe,
    }
}

fn only(object: &Map<String, Value>) -> Option<(&str, &Value)> {
    object
        .iter()
        .next()
        .map(|(key, value)| (key.as_str(), value))
}

/// Whether any of the values matches: a set, a list or one alone. Sets with a name are not looked up.
fn any(right: &Value, one: &dyn Fn(&Value) -> Match) -> Match {
    let values = match (right, right.get("set")) {
        (Value::Array(values), _) | (_, Some(Value::Array(values))) => values.as_slice(),
        (Value::String(name), _) if name.starts_with('@') => return Match::Maybe,
        _ => return one(right),
    };
    let mut outcome = Match::No;
    for value in values {
        match one(value) {
            Match::Yes => return Match::Yes,
            Match::Maybe => outcome = Match::Maybe,
            Match::No => {}
        }
    }
    outcome
}

/// A value as text: a word, a number, or a prefix with its length.
fn plain(value: &Value) -> String {
    match (value, value.get("prefix")) {
        (_, Some(prefix)) => format!(
            "{}/{}",
            prefix["addr"].as_str().unwrap_or_default(),
            prefix["len"]
        ),
        (Value::String(text), None) => text.clone(),
        (other, None) => other.to_string(),
    }
}

/// A packet on its way out has come in nowhere, and the other way round.
fn link(value: &Value, packet: &Packet, is_this_way: bool) -> Match {
    let name = plain(value);
    let is_same = match name.strip_suffix('*') {
        Some(start) => packet.link.starts_with(start),
        None => packet.link == name,
    };
    Match::of(is_this_way && is_same)
}

fn port(value: &Value, port: u16) -> Match {
    let port = u64::from(port);
    match (value.as_u64(), value["range"].as_array()) {
        (Some(number), _) => Match::of(number == port),
        (None, Some(range)) => match (range.first(), range.get(1)) {
            (Some(from), Some(to)) => Match::of(
                from.as_u64().is_some_and(|from| from <= port)
                    && to.as_u64().is_some_and(|to| port <= to),
            ),
            _ => Match::Maybe,
        },
        (None, None) => Match::Maybe,
    }
}
