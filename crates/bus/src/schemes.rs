//! The table of transports: one row for each, and a program may add rows of its own.
//!
//! A row has everything that the rest of a program needs to know of a transport: how its URLs are checked and opened,
//! what its options mean, what it is capable of, and what `bowline doctor` examines. Nothing else compares schemes by
//! name.
//!
//! A crate of its own adds a transport without a change in this one:
//!
//! ```
//! use bowline_bus::{Bus, Schemes};
//! # use bowline_bus::{Capability, Scheme, Url, transport::{OpenError, Transport}, diagnosis};
//! # fn check(url: &Url) -> Result<(), bowline_bus::BadUrl> { url.options().finish() }
//! # fn open(url: &Url) -> Result<std::sync::Arc<dyn Transport>, OpenError> {
//! #     check(url)?;
//! #     bowline_bus::transport::memq::SCHEME.open(url)
//! # }
//! # static PIGEON: Scheme = Scheme {
//! #     name: "pigeon", summary: "by pigeon", example: "pigeon://loft", options: &[],
//! #     capabilities: &[Capability::InProcess], check, open,
//! #     examine: diagnosis::examine_by_check, checks: &[],
//! # };
//!
//! // For one bus:
//! let schemes = Schemes::built_in().with(&PIGEON)?;
//! let bus = Bus::open_among(&schemes, "pigeon://loft")?;
//! // For all that the process opens from now on, such as the verbs of the command line:
//! schemes.install()?;
//! let bus = Bus::open("pigeon://loft")?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use crate::bus::OwnOptions;
use crate::diagnosis::{Check, Examination};
use crate::transport::{self, OpenError, Transport};
use crate::url::{BadUrl, Url};
use std::sync::{Arc, OnceLock};

/// A row of the table of transports.
#[derive(Debug)]
pub struct Scheme {
    /// What URLs begin with.
    pub name: &'static str,
    /// One line for people.
    pub summary: &'static str,
    /// A URL that works where nothing else is known; `NAME` in it stands for any name.
    pub example: &'static str,
    /// What may follow `?` in a URL, besides [`COMMON_OPTIONS`].
    pub options: &'static [UrlOption],
    /// What the rest of a program has to know of it.
    pub capabilities: &'static [Capability],
    /// Checks a URL as far as that is possible without opening it.
    pub check: fn(&Url) -> Result<(), BadUrl>,
    /// Opens one.
    pub open: fn(&Url) -> Result<Arc<dyn Transport>, OpenError>,
    /// What a URL means, and every fault in it, for `bowline doctor`. [`examine_by_check`](crate::diagnosis::examine_by_check)
    /// suits most.
    pub examine: fn(&'static Self, &Url) -> Examination,
    /// What else `bowline doctor` looks at for it.
    pub checks: &'static [Check],
}

/// An option of URLs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UrlOption {
    /// What is before the `=`.
    pub name: &'static str,
    /// A value that is accepted.
    pub sample: &'static str,
    /// What holds without it, in words or as a value.
    pub default: &'static str,
    /// What it does, in one line.
    pub meaning: &'static str,
}

/// A property of a transport on which others decide.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Capability {
    /// Messages stay within one process.
    InProcess,
    /// Messages stay on one host, in shared memory.
    SharedMemory,
    /// The address is the path of a log, which is played or written: what is published does not come back.
    Log,
    /// Messages go to a group by IP multicast, so interfaces, routes, firewalls and buffers matter.
    Multicast,
    /// Messages go through a program that relays them, and counts what it drops for slow clients.
    NeedsHub,
}

/// The options that the bus itself takes out of every URL.
pub const COMMON_OPTIONS: &[UrlOption] = &[
    UrlOption {
        name: "announce",
        sample: "off",
        default: "on",
        meaning: "whether publishers describe their types to inspectors and recorders",
    },
    UrlOption {
        name: "batch",
        sample: "200us",
        default: "none",
        meaning: "how long short messages may wait, to go together",
    },
];

/// The transports of this crate, sorted by name. Add yours here; nothing else needs to change.
const BUILT_IN: &[&Scheme] = &[
    &transport::file::SCHEME,
    &transport::memq::SCHEME,
    &transport::mpudpm::SCHEME,
    #[cfg(feature = "shm")]
    &transport::shm::SCHEME,
    &transport::tcpq::SCHEME,
    &transport::udpm::SCHEME,
];

/// What [`Schemes::install`] was given.
static INSTALLED: OnceLock<Schemes> = OnceLock::new();

impl Scheme {
    /// Whether it has a capability.
    #[must_use]
    pub fn has(&self, capability: Capability) -> bool {
        self.capabilities.contains(&capability)
    }

    /// Opens a URL of this scheme.
    ///
    /// # Errors
    /// When the URL is malformed or the transport cannot be opened.
    pub fn open(&self, url: &Url) -> Result<Arc<dyn Transport>, OpenError> {
        (self.open)(url)
    }
}

/// The transports that a program knows.
#[derive(Clone, Debug)]
pub struct Schemes {
    /// Sorted by name.
    rows: Vec<&'static Scheme>,
}

impl Schemes {
    /// Those of this crate.
    #[must_use]
    pub fn built_in() -> Self {
        Self {
            rows: BUILT_IN.to_vec(),
        }
    }

    /// These and one more.
    ///
    /// # Errors
    /// When there is one of that name.
    pub fn with(mut self, row: &'static Scheme) -> Result<Self, AddSchemeError> {
        match self.rows.binary_search_by_key(&row.name, |row| row.name) {
            Ok(_) => Err(AddSchemeError { name: row.name }),
            Err(place) => {
                self.rows.insert(place, row);
                Ok(self)
            }
        }
    }

    /// Makes these the transports of the process: [`Bus::open`](crate::Bus::open) and all that is built on it know them
    /// from now on. To be called once, at the beginning of a program.
    ///
    /// # Errors
    /// When it was called before, or a URL was looked up already: then two parts of the program would disagree.
    pub fn install(self) -> Result<(), InstallSchemesError> {
        INSTALLED.set(self).map_err(|_these| InstallSchemesError)
    }

    /// The transports of the process: those that were installed, otherwise those of this crate.
    pub fn installed() -> &'static Self {
        INSTALLED.get_or_init(Self::built_in)
    }

    /// All rows, sorted by name.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &'static Scheme> + '_ {
        self.rows.iter().copied()
    }

    /// The row of that name.
    #[must_use]
    pub fn named(&self, name: &str) -> Option<&'static Scheme> {
        self.iter().find(|row| row.name == name)
    }

    /// The row for a URL.
    ///
    /// # Errors
    /// When there is none, or the URL's first option comes after `&` instead of `?`.
    pub fn row_of(&self, url: &Url) -> Result<&'static Scheme, BadUrl> {
        let row = self.named(url.scheme()).ok_or_else(|| {
            let known: Vec<&str> = self.iter().map(|row| row.name).collect();
            let what = format!(
                "expected one of {}, found {:?}",
                known.join(", "),
                url.scheme()
            );
            BadUrl::new(url.to_string(), what)
        })?;
        // A file may have any name.
        if !row.has(Capability::Log) {
            url.check_address()?;
        }
        Ok(row)
    }

    /// What a URL means, and the faults that its transport sees in it.
    ///
    /// # Errors
    /// When there is no transport for it, or an option of the bus's own is malformed.
    pub fn examine(&self, url: &Url) -> Result<(&'static Scheme, Examination), BadUrl> {
        let row = self.row_of(url)?;
        let (rest, _) = OwnOptions::take(url.clone())?;
        Ok((row, (row.examine)(row, &rest)))
    }
}

/// Why a transport cannot be added to a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected a transport of a new name, found a second {name:?}")]
pub struct AddSchemeError {
    name: &'static str,
}

/// Why a table cannot be installed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the process has its table of transports already: install it once, before the first bus is opened"
)]
pub struct InstallSchemesError;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_sorted_and_unique() {
        assert!(BUILT_IN.is_sorted_by(|a, b| a.name < b.name));
    }

    #[test]
    fn second_row_of_a_name_is_refused() {
        let error = Schemes::built_in().with(&transport::memq::SCHEME);
        assert!(error.unwrap_err().to_string().contains("second \"memq\""));
    }

    #[test]
    fn unknown_scheme_error_lists_the_known_ones() {
        let url = Url::parse("smoke://signals").unwrap();
        let error = Schemes::built_in().row_of(&url).unwrap_err().to_string();
        assert!(
            error.contains("expected one of") && error.contains("udpm"),
            "{error}"
        );
    }

    #[test]
    fn option_after_ampersand_is_refused_except_in_file_names() {
        let row_of = |text| Schemes::built_in().row_of(&Url::parse(text).unwrap());
        let error = row_of("udpm://239.255.76.67:7667&ttl=0&iface=lo").unwrap_err();
        let meant = "did you mean udpm://239.255.76.67:7667?ttl=0&iface=lo";
        assert!(error.what().ends_with(meant), "{error}");
        let row = row_of("file:///tmp/salt&pepper=1").unwrap();
        assert_eq!(row.name, "file", "a file may be called so");
    }
}
