//! Arguments that several verbs share: which events, where to.

use crate::input::Usage;
use crate::progress::Progress;
use bowline_log::{
    ChannelFilter, Copied, CopyPlan, FindTimeError, IndexUse, Moment, Reader, Rename, Selection,
    TimeRange, Writer, check_output, copy,
};
use clap::Args;
use std::path::{Path, PathBuf};

// Which channels. (No doc comment: clap would take it for the summary of a verb.)
#[derive(Args, Debug)]
pub(crate) struct Channels {
    /// Only channels that match the regular expression, anywhere in their name: ^pose$ is only that one. Several add up
    #[arg(short, long = "channel", value_name = "REGEX")]
    pub(crate) channels: Vec<String>,
}

impl Channels {
    pub(crate) fn filter(&self) -> anyhow::Result<ChannelFilter> {
        filter(&self.channels)
    }
}

/// Channels by regular expressions.
pub(crate) fn filter(patterns: &[String]) -> anyhow::Result<ChannelFilter> {
    ChannelFilter::new(patterns).map_err(|error| Usage(error.to_string()).into())
}

// What channels are called instead. (No doc comment: clap would take it for the summary of a verb.)
#[derive(Args, Debug)]
pub(crate) struct Renames {
    /// Call channels OLD instead NEW: OLD is a regular expression for whole names, NEW may use its groups as $1. The last that matches counts
    #[arg(long, value_name = "OLD=NEW")]
    rename: Vec<Rename>,
}

impl Renames {
    pub(crate) fn iter(&self) -> impl Iterator<Item = Rename> {
        self.rename.iter().cloned()
    }
}

// From when to when. (No doc comment: clap would take it for the summary of a verb.)
#[derive(Args, Debug)]
pub(crate) struct Times {
    /// Only from this time on: seconds after the first event, or as below
    #[arg(short, long, value_name = "TIME", allow_hyphen_values = true)]
    start: Option<Moment>,
    /// Only up to this time
    #[arg(short, long, value_name = "TIME", allow_hyphen_values = true)]
    end: Option<Moment>,
}

/// How times are written, for the end of a help text.
pub(crate) const TIMES_HELP: &str = "\
Times: 12.5, 90s, 2m or 1h after the first event; -3 for 3 s before the latest; a time of day
such as 2026-11-16T05:10:56Z (UTC by default); 1763269856.25 or 1763269856250000,
which are seconds and microseconds since 1970; or the text of a bookmark.";

impl Times {
    pub(crate) fn range(&self, log: &mut Reader) -> anyhow::Result<TimeRange> {
        let range = TimeRange::in_log(log, self.start.as_ref(), self.end.as_ref());
        range.map_err(|error| match error {
            FindTimeError::Read(error) => error.into(),
            FindTimeError::Moment(error) => Usage(error.to_string()).into(),
        })
    }
}

/// Which events, by channel and time.
pub(crate) fn selection(
    log: &mut Reader,
    channels: &Channels,
    times: &Times,
) -> anyhow::Result<Selection> {
    Ok(Selection {
        channels: channels.filter()?,
        times: times.range(log)?,
    })
}

/// The log to read.
pub(crate) fn open(path: &Path, index: IndexUse) -> anyhow::Result<Reader> {
    let mut progress = Progress::new("indexing");
    Ok(Reader::open_with(path, index, &mut |done, all| {
        progress.at(done, all);
    })?)
}

/// Refuses a file that is no log at all: there is something in it, and none of it is an event. Whether there are events.
pub(crate) fn check_is_log(path: &Path) -> anyhow::Result<bool> {
    let mut log = open(path, IndexUse::IfThere)?;
    let has_events = log.next_event()?.is_some();
    if !has_events && !log.damages().is_empty() {
        let message = format!(
            "expected a log, found {}: nothing in it is an event",
            path.display()
        );
        return Err(Usage(message).into());
    }
    Ok(has_events)
}

/// Copies a log to the end of another, with a bar for people to watch.
pub(crate) fn copy_all(
    doing: &str,
    log: &mut Reader,
    mut writer: Writer,
    plan: &CopyPlan,
) -> anyhow::Result<Copied> {
    let mut progress = Progress::new(doing);
    let copied = copy(log, &mut writer, plan, &mut |done, all| {
        progress.at(done, all);
    })?;
    writer.finish()?;
    Ok(copied)
}

// A log to read, and one to write. (No doc comment: clap would take it for the summary of a verb.)
#[derive(Args, Debug)]
pub(crate) struct Files {
    /// The log to read
    source: PathBuf,
    /// The log to write
    pub(crate) destination: PathBuf,
    /// Replace the file if it is there
    #[arg(short, long)]
    force: bool,
}

impl Files {
    /// The log to read, unless the one to write should stay as it is.
    pub(crate) fn open(&self) -> anyhow::Result<Reader> {
        check_output(&self.source, &self.destination, self.force)
            .map_err(|error| Usage(error.to_string()))?;
        open(&self.source, IndexUse::IfThere)
    }
}
