//! What can be asked of a simulation: its time, where things are, what is broken.

use super::{Pace, Sim};
use crate::fault::{Fault, KINDS, until};
use crate::noise::Seed;
use crate::solid::Solid;
use crate::world::{Body, Moves, Spawn};
use bowline_component::service::{CallId, Failure};
use bowline_component::{Outbox, Ports, Service, Step, Time};
use bowline_geometry::{Transform, is_name};
use bowline_msgs::{SimControl, SimFault, SimPlace, SimState};
use std::time::Duration;

/// Codes of what is refused.
const NONSENSE: i32 = 1;
const NOT_THERE: i32 = 2;
const BUSY: i32 = 3;

/// The most steps that one call may ask for.
const MAX_STEPS: i32 = 1_000_000;
/// What is farther away is nowhere.
const MAX_METRES: f64 = 1e5;

#[derive(Debug)]
pub(super) struct Services {
    control: Service<SimControl, SimState>,
    place: Service<SimPlace, SimState>,
    fault: Service<SimFault, SimState>,
    /// Who waits for steps to be taken.
    stepping: Option<CallId>,
}

impl Services {
    pub(super) fn new(ports: &mut Ports) -> Self {
        Self {
            control: ports.service("control", "Pauses, resumes, steps, or begins again."),
            place: ports.service(
                "place",
                "Puts the robot or bodies somewhere, or takes them away.",
            ),
            fault: ports.service(
                "fault",
                "Breaks sensors, the drive or the network, or mends them.",
            ),
            stepping: None,
        }
    }
}

impl<T> Sim<T> {
    pub(super) fn serve(&mut self, step: &Step<'_>, out: &mut Outbox<'_>) {
        let now = step.now();
        if let Some(call) = step.called(self.services.control) {
            match self.control(call.request(), call.id(), now) {
                Ok(Some(state)) => out.reply(self.services.control, call.id(), &state),
                // The answer comes when the steps were taken.
                Ok(None) => {}
                Err(failure) => out.fail(self.services.control, call.id(), failure),
            }
        }
        if let Some(call) = step.called(self.services.place) {
            match self.place(call.request()) {
                Ok(()) => out.reply(self.services.place, call.id(), &self.state()),
                Err(failure) => out.fail(self.services.place, call.id(), failure),
            }
        }
        if let Some(call) = step.called(self.services.fault) {
            match self.fault(call.request()) {
                Ok(()) => out.reply(self.services.fault, call.id(), &self.state()),
                Err(failure) => out.fail(self.services.fault, call.id(), failure),
            }
        }
        if step.dropped(self.services.control).is_some() {
            self.services.stepping = None;
        }
    }

    /// Answers the callers that wait for steps, once they are taken.
    pub(super) fn answer_steps(&mut self, out: &mut Outbox<'_>) {
        if self.pace != Pace::Paused {
            return;
        }
        if let Some(call) = self.services.stepping.take() {
            out.reply(self.services.control, call, &self.state());
        }
    }

    fn state(&self) -> SimState {
        let simulation = &self.simulation;
        SimState {
            utime: (self.epoch + self.elapsed()).utime(),
            n_steps: simulation.n_steps().cast_signed(),
            step_ns: simulation.settings().step_ns.cast_signed(),
            paused: self.pace == Pace::Paused,
            seed: simulation.settings().seed.0.cast_signed(),
            skipped_ns: i64::try_from(self.skipped.as_nanos()).unwrap_or(i64::MAX),
            bodies: simulation
                .bodies()
                .map(|(body, _)| body.name.clone())
                .collect(),
            faults: simulation.faults().map(ToString::to_string).collect(),
            ..SimState::default()
        }
        .with_lengths()
    }

    fn control(
        &mut self,
        request: &SimControl,
        call: CallId,
        now: Time,
    ) -> Result<Option<SimState>, Failure> {
        match request.action {
            SimControl::STATE => {}
            SimControl::PAUSE => self.pace = Pace::Paused,
            SimControl::RESUME => self.pace = Pace::Running,
            SimControl::STEP => {
                let n_steps = request.n_steps;
                if !(1..=MAX_STEPS).contains(&n_steps) {
                    let why = format!("expected 1 to {MAX_STEPS} steps, found {n_steps}");
                    return Err(Failure::new(NONSENSE, why));
                }
                if self.services.stepping.is_some() {
                    let why = "it is taking the steps of another call: wait for those";
                    return Err(Failure::new(BUSY, why.to_owned()));
                }
                self.pace = Pace::Steps(u64::from(n_steps.unsigned_abs()));
                self.services.stepping = Some(call);
                return Ok(None);
            }
            SimControl::RESET => {
                let seed = u64::try_from(request.seed).ok().map(Seed);
                if seed.is_none() && request.seed != -1 {
                    let why = format!(
                        "expected a seed of 0 or more, or -1, found {}",
                        request.seed
                    );
                    return Err(Failure::new(NONSENSE, why));
                }
                self.simulation.reset(seed);
                self.epoch = now;
            }
            other => {
                let why = format!(
                    "expected an action: STATE (0), PAUSE (1), RESUME (2), STEP (3) or RESET (4), found {other}"
                );
                return Err(Failure::new(NONSENSE, why));
            }
        }
        Ok(Some(self.state()))
    }

    fn place(&mut self, request: &SimPlace) -> Result<(), Failure> {
        match request.action {
            SimPlace::TELEPORT => {
                let to = pose(request)?;
                if request.name.is_empty() {
                    let [x, y, z] = request.xyz_m;
                    self.simulation.teleport(&Spawn {
                        xy_m: [x, y],
                        from_z_m: Some(z + 0.5),
                        heading_rad: request.rpy_rad[2],
                    });
                } else if !self.simulation.move_body(&request.name, &to) {
                    return Err(self.no_such(&request.name));
                }
                Ok(())
            }
            SimPlace::SPAWN => {
                let body = self.new_body(request)?;
                if !self.simulation.spawn(body) {
                    let why = format!(
                        "expected a new name, found {:?}, which is there",
                        request.name
                    );
                    return Err(Failure::new(NONSENSE, why));
                }
                Ok(())
            }
            SimPlace::REMOVE => {
                if request.name.is_empty() {
                    let why = "expected the name of a body: the robot stays";
                    return Err(Failure::new(NONSENSE, why.to_owned()));
                }
                if !self.simulation.remove(&request.name) {
                    return Err(self.no_such(&request.name));
                }
                Ok(())
            }
            other => {
                let why = format!(
                    "expected an action: TELEPORT (1), SPAWN (2) or REMOVE (3), found {other}"
                );
                Err(Failure::new(NONSENSE, why))
            }
        }
    }

    fn no_such(&self, name: &str) -> Failure {
        let names: Vec<&str> = self
            .simulation
            .bodies()
            .map(|(body, _)| body.name.as_str())
            .take(20)
            .collect();
        let why = format!(
            "expected a body of the world, found {name:?}; there are {}",
            names.join(", ")
        );
        Failure::new(NOT_THERE, why)
    }

    fn new_body(&self, request: &SimPlace) -> Result<Body, Failure> {
        let nonsense = |why: String| Err(Failure::new(NONSENSE, why));
        if !is_name(&request.name) {
            return nonsense(format!(
                "expected a name without spaces and colons, found {:?}",
                request.name
            ));
        }
        if self.simulation.bodies().count() >= MAX_BODIES {
            return nonsense(format!("expected at most {MAX_BODIES} bodies: remove some"));
        }
        let size = request.size_m;
        if !size.iter().all(|edge| (0.001..=1e4).contains(edge)) {
            return nonsense(format!(
                "expected sizes of 0.001 to 10000 m, found {size:?}"
            ));
        }
        if !(0.0..=1e6).contains(&request.mass_kg) {
            return nonsense(format!(
                "expected a mass of 0 to 1000000 kg, found {}",
                request.mass_kg
            ));
        }
        let [x, y, z] = size.map(|edge| edge / 2.0);
        let solid = match request.shape {
            SimPlace::BOX => Solid::Box { half_m: [x, y, z] },
            SimPlace::CYLINDER => Solid::Cylinder {
                radius_m: x,
                half_m: z,
            },
            SimPlace::SPHERE => Solid::Sphere { radius_m: x },
            other => {
                return nonsense(format!(
                    "expected a shape: BOX (1), CYLINDER (2) or SPHERE (3), found {other}"
                ));
            }
        };
        let mut body = Body::new(request.name.clone(), solid).posed(pose(request)?);
        if request.mass_kg > 0.0 {
            body.moves = Moves::Freely {
                mass_kg: request.mass_kg,
            };
        }
        Ok(body)
    }

    fn fault(&mut self, request: &SimFault) -> Result<(), Failure> {
        let nonsense = |why: String| Failure::new(NONSENSE, why);
        let SimFault { kind, value, .. } = *request;
        if kind == SimFault::CLEAR {
            self.simulation.mend();
            return Ok(());
        }
        let Some(named) = KINDS.iter().find(|named| named.code == kind) else {
            let kinds = KINDS.iter();
            let kinds = kinds.map(|it| format!("{} ({})", it.word.to_uppercase(), it.code));
            let kinds: Vec<String> = kinds.collect();
            return Err(nonsense(format!(
                "expected a kind of fault: CLEAR (0), {}, found {kind}",
                kinds.join(", ")
            )));
        };
        let kind = named.of(value).map_err(|amount| {
            let (least, most) = (amount.limits.start(), amount.limits.end());
            nonsense(format!(
                "expected a value of {least} to {most} for {}, found {value}",
                named.word.to_uppercase()
            ))
        })?;
        let port = self.port(&request.port)?;
        let duration = u64::try_from(request.duration_us).map_err(|_error| {
            nonsense(format!(
                "expected a duration of 0 or more, found {} us",
                request.duration_us
            ))
        })?;
        let now_ns = self.simulation.elapsed_ns();
        let until_ns = (duration > 0).then(|| until(now_ns, Duration::from_micros(duration)));
        let fault = Fault {
            kind,
            port,
            until_ns,
        };
        if !self.simulation.break_down(fault) {
            return Err(nonsense(
                "too much is broken already: clear it first".to_owned(),
            ));
        }
        Ok(())
    }

    /// A port that can be broken.
    fn port(&self, name: &str) -> Result<Option<String>, Failure> {
        if name.is_empty() {
            return Ok(None);
        }
        let known = self.simulation.vehicle().check_breakable(name);
        known.map_err(|error| Failure::new(NOT_THERE, error.to_string()))?;
        Ok(Some(name.to_owned()))
    }
}

/// A world of so many bodies is large enough.
const MAX_BODIES: usize = 10_000;

fn pose(request: &SimPlace) -> Result<Transform, Failure> {
    let SimPlace { xyz_m, rpy_rad, .. } = *request;
    let is_somewhere = xyz_m
        .iter()
        .chain(&rpy_rad)
        .all(|it| it.abs() <= MAX_METRES);
    if !is_somewhere {
        let why = format!(
            "expected a place within {MAX_METRES} m and finite angles, found {xyz_m:?}, {rpy_rad:?}"
        );
        return Err(Failure::new(NONSENSE, why));
    }
    Ok(Transform::from_xyz_rpy(xyz_m, rpy_rad))
}
