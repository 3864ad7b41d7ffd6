//! What a firewall does with one packet: the rules of `nft -j list ruleset` and `iptables-save -c`, walked as the kernel
//! walks them. A condition that is not understood makes its rule a "maybe", and the answer a "maybe" with it.

mod iptables;
mod nft;

use std::net::IpAddr;

pub(crate) use iptables::read as read_iptables;
pub(crate) use nft::read as read_nft;

/// Chains call chains; a ruleset deeper than this is not followed to its end.
const MAX_DEPTH: usize = 16;

/// The packet whose fate is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Packet {
    pub(crate) protocol: Protocol,
    pub(crate) dest: IpAddr,
    pub(crate) dest_port: u16,
    pub(crate) source: Option<IpAddr>,
    /// The interface it leaves by, and comes back in by.
    pub(crate) link: String,
}

/// What the packet carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Protocol {
    Udp,
    Igmp,
}

impl Protocol {
    fn is_called(self, name: &str) -> bool {
        match self {
            Self::Udp => matches!(name, "udp" | "17"),
            Self::Igmp => matches!(name, "igmp" | "2"),
        }
    }
}

/// Where in its way a packet meets a chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Hook {
    In,
    Out,
}

impl Hook {
    fn named(name: &str) -> Option<Self> {
        match name.to_ascii_lowercase().as_str() {
            "input" | "prerouting" => Some(Self::In),
            "output" | "postrouting" => Some(Self::Out),
            _ => None,
        }
    }
}

/// Whether a rule is about the packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Match {
    Yes,
    No,
    Maybe,
}

impl Match {
    fn of(is_match: bool) -> Self {
        if is_match { Self::Yes } else { Self::No }
    }

    fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::No, _) | (_, Self::No) => Self::No,
            (Self::Yes, Self::Yes) => Self::Yes,
            (Self::Maybe, _) | (_, Self::Maybe) => Self::Maybe,
        }
    }

    fn negated_if(self, is_negated: bool) -> Self {
        match (self, is_negated) {
            (Self::Yes, true) => Self::No,
            (Self::No, true) => Self::Yes,
            (same, _) => same,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Action {
    Accept,
    Drop,
    Return,
    Jump(String),
    Goto(String),
    /// Counting, logging, marking: the packet goes on.
    Nothing,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Rule {
    /// Whether it is about the packet on its way in, where interfaces mean something else than on its way out.
    matches_in: Match,
    matches_out: Match,
    action: Action,
    text: String,
    n_hits: Option<u64>,
}

impl Rule {
    fn matches(&self, hook: Hook) -> Match {
        match hook {
            Hook::In => self.matches_in,
            Hook::Out => self.matches_out,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Chain {
    /// `nft` with family and table, or `iptables` with the table: what its commands begin with.
    table: Table,
    name: String,
    /// Of a chain that packets enter by themselves.
    base: Option<(Hook, Action)>,
    rules: Vec<Rule>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Table {
    Nft { family: String, name: String },
    Iptables { command: &'static str, name: String },
}

/// All that was read, with every condition already held against one packet.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Ruleset {
    chains: Vec<Chain>,
}

/// What becomes of the packet on one hook's chain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Obstacle {
    /// Whether every condition on the way was understood.
    pub(crate) is_certain: bool,
    /// Which rule, in words.
    pub(crate) rule: String,
    pub(crate) n_hits: Option<u64>,
    /// The command that lets the packet pass.
    pub(crate) fix: String,
}

impl Ruleset {
    /// How many chains packets enter.
    pub(crate) fn n_entries(&self) -> usize {
        self.chains
            .iter()
            .filter(|chain| chain.base.is_some())
            .count()
    }

    /// Adds the output of another firewall's tool.
    pub(crate) fn extend(&mut self, other: Self) {
        // Rules of iptables-nft show up in both; their own tool should change them.
        let is_twin = |chain: &Chain| {
            let Table::Nft { family, name } = &chain.table else {
                return false;
            };
            other.chains.iter().any(|twin| {
                matches!(&twin.table, Table::Iptables { command, name: table }
                    if table == name && family == if *command == "iptables" { "ip" } else { "ip6" })
                    && twin.name == chain.name
            })
        };
        self.chains.retain(|chain| !is_twin(chain));
        self.chains.extend(other.chains);
    }

    /// Everything that stops the packet, at most one per chain that packets enter.
    pub(crate) fn obstacles(&self, packet: &Packet) -> Vec<Obstacle> {
        let entries = self.chains.iter().filter(|chain| chain.base.is_some());
        entries
            .filter_map(|chain| self.obstacle(chain, packet))
            .collect()
    }

    fn obstacle(&self, chain: &Chain, packet: &Packet) -> Option<Obstacle> {
        let (hook, policy) = chain.base.as_ref()?;
        let mut walk = Walk {
            rules: self,
            hook: *hook,
            doubts: 0,
            suspect: None,
        };
        let (rule, n_hits, is_certain) = match walk.chain(chain, 0) {
            Fate::Accepted => return None,
            Fate::Dropped(rule) => (rule.text.clone(), rule.n_hits, walk.doubts == 0),
            Fate::Open => match walk.suspect {
                _ if *policy == Action::Drop => {
                    ("its policy, drop".to_string(), None, walk.doubts == 0)
                }
                Some(rule) => (rule.text.clone(), rule.n_hits, false),
                None => return None,
            },
        };
        Some(Obstacle {
            is_certain,
            rule: format!("{}: {rule}", chain.describe()),
            n_hits,
            fix: chain.pass(packet),
        })
    }
}

enum Fate<'r> {
    Accepted,
    Dropped(&'r Rule),
    Open,
}

struct Walk<'r> {
    rules: &'r Ruleset,
    hook: Hook,
    /// How many rules might have let the packet pass before.
    doubts: usize,
    /// The first rule that might have dropped it.
    suspect: Option<&'r Rule>,
}

impl<'r> Walk<'r> {
    fn chain(&mut self, chain: &'r Chain, depth: usize) -> Fate<'r> {
        if depth > MAX_DEPTH {
            self.doubts += 1;
            return Fate::Open;
        }
        for rule in &chain.rules {
            match (rule.matches(self.hook), &rule.action) {
                (Match::No, _) | (_, Action::Nothing) => {}
                (Match::Yes, Action::Accept) => return Fate::Accepted,
                (Match::Yes, Action::Drop) => return Fate::Dropped(rule),
                (Match::Yes, Action::Return) => return Fate::Open,
                (Match::Yes, Action::Jump(name)) => match self.named(chain, name, depth) {
                    Fate::Open => {}
                    fate @ (Fate::Accepted | Fate::Dropped(_)) => return fate,
                },
                (Match::Yes, Action::Goto(name)) => return self.named(chain, name, depth),
                (Match::Maybe, Action::Drop) => {
                    self.suspect.get_or_insert(rule);
                }
                (Match::Maybe, Action::Accept | Action::Return) => self.doubts += 1,
                (Match::Maybe, Action::Jump(name) | Action::Goto(name)) => {
                    if let Fate::Dropped(rule) = self.named(chain, name, depth) {
                        self.suspect.get_or_insert(rule);
                    }
                    self.doubts += 1;
                }
            }
        }
        Fate::Open
    }

    fn named(&mut self, from: &Chain, name: &str, depth: usize) -> Fate<'r> {
        let mut chains = self.rules.chains.iter();
        match chains.find(|chain| chain.name == name && chain.table == from.table) {
            Some(chain) => self.chain(chain, depth + 1),
            None => Fate::Open,
        }
    }
}

impl Chain {
    fn describe(&self) -> String {
        match &self.table {
            Table::Nft { family, name } => format!("nft chain {family} {name} {}", self.name),
            Table::Iptables { command, name } => format!("{command} {name} {}", self.name),
        }
    }

    /// The command that lets the packet pass this chain.
    fn pass(&self, packet: &Packet) -> String {
        let (dest, port) = (packet.dest, packet.dest_port);
        match &self.table {
            Table::Nft { family, name } => {
                let ip = if dest.is_ipv4() { "ip" } else { "ip6" };
                let what = match packet.protocol {
                    Protocol::Udp => format!("{ip} daddr {dest} udp dport {port}"),
                    Protocol::Igmp => "meta l4proto igmp".to_string(),
                };
                format!(
                    "nft insert rule {family} {name} {} {what} accept",
                    self.name
                )
            }
            Table::Iptables { command, name } => {
                let what = match packet.protocol {
                    Protocol::Udp => format!("-d {dest} -p udp --dport {port}"),
                    Protocol::Igmp => "-p igmp".to_string(),
                };
                format!("{command} -t {name} -I {} {what} -j ACCEPT", self.name)
            }
        }
    }
}

/// Whether an address is inside `prefix`, such as `224.0.0.0/4`.
fn is_inside(addr: IpAddr, prefix: &str) -> Match {
    let (base, n_bits) = match prefix.split_once('/') {
        Some((base, bits)) => (base, bits.parse().ok()),
        None => (prefix, Some(128)),
    };
    let (Ok(base), Some(n_bits)) = (base.parse::<IpAddr>(), n_bits) else {
        return Match::Maybe;
    };
    let bits = |addr: IpAddr| match addr {
        IpAddr::V4(addr) => (u128::from(addr.to_bits()) << 96, 32),
        IpAddr::V6(addr) => (addr.to_bits(), 128),
    };
    let ((a, width), (b, other_width)) = (bits(addr), bits(base));
    let n_bits: u32 = width.min(n_bits);
    let shift = 128 - n_bits;
    let is_same = n_bits == 0 || a >> shift == b >> shift;
    Match::of(width == other_width && is_same)
}

#[cfg(test)]
mod tests;
