//! What is intact in a damaged log, into a log that is not.

use crate::copy::{Copied, CopyError, CopyPlan, copy};
use bowline_format::{Damages, Reader, Writer};

/// What came back, and what did not.
#[derive(Clone, Debug)]
pub struct Recovered {
    /// The events that came back.
    pub copied: Copied,
    /// The account of the rest.
    pub damages: Damages,
    /// Whether each event was held against a checksum. LCM's logs have none unless an index does.
    pub is_verified: bool,
}

/// How well it went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recovery {
    /// All of it came back.
    Whole,
    /// Some of it did.
    Lossy,
    /// Nothing did.
    Nothing,
}

impl Recovered {
    /// How well it went. An empty log that is intact came back whole.
    #[must_use]
    pub fn recovery(&self) -> Recovery {
        let is_lossy =
            self.damages.is_lossy() || self.copied.n_refused > 0 || self.copied.left.n_damaged > 0;
        match (is_lossy, self.copied.n_written) {
            (false, _) => Recovery::Whole,
            (true, 0) => Recovery::Nothing,
            (true, _) => Recovery::Lossy,
        }
    }
}

/// Copies everything that is intact, and ends the new log.
///
/// # Errors
/// When the one log cannot be read or the other not be written. Damage is no error.
pub fn recover(
    from: &mut Reader,
    to: &mut Writer,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<Recovered, CopyError> {
    let copied = copy(from, to, &CopyPlan::default(), progress)?;
    to.finish()?;
    Ok(Recovered {
        copied,
        is_verified: from.is_verified(),
        damages: from.damages().clone(),
    })
}
