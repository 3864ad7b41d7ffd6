//! The tables of links: schedulers and carriers, Bowline's and the program's own.

use crate::App;
use crate::table::{NameClashError, Row, Table};
use bowline_link::{Tables, carrier, schedule};

/// What files of links can name.
#[derive(Clone, Debug)]
pub(crate) struct Links {
    schedulers: Table<schedule::Row>,
    carriers: Table<carrier::Row>,
}

impl Default for Links {
    fn default() -> Self {
        let Tables {
            schedulers,
            carriers,
        } = Tables::default();
        Self {
            schedulers: Table::new(schedulers.iter().copied()),
            carriers: Table::new(carriers.iter().copied()),
        }
    }
}

impl Links {
    pub(crate) fn tables(&self) -> Tables<'_> {
        Tables {
            schedulers: self.schedulers.rows(),
            carriers: self.carriers.rows(),
        }
    }

    pub(crate) fn check(&self) -> Result<(), NameClashError> {
        self.schedulers.check()?;
        self.carriers.check()
    }
}

impl App {
    /// Adds schedulers that files of links can name.
    pub fn schedulers(mut self, schedulers: &[schedule::Row]) -> Self {
        self.links.schedulers.add(schedulers.iter().copied());
        self
    }

    /// Adds carriers that files of links can name.
    pub fn carriers(mut self, carriers: &[carrier::Row]) -> Self {
        self.links.carriers.add(carriers.iter().copied());
        self
    }

    pub(crate) const fn links(&self) -> &Links {
        &self.links
    }
}

impl Row for schedule::Row {
    const NOUN: &'static str = "scheduler of links";

    fn name(&self) -> &'static str {
        self.name
    }

    fn summary(&self) -> &'static str {
        self.about
    }
}

impl Row for carrier::Row {
    const NOUN: &'static str = "carrier of links";

    fn name(&self) -> &'static str {
        self.name
    }

    fn summary(&self) -> &'static str {
        self.about
    }
}
