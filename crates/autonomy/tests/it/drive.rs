//! Set-points of actuators.

use bowline_autonomy::control::{Drive, DriveComponent, DriveLimits, DriveParameters, Setpoint};
use bowline_component::{Rig, Time};
use bowline_msgs::Velocity;
use proptest::prelude::*;
use std::time::Duration;

const TICK: Duration = Duration::from_millis(10);
const START: Time = Time::from_utime(1_000_000);

fn command(at: Time, steering_rad: f64, speed_mps: f64) -> Velocity {
    Velocity {
        utime: at.utime(),
        steering_rad,
        speed_mps,
    }
}

/// The set-points over a second, with a command every tenth of it as long as there are any.
fn second(drive: &mut Drive, from: Time, commanded: Option<(f64, f64)>) -> Vec<Setpoint> {
    (0..100_u32)
        .map(|nth| {
            let now = from + TICK * nth;
            if let Some((steering, speed)) = commanded.filter(|_| nth % 10 == 0) {
                drive.command(now, &command(now, steering, speed));
            }
            drive.advance(now)
        })
        .collect()
}

#[test]
fn without_a_command_for_half_a_second_it_stops() {
    let mut drive = Drive::new(DriveLimits::default());
    let driven = second(&mut drive, START, Some((0.2, 0.9)));
    assert!(driven.last().is_some_and(|it| it.speed_mps > 0.89));
    // The last command came 90 ms before this.
    let silent = second(&mut drive, START + TICK * 100, None);
    let first_slower = silent.iter().position(|it| it.speed_mps < 0.89);
    assert_eq!(
        first_slower,
        Some(40),
        "half a second after the last command"
    );
    let stopped = silent.iter().position(|it| it.speed_mps.abs() < 1e-9);
    assert_eq!(
        stopped,
        Some(40 + 30 - 1),
        "0.9 m/s at 3 m/s^2, one tick counted"
    );
    assert!(drive.is_silent(START + Duration::from_secs(2)));
}

#[test]
fn nonsense_is_refused_and_counted_and_does_not_keep_a_vehicle_going() {
    let mut drive = Drive::new(DriveLimits::default());
    drive.command(START, &command(START, 0.1, 1.0));
    let later = START + Duration::from_millis(400);
    drive.command(later, &command(later, f64::NAN, 1.0));
    drive.command(later, &command(later, 0.0, f64::INFINITY));
    drive.command(later, &command(START - TICK, 0.0, 1.0));
    assert_eq!(drive.n_refused(), 3);
    assert!(drive.is_silent(START + Duration::from_millis(500)));
}

#[test]
fn drive_commands_at_its_rate_and_stops_by_itself() {
    let parameters = DriveParameters {
        rate_hz: 10.0,
        max_accel_mps2: 20.0,
        max_brake_mps2: 20.0,
        ..DriveParameters::default()
    };
    let mut rig = Rig::new::<DriveComponent>(parameters);
    let now = rig.now();
    rig.send("command", command(now, 0.0, 1.0));
    rig.advance(Duration::from_secs(1));
    let told: Vec<f64> = rig
        .take::<Velocity>("setpoint")
        .iter()
        .map(|it| it.speed_mps)
        .collect();
    let n_driven = told.iter().filter(|speed| **speed > 0.99).count();
    assert_eq!((told.len(), n_driven), (10, 4), "{told:?}");
    assert!(told.ends_with(&[0.0]), "{told:?}");
}

proptest! {
    #[test]
    fn whatever_is_commanded_setpoints_keep_the_limits(
        commands in prop::collection::vec(
            prop::option::of((any::<f64>(), any::<f64>())), 1..40),
        ticks_ms in prop::collection::vec(1..200_u64, 40),
    ) {
        let limits = DriveLimits::default();
        let mut drive = Drive::new(limits);
        let mut now = START;
        let mut before = drive.advance(now);
        for (commanded, ms) in commands.iter().zip(&ticks_ms) {
            now = now + Duration::from_millis(*ms);
            if let Some((steering, speed)) = *commanded {
                drive.command(now, &command(now, steering, speed));
            }
            let told = drive.advance(now);
            let elapsed_s = *ms as f64 / 1e3;
            prop_assert!(told.steering_rad.abs() <= limits.max_steering_rad);
            prop_assert!(told.speed_mps <= limits.max_speed_mps && -told.speed_mps <= limits.max_reverse_mps);
            let turned = (told.steering_rad - before.steering_rad).abs();
            prop_assert!(turned <= limits.max_steering_radps * elapsed_s + 1e-9);
            let faster = told.speed_mps.abs() - before.speed_mps.abs();
            prop_assert!(faster <= limits.max_brake_mps2 * elapsed_s + 1e-9);
            before = told;
        }
    }
}
