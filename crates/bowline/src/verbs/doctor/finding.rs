//! What a check found, and what to do about it.

/// How a check went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Nothing to do.
    Ok,
    /// Messages arrive, but not all of them, not always, or not everywhere.
    Warn,
    /// Messages do not arrive.
    Bad,
    /// It could not be looked at; the finding says why.
    Unseen,
}

impl Verdict {
    /// The word for people and programs.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Warn => "warn",
            Self::Bad => "bad",
            Self::Unseen => "unseen",
        }
    }
}

/// One row of the report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Finding {
    pub(crate) verdict: Verdict,
    /// What is the case, in whole sentences.
    pub(crate) found: String,
    /// Why it matters; empty where nothing is wrong.
    pub(crate) why: String,
    /// What mends it now.
    pub(crate) fix: Vec<Fix>,
    /// What keeps it mended after the machine starts again.
    pub(crate) keep: Vec<Fix>,
    /// What shows more, where no command mends it.
    pub(crate) look: Vec<Fix>,
}

/// A shell command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Fix {
    /// For the administrator.
    Root(String),
    /// For anyone.
    User(String),
}

impl Fix {
    /// The command as this user has to type it.
    pub(crate) fn command(&self, is_root: bool) -> String {
        match self {
            Self::Root(command) if !is_root => format!("sudo {command}"),
            Self::Root(command) | Self::User(command) => command.clone(),
        }
    }
}

impl Finding {
    pub(crate) fn ok(found: impl Into<String>) -> Self {
        Self::new(Verdict::Ok, found, "")
    }

    pub(crate) fn warn(found: impl Into<String>, why: impl Into<String>) -> Self {
        Self::new(Verdict::Warn, found, why)
    }

    pub(crate) fn bad(found: impl Into<String>, why: impl Into<String>) -> Self {
        Self::new(Verdict::Bad, found, why)
    }

    /// What could not be looked at, and the reason.
    pub(crate) fn unseen(what: &str, reason: &str) -> Self {
        Self::new(
            Verdict::Unseen,
            format!("{what} cannot be seen: {reason}."),
            "",
        )
    }

    pub(crate) fn new(verdict: Verdict, found: impl Into<String>, why: impl Into<String>) -> Self {
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
    pub(crate) fn root(mut self, command: impl Into<String>) -> Self {
        self.fix.push(Fix::Root(command.into()));
        self
    }

    /// Adds a command for anyone.
    pub(crate) fn user(mut self, command: impl Into<String>) -> Self {
        self.fix.push(Fix::User(command.into()));
        self
    }

    /// Adds a command that shows more.
    pub(crate) fn look(mut self, command: Fix) -> Self {
        self.look.push(command);
        self
    }

    /// Adds a kernel setting, for now and for good. Each setting has its own file, so that doing it twice changes nothing.
    pub(crate) fn sysctl(mut self, key: &str, value: u64) -> Self {
        self.fix.push(Fix::Root(format!("sysctl -w {key}={value}")));
        self.keep.push(Fix::Root(format!(
            "sh -c \"echo {key}={value} > /etc/sysctl.d/60-bowline-{}.conf\"",
            key.rsplit('.').next().unwrap_or(key)
        )));
        self
    }
}

/// A name as one word of a shell command, whatever is in it: the kernel lets interfaces and files be called almost anything.
pub(crate) fn quote(name: &str) -> String {
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
