#![doc = include_str!("../README.md")]

mod alarm;
mod component;
pub mod document;
pub mod engine;
mod health;
mod input;
mod kind;
pub mod kinds;
mod outbox;
mod parameter;
mod parcel;
mod port;
mod rig;
pub mod service;
mod step;
mod time;
pub mod trace;
mod vehicle;

pub use alarm::{ALARM_CHANNEL, AlarmKind, Severity};
pub use component::{Build, BuildError, Component};
pub use health::Health;
pub use kind::{Attempt, Built, Kind, MakeError, Outline};
pub use outbox::{CellCounts, NotCalled, Outbox};
#[doc(hidden)]
pub use parameter::support as parameter_support;
pub use parameter::{
    BadParameter, BadSetting, Change, NoParameters, Parameter, ParameterValue, Parameters, Setting,
};
pub use parcel::{Parcel, Raw};
pub use port::{
    Client, Direction, Expect, Input, Need, Output, PortInfo, Ports, Service, TypeInfo, Writers,
};
pub use rig::Rig;
pub use step::{Call, Order, Seen, Step};
pub use time::Time;
pub use vehicle::{MissingFact, Vehicle};
