//! What a transport contributes to `bowline doctor`: what a URL means, the faults in it, and findings about the machine.
//!
//! The doctor runs what a row of the table of transports names, and writes it down beside its own checks of interfaces,
//! routes and buffers. Every look is bounded in time, and changes nothing.

use crate::schemes::Scheme;
use crate::url::Url;
use std::net::{IpAddr, SocketAddr, SocketAddrV6};

/// A look at the machine for one transport.
#[derive(Clone, Copy, Debug)]
pub struct Check {
    /// What the report calls it: at most 14 letters.
    pub name: &'static str,
    /// Looks, and reports. Nothing where it is beside the point.
    pub look: fn(&Url) -> Vec<Finding>,
}

/// What a URL means.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Examination {
    /// Where messages go; none where the URL is too faulty.
    pub place: Option<Place>,
    /// Everything that is wrong with the URL.
    pub faults: Vec<Fault>,
}

/// Where messages go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// In a sentence.
    pub description: String,
    /// The group, for transports that use multicast.
    pub group: Option<Group>,
}

/// A multicast group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// Its address.
    pub addr: IpAddr,
    /// Its port.
    pub port: u16,
    /// How many routers a datagram may cross; 0 keeps it on this host.
    pub ttl: u8,
    /// The interface that the URL names.
    pub iface: Option<String>,
    /// The receive buffer that the URL asks for, in bytes.
    pub recv_buf_size: Option<u64>,
}

/// Something wrong with a URL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// How bad it is.
    pub verdict: Verdict,
    /// What is the case, in whole sentences.
    pub found: String,
    /// Why it matters.
    pub why: &'static str,
    /// The URL that was probably meant.
    pub instead: Option<String>,
}

/// How a check went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Nothing to do.
    Ok,
    /// Messages arrive, but not all of them, not always, or not everywhere.
    Warn,
    /// Messages do not arrive.
    Bad,
    /// It could not be looked at; the finding has the reason.
    Unseen,
}

/// One row of the doctor's report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// How it went.
    pub verdict: Verdict,
    /// What is the case, in whole sentences.
    pub found: String,
    /// Why it matters; empty where nothing is wrong.
    pub why: String,
    /// What repairs it now.
    pub fix: Vec<Fix>,
    /// What keeps it repaired after the machine starts again.
    pub keep: Vec<Fix>,
    /// What shows more, where no command repairs it.
    pub look: Vec<Fix>,
}

/// A shell command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fix {
    /// For the administrator.
    Root(String),
    /// Without privileges.
    User(String),
}

/// Examines a URL by the row's own check, and describes the place by the row's summary.
#[must_use]
pub fn examine_by_check(row: &'static Scheme, url: &Url) -> Examination {
    examine_as(row, url, || format!("{}.", row.summary))
}

/// Examines a URL by the row's own check, and describes the place in words of the transport's.
pub fn examine_as(
    row: &'static Scheme,
    url: &Url,
    describe: impl FnOnce() -> String,
) -> Examination {
    let faults = match (row.check)(url) {
        Ok(()) => Vec::new(),
        Err(error) => vec![Fault {
            verdict: Verdict::Bad,
            found: format!("The URL cannot be used: {}.", error.what()),
            why: "Programs refuse to open it.",
            instead: Some(row.example.to_owned()),
        }],
    };
    let place = faults.is_empty().then(|| Place {
        description: describe(),
        group: None,
    });
    Examination { place, faults }
}

impl Group {
    /// Group and port, with the interface that the addresses of one network need beside them.
    #[must_use]
    pub fn socket_addr(&self, link_index: u32) -> SocketAddr {
        match self.addr {
            IpAddr::V4(addr) => (addr, self.port).into(),
            IpAddr::V6(addr) => SocketAddrV6::new(addr, self.port, 0, link_index).into(),
        }
    }

    /// The URL of this group with another ttl, as LCM's programs read it.
    #[must_use]
    pub fn url(&self, ttl: u8) -> String {
        format!("udpm://{}?ttl={ttl}", SocketAddr::new(self.addr, self.port))
    }
}

impl Verdict {
    /// The word for people and programs.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Warn => "warn",
            Self::Bad => "bad",
            Self::Unseen => "unseen",
        }
    }
}

impl Fix {
    /// The command as this user has to type it.
    #[must_use]
    pub fn command(&self, is_root: bool) -> String {
        match self {
            Self::Root(command) if !is_root => format!("sudo {command}"),
            Self::Root(command) | Self::User(command) => command.clone(),
        }
    }
}

impl Finding {
    /// All is well.
    pub fn ok(found: impl Into<String>) -> Self {
        Self::new(Verdict::Ok, found, "")
    }

    /// Something is wrong, and messages arrive all the same.
    pub fn warn(found: impl Into<String>, why: impl Into<String>) -> Self {
        Self::new(Verdict::Warn, found, why)
    }

    /// Messages do not arrive.
    pub fn bad(found: impl Into<String>, why: impl Into<String>) -> Self {
        Self::new(Verdict::Bad, found, why)
    }

    /// What could not be looked at, and the reason.
    #[must_use]
    pub fn unseen(what: &str, reason: &str) -> Self {
        Self::new(
            Verdict::Unseen,
            format!("{what} cannot be seen: {reason}."),
            "",
        )
    }

    /// A finding without commands.
    pub fn new(verdict: Verdict, found: impl Into<String>, why: impl Into<String>) -> Self {
        Self {
            verdict,
            found: found.into(),
            why: why.into(),
            fix: Vec::new(),
            keep: Vec::new(),
            look: Vec::new(),
        }
    }

    /// Adds a command for the administrator.
    #[must_use]
    pub fn root(mut self, command: impl Into<String>) -> Self {
        self.fix.push(Fix::Root(command.into()));
        self
    }

    /// Adds a command that needs no privileges.
    #[must_use]
    pub fn user(mut self, command: impl Into<String>) -> Self {
        self.fix.push(Fix::User(command.into()));
        self
    }

    /// Adds a command that shows more.
    #[must_use]
    pub fn look(mut self, command: Fix) -> Self {
        self.look.push(command);
        self
    }

    /// Adds a kernel setting, for now and for good. Each setting has its own file, so that doing it twice changes nothing.
    #[must_use]
    pub fn sysctl(mut self, key: &str, value: u64) -> Self {
        self.fix.push(Fix::Root(format!("sysctl -w {key}={value}")));
        self.keep.push(Fix::Root(format!(
            "sh -c \"echo {key}={value} > /etc/sysctl.d/60-bowline-{}.conf\"",
            key.rsplit('.').next().unwrap_or(key)
        )));
        self
    }
}

/// A name as one word of a shell command, whatever is in it: the kernel lets interfaces and files be called almost anything.
#[must_use]
pub fn quote(name: &str) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "._:/@%+-".contains(letter);
    if !name.is_empty() && name.chars().all(is_plain) {
        return name.to_string();
    }
    format!("'{}'", name.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_one_harmless_word() {
        for (name, word) in [
            ("eth0.7", "eth0.7"),
            ("a;reboot", "'a;reboot'"),
            ("it's", r"'it'\''s'"),
            ("", "''"),
        ] {
            assert_eq!(quote(name), word);
        }
    }
}
