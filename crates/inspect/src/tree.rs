//! A message as lines that fold.
//!
//! In: a value, its type, and which of its parts the user has opened or closed. Out: the lines that are on the screen,
//! each ready to be shown. The lines that are not on the screen are counted but not made, and what is closed is not
//! looked into, so a message with a million elements costs what its visible lines cost.

mod summary;
mod walk;

use crate::text;
use bowline_wire::Value;
use bowline_wire::schema::{TypeId, TypeSet};
use std::collections::BTreeSet;
use std::ops::Range;
use walk::Walk;

/// Arrays with more elements than this open in pages of as many, and those in pages of pages.
pub const PAGE_ELEMENTS: usize = 100;

/// One line of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// How many structs and arrays it is inside of.
    pub depth: usize,
    /// What distinguishes it from every other line, from message to message: its path, or a page's `ranges[0..100]`.
    pub key: String,
    /// The way to the field, for [`FieldPath::parse`](bowline_wire::FieldPath::parse); a page's is that of its array.
    pub path: String,
    /// The field's name, an element's `[3]` or a page's `[0..100]`.
    pub name: String,
    /// The type: `double[12]`, `waypoint_t[num_waypoints=50]`.
    pub ty: String,
    /// The value, or a summary of what is closed; empty for an open struct.
    pub value: String,
    /// The unit, from the field's name or comment; empty if neither has one.
    pub unit: String,
    /// The field's comment in one line; empty for elements.
    pub doc: String,
    /// Whether there is something inside, and whether it is shown.
    pub fold: Fold,
    /// Whether it is a number, which can be marked and plotted.
    pub is_numeric: bool,
}

/// Whether a line has others inside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fold {
    /// It has none.
    Leaf,
    /// They follow.
    Open,
    /// They are folded away.
    Closed,
}

/// What the user has opened and closed, by key: it outlives the messages.
///
/// Structs are open at first, arrays and their pages closed; only what differs is kept.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Folds {
    changed: BTreeSet<String>,
}

impl Folds {
    /// Opens what is closed and closes what is open.
    pub fn toggle(&mut self, row: &Row) {
        if row.fold != Fold::Leaf && !self.changed.remove(&row.key) {
            self.changed.insert(row.key.clone());
        }
    }

    /// Opens what is closed. Whether it was.
    pub fn open(&mut self, row: &Row) -> bool {
        let is_closed = row.fold == Fold::Closed;
        if is_closed {
            self.toggle(row);
        }
        is_closed
    }

    /// Closes what is open. Whether it was.
    pub fn close(&mut self, row: &Row) -> bool {
        let is_open = row.fold == Fold::Open;
        if is_open {
            self.toggle(row);
        }
        is_open
    }

    /// Forgets everything: as at first.
    pub fn clear(&mut self) {
        self.changed.clear();
    }

    fn is_changed(&self, key: &str) -> bool {
        self.changed.contains(key)
    }
}

/// A message to be shown in lines.
#[derive(Clone, Copy, Debug)]
pub struct Tree<'a> {
    types: &'a TypeSet,
    id: TypeId,
    value: &'a Value<'a>,
    folds: &'a Folds,
}

impl<'a> Tree<'a> {
    /// A message of a type, folded so.
    #[must_use]
    pub fn new(types: &'a TypeSet, id: TypeId, value: &'a Value<'a>, folds: &'a Folds) -> Self {
        Self {
            types,
            id,
            value,
            folds,
        }
    }

    /// How many lines there are. Cheap: what is closed is not looked into.
    #[must_use]
    pub fn n_rows(&self) -> usize {
        let mut walk = self.walk(0..usize::MAX);
        walk.count(self.id, self.value);
        walk.n_seen()
    }

    /// The lines of a part of the screen, from the first at 0. Fewer where the message ends.
    #[must_use]
    pub fn rows(&self, range: Range<usize>) -> Vec<Row> {
        let mut walk = self.walk(range);
        walk.collect(self.id, self.value)
    }

    /// Where the line with that key is now: arrays before it may have grown.
    #[must_use]
    pub fn position(&self, key: &str) -> Option<usize> {
        let mut walk = self.walk(0..usize::MAX);
        walk.find(self.id, self.value, key)
    }

    /// Where the line is that this one is inside of; for the key that closes it.
    #[must_use]
    pub fn parent(&self, position: usize) -> Option<usize> {
        let depth = self.rows(position..position + 1).first()?.depth;
        let mut walk = self.walk(0..position);
        walk.last_above(self.id, self.value, depth)
    }

    /// The type's name and comment, for a heading.
    #[must_use]
    pub fn heading(&self) -> (String, String) {
        let def = self.types.def(self.id);
        (text::printable(&def.full_name()), one_line(&def.doc))
    }

    fn walk(&self, range: Range<usize>) -> Walk<'a> {
        Walk::new(
            self.types,
            &self.types.def(self.id).package,
            self.folds,
            range,
        )
    }
}

/// A comment in one line, without what a terminal would obey.
fn one_line(doc: &str) -> String {
    let words: Vec<&str> = doc.split_whitespace().collect();
    text::printable(&words.join(" "))
}
