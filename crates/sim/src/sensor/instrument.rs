//! Sensors and their readings where their types do not matter.

use super::sample::Disturbance;
use super::{Moment, Reach, Sample, Sensor};
use crate::physics::Touch;
use crate::schedule::{Rate, Schedule};
use crate::vehicle::Mounted;
use bowline_component::{Outbox, Output, Ports, TypeInfo};
use bowline_wire::{EncodeError, Message};
use std::any::Any;
use std::fmt;

/// A sensor of any kind.
pub struct Instrument(Box<dyn Erased>);

impl Instrument {
    /// A sensor without its type.
    #[must_use]
    pub fn new(sensor: impl Sensor) -> Self {
        Self(Box::new(sensor))
    }

    /// What it publishes.
    #[must_use]
    pub fn message(&self) -> TypeInfo {
        self.0.message()
    }

    /// What it sees of the plane about it.
    #[must_use]
    pub fn reach(&self) -> Option<Reach> {
        self.0.reach()
    }

    /// Declares the output of a sensor.
    pub(crate) fn output(
        &self,
        mounted: &Mounted,
        channel: &str,
        ports: &mut Ports,
    ) -> ReadingOutput {
        ReadingOutput(self.0.output(mounted, channel, ports))
    }
}

impl Clone for Instrument {
    fn clone(&self) -> Self {
        Self(self.0.copy())
    }
}

impl fmt::Debug for Instrument {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

trait Erased: fmt::Debug + Send + Sync {
    fn copy(&self) -> Box<dyn Erased>;
    fn message(&self) -> TypeInfo;
    fn measure(&mut self, at: &Sample<'_>, noise: &mut crate::Stream) -> Reading;
    fn restamped(&self, reading: &Reading, utime: i64) -> Reading;
    fn touched(&mut self, force_n: Option<f64>);
    fn reach(&self) -> Option<Reach>;
    fn output(&self, mounted: &Mounted, channel: &str, ports: &mut Ports) -> Box<dyn Port>;
}

impl<S: Sensor> Erased for S {
    fn copy(&self) -> Box<dyn Erased> {
        Box::new(self.clone())
    }

    fn message(&self) -> TypeInfo {
        TypeInfo::of::<S::Message>()
    }

    fn measure(&mut self, at: &Sample<'_>, noise: &mut crate::Stream) -> Reading {
        Reading(Box::new(Sensor::measure(self, at, noise)))
    }

    fn restamped(&self, reading: &Reading, utime: i64) -> Reading {
        let mut again = reading.clone();
        let message: &mut dyn Any = &mut *again.0;
        if let Some(message) = message.downcast_mut::<S::Message>() {
            *S::utime_of(message) = utime;
        }
        again
    }

    fn touched(&mut self, force_n: Option<f64>) {
        Sensor::touched(self, force_n);
    }

    fn reach(&self) -> Option<Reach> {
        Sensor::reach(self)
    }

    fn output(&self, mounted: &Mounted, channel: &str, ports: &mut Ports) -> Box<dyn Port> {
        let (name, doc) = (&mounted.port, self.doc(mounted.word, &mounted.port));
        Box::new(ports.output_on::<S::Message>(name, &doc, channel))
    }
}

/// What a sensor measured: a message of one of the types that its kind publishes.
pub struct Reading(Box<dyn AnyMessage>);

impl Reading {
    /// The message, if it is of this type.
    #[must_use]
    pub fn get<M: Message + 'static>(&self) -> Option<&M> {
        let message: &dyn Any = &*self.0;
        message.downcast_ref()
    }

    /// What it is.
    #[must_use]
    pub fn message(&self) -> TypeInfo {
        self.0.info()
    }

    /// Its bytes.
    ///
    /// # Errors
    /// When it has no faithful encoding.
    pub fn encode(&self) -> Result<Vec<u8>, EncodeError> {
        self.0.encoded()
    }
}

impl Clone for Reading {
    fn clone(&self) -> Self {
        Self(self.0.copy())
    }
}

impl PartialEq for Reading {
    fn eq(&self, other: &Self) -> bool {
        self.0.is_same(&*other.0)
    }
}

impl fmt::Debug for Reading {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

trait AnyMessage: Any + fmt::Debug + Send + Sync {
    fn copy(&self) -> Box<dyn AnyMessage>;
    fn is_same(&self, other: &dyn Any) -> bool;
    fn info(&self) -> TypeInfo;
    fn encoded(&self) -> Result<Vec<u8>, EncodeError>;
}

impl<M> AnyMessage for M
where
    M: Message + Clone + fmt::Debug + PartialEq + Send + Sync + 'static,
{
    fn copy(&self) -> Box<dyn AnyMessage> {
        Box::new(self.clone())
    }

    fn is_same(&self, other: &dyn Any) -> bool {
        other.downcast_ref::<M>() == Some(self)
    }

    fn info(&self) -> TypeInfo {
        TypeInfo::of::<M>()
    }

    fn encoded(&self) -> Result<Vec<u8>, EncodeError> {
        self.encode()
    }
}

/// The output of a sensor.
#[derive(Debug)]
pub(crate) struct ReadingOutput(Box<dyn Port>);

impl ReadingOutput {
    pub(crate) fn send(&self, reading: Reading, out: &mut Outbox<'_>) {
        self.0.send(reading, out);
    }
}

trait Port: fmt::Debug + Send {
    fn send(&self, reading: Reading, out: &mut Outbox<'_>);
}

impl<M: Message + Send + Sync + 'static> Port for Output<M> {
    fn send(&self, reading: Reading, out: &mut Outbox<'_>) {
        let message: Box<dyn Any> = reading.0;
        match message.downcast::<M>() {
            Ok(message) => out.send(*self, *message),
            Err(_other) => unreachable!("outputs are declared by the sensors that measure"),
        }
    }
}

/// A sensor of a vehicle in a simulation.
#[derive(Clone, Debug)]
pub(crate) struct Device {
    pub(crate) mounted: Mounted,
    pub(crate) schedule: Schedule,
    instrument: Instrument,
    /// Its last reading, for when it is stuck.
    last: Option<Reading>,
}

impl Device {
    /// A sensor that begins to measure. One that has no rate measures at every step.
    pub(crate) fn new(mounted: &Mounted, step_hz: Rate) -> Self {
        let rate = Rate::from_hz(mounted.rate_hz).unwrap_or(step_hz);
        Self {
            mounted: mounted.clone(),
            schedule: Schedule::new(rate),
            instrument: mounted.instrument.clone(),
            last: None,
        }
    }

    /// Feels what happened in a step.
    pub(crate) fn feel(&mut self, touches: &[Touch]) {
        let part = self.mounted.part;
        let pushes = touches.iter().filter(|touch| touch.part == part);
        let force_n: f64 = pushes.clone().map(|touch| touch.force_n).sum();
        let is_touched = pushes.count() > 0;
        self.instrument.0.touched(is_touched.then_some(force_n));
    }

    /// What it measures, as its `tick`-th measurement.
    pub(crate) fn measure(
        &mut self,
        tick: u64,
        moment: &Moment<'_>,
        disturbance: Disturbance,
    ) -> Reading {
        let mut noise = moment.seed.stream(&self.mounted.port, tick);
        let sample = Sample {
            moment,
            mounted: &self.mounted,
            disturbance,
        };
        self.instrument.0.measure(&sample, &mut noise)
    }

    /// The same, in its turn; one that is stuck repeats what it measured last.
    pub(crate) fn measure_next(
        &mut self,
        tick: u64,
        moment: &Moment<'_>,
        (disturbance, is_stuck): (Disturbance, bool),
    ) -> Reading {
        let reading = match &self.last {
            Some(last) if is_stuck => self.instrument.0.restamped(last, moment.utime),
            Some(_) | None => self.measure(tick, moment, disturbance),
        };
        self.last = Some(reading.clone());
        reading
    }
}
