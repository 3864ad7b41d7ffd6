//! The transports of a program, made known to its process.

use crate::table::{Row, Table};
use bowline_bus::{InstallSchemesError, Scheme, Schemes};
use std::ptr;

impl Row for &'static Scheme {
    const NOUN: &'static str = "transport";

    fn name(&self) -> &'static str {
        self.name
    }

    fn summary(&self) -> &'static str {
        self.summary
    }
}

/// Makes them the transports of the process, if the program has added any. Their names are unique.
pub(crate) fn install(transports: &Table<&'static Scheme>) -> Result<(), InstallSchemesError> {
    if !transports.has_additions() {
        return Ok(());
    }
    let mut schemes = Schemes::built_in();
    for row in transports.rows() {
        if schemes.named(row.name).is_none() {
            schemes = schemes.with(row).expect("there is none of that name");
        }
    }
    schemes.install().or_else(|refused| {
        // A program may run more than once in a process.
        let is_known = |row: &&'static Scheme| {
            let known = Schemes::installed().named(row.name);
            known.is_some_and(|known| ptr::eq(known, *row))
        };
        let is_all_known = transports.rows().iter().all(is_known);
        if is_all_known { Ok(()) } else { Err(refused) }
    })
}
