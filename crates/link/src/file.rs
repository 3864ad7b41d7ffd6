//! Files of links: what this end sends and takes, over which paths, to whom. `links/example.toml` has every option.
//!
//! Every mistake is found before anything starts, with its place; so holding a [`LinkFile`] is proof that it makes sense.

mod streams;

use crate::carrier::{self, CARRIERS, Meet};
use crate::keys::Fingerprint;
use crate::schedule::{self, SCHEDULERS};
use crate::stream::{Incoming, Outgoing};
use bowline_component::document::{Problem, Problems, Table, Texts, parse};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use toml::de::{DeTable, DeValue};

/// More paths than vehicles have radios.
const MAX_PATHS: usize = 8;
/// More streams are another bus, not a link.
pub(crate) const MAX_STREAMS: usize = 128;
/// Where a link publishes its status by default.
const STATUS_CHANNEL: &str = "link.state";

/// The schedulers and carriers that files of links can name.
#[derive(Clone, Copy, Debug)]
pub struct Tables<'t> {
    /// What decides what is sent next.
    pub schedulers: &'t [schedule::Row],
    /// What packets travel in.
    pub carriers: &'t [carrier::Row],
}

impl Default for Tables<'static> {
    /// Those of this crate.
    fn default() -> Self {
        Self {
            schedulers: SCHEDULERS,
            carriers: CARRIERS,
        }
    }
}

/// One end of a link, as its file has it.
#[derive(Clone, Debug)]
pub struct LinkFile {
    /// What this end is called.
    pub name: String,
    /// The bus that channels are taken from and given to; `None`: the default.
    pub bus: Option<String>,
    /// What decides what is sent next.
    pub scheduler: schedule::Row,
    /// Where it publishes its status.
    pub status: String,
    /// This end's key, for carriers that want one.
    pub key: Option<PathBuf>,
    /// What the other end is called: commands that come in must be by this station.
    pub peer: String,
    /// The other end's key.
    pub peer_key: Option<Fingerprint>,
    /// Ways to the other end, the preferred first.
    pub paths: Vec<PathFile>,
    /// What is sent.
    pub sends: Vec<Outgoing>,
    /// What may arrive.
    pub receives: Vec<Incoming>,
}

/// A way to the other end.
#[derive(Clone, Copy, Debug)]
pub struct PathFile {
    /// What carries packets.
    pub carrier: carrier::Row,
    /// Where the two ends meet.
    pub meet: Meet,
    /// No more than this is sent, bytes a second.
    pub limit_bytes_per_s: Option<f64>,
}

/// Why there is no link.
#[derive(Debug, thiserror::Error)]
pub enum ReadLinkError {
    /// The system refused.
    #[error("expected a file that can be read at {path:?}, found: {source}")]
    Read {
        /// The file.
        path: PathBuf,
        /// The error of the system.
        source: std::io::Error,
    },
    /// It is wrong.
    #[error("{}", texts(.0))]
    Wrong(Vec<Problem>),
}

fn texts(problems: &[Problem]) -> String {
    let texts: Vec<String> = problems.iter().map(ToString::to_string).collect();
    texts.join("\n")
}

impl LinkFile {
    /// Reads a file; what is odd about it, but no mistake, comes with it.
    ///
    /// # Errors
    /// Everything that is wrong with it, each with its place.
    pub fn load(path: &Path, tables: Tables<'_>) -> Result<(Self, Vec<Problem>), ReadLinkError> {
        let read = |path: &Path| std::fs::read_to_string(path);
        let text = read(path).map_err(|source| ReadLinkError::Read {
            path: path.to_owned(),
            source,
        })?;
        let mut read_other =
            |other: &Path| read(other).map_err(|error| format!("{}: {error}", other.display()));
        Self::parse(path, text, tables, &mut read_other).map_err(ReadLinkError::Wrong)
    }

    /// Reads a text, and those that it is like by `read`.
    ///
    /// # Errors
    /// Everything that is wrong with it, each with its place.
    pub fn parse(
        path: &Path,
        text: impl Into<String>,
        tables: Tables<'_>,
        read: &mut dyn FnMut(&Path) -> Result<String, String>,
    ) -> Result<(Self, Vec<Problem>), Vec<Problem>> {
        let texts = Texts::new(path, text, "link", read);
        let mut problems = Problems::new(&texts);
        let file = parse(&texts, &mut problems, |table, problems| {
            read_file(table, tables, problems)
        });
        match file.filter(|_| !problems.has_errors()) {
            Some(file) => Ok((file, problems.into_sorted())),
            None => Err(problems.into_sorted()),
        }
    }
}

fn read_file(
    root: &DeTable<'_>,
    tables: Tables<'_>,
    problems: &mut Problems<'_>,
) -> Option<LinkFile> {
    let mut root = Table::root("the file", root);
    root.require("link", "[link]\nname = \"harbour\"", problems);
    root.require("peer", "[peer]\nname = \"bridge\"", problems);
    let mut link = root.table("link", "[link]", problems)?;
    link.allow(&["like"]);
    link.require("name", "name = \"harbour\"", problems);
    let name = link.text("name", problems);
    let bus = link.text("bus", problems);
    if let Some(url) = &bus
        && let Err(error) = bowline_bus::check_url(url.get_ref())
    {
        problems.error(url.span(), error.to_string());
    }
    let rows: Vec<_> = tables
        .schedulers
        .iter()
        .map(|row| (row.name, *row))
        .collect();
    let scheduler = match link.value("scheduler") {
        Some(_) => link.choice("scheduler", &rows, problems)?,
        None => *schedule::find("value")?,
    };
    let status = link.text("status", problems);
    let key = link.text("key", problems);
    let key_at = link.at();
    let key = key.map(|key| problems.folder(&key.span()).join(key.get_ref()));
    link.finish(problems);

    let mut peer = root.table("peer", "[peer]", problems)?;
    peer.require("name", "name = \"bridge\"", problems);
    let peer_name = peer.text("name", problems);
    let peer_key = peer.text("key", problems);
    let peer_at = peer.at();
    let has_peer_key = peer_key.is_some();
    let peer_key = peer_key.and_then(|word| match word.get_ref().parse() {
        Ok(fingerprint) => Some(fingerprint),
        Err(error) => {
            problems.error(word.span(), format!("{error}"));
            None
        }
    });
    peer.finish(problems);

    let paths = read_paths(&mut root, tables, problems);
    if let Some(secure) = paths.iter().find(|path| path.carrier.is_secure) {
        let carrier = secure.carrier.name;
        if key.is_none() {
            let message = format!("expected a key for {carrier}, found none");
            let help = "bowline link keygen harbour.key, and key = \"harbour.key\"";
            problems.error(key_at, message).help(help);
        }
        if !has_peer_key {
            let message = format!("expected the peer's key for {carrier}, found none");
            let help = "key = \"sha256:...\", as `bowline link key` prints it at the other end";
            problems.error(peer_at, message).help(help);
        }
    }
    let (sends, receives) = streams::read(&mut root, problems);
    root.finish(problems);
    Some(LinkFile {
        name: name?.into_inner(),
        bus: bus.map(toml::Spanned::into_inner),
        scheduler,
        status: status.map_or(STATUS_CHANNEL.to_owned(), toml::Spanned::into_inner),
        key,
        peer: peer_name?.into_inner(),
        peer_key,
        paths,
        sends,
        receives,
    })
}

fn read_paths(
    root: &mut Table<'_, '_>,
    tables: Tables<'_>,
    problems: &mut Problems<'_>,
) -> Vec<PathFile> {
    let carriers: Vec<_> = tables.carriers.iter().map(|row| (row.name, *row)).collect();
    root.require(
        "path",
        "[[path]]\ncarrier = \"quic\"\nlisten = \"0.0.0.0:7800\"",
        problems,
    );
    let Some(value) = root.value("path") else {
        return Vec::new();
    };
    let DeValue::Array(items) = value.get_ref() else {
        problems
            .error(
                value.span(),
                "path is a list of tables, found something else",
            )
            .help("[[path]]");
        return Vec::new();
    };
    if items.is_empty() || items.len() > MAX_PATHS {
        let message = format!("expected 1 to {MAX_PATHS} paths, found {}", items.len());
        problems.error(value.span(), message);
    }
    let paths = items.iter().filter_map(|item| {
        let mut table = Table::of("[[path]]", item, problems);
        let path = read_path(&mut table, &carriers, problems);
        table.finish(problems);
        path
    });
    paths.collect()
}

fn read_path(
    table: &mut Table<'_, '_>,
    carriers: &[(&str, carrier::Row)],
    problems: &mut Problems<'_>,
) -> Option<PathFile> {
    table.require("carrier", "carrier = \"quic\"", problems);
    let carrier = table.choice("carrier", carriers, problems);
    let is_insecure = table.boolean("insecure", problems);
    let limit = table.number("limit_kbps", 8.0..=1_000_000.0, problems);
    let listen = address(table, "listen", problems);
    let connect = address(table, "connect", problems);
    let both = table.key("listen").is_some() && table.key("connect").is_some();
    let none = table.key("listen").is_none() && table.key("connect").is_none();
    if both || none {
        let found = if both { "both" } else { "neither" };
        let message = format!("expected listen or connect in [[path]], found {found}");
        problems.error(table.at(), message).help(
            "listen = \"0.0.0.0:7800\" at one end, connect = \"192.168.7.2:7800\" at the other",
        );
        return None;
    }
    let meet = match (listen, connect) {
        (Some(address), _) => Meet::Listen(address),
        (None, Some(address)) => Meet::Connect(address),
        (None, None) => return None,
    };
    let (Meet::Listen(address) | Meet::Connect(address)) = meet;
    let carrier = carrier?;
    if !carrier.is_secure && !address.ip().is_loopback() && is_insecure != Some(true) {
        let message = format!(
            "{} has no keys: any host that reaches {address} may read, change and send, commands too",
            carrier.name
        );
        problems
            .error(table.at(), message)
            .help("carrier = \"quic\", or insecure = true if the network below keeps others out");
    }
    Some(PathFile {
        carrier,
        meet,
        limit_bytes_per_s: limit.map(|kbps| kbps * 125.0),
    })
}

fn address(
    table: &mut Table<'_, '_>,
    key: &'static str,
    problems: &mut Problems<'_>,
) -> Option<SocketAddr> {
    let word = table.text(key, problems)?;
    let address = word.get_ref().parse();
    if address.is_err() {
        let message = format!(
            "{key} is an address and a port such as \"192.168.7.2:7800\", found {:?}",
            word.get_ref()
        );
        problems.error(word.span(), message);
    }
    address.ok()
}
