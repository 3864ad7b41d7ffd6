//! What a supervisor leaves for the one that comes after it, and the lock that shows that it is there.
//!
//! Two files in a folder of the user's: `ROBOT@HOST.lock`, which is locked while a supervisor runs and has its identity,
//! and `ROBOT@HOST.toml`, which has what runs, which time that has, and what was given up. The lock is the kernel's, so it
//! ends with the supervisor however that ends.

use super::plan::StopSignal;
use crate::clock::Epoch;
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use std::collections::BTreeMap;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::Duration;
use toml::{Table, Value};

/// What a supervisor leaves.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Legacy {
    /// What runs.
    pub(crate) children: Vec<Child>,
    /// What was given up: as long as there is any, the robot is in its safe state.
    pub(crate) alarms: Vec<GivenUp>,
    /// The time that all of it has.
    pub(crate) epoch: Option<Epoch>,
}

/// A process that was given up, and that no order has changed since.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct GivenUp {
    pub(crate) name: String,
    pub(crate) why: String,
    pub(crate) since_utime: i64,
}

/// A process that runs, as the next supervisor needs to know it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Child {
    pub(crate) name: String,
    pub(crate) pid: i32,
    /// When it started, clock ticks since the machine did.
    pub(crate) start_ticks: u64,
    pub(crate) mark: String,
    /// Of what it was started with.
    pub(crate) digest: u64,
    pub(crate) started_utime: i64,
    pub(crate) stop_signal: StopSignal,
    pub(crate) grace: Duration,
}

/// The files of one supervisor, locked.
#[derive(Debug)]
pub(crate) struct Folder {
    state: PathBuf,
    /// Locked as long as it is open.
    _lock: File,
    id: u64,
}

impl Folder {
    /// Takes the lock of a name.
    pub(crate) fn lock(folder: &Path, name: &str, who: &str) -> Result<Self, LockError> {
        let failed = |doing, source| LockError::Io {
            doing,
            path: folder.to_owned(),
            source,
        };
        let mut builder = DirBuilder::new();
        let made = builder.recursive(true).mode(0o700).create(folder);
        made.map_err(|error| failed("make", error))?;
        let metadata = fs::metadata(folder).map_err(|error| failed("look at", error))?;
        let is_ours = metadata.uid() == rustix::process::geteuid().as_raw();
        if !is_ours || metadata.mode() & 0o022 != 0 {
            return Err(LockError::NotOurs {
                path: folder.to_owned(),
            });
        }
        let mut options = OpenOptions::new();
        options
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600);
        let path = folder.join(format!("{name}.lock"));
        let mut lock = options
            .open(path)
            .map_err(|error| failed("open a lock in", error))?;
        match flock(&lock, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(Errno::WOULDBLOCK) => {
                let mut who = String::new();
                // Who it is may not be written yet.
                drop(lock.read_to_string(&mut who));
                return Err(LockError::Taken {
                    name: name.to_owned(),
                    who: who.trim().to_owned(),
                });
            }
            Err(error) => return Err(failed("lock a file in", error.into())),
        }
        let written = lock.set_len(0).and_then(|()| writeln!(lock, "{who}"));
        // Who it is matters only for a message: a full disk is no reason not to run.
        drop(written);
        Ok(Self {
            state: folder.join(format!("{name}.toml")),
            id: lock.metadata().map_or(0, |metadata| metadata.ino()),
            _lock: lock,
        })
    }

    /// A number that is the same for all supervisors that have this lock one after the other, and for no others.
    pub(crate) fn id(&self) -> u64 {
        self.id
    }

    /// How it was when the last supervisor was there.
    pub(crate) fn read(&self) -> Legacy {
        read_file(&self.state)
    }

    /// What was not read while no supervisor was there.
    pub(crate) fn take_skipped(&self) -> Skipped {
        let path = self.state.with_extension(SKIPPED);
        let skipped = Skipped::read(&path);
        // If it stays, it is of runs that are gone.
        drop(fs::remove_file(path));
        skipped
    }

    /// Writes how it is, all of it or nothing.
    pub(crate) fn write(&self, legacy: &Legacy) -> io::Result<()> {
        let Legacy {
            children,
            alarms,
            epoch,
        } = legacy;
        let mut table = Table::new();
        let children: Vec<Value> = children.iter().map(child_to_toml).collect();
        let alarms: Vec<Value> = alarms.iter().map(alarm_to_toml).collect();
        table.insert("child".to_owned(), Value::Array(children));
        table.insert("alarm".to_owned(), Value::Array(alarms));
        table.extend(epoch.map(|epoch| ("epoch".to_owned(), Value::from(epoch.to_string()))));
        let new = self.state.with_extension("new");
        fs::write(&new, table.to_string())?;
        fs::rename(new, &self.state)
    }

    /// Nothing runs any more.
    pub(crate) fn clear(&self) {
        // If it stays, the next supervisor finds nothing of its contents.
        drop(fs::remove_file(&self.state));
    }
}

/// What a supervisor has left, for any reader. What cannot be understood is as if it were not there.
pub(crate) fn read(folder: &Path, name: &str) -> Legacy {
    read_file(&folder.join(format!("{name}.toml")))
}

/// Who has the lock of a name, or had it last.
pub(crate) fn who(folder: &Path, name: &str) -> String {
    fs::read_to_string(folder.join(format!("{name}.lock"))).unwrap_or_default()
}

fn read_file(path: &Path) -> Legacy {
    let text = fs::read_to_string(path).unwrap_or_default();
    let table: Table = text.parse().unwrap_or_default();
    let list = |key: &str| table.get(key).and_then(Value::as_array);
    Legacy {
        children: list("child")
            .into_iter()
            .flatten()
            .filter_map(child_from_toml)
            .collect(),
        alarms: list("alarm")
            .into_iter()
            .flatten()
            .filter_map(alarm_from_toml)
            .collect(),
        epoch: table
            .get("epoch")
            .and_then(Value::as_str)
            .and_then(|text| text.parse().ok()),
    }
}

/// The name of the file with what was not read.
const SKIPPED: &str = "skipped";

/// Output of runs that was given back before it was read, bytes, by their marks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Skipped(BTreeMap<String, u64>);

impl Skipped {
    pub(crate) fn add(&mut self, mark: &str, n_bytes: u64) {
        if n_bytes > 0 {
            *self.0.entry(mark.to_owned()).or_default() += n_bytes;
        }
    }

    pub(crate) fn of(&self, mark: &str) -> u64 {
        self.0.get(mark).copied().unwrap_or(0)
    }

    pub(crate) fn write(&self, folder: &Path, name: &str) {
        let lines = self.0.iter();
        let lines: String = lines
            .map(|(mark, n_bytes)| format!("{n_bytes} {mark}\n"))
            .collect();
        if !lines.is_empty() {
            // On a full disk the next supervisor does not know how much was lost.
            drop(fs::write(folder.join(format!("{name}.{SKIPPED}")), lines));
        }
    }

    fn read(path: &Path) -> Self {
        let text = fs::read_to_string(path).unwrap_or_default();
        let line = |line: &str| {
            let (n_bytes, mark) = line.split_once(' ')?;
            Some((mark.to_owned(), n_bytes.parse().ok()?))
        };
        Self(text.lines().filter_map(line).collect())
    }
}

/// Where the files are by default.
#[expect(
    clippy::disallowed_methods,
    reason = "the user's folder is known to the environment only"
)]
pub(crate) fn default_folder() -> PathBuf {
    match std::env::var("XDG_RUNTIME_DIR") {
        Ok(folder) if folder.starts_with('/') => Path::new(&folder).join("bowline"),
        Ok(_) | Err(_) => PathBuf::from(format!(
            "/tmp/bowline-{}",
            rustix::process::geteuid().as_raw()
        )),
    }
}

/// The mark of the run that this process is itself part of.
#[expect(
    clippy::disallowed_methods,
    reason = "marks are handed down by the environment, as that is all that every process hands down"
)]
pub(crate) fn own_mark() -> Option<String> {
    std::env::var(super::proc::MARKER).ok()
}

fn child_to_toml(child: &Child) -> Value {
    let Child {
        name,
        pid,
        start_ticks,
        mark,
        digest,
        started_utime,
        stop_signal,
        grace,
    } = child;
    let grace_ms = i64::try_from(grace.as_millis()).unwrap_or(i64::MAX);
    let entries = [
        ("name", Value::from(name.as_str())),
        ("pid", Value::from(*pid)),
        ("start_ticks", Value::from(start_ticks.to_string())),
        ("mark", Value::from(mark.as_str())),
        ("digest", Value::from(format!("{digest:016x}"))),
        ("started_utime", Value::from(*started_utime)),
        ("stop_signal", Value::from(stop_signal.name())),
        ("grace_ms", Value::from(grace_ms)),
    ];
    to_table(entries)
}

fn to_table<const N: usize>(entries: [(&str, Value); N]) -> Value {
    let entries = entries.map(|(key, value)| (key.to_owned(), value));
    Value::Table(entries.into_iter().collect())
}

fn child_from_toml(value: &Value) -> Option<Child> {
    let text = |key: &str| value.get(key)?.as_str();
    let number = |key: &str| value.get(key)?.as_integer();
    Some(Child {
        name: text("name")?.to_owned(),
        pid: i32::try_from(number("pid")?).ok()?,
        start_ticks: text("start_ticks")?.parse().ok()?,
        mark: text("mark")?.to_owned(),
        digest: u64::from_str_radix(text("digest")?, 16).ok()?,
        started_utime: number("started_utime")?,
        stop_signal: StopSignal::from_name(text("stop_signal")?)?,
        grace: Duration::from_millis(u64::try_from(number("grace_ms")?).ok()?),
    })
}

fn alarm_to_toml(alarm: &GivenUp) -> Value {
    let GivenUp {
        name,
        why,
        since_utime,
    } = alarm;
    to_table([
        ("name", Value::from(name.as_str())),
        ("why", Value::from(why.as_str())),
        ("since_utime", Value::from(*since_utime)),
    ])
}

fn alarm_from_toml(value: &Value) -> Option<GivenUp> {
    Some(GivenUp {
        name: value.get("name")?.as_str()?.to_owned(),
        why: value.get("why")?.as_str()?.to_owned(),
        since_utime: value.get("since_utime")?.as_integer()?,
    })
}

/// Why a supervisor cannot be the one of its name.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    /// There is one already, on this machine.
    #[error(
        "{name} has a supervisor already: {who}. Stop that one, or give this one another host name"
    )]
    Taken {
        /// What it is called.
        name: String,
        /// Who it is.
        who: String,
    },
    /// The folder could be written by another user.
    #[error(
        "{path:?} belongs to another user, or others may write there: expected a folder of our own"
    )]
    NotOurs {
        /// The folder.
        path: PathBuf,
    },
    /// The system refuses.
    #[error("cannot {doing} {path:?}: {source}")]
    Io {
        /// What was tried.
        doing: &'static str,
        /// The folder.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    fn child() -> Child {
        Child {
            name: "lidar".to_owned(),
            pid: 4711,
            start_ticks: u64::MAX,
            mark: "raptor@deck:lidar:1.2".to_owned(),
            digest: 0xfedc_ba98_7654_3210,
            started_utime: 1_763_269_856_250_000,
            stop_signal: StopSignal::Interrupt,
            grace: Duration::from_millis(1_500),
        }
    }

    #[test]
    fn what_was_written_is_read_and_damage_is_nothing() {
        let place = tempfile::tempdir().unwrap();
        let folder = Folder::lock(&place.path().join("new"), "raptor@deck", "pid 1").unwrap();
        assert_eq!(folder.read(), Legacy::default());
        let legacy = Legacy {
            children: vec![child()],
            alarms: vec![GivenUp {
                name: "sonar".to_owned(),
                why: "restarted 5 times in 30 s; last: \"x\" is gone".to_owned(),
                since_utime: 1_763_269_856_250_000,
            }],
            epoch: Some(crate::clock::Live::new().epoch()),
        };
        folder.write(&legacy).unwrap();
        assert_eq!(folder.read(), legacy);
        fs::write(&folder.state, "child = [{ name = \"half").unwrap();
        assert_eq!(folder.read(), Legacy::default());
        folder.clear();
        assert!(!folder.state.exists());
    }

    #[test]
    fn second_supervisor_gets_the_name_of_the_first() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("locks");
        let first = Folder::lock(&path, "raptor@deck", "pid 17").unwrap();
        let error = Folder::lock(&path, "raptor@deck", "pid 18").unwrap_err();
        assert!(error.to_string().contains("already: pid 17."), "{error}");
        Folder::lock(&path, "raptor@mast", "pid 18").unwrap();
        drop(first);
        Folder::lock(&path, "raptor@deck", "pid 18").unwrap();
    }

    #[test]
    fn a_folder_that_others_may_write_is_refused() {
        use std::os::unix::fs::PermissionsExt as _;
        let place = tempfile::tempdir().unwrap();
        fs::set_permissions(place.path(), fs::Permissions::from_mode(0o777)).unwrap();
        let error = Folder::lock(place.path(), "raptor@deck", "pid 17").unwrap_err();
        assert!(matches!(error, LockError::NotOurs { .. }), "{error}");
    }
}
