//! Without the feature `link` there are no tables of links.

use crate::table::NameClashError;

/// Nothing.
#[derive(Clone, Debug, Default)]
pub(crate) struct Links;

impl Links {
    pub(crate) fn check(&self) -> Result<(), NameClashError> {
        let Self = self;
        Ok(())
    }
}
