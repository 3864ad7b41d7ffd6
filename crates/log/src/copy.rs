//! From one log into another: some events or all of them, in either format.

use crate::rename::Renames;
use crate::select::{ChannelFilter, Selection};
use bowline_format::{
    BOOKMARK_CHANNEL, CopyExtrasError, Format, LogEvent, Provenance, ReadError, Reader,
    SCHEMA_CHANNEL, WriteError, Writer,
};
use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// How many channels are counted separately: more than real logs have.
const MAX_CHANNELS: usize = 100_000;
/// How many bytes collect before they are handed to the system.
const MAX_PENDING: usize = 4 << 20;

/// What is copied, and how.
#[derive(Clone, Debug, Default)]
pub struct CopyPlan {
    /// Which events. Descriptions of types come along, whatever their channel and time, and bookmarks whatever their
    /// channel.
    pub selection: Selection,
    /// Channels of which fewer messages are wanted; the first that fits a channel counts.
    pub rates: Vec<RateLimit>,
    /// New names for channels.
    pub renames: Renames,
}

/// At most so many messages a second on each of some channels.
#[derive(Clone, Debug)]
pub struct RateLimit {
    /// Which.
    pub channels: ChannelFilter,
    /// How many a second on average, more than 0.
    pub hz: f64,
}

/// What became of the events.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Copied {
    /// Events that were read.
    pub n_read: u64,
    /// Events that were written, without descriptions that were added.
    pub n_written: u64,
    /// Events that were left out because fewer a second were wanted.
    pub n_thinned: u64,
    /// Events that the other format has no room for, such as one before 1970 in MCAP.
    pub n_refused: u64,
    /// Why the first of them was.
    pub first_refusal: Option<String>,
    /// What came along from MCAP besides events.
    pub n_attachments: u64,
    /// Records of words about the log, for programs.
    pub n_metadata: u64,
    /// What the new log has no room for.
    pub left: LeftBehind,
    /// How many events were written, by the name of their channel in the new log.
    pub channels: BTreeMap<String, u64>,
}

/// What MCAP has and another log has no room for, or what was damaged, besides events.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LeftBehind {
    /// Descriptions of types that are not ours.
    pub n_schemas: u64,
    /// Times of publishing that are not those of the log.
    pub n_publish_times: u64,
    /// Attachments.
    pub n_attachments: u64,
    /// Records of metadata.
    pub n_metadata: u64,
    /// Attachments and metadata that are not what was written, or too many.
    pub n_damaged: u64,
}

impl LeftBehind {
    /// Whether everything came along.
    #[must_use]
    pub fn is_nothing(&self) -> bool {
        *self == Self::default()
    }
}

/// Copies events until the log ends, and what MCAP has besides. The writer is not finished: there may be more to add.
///
/// `progress` receives how many bytes of how many are read.
///
/// # Errors
/// When the one log cannot be read or the other not be written. Damage is no error; the reader has the account of it.
pub fn copy(
    from: &mut Reader,
    to: &mut Writer,
    plan: &CopyPlan,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<Copied, CopyError> {
    let mut copier = Copier {
        plan,
        copied: Copied::default(),
        due: HashMap::new(),
        names: HashMap::new(),
        n_schemas: 0,
    };
    // What is before the range is skipped only if an index has the descriptions that may be there.
    let times = plan.selection.times;
    let mut is_ordered = false;
    if let Some(summary) = from.summary() {
        is_ordered = summary.n_backward == 0;
        if times.from_utime > i64::MIN {
            from.seek_to(times.from_utime)?;
        }
    }
    let mut n_until_progress = 0_u32;
    loop {
        copier.pass_schemas_on(from, to);
        let Some((event, provenance)) = from.next_with_provenance()? else {
            break;
        };
        if is_ordered && event.utime > times.to_utime {
            break;
        }
        copier.take(&event, provenance.as_ref(), to)?;
        if to.n_pending() > MAX_PENDING {
            to.flush()?;
        }
        n_until_progress += 1;
        if n_until_progress.is_multiple_of(1_024) {
            let (done, all) = from.progress()?;
            progress(done, all);
        }
    }
    let mut copied = copier.copied;
    if to.format() == Format::Lcm {
        copied.left.n_schemas = from.n_foreign_schemas() as u64;
    }
    // They are about all events, whatever is chosen of those.
    let extras = from.copy_extras(to).map_err(|error| match error {
        CopyExtrasError::Read(error) => CopyError::Read(error),
        CopyExtrasError::Write(error) => CopyError::Write(error),
    })?;
    copied.n_attachments = extras.n_attachments;
    copied.n_metadata = extras.n_metadata;
    copied.left.n_attachments = extras.n_left_attachments;
    copied.left.n_metadata = extras.n_left_metadata;
    copied.left.n_damaged = extras.n_damaged;
    Ok(copied)
}

struct Copier<'p> {
    plan: &'p CopyPlan,
    copied: Copied,
    /// When the next message of a channel is wanted that has too many, in microseconds since the epoch.
    due: HashMap<String, f64>,
    /// What channels are called in the new log, if that is something else.
    names: HashMap<String, Option<String>>,
    n_schemas: usize,
}

impl Copier<'_> {
    /// An LCM log that was made MCAP and is made LCM again has the descriptions that it had, and no others.
    fn pass_schemas_on(&mut self, from: &Reader, to: &mut Writer) {
        let n_schemas = from.n_schemas();
        if n_schemas != self.n_schemas {
            self.n_schemas = n_schemas;
            if to.format() != Format::Lcm || !from.is_from_lcm() {
                to.add_schemas(&from.schemas());
            }
        }
    }

    fn take(
        &mut self,
        event: &LogEvent<'_>,
        provenance: Option<&Provenance<'_>>,
        to: &mut Writer,
    ) -> Result<(), CopyError> {
        self.copied.n_read += 1;
        let selection = &self.plan.selection;
        let is_in_time = selection.times.contains(event.utime);
        let is_wanted = match event.channel {
            SCHEMA_CHANNEL if !is_in_time => {
                to.learn(event);
                false
            }
            SCHEMA_CHANNEL | BOOKMARK_CHANNEL => is_in_time,
            _ => selection.contains(event),
        };
        if !is_wanted {
            return Ok(());
        }
        if !self.is_due(event) {
            self.copied.n_thinned += 1;
            return Ok(());
        }
        let new_name = self.new_name(event.channel);
        let event = LogEvent {
            channel: new_name.as_deref().unwrap_or(event.channel),
            ..*event
        };
        match to.write_copy(event, provenance) {
            Ok(_) => {
                self.count(event.channel);
                let has_own_time = provenance.is_some_and(|it| it.publish_ns != event.log_ns());
                if has_own_time && to.format() == Format::Lcm {
                    self.copied.left.n_publish_times += 1;
                }
            }
            Err(error) if error.is_about_event() => self.refuse(&error),
            Err(error) => return Err(error.into()),
        }
        Ok(())
    }

    /// Matching takes longer than looking up what it came to.
    fn new_name(&mut self, channel: &str) -> Option<String> {
        let renames = &self.plan.renames;
        if renames.is_empty() {
            return None;
        }
        if let Some(known) = self.names.get(channel) {
            return known.clone();
        }
        let name = renames.apply(channel);
        if self.names.len() < MAX_CHANNELS {
            self.names.insert(channel.to_owned(), name.clone());
        }
        name
    }

    /// Whether enough time has passed on a channel that has too many messages. Kept in step with a clock of the wanted
    /// rate, so that 100 a second become 30 on average and not 25.
    fn is_due(&mut self, event: &LogEvent<'_>) -> bool {
        let limits = &self.plan.rates;
        let limit = limits
            .iter()
            .find(|limit| limit.channels.matches(event.channel));
        let Some(limit) = limit else {
            return true;
        };
        let (now, period) = (event.utime as f64, 1e6 / limit.hz);
        match self.due.get_mut(event.channel) {
            // A clock that was set back begins anew.
            Some(due) if now < *due && now > *due - 2.0 * period => false,
            Some(due) => {
                *due = if now < *due || now - *due > period {
                    now + period
                } else {
                    *due + period
                };
                true
            }
            None => {
                if self.due.len() < MAX_CHANNELS {
                    self.due.insert(event.channel.to_owned(), now + period);
                }
                true
            }
        }
    }

    fn count(&mut self, channel: &str) {
        self.copied.n_written += 1;
        let channels = &mut self.copied.channels;
        if let Some(n_events) = channels.get_mut(channel) {
            *n_events += 1;
        } else if channels.len() < MAX_CHANNELS {
            channels.insert(channel.to_owned(), 1);
        }
    }

    fn refuse(&mut self, error: &WriteError) {
        self.copied.n_refused += 1;
        let first = &mut self.copied.first_refusal;
        first.get_or_insert_with(|| error.to_string());
    }
}

/// Why a log was not copied.
#[derive(Debug, thiserror::Error)]
pub enum CopyError {
    /// It cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The other cannot be written.
    #[error(transparent)]
    Write(#[from] WriteError),
}

/// Refuses to write over a log that is read, over its index, or over any other file unless that is meant.
///
/// # Errors
/// When it should not be written to.
pub fn check_output(from: &Path, to: &Path, may_replace: bool) -> Result<(), BadOutput> {
    let bad = |source| BadOutput::Unreadable {
        path: from.to_owned(),
        source,
    };
    let own = fs::metadata(from).map_err(bad)?;
    let is_input = |path: &Path| {
        fs::metadata(path).is_ok_and(|other| (own.dev(), own.ino()) == (other.dev(), other.ino()))
    };
    if is_input(to) || is_input(&Reader::index_path(to)) || to == Reader::index_path(from) {
        return Err(BadOutput::Input {
            path: to.to_owned(),
        });
    }
    if !may_replace && fs::symlink_metadata(to).is_ok() {
        return Err(BadOutput::Exists {
            path: to.to_owned(),
        });
    }
    Ok(())
}

/// Why a log should not be written to a file.
#[derive(Debug, thiserror::Error)]
pub enum BadOutput {
    /// It is what is read.
    #[error("expected another file to write to, found the log itself or its index: {path:?}")]
    Input {
        /// The file.
        path: PathBuf,
    },
    /// It is there.
    #[error(
        "expected a new file to write to, found one that is there: {path:?}; --force replaces it"
    )]
    Exists {
        /// The file.
        path: PathBuf,
    },
    /// The log to read is not there.
    #[error("cannot read the log {path:?}: {source}")]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
}
