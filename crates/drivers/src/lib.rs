//! Devices as components without devices: what comes from a serial line goes in, readings come out.
//!
//! In: [`serial_t`](bowline_msgs::Serial), the bytes of a line; or commands. Out: readings of Bowline's own types, bytes
//! for the device, and [`device_t`](bowline_msgs::Device), which has a count for every byte and frame that came to
//! nothing. A driver is a [`Sensor`] or an [`Actuator`] of one file, beside its simulated twin; [`SensorComponent`] and
//! [`ActuatorComponent`] make components of them.
//!
//! Deliberately absent: devices, clocks, threads. `bowline serial` connects a line to the bus.

mod actuator;
mod counts;
mod line;

pub mod nmea;
mod pace;
pub mod roboteq;
pub mod scanner;
mod sensor;
mod thrust;

pub use actuator::{Actuator, ActuatorComponent, Arrived};
pub use counts::{Condition, Counts};
pub use line::{Line, Shape, Splitter};
pub use sensor::{Reading, Sensor, SensorComponent};
pub use thrust::{ThrustDriver, ThrustParameters};
