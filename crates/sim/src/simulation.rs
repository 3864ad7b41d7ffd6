//! A world with a vehicle in it, as time goes on.

use crate::actuation::wheels::{Motion, Steering, WheelState};
use crate::actuation::{Propulsion, Site, Start, Stride};
use crate::fault::{Fault, Faults};
use crate::math::{between, transform, vector};
use crate::noise::Seed;
use crate::paint::{Crossing, Paint};
use crate::physics::{ChassisState, Physics, Touch};
use crate::schedule::{Rate, Schedule};
use crate::sensor::{self, Device, Disturbance, Moment, Reading};
use crate::vehicle::Vehicle;
use crate::world::{Body, Spawn, World};
use bowline_autonomy::control::DriveLimits;
use bowline_component::Time;
use bowline_geometry::{Transform, Vec3};
use bowline_msgs::{Contact, PoseTransform, Sea as SeaMessage};
use rapier3d_f64::math::Vector;
use std::any::Any;

/// What a simulation needs to know beyond world and vehicle.
#[derive(Clone, Debug)]
pub struct Settings {
    /// What all noise comes from.
    pub seed: Seed,
    /// What all noise of sensors is multiplied with.
    pub noise: f64,
    /// Ports of sensors that measure without any.
    pub exact: Vec<String>,
    /// How long a step is, nanoseconds.
    pub step_ns: u64,
    /// What a vehicle on wheels may do; and how long a command holds, of vessels too.
    pub limits: DriveLimits,
    /// How it turns on wheels.
    pub steering: Steering,
    /// How much tyres hold on ground of friction 1.
    pub grip: f64,
    /// How fast the vehicle bounces on its springs, hertz.
    pub bounce_hz: f64,
    /// How often the truth is published, hertz.
    pub truth_hz: f64,
}

impl Settings {
    /// What the noise of a sensor is multiplied with.
    fn noise_of(&self, port: &str) -> f64 {
        let is_exact = self.exact.iter().any(|exact| exact == port);
        if is_exact { 0.0 } else { self.noise }
    }
}

/// A world with a vehicle in it.
#[derive(Debug)]
pub struct Simulation {
    world: World,
    vehicle: Vehicle,
    settings: Settings,
    physics: Physics,
    paint: Paint,
    propulsion: Box<dyn Propulsion>,
    devices: Vec<Device>,
    truth: Schedule,
    faults: Faults,
    contacts: Contacts,
    n_steps: u64,
}

/// Something that is to be published.
#[derive(Clone, Debug, PartialEq)]
#[expect(
    clippy::large_enum_variant,
    reason = "few are alive at once: each is published as soon as it is made"
)]
pub enum Event {
    /// A sensor measured.
    Measured {
        /// Which one: an index into the vehicle's sensors.
        sensor: usize,
        /// What.
        reading: Reading,
    },
    /// Where the vehicle truly is.
    Truth(PoseTransform),
    /// What it truly touches.
    Contact(Contact),
    /// What wind and water truly do where a vessel is.
    Sea(SeaMessage),
}

/// What the vehicle should not touch, and touches.
#[derive(Clone, Debug, Default)]
struct Contacts {
    touching: Vec<Contacting>,
    n_begun: i32,
}

/// A part of the vehicle, what it touches, how hard, and since when.
#[derive(Clone, Copy, Debug)]
struct Contacting {
    part: usize,
    other: Other,
    force_n: f64,
    since_ns: u64,
}

/// What can be touched: a body or a line of the world, by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Other {
    Body(usize),
    Line(usize),
}

impl Simulation {
    /// Puts the vehicle where the world's robots begin.
    #[must_use]
    pub fn new(world: World, vehicle: Vehicle, settings: Settings) -> Self {
        let step_s = seconds(settings.step_ns);
        let mut physics = Physics::new(&world, step_s);
        let site = Site {
            physics: &physics,
            world: &world,
        };
        let at = vehicle.gear.stand(&site, &world.spawn);
        physics.set_vehicle(&vehicle.chassis, &at);
        let step_hz = Rate::from_hz(1.0 / step_s).unwrap_or(Rate::SECOND);
        let mut simulation = Self {
            propulsion: vehicle.gear.start(&Start {
                vehicle: &vehicle,
                settings: &settings,
                world: &world,
            }),
            devices: vehicle
                .sensors
                .iter()
                .map(|mounted| Device::new(mounted, step_hz))
                .collect(),
            truth: Schedule::new(Rate::from_hz(settings.truth_hz).unwrap_or(step_hz)),
            faults: Faults::planned(world.faults.clone()),
            contacts: Contacts::default(),
            n_steps: 0,
            vehicle,
            settings,
            paint: Paint::new(&world, &physics),
            physics,
            world,
        };
        simulation.settle();
        simulation.faults.advance(0);
        simulation
    }

    /// The world as it was at the beginning.
    #[must_use]
    pub const fn world(&self) -> &World {
        &self.world
    }

    /// The vehicle.
    #[must_use]
    pub const fn vehicle(&self) -> &Vehicle {
        &self.vehicle
    }

    /// What it was made with.
    #[must_use]
    pub const fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Steps since the beginning.
    #[must_use]
    pub const fn n_steps(&self) -> u64 {
        self.n_steps
    }

    /// Nanoseconds since the beginning.
    #[must_use]
    pub const fn elapsed_ns(&self) -> u64 {
        self.n_steps * self.settings.step_ns
    }

    /// Begins again, with another seed perhaps.
    pub fn reset(&mut self, seed: Option<Seed>) {
        let mut settings = self.settings.clone();
        settings.seed = seed.unwrap_or(settings.seed);
        *self = Self::new(self.world.clone(), self.vehicle.clone(), settings);
    }

    /// At rest and without commands: the vehicle was put somewhere.
    fn settle(&mut self) {
        let (now, elapsed_ns) = (self.now(), self.elapsed_ns());
        if let Some(state) = self.physics.vehicle() {
            self.propulsion.settle(&state, now, elapsed_ns);
        }
    }

    /// Takes a command, if it arrives. One of another type than the vehicle's is none of its business.
    pub fn command(&mut self, command: &dyn Any) {
        let now = self.now();
        if !self.faults.is_deaf(self.vehicle.command().name) {
            self.propulsion.command(now, command);
        }
    }

    /// Whether commands have stopped, so that it stops.
    #[must_use]
    pub fn is_silent(&self) -> bool {
        self.propulsion.is_silent(self.now())
    }

    /// Breaks something; `false` if too much is broken already.
    pub fn break_down(&mut self, fault: Fault) -> bool {
        self.faults.add(fault)
    }

    /// Mends everything.
    pub fn mend(&mut self) {
        self.faults.clear();
    }

    /// What is broken.
    pub fn faults(&self) -> impl Iterator<Item = &Fault> {
        self.faults.iter()
    }

    /// Where the vehicle truly is.
    #[must_use]
    pub fn pose(&self) -> Transform {
        self.seen()
            .map_or(Transform::IDENTITY, |state| transform(&state.pose))
    }

    /// The vehicle as its sensors feel it, with what the engine does not know about.
    fn seen(&self) -> Option<ChassisState> {
        let state = self.physics.vehicle()?;
        Some(self.propulsion.seen(state))
    }

    /// How fast it truly moves along its forward axis, and turns to the left.
    #[must_use]
    pub fn speed(&self) -> [f64; 2] {
        let Some(state) = self.seen() else {
            return [0.0; 2];
        };
        let turn = state.pose.rotation;
        let velocity = state.velocity_at(state.pose.translation);
        [
            velocity.dot(turn * Vector::X),
            state.rate.dot(turn * Vector::Z),
        ]
    }

    /// How a wheel is, by its body's name.
    #[must_use]
    pub fn wheel(&self, body: &str) -> Option<WheelState> {
        let part = self.vehicle.parts.iter().position(|part| part == body)?;
        self.propulsion.wheel(part)
    }

    /// Puts the vehicle on what is below a place, at rest; a vessel on the water.
    pub fn teleport(&mut self, spawn: &Spawn) {
        let site = Site {
            physics: &self.physics,
            world: &self.world,
        };
        let at = self.vehicle.gear.stand(&site, spawn);
        self.physics.move_vehicle(&at);
        self.settle();
    }

    /// Adds a body; `false` if there is one of that name.
    pub fn spawn(&mut self, body: Body) -> bool {
        let is_new = self.physics.bodies().all(|it| it.name != body.name);
        if is_new {
            self.physics.add(body);
        }
        is_new
    }

    /// Takes a body away; `false` if there is none of that name.
    pub fn remove(&mut self, name: &str) -> bool {
        // Who touches what is known by numbers, which change.
        self.contacts.touching.clear();
        self.physics.remove(name)
    }

    /// Puts a body somewhere else, at rest; `false` if there is none of that name.
    pub fn move_body(&mut self, name: &str, to: &Transform) -> bool {
        self.physics.move_body(name, to)
    }

    /// Bodies of the world, and where each is now.
    pub fn bodies(&self) -> impl Iterator<Item = (&Body, Transform)> {
        let bodies = self.physics.bodies().enumerate();
        bodies.map(|(at, body)| {
            let pose = self.physics.where_is(at);
            (body, pose.unwrap_or(body.world_from_body))
        })
    }

    /// How high the world is at a place, seen from a height; none where there is nothing below.
    #[must_use]
    pub fn height_at(&self, xy_m: [f64; 2], from_z_m: f64) -> Option<f64> {
        self.physics.height_m(xy_m, from_z_m)
    }

    /// How far a ray goes from a point in a direction of length 1.
    #[must_use]
    pub fn range(&self, from: Vec3, direction: Vec3, most_m: f64) -> Option<f64> {
        let met = self.physics.cast(vector(from), vector(direction), most_m);
        met.map(|met| met.range_m)
    }

    /// What a sensor would measure now, out of turn: its measurement of that number.
    pub fn measure(&mut self, port: &str, tick: u64) -> Option<Reading> {
        let state = self.seen()?;
        let device = self.devices.iter_mut().find(|it| it.mounted.port == port)?;
        let moment = Moment {
            physics: &self.physics,
            paint: &self.paint,
            water: self.propulsion.water(),
            world_from_vehicle: state.pose,
            share: 1.0,
            state,
            before: state,
            step_s: seconds(self.settings.step_ns),
            gravity: vector(self.world.gravity_mps2),
            origin: self.world.origin,
            utime: 0,
            elapsed_ns: self.n_steps * self.settings.step_ns,
            seed: self.settings.seed,
        };
        let disturbance = Disturbance {
            noise: self.settings.noise_of(port),
            jump_m: 0.0,
            turn_rad: 0.0,
            wheel: self.propulsion.wheel(device.mounted.part),
        };
        Some(device.measure(tick, &moment, disturbance))
    }

    const fn now(&self) -> Time {
        // A simulation does not run for 292 years.
        Time::from_ns(self.elapsed_ns().cast_signed())
    }

    /// One step. What is due in it goes to `events`, in the order of time; `epoch` is when the simulation began.
    pub fn step(&mut self, epoch: Time, events: &mut Vec<Event>) {
        let Some(before) = self.seen() else {
            return;
        };
        let Some(state) = self.physics.vehicle() else {
            return;
        };
        let began_ns = self.elapsed_ns();
        let stride = Stride {
            physics: &self.physics,
            state,
            elapsed_ns: began_ns,
            now: self.now(),
            step_s: seconds(self.settings.step_ns),
            strength: self.faults.strength(),
        };
        let step_s = stride.step_s;
        let push = self.propulsion.push(&stride);
        self.physics.push(&push);
        self.n_steps += 1;
        let now_ns = self.elapsed_ns();
        self.physics.step(seconds(now_ns));
        if let Some(state) = self.physics.vehicle() {
            self.propulsion.follow(&state, now_ns, step_s);
        }
        let touches = self.physics.touches();
        for device in &mut self.devices {
            device.feel(&touches);
        }
        let crossings = self.crossings();
        self.contacts
            .update(&touches, &crossings, self.elapsed_ns());
        self.observe((before, began_ns), epoch, events);
        // From now on, for the next command as for the next step.
        self.faults.advance(self.elapsed_ns());
    }

    /// What is due in the step that was just taken.
    fn observe(
        &mut self,
        (before, began_ns): (ChassisState, u64),
        epoch: Time,
        events: &mut Vec<Event>,
    ) {
        let Some(state) = self.seen() else {
            return;
        };
        let (now_ns, step_ns) = (self.elapsed_ns(), self.settings.step_ns);
        let mut due: Vec<(u64, Event)> = Vec::new();
        let moment = |at_ns: u64| {
            let share = seconds(at_ns.saturating_sub(began_ns)) / seconds(step_ns);
            Moment {
                physics: &self.physics,
                paint: &self.paint,
                water: self.propulsion.water(),
                world_from_vehicle: between(&before.pose, &state.pose, share),
                share,
                state,
                before,
                step_s: seconds(step_ns),
                gravity: vector(self.world.gravity_mps2),
                origin: self.world.origin,
                utime: (epoch + std::time::Duration::from_nanos(at_ns)).utime(),
                elapsed_ns: at_ns,
                seed: self.settings.seed,
            }
        };
        for (sensor, device) in self.devices.iter_mut().enumerate() {
            while let Some((tick, at_ns)) = device.schedule.next_by(now_ns) {
                let port = &device.mounted.port;
                let disturbance = Disturbance {
                    noise: self.settings.noise_of(port) * self.faults.noise(port),
                    jump_m: self.faults.jump_m(port),
                    turn_rad: self.faults.turn_rad(port),
                    wheel: self.propulsion.wheel(device.mounted.part),
                };
                let (is_silent, is_stuck) =
                    (self.faults.is_silent(port), self.faults.is_stuck(port));
                let reading = device.measure_next(tick, &moment(at_ns), (disturbance, is_stuck));
                if !is_silent {
                    due.push((at_ns, Event::Measured { sensor, reading }));
                }
            }
        }
        while let Some((_, at_ns)) = self.truth.next_by(now_ns) {
            let moment = moment(at_ns);
            let pose = sensor::truth(&self.vehicle.frame, &moment);
            due.push((at_ns, Event::Truth(pose)));
            let contact = self.contact_message(moment.utime, epoch);
            due.push((at_ns, Event::Contact(contact)));
            let sea = self.sea_message(&moment);
            due.extend(sea.map(|sea| (at_ns, Event::Sea(sea))));
        }
        due.sort_by_key(|(at_ns, _)| *at_ns);
        events.extend(due.into_iter().map(|(_, event)| event));
    }

    /// What the sea does where a vessel is; none for vehicles on wheels.
    fn sea_message(&self, moment: &Moment<'_>) -> Option<SeaMessage> {
        let (water, at_ns) = (moment.water?, moment.elapsed_ns);
        let at = moment.world_from_vehicle.translation;
        let xy_m = [at.x, at.y];
        let bottom_m = self.physics.height_m(xy_m, water.sea.level_m);
        let surface_m = water.surface_m(xy_m, at_ns);
        Some(SeaMessage {
            utime: moment.utime,
            current_mps: water.current(at_ns),
            wind_mps: water.wind(at_ns),
            surface_m,
            depth_m: bottom_m.map_or(f64::NAN, |bottom| (surface_m - bottom).max(0.0)),
        })
    }

    fn contact_message(&self, utime: i64, epoch: Time) -> Contact {
        let mut message = Contact {
            utime,
            n_begun: self.contacts.n_begun,
            ..Contact::default()
        };
        for contact in &self.contacts.touching {
            let (part, other) = self.names(contact);
            message.bodies.push(part.to_owned());
            message.others.push(other.to_owned());
            let since = epoch + std::time::Duration::from_nanos(contact.since_ns);
            message.since_utime.push(since.utime());
            message.force_n.push(contact.force_n);
        }
        message.with_lengths()
    }

    /// What the vehicle touches now, in words: its part, and the body or line that it touches.
    pub fn touches(&self) -> impl Iterator<Item = (&str, &str)> {
        let touching = self.contacts.touching.iter();
        touching.map(|contact| self.names(contact))
    }

    fn names(&self, contact: &Contacting) -> (&str, &str) {
        let part = self.vehicle.parts.get(contact.part);
        let other = match contact.other {
            Other::Body(at) => self.physics.body(at).map(|body| body.name.as_str()),
            Other::Line(at) => self.paint.name(at),
        };
        (part.map_or("", String::as_str), other.unwrap_or(""))
    }

    fn crossings(&self) -> Vec<Crossing> {
        let state = self.physics.vehicle();
        state.map_or_else(Vec::new, |state| {
            self.paint.crossings(&self.vehicle, &state.pose)
        })
    }

    /// How often the vehicle has begun to touch something, or to cross a line.
    #[must_use]
    pub const fn n_contacts_begun(&self) -> i32 {
        self.contacts.n_begun
    }

    /// How the vehicle is to move now, on wheels.
    #[must_use]
    pub fn motion(&self) -> Motion {
        self.propulsion.motion()
    }
}

impl Contacts {
    fn update(&mut self, touches: &[Touch], crossings: &[Crossing], now_ns: u64) {
        let bodies = touches.iter().map(|touch| Contacting {
            part: touch.part,
            other: Other::Body(touch.body),
            force_n: touch.force_n,
            since_ns: now_ns,
        });
        // Paint does not push back.
        let lines = crossings.iter().map(|crossing| Contacting {
            part: crossing.part,
            other: Other::Line(crossing.line),
            force_n: 0.0,
            since_ns: now_ns,
        });
        let mut touching: Vec<Contacting> = bodies.chain(lines).collect();
        for contact in &mut touching {
            let same = |old: &&Contacting| old.part == contact.part && old.other == contact.other;
            match self.touching.iter().find(same) {
                Some(old) => contact.since_ns = old.since_ns,
                None => self.n_begun = self.n_begun.saturating_add(1),
            }
        }
        self.touching = touching;
    }
}

/// Nanoseconds as seconds.
fn seconds(ns: u64) -> f64 {
    std::time::Duration::from_nanos(ns).as_secs_f64()
}
