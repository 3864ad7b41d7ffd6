//! Messages as tables: one for each channel and type, columns from the schema, as CSV or Parquet.
//!
//! | in the type | in Parquet | in CSV |
//! | --- | --- | --- |
//! | a field of a nested struct | a column `pose.depth_m` | the same |
//! | an array of up to 64 elements, fixed in the type | a column for each: `state[0]` | the same |
//! | another array | a list, row by row | JSON |
//! | an array of structs | a list for each of their fields: `waypoints.id` | JSON for each |
//! | bytes | binary | base64 |
//! | arrays in arrays of structs, types that contain themselves | JSON | JSON |
//! | an enum | its number | its number |
//!
//! Before these come `log_utime` and `log_number`: when the message was received, and its number in the log. Memory is
//! bounded: when more rows are held than fit, the table that holds the most writes them out.

mod columns;
mod csv;
#[cfg(feature = "parquet")]
mod parquet;

use bowline_format::{Catalog, LogEvent};
use bowline_wire::Fingerprint;
use bowline_wire::schema::{TypeId, TypeSet};
use columns::Column;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// How many files are open at once. More channels than that are left out, and counted.
const MAX_TABLES: usize = 500;
/// How many channels are counted one by one that have no table.
const MAX_COUNTED: usize = 10_000;
/// Bytes of rows that are held in all tables together, and rows in one.
const MAX_HELD: usize = 64 << 20;
const MAX_ROWS: u64 = 1 << 20;

/// What tables are written as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TableFormat {
    /// Text that everything reads.
    Csv,
    /// Columns with types, compressed.
    #[cfg(feature = "parquet")]
    Parquet,
}

impl TableFormat {
    fn extension(self) -> &'static str {
        match self {
            Self::Csv => "csv",
            #[cfg(feature = "parquet")]
            Self::Parquet => "parquet",
        }
    }
}

/// Writes messages into tables.
#[derive(Debug)]
pub struct Exporter {
    folder: PathBuf,
    format: TableFormat,
    tables: HashMap<(String, Fingerprint), Table>,
    names: HashSet<String>,
    n_held: usize,
    left: Left,
}

/// What is in no table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Left {
    /// Messages of unknown type, or without a fingerprint, by channel.
    pub unknown: BTreeMap<String, u64>,
    /// Messages that do not match their type.
    pub n_undecodable: u64,
    /// Messages of channels beyond those that fit.
    pub n_beyond: u64,
    /// Strings that are no UTF-8; they are in tables, with marks in place of what is none.
    pub n_not_text: u64,
}

/// A table that was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExportedTable {
    /// The file.
    pub path: PathBuf,
    /// The channel.
    pub channel: String,
    /// The name of the type.
    pub type_name: String,
    /// How many messages.
    pub n_rows: u64,
    /// How many columns.
    pub n_columns: usize,
}

#[derive(Debug)]
struct Table {
    path: PathBuf,
    types: TypeSet,
    columns: Vec<Column>,
    sink: Box<dyn Sink>,
    n_rows: u64,
    n_held_rows: u64,
    n_held: usize,
}

/// Where rows go.
trait Sink: std::fmt::Debug {
    /// Takes a row; returns how many strings were no UTF-8.
    fn row(
        &mut self,
        types: &TypeSet,
        columns: &[Column],
        event: &LogEvent<'_>,
        value: &bowline_wire::Value<'_>,
    ) -> u64;

    /// Writes out the rows that are held.
    fn flush(&mut self) -> io::Result<()>;

    /// Ends the file.
    fn finish(self: Box<Self>) -> io::Result<()>;
}

impl Exporter {
    /// Tables in a folder, which is made if need be.
    ///
    /// # Errors
    /// When the folder cannot be made.
    pub fn new(folder: &Path, format: TableFormat) -> Result<Self, ExportError> {
        fs::create_dir_all(folder).map_err(|source| ExportError {
            path: folder.to_owned(),
            source,
        })?;
        Ok(Self {
            folder: folder.to_owned(),
            format,
            tables: HashMap::new(),
            names: HashSet::new(),
            n_held: 0,
            left: Left::default(),
        })
    }

    /// Adds a message as a row of its table.
    ///
    /// # Errors
    /// When a file cannot be written.
    pub fn add(&mut self, event: &LogEvent<'_>, catalog: &Catalog) -> Result<(), ExportError> {
        let found = event.fingerprint().and_then(|fingerprint| {
            let (types, id) = catalog.find(fingerprint)?;
            Some((fingerprint, types, id))
        });
        let Some((fingerprint, types, id)) = found else {
            self.left.count_unknown(event.channel);
            return Ok(());
        };
        let Ok(value) = types.decode_as(id, event.payload) else {
            self.left.n_undecodable += 1;
            return Ok(());
        };
        let key = (event.channel.to_owned(), fingerprint);
        if !self.tables.contains_key(&key) {
            if self.tables.len() >= MAX_TABLES {
                self.left.n_beyond += 1;
                return Ok(());
            }
            let table = self.open(event.channel, types.closure(id))?;
            self.tables.insert(key.clone(), table);
        }
        let Some(table) = self.tables.get_mut(&key) else {
            return Ok(());
        };
        self.left.n_not_text += table.add(event, &value);
        let n_held = event.payload.len() + 8 * table.columns.len();
        table.n_held += n_held;
        self.n_held += n_held;
        if table.n_held_rows >= MAX_ROWS {
            self.n_held -= table.n_held;
            table.flush()?;
        }
        if self.n_held > MAX_HELD {
            self.flush_largest()?;
        }
        Ok(())
    }

    fn flush_largest(&mut self) -> Result<(), ExportError> {
        if let Some(largest) = self.tables.values_mut().max_by_key(|table| table.n_held) {
            self.n_held -= largest.n_held;
            largest.flush()?;
        }
        Ok(())
    }

    fn open(&mut self, channel: &str, types: TypeSet) -> Result<Table, ExportError> {
        let type_name = types.def(ROOT).full_name();
        let name = self.file_name(channel, &type_name);
        let path = self.folder.join(name);
        let columns = columns::of(&types, ROOT);
        let sink: io::Result<Box<dyn Sink>> = match self.format {
            TableFormat::Csv => csv::create(&path, &columns),
            #[cfg(feature = "parquet")]
            TableFormat::Parquet => parquet::create(&path, channel, &types, &columns),
        };
        let sink = sink.map_err(|source| ExportError {
            path: path.clone(),
            source,
        })?;
        Ok(Table {
            path,
            types,
            columns,
            sink,
            n_rows: 0,
            n_held_rows: 0,
            n_held: 0,
        })
    }

    /// The channel's name, with the type's if the channel has another table, without what is no part of a file's name.
    fn file_name(&mut self, channel: &str, type_name: &str) -> String {
        let extension = self.format.extension();
        let names = [channel.to_owned(), format!("{channel}.{type_name}")];
        let more = (2..).map(|n| format!("{channel}.{type_name}.{n}"));
        let clean = |name: String| {
            let is_bad = |letter: char| letter == '/' || letter == '\0' || letter.is_control();
            let name: String = name
                .chars()
                .take(180)
                .map(|it| if is_bad(it) { '_' } else { it })
                .collect();
            let name = if name.starts_with('.') {
                format!("_{name}")
            } else {
                name
            };
            format!("{name}.{extension}")
        };
        let mut names = names.into_iter().chain(more).map(clean);
        let free = names.find(|name| !self.names.contains(name));
        let free = free.expect("numbers do not end before names are free");
        self.names.insert(free.clone());
        free
    }

    /// Ends all tables.
    ///
    /// # Errors
    /// When a file cannot be written.
    pub fn finish(self) -> Result<(Vec<ExportedTable>, Left), ExportError> {
        let mut exported = Vec::new();
        let mut tables: Vec<_> = self.tables.into_iter().collect();
        tables.sort_by(|a, b| a.1.path.cmp(&b.1.path));
        for ((channel, _), table) in tables {
            let Table {
                path,
                types,
                columns,
                sink,
                n_rows,
                ..
            } = table;
            sink.finish().map_err(|source| ExportError {
                path: path.clone(),
                source,
            })?;
            exported.push(ExportedTable {
                path,
                channel,
                type_name: types.def(ROOT).full_name(),
                n_rows,
                n_columns: columns.len() + OWN_COLUMNS.len(),
            });
        }
        Ok((exported, self.left))
    }
}

/// A type that was taken out of its set comes first in its own.
const ROOT: TypeId = TypeId(0);

/// What every table has besides the message.
const OWN_COLUMNS: [&str; 2] = ["log_utime", "log_number"];

impl Table {
    fn add(&mut self, event: &LogEvent<'_>, value: &bowline_wire::Value<'_>) -> u64 {
        self.n_rows += 1;
        self.n_held_rows += 1;
        self.sink.row(&self.types, &self.columns, event, value)
    }

    fn flush(&mut self) -> Result<(), ExportError> {
        self.n_held = 0;
        self.n_held_rows = 0;
        self.sink.flush().map_err(|source| ExportError {
            path: self.path.clone(),
            source,
        })
    }
}

impl Left {
    fn count_unknown(&mut self, channel: &str) {
        if let Some(n) = self.unknown.get_mut(channel) {
            *n += 1;
        } else if self.unknown.len() < MAX_COUNTED {
            self.unknown.insert(channel.to_owned(), 1);
        } else {
            self.n_beyond += 1;
        }
    }

    /// Whether something is missing from the tables.
    #[must_use]
    pub fn is_lossy(&self) -> bool {
        !self.unknown.is_empty() || self.n_undecodable + self.n_beyond > 0
    }
}

/// A table that cannot be written.
#[derive(Debug, thiserror::Error)]
#[error("cannot write the table {path:?}: {source}")]
pub struct ExportError {
    path: PathBuf,
    source: io::Error,
}
