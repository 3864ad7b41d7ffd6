//! What the gate and its stations promise. A program of its own, so that mutants of the gate are tried fast.

#![expect(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::float_cmp,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that cannot go on panics, and its numbers are small and exact"
)]

#[path = "gate/again.rs"]
mod again;
#[path = "gate/bench.rs"]
mod bench;
#[path = "gate/component.rs"]
mod component;
#[path = "gate/fence.rs"]
mod fence;
#[path = "gate/ladder.rs"]
mod ladder;
#[path = "gate/leases.rs"]
mod leases;
#[path = "gate/moments.rs"]
mod moments;
#[path = "gate/operator.rs"]
mod operator;
#[path = "gate/promises.rs"]
mod promises;
#[path = "gate/rules.rs"]
mod rules;
#[path = "gate/safe.rs"]
mod safe;
#[path = "gate/schedules.rs"]
mod schedules;
#[path = "gate/station.rs"]
mod station;
