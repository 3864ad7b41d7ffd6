//! How a plan is carried out, and what is reported of it.

use std::fmt;
use std::os::fd::BorrowedFd;
use std::path::PathBuf;

/// How a plan is carried out.
pub struct Options<'a> {
    /// Where a supervisor leaves its state for the next one; by default the user's own folder.
    pub folder: Option<PathBuf>,
    /// When this can be read from, everything is stopped in order.
    pub until: BorrowedFd<'a>,
    /// Whose children it looks after.
    pub care: Care,
    /// The program, with its first arguments, that bounds what processes print after this supervisor has died: it calls
    /// [`keep`](super::keep) with the folder, the name and the number that come behind these. Without it there is no keeper.
    pub keeper: Vec<String>,
    /// Receives what happens, as it does.
    pub tell: &'a mut dyn FnMut(&News<'_>),
}

/// Whose children a supervisor looks after.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Care {
    /// Those that it starts.
    Own,
    /// All children of this process, orphans included: for a process that does nothing else.
    Everything,
}

/// What happens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum News<'a> {
    /// A process runs.
    Started {
        /// Its name.
        process: &'a str,
        /// Its number.
        pid: i32,
    },
    /// A process was running already.
    Adopted {
        /// Its name.
        process: &'a str,
        /// Its number.
        pid: i32,
    },
    /// A process could not be started, or ended.
    Ended {
        /// Its name.
        process: &'a str,
        /// How.
        how: &'a str,
    },
    /// A process printed something.
    Printed {
        /// Its name.
        process: &'a str,
        /// A line.
        line: &'a str,
    },
    /// Something is wrong for good.
    Alarm {
        /// About which process.
        process: &'a str,
        /// What.
        text: &'a str,
    },
    /// The safe state was entered, or left.
    SafeState(bool),
    /// Anything else that people may want to know.
    Note(&'a str),
}

impl fmt::Debug for Options<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            folder,
            until: _,
            care,
            keeper,
            tell: _,
        } = self;
        f.debug_struct("Options")
            .field("folder", folder)
            .field("care", care)
            .field("keeper", keeper)
            .finish_non_exhaustive()
    }
}
