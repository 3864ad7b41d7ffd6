//! The rules of iptables, from the text of `iptables-save -c`.

use super::{Action, Chain, Hook, Match, Packet, Protocol, Rule, Ruleset, Table, is_inside};

/// Reads what `iptables-save -c` prints, as far as it concerns the packet.
pub(crate) fn read(text: &str, packet: &Packet) -> Ruleset {
    let command = if packet.dest.is_ipv4() {
        "iptables"
    } else {
        "ip6tables"
    };
    let mut ruleset = Ruleset::default();
    let mut table = Table::Iptables {
        command,
        name: String::new(),
    };
    for line in text.lines() {
        if let Some(name) = line.strip_prefix('*') {
            table = Table::Iptables {
                command,
                name: name.to_string(),
            };
        } else if let Some(chain) = line.strip_prefix(':') {
            ruleset.chains.extend(read_chain(chain, &table));
        } else if let Some((name, rule)) = read_rule(line, packet) {
            let mut chains = ruleset.chains.iter_mut();
            if let Some(chain) = chains.find(|chain| chain.table == table && chain.name == name) {
                chain.rules.push(rule);
            }
        }
    }
    ruleset
}

/// `INPUT DROP [0:0]`
fn read_chain(line: &str, table: &Table) -> Option<Chain> {
    let mut words = line.split(' ');
    let (name, policy) = (words.next()?, words.next()?);
    let base = match policy {
        "ACCEPT" => Hook::named(name).map(|hook| (hook, Action::Accept)),
        "DROP" => Hook::named(name).map(|hook| (hook, Action::Drop)),
        _ => None,
    };
    Some(Chain {
        table: table.clone(),
        name: name.to_string(),
        base,
        rules: Vec::new(),
    })
}

/// `[12:345] -A INPUT -p udp -j DROP`
fn read_rule(line: &str, packet: &Packet) -> Option<(String, Rule)> {
    let (count, rest) = match line.strip_prefix('[') {
        Some(counted) => counted.split_once("] ")?,
        None => ("", line),
    };
    let words = words(rest.strip_prefix("-A ")?);
    let (chain, arguments) = words.split_first()?;
    let (matches_in, action) = read_arguments(arguments, packet, Hook::In);
    let (matches_out, _) = read_arguments(arguments, packet, Hook::Out);
    let rule = Rule {
        matches_in,
        matches_out,
        action,
        text: rest.to_string(),
        n_hits: count.split(':').next().and_then(|count| count.parse().ok()),
    };
    Some((chain.clone(), rule))
}

fn read_arguments(arguments: &[String], packet: &Packet, hook: Hook) -> (Match, Action) {
    let (mut matches, mut verdict) = (Match::Yes, Action::Nothing);
    let mut arguments = arguments.iter().map(String::as_str).peekable();
    let mut is_negated = false;
    while let Some(flag) = arguments.next() {
        if flag == "!" {
            is_negated = true;
            continue;
        }
        let is_value = |word: &&str| *word != "!" && !word.starts_with('-');
        let value = arguments.next_if(is_value).unwrap_or_default();
        match flag {
            "-j" => verdict = action(value),
            "-g" => verdict = Action::Goto(value.to_string()),
            _ => {
                let condition = condition(flag, value, hook, packet);
                matches = matches.and(condition.negated_if(is_negated));
            }
        }
        is_negated = false;
    }
    (matches, verdict)
}

fn action(target: &str) -> Action {
    match target {
        "ACCEPT" => Action::Accept,
        "DROP" | "REJECT" => Action::Drop,
        "RETURN" => Action::Return,
        // These do something to the packet and let it go on.
        "LOG" | "MARK" | "CT" | "NFLOG" | "CONNMARK" | "TTL" | "DSCP" | "CHECKSUM"
        | "MASQUERADE" | "SNAT" => Action::Nothing,
        chain => Action::Jump(chain.to_string()),
    }
}

fn condition(flag: &str, value: &str, hook: Hook, packet: &Packet) -> Match {
    let is_link = match value.strip_suffix('+') {
        Some(start) => packet.link.starts_with(start),
        None => packet.link == value,
    };
    // A packet on its way out has come in nowhere, and the other way round.
    let on = |wanted| Match::of(hook == wanted && is_link);
    match flag {
        "-i" => on(Hook::In),
        "-o" => on(Hook::Out),
        "-d" => is_inside(packet.dest, value),
        "-s" => packet
            .source
            .map_or(Match::Maybe, |source| is_inside(source, value)),
        "-p" => Match::of(value == "all" || packet.protocol.is_called(value)),
        "--dport" | "--dports" => match packet.protocol {
            Protocol::Udp => ports(value, packet.dest_port),
            Protocol::Igmp => Match::No,
        },
        "--pkt-type" => Match::of(value == "multicast"),
        "--dst-type" => Match::of(value == "MULTICAST"),
        // A multicast packet has no answer, so each one is the first of its flow.
        "--ctstate" | "--state" => Match::of(value.split(',').any(|state| state == "NEW")),
        // These bring conditions or define what a target does; by themselves they ask nothing.
        "-m" | "--comment" | "--reject-with" | "--log-prefix" | "--log-level" => Match::Yes,
        _ => Match::Maybe,
    }
}

/// `5000:6000,7667`
fn ports(list: &str, port: u16) -> Match {
    let holds = |range: &str| {
        let (from, to) = range.split_once(':').unwrap_or((range, range));
        Some((from.parse::<u16>().ok()?..=to.parse::<u16>().ok()?).contains(&port))
    };
    let answers: Option<Vec<bool>> = list.split(',').map(holds).collect();
    answers.map_or(Match::Maybe, |answers| Match::of(answers.contains(&true)))
}

/// The words of a line; double quotes hold one together.
fn words(line: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let (mut is_quoted, mut is_escaped) = (false, false);
    for letter in line.chars() {
        match letter {
            _ if is_escaped => is_escaped = false,
            '\\' if is_quoted => {
                is_escaped = true;
                continue;
            }
            '"' => {
                is_quoted = !is_quoted;
                continue;
            }
            ' ' if !is_quoted => {
                words.push(String::new());
                continue;
            }
            _ => {}
        }
        if let Some(word) = words.last_mut() {
            word.push(letter);
        }
    }
    words.retain(|word| !word.is_empty());
    words
}
