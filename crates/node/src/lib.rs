//! Components and their hosts.

pub mod clock;
mod component;
pub mod directory;
mod kind;
mod outbox;
mod parameter;
mod parcel;
mod port;
pub mod presence;
pub mod service;
mod step;
mod suggest;
pub mod supervise;
mod time;

pub use component::{Build, BuildError, Component};
pub use kind::{Built, Kind, MakeError};
pub use outbox::Outbox;
#[doc(hidden)]
pub use parameter::support as parameter_support;
pub use parameter::{
    BadParameter, BadSetting, Change, NoParameters, Parameter, ParameterValue, Parameters, Setting,
};
pub use parcel::{Parcel, Raw};
pub use port::{
    Client, Direction, Expect, Input, Need, Output, PortInfo, Ports, Service, TypeInfo,
};
pub use step::Step;
pub use time::Time;
