//! What the simulator promises, through its public interface.
#![expect(clippy::panic, reason = "helpers of tests fail as tests do")]

#[path = "it/support.rs"]
mod support;
#[path = "it/torpedo.rs"]
mod torpedo;

#[path = "it/bad_days.rs"]
mod bad_days;
#[path = "it/barn.rs"]
mod barn;
#[path = "it/component.rs"]
mod component;
#[path = "it/driving.rs"]
mod driving;
#[path = "it/elements.rs"]
mod elements;
#[path = "it/options.rs"]
mod options;
#[path = "it/repeatable.rs"]
mod repeatable;
#[path = "it/sensors.rs"]
mod sensors;
#[path = "it/survey.rs"]
mod survey;
#[path = "it/tables.rs"]
mod tables;
#[path = "it/vessel.rs"]
mod vessel;
#[path = "it/voyage.rs"]
mod voyage;
#[path = "it/water.rs"]
mod water;
#[path = "it/worlds.rs"]
mod worlds;
