//! Which stream is sent next: FAST-Robots' exchangeable schedulers.
//!
//! A scheduler is one file below `schedule/` and one row of [`SCHEDULERS`]. It is asked before every part that goes into a
//! packet, and sees all that could be sent now.

mod priority;
mod round_robin;
mod value;

pub use crate::queue::Candidate;
use bowline_component::Time;
use std::fmt;

/// What a scheduler may know of the link.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct View {
    /// The time.
    pub now: Time,
    /// What the link carries at present, bytes a second; `None` while no limit was seen.
    pub capacity_bytes_per_s: Option<f64>,
}

/// What is done next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// A part of this candidate is sent.
    Send(usize),
    /// This candidate is dropped: it could not be there while it is good.
    Shed(usize),
}

/// Decides what is sent next.
pub trait Scheduler: fmt::Debug + Send {
    /// One of the candidates, by its place among them. They are never empty, and in the order of the file.
    fn pick(&mut self, candidates: &[Candidate], view: View) -> Choice;

    /// Whether it wants no more sent than the link carries. Otherwise everything is sent at once, and whatever is below
    /// decides what becomes of it.
    fn is_paced(&self) -> bool;
}

/// A row of the table; a program adds rows of its own by the tables that it reads files of links with.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// As files name it.
    pub name: &'static str,
    /// What it does, in a line.
    pub about: &'static str,
    /// Makes a new one.
    pub make: fn() -> Box<dyn Scheduler>,
}

impl Row {
    /// A new one.
    #[must_use]
    pub fn make(&self) -> Box<dyn Scheduler> {
        (self.make)()
    }
}

/// All there are, by name.
pub const SCHEDULERS: &[Row] = &[
    Row {
        name: "priority",
        about: "the most valuable stream that has anything, at once, whatever the link carries",
        make: || Box::new(priority::Priority),
    },
    Row {
        name: "round_robin",
        about: "one stream after the other, at once, whatever the link carries",
        make: || Box::<round_robin::RoundRobin>::default(),
    },
    Row {
        name: "value",
        about: "earliest deadline first, then promised rates, then most value for each byte, as fast as the link carries it",
        make: || Box::<value::ValueDensity>::default(),
    },
];

/// The one of this name.
#[must_use]
pub fn find(name: &str) -> Option<&'static Row> {
    SCHEDULERS.iter().find(|row| row.name == name)
}

#[cfg(test)]
mod tests {
    use super::SCHEDULERS;

    #[test]
    fn the_table_is_sorted_and_its_names_are_unique() {
        assert!(SCHEDULERS.is_sorted_by(|before, after| before.name < after.name));
    }
}
