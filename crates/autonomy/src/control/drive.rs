//! Set-points of actuators: commands within limits, and a stop when commands stay away.

use bowline_component::{
    Build, BuildError, Component, Expect, Health, Input, Outbox, Output, Parameters, Ports, Step,
    Time,
};
use bowline_msgs::Velocity;
use std::time::Duration;

/// What a vehicle can do and may do.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DriveLimits {
    /// Forward, metres a second.
    pub max_speed_mps: f64,
    /// Backward, metres a second, positive; 0: never backward.
    pub max_reverse_mps: f64,
    /// How fast the speed may grow, metres a second squared.
    pub max_accel_mps2: f64,
    /// How fast it may shrink, metres a second squared.
    pub max_brake_mps2: f64,
    /// To either side, radians.
    pub max_steering_rad: f64,
    /// How fast the steering may move, radians a second.
    pub max_steering_radps: f64,
    /// Without a command for so long, the vehicle stops.
    pub timeout: Duration,
}

impl Default for DriveLimits {
    fn default() -> Self {
        Self {
            max_speed_mps: 3.0,
            max_reverse_mps: 1.0,
            max_accel_mps2: 1.0,
            max_brake_mps2: 3.0,
            max_steering_rad: 50_f64.to_radians(),
            max_steering_radps: 1.0,
            timeout: Duration::from_millis(500),
        }
    }
}

/// A set-point of the actuators.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Setpoint {
    /// To the left positive, radians.
    pub steering_rad: f64,
    /// Backward negative, metres a second.
    pub speed_mps: f64,
}

/// From commands to setpoints.
///
/// Whatever is commanded, and whether anything is: setpoints are within the limits, change no faster than they allow, and
/// come to a stop after `timeout` without a command. Braking is never slower than `max_brake_mps2`.
#[derive(Clone, Debug)]
pub struct Drive {
    limits: DriveLimits,
    command: Option<Command>,
    setpoint: Setpoint,
    last: Option<Time>,
    n_refused: u64,
}

#[derive(Clone, Copy, Debug)]
struct Command {
    at: Time,
    utime: i64,
    wanted: Setpoint,
}

impl Drive {
    /// At rest, until a command comes.
    #[must_use]
    pub fn new(limits: DriveLimits) -> Self {
        Self {
            limits,
            command: None,
            setpoint: Setpoint::default(),
            last: None,
            n_refused: 0,
        }
    }

    /// Takes a command that has just arrived. One that is not a number, or that was overtaken by a later one, is refused.
    pub fn command(&mut self, now: Time, command: &Velocity) {
        let is_number = command.steering_rad.is_finite() && command.speed_mps.is_finite();
        let is_overtaken = self
            .command
            .is_some_and(|last| command.utime < last.utime && !self.is_late(now, last));
        if !is_number || is_overtaken {
            self.n_refused += 1;
            return;
        }
        let limits = &self.limits;
        let wanted = Setpoint {
            steering_rad: command
                .steering_rad
                .clamp(-limits.max_steering_rad, limits.max_steering_rad),
            speed_mps: command
                .speed_mps
                .clamp(-limits.max_reverse_mps, limits.max_speed_mps),
        };
        self.command = Some(Command {
            at: now,
            utime: command.utime,
            wanted,
        });
    }

    /// The set-point from now on, until the next call.
    pub fn advance(&mut self, now: Time) -> Setpoint {
        let elapsed_s = self.last.map_or(0.0, |last| now.since(last).as_secs_f64());
        self.last = Some(now);
        // A wheel that is held does not make a stop sharper.
        let at_rest = Setpoint {
            speed_mps: 0.0,
            ..self.setpoint
        };
        let wanted = match self.command {
            Some(command) if !self.is_late(now, command) => command.wanted,
            Some(_) | None => at_rest,
        };
        let limits = &self.limits;
        let is_slowing = wanted.speed_mps.abs() < self.setpoint.speed_mps.abs()
            || wanted.speed_mps * self.setpoint.speed_mps < 0.0;
        let rate_mps2 = if is_slowing {
            limits.max_brake_mps2
        } else {
            limits.max_accel_mps2
        };
        self.setpoint = Setpoint {
            steering_rad: toward(
                self.setpoint.steering_rad,
                wanted.steering_rad,
                limits.max_steering_radps * elapsed_s,
            ),
            speed_mps: toward(
                self.setpoint.speed_mps,
                wanted.speed_mps,
                rate_mps2 * elapsed_s,
            ),
        };
        self.setpoint
    }

    /// Lets it do more, or less, from now on: a motor is weak, a zone is slow.
    pub const fn set_limits(&mut self, limits: DriveLimits) {
        self.limits = limits;
    }

    /// Whether there is no command that counts.
    #[must_use]
    pub fn is_silent(&self, now: Time) -> bool {
        self.command
            .is_none_or(|command| self.is_late(now, command))
    }

    /// How many commands were refused.
    #[must_use]
    pub fn n_refused(&self) -> u64 {
        self.n_refused
    }

    fn is_late(&self, now: Time, command: Command) -> bool {
        now.since(command.at) >= self.limits.timeout
    }
}

fn toward(from: f64, to: f64, at_most: f64) -> f64 {
    from + (to - from).clamp(-at_most, at_most)
}

bowline_component::parameters! {
    /// What a vehicle can do and may do.
    pub struct DriveParameters {
        /// Forward, metres a second.
        max_speed_mps: f64 = 3.0, within 0.0..=50.0 => live;
        /// Backward, metres a second; 0: never backward.
        max_reverse_mps: f64 = 1.0, within 0.0..=50.0 => live;
        /// How fast the speed may grow, metres a second squared.
        max_accel_mps2: f64 = 1.0, within 0.01..=20.0;
        /// How fast it may shrink, metres a second squared.
        max_brake_mps2: f64 = 3.0, within 0.01..=20.0;
        /// How far the steering goes to either side, radians.
        max_steering_rad: f64 = 0.87, within 0.0..=1.57;
        /// How fast the steering may move, radians a second.
        max_steering_radps: f64 = 1.0, within 0.01..=20.0;
        /// How often set-points are published, times a second.
        rate_hz: f64 = 50.0, within 1.0..=1000.0;
    }
}

impl DriveParameters {
    fn limits(&self) -> DriveLimits {
        DriveLimits {
            max_speed_mps: self.max_speed_mps,
            max_reverse_mps: self.max_reverse_mps,
            max_accel_mps2: self.max_accel_mps2,
            max_brake_mps2: self.max_brake_mps2,
            max_steering_rad: self.max_steering_rad,
            max_steering_radps: self.max_steering_radps,
            ..DriveLimits::default()
        }
    }
}

/// [`Drive`] for vehicles whose driver has none of its own.
#[derive(Debug)]
pub struct DriveComponent {
    parameters: DriveParameters,
    drive: Drive,
    command: Input<Velocity>,
    setpoint: Output<Velocity>,
}

impl Build for DriveComponent {
    type Parameters = DriveParameters;

    fn build(parameters: DriveParameters, ports: &mut Ports) -> Result<Self, BuildError> {
        let drive = Drive::new(parameters.limits());
        let timeout = Expect::within(drive.limits.timeout);
        ports.tick(crate::period(parameters.rate_hz));
        Ok(Self {
            command: ports.input_on(
                "command",
                "How the vehicle is asked to move.",
                timeout,
                "command",
            ),
            setpoint: ports.output("setpoint", "The commands of the actuators."),
            parameters,
            drive,
        })
    }
}

impl Component for DriveComponent {
    fn step(&mut self, step: &Step<'_>, out: &mut Outbox<'_>) {
        let now = step.now();
        if let Some(command) = step.arrived(self.command) {
            self.drive.command(now, &command);
        }
        if step.is_parameter_change() {
            self.drive.limits = self.parameters.limits();
        }
        if step.is_start() {
            self.drive.advance(now);
        }
        if !step.is_tick() {
            return;
        }
        let setpoint = self.drive.advance(now);
        out.health(if self.drive.is_silent(now) {
            Health::Degraded("no command: the vehicle is stopped".into())
        } else {
            Health::Good
        });
        out.send(
            self.setpoint,
            Velocity {
                utime: now.utime(),
                steering_rad: setpoint.steering_rad,
                speed_mps: setpoint.speed_mps,
            },
        );
    }

    fn parameters(&mut self) -> Option<&mut dyn Parameters> {
        Some(&mut self.parameters)
    }
}
