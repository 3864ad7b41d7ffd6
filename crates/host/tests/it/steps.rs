//! A program that takes steps as docs/cosimulation.md describes, well or badly.

use bowline_bus::{Bus, Event, Queue, default_url};
use bowline_host::program::{
    STEP_DONE_CHANNEL, STEP_READY_CHANNEL, STEP_REQUEST_CHANNEL, STEP_VERSION,
};
use bowline_msgs::{Laser, StepDone, StepReady, StepRequest, Velocity};
use bowline_wire::Message as _;
use nix::sys::signal::{SigSet, Signal, raise};
use std::time::Duration;

const PERIOD_NS: i64 = 25_000_000;
const WAKE_NS: i64 = 40_000_000;

/// Takes steps until it is ended, in a way that `mode` names.
pub(crate) fn take(mode: &str) {
    let bus = Bus::open(&default_url()).unwrap();
    let inbox = bus.inbox();
    for channel in ["laser.scan", STEP_REQUEST_CHANNEL] {
        inbox.subscribe(channel, Queue::default()).unwrap();
    }
    match mode {
        "early" => bus.publish("helper.speed", &Velocity::default()).unwrap(),
        // No thread of it takes the signal that asks it to end.
        "stubborn" => SigSet::from(Signal::SIGINT).thread_block().unwrap(),
        _ => {}
    }
    let ready = StepReady {
        version: STEP_VERSION + i32::from(mode == "newer"),
        name: mode.to_owned(),
        period_ns: if mode == "backwards" { -1 } else { PERIOD_NS },
    };
    if mode != "mute" {
        bus.publish(STEP_READY_CHANNEL, &ready).unwrap();
    }
    let mut helper = Helper {
        bus: &bus,
        mode,
        speed_mps: 0.0,
        n_scans: 0,
    };
    loop {
        if let Some((_, event)) = inbox.recv_timeout(Duration::from_secs(60)).unwrap() {
            helper.on_event(&event);
        }
    }
}

struct Helper<'a> {
    bus: &'a Bus,
    mode: &'a str,
    speed_mps: f64,
    n_scans: u32,
}

impl Helper<'_> {
    fn on_event(&mut self, event: &Event) {
        if event.channel.as_str() == STEP_REQUEST_CHANNEL {
            self.on_request(&StepRequest::decode(&event.payload).unwrap());
        } else {
            self.on_scan(&Laser::decode(&event.payload).unwrap());
        }
    }

    fn on_scan(&mut self, scan: &Laser) {
        self.n_scans += 1;
        let nearest_m = scan.ranges.iter().copied().reduce(f32::min);
        self.speed_mps = 0.75 * self.speed_mps + 0.25 * f64::from(nearest_m.unwrap_or_default());
        let mut velocity = Velocity {
            utime: scan.utime,
            steering_rad: 0.0,
            speed_mps: self.speed_mps,
        };
        if self.mode == "random" && self.n_scans >= 5 {
            // Another in every run.
            velocity.steering_rad = f64::from(std::process::id());
        }
        self.bus.publish("helper.speed", &velocity).unwrap();
    }

    fn on_request(&self, request: &StepRequest) {
        let mut done = StepDone {
            step: request.step,
            ..StepDone::default()
        };
        if request.step == 2 && !self.misbehave(&mut done) {
            return;
        }
        if request.reason != StepRequest::MESSAGE {
            let is_shown = matches!(self.mode, "shown" | "stubborn");
            let velocity = Velocity {
                utime: request.time_ns / 1_000,
                steering_rad: f64::from(u8::from(is_shown)) * f64::from(std::process::id()),
                speed_mps: f64::from(request.reason),
            };
            self.bus.publish("helper.wake", &velocity).unwrap();
        }
        if matches!(request.reason, StepRequest::START | StepRequest::WAKE) {
            done.wake_ns = request.time_ns + WAKE_NS;
        }
        self.bus.publish(STEP_DONE_CHANNEL, &done).unwrap();
    }

    /// Does what it was started for; `false` where the step is not done after that.
    fn misbehave(&self, done: &mut StepDone) -> bool {
        match self.mode {
            "dies" => std::process::exit(3),
            "killed" => raise(Signal::SIGKILL).unwrap(),
            "hangs" => return false,
            "lies" => done.step += 1,
            "fails" => done.error = "the battery is empty".to_owned(),
            "elsewhere" => self.bus.publish_bytes("elsewhere", b"here").unwrap(),
            "babbles" => self.bus.publish_bytes(STEP_DONE_CHANNEL, b"done").unwrap(),
            _ => {}
        }
        true
    }
}
