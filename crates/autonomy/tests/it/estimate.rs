//! The estimator on the bench: a vessel that rocks on waves and turns, in a current, felt by sensors with noise.

use bowline_autonomy::estimate::{Estimator, EstimatorParameters};
use bowline_component::{Health, Rig};
use bowline_geometry::{Earth, Transform};
use bowline_msgs::{GpsFix, Heading, Imu, PoseTransform};
use bowline_testing::random::Random;
use std::time::Duration;

const ORIGIN: [f64; 3] = [46.8, -71.2, 12.0];
/// Fast steps, so that nothing depends on how the truth is integrated.
const STEP_US: i64 = 5_000;
const GYRO_SD_RADPS: f64 = 0.003;
const ACCEL_SD_MPS2: f64 = 0.05;
const FIX_SD_M: f64 = 0.8;
const COMPASS_SD_RAD: f64 = 0.02;

/// Where the vessel truly is.
#[derive(Clone, Copy)]
struct Truth {
    utime: i64,
    xyz_m: [f64; 3],
    rpy_rad: [f64; 3],
    velocity_mps: [f64; 3],
}

/// How it goes: to and fro, in a current, over waves. Seconds.
fn rpy(t_s: f64) -> [f64; 3] {
    let sway = 0.06 * (1.3 * t_s).sin();
    [
        sway,
        0.04 * (1.7 * t_s + 1.0).sin(),
        1.2 * (0.15 * t_s).sin() + 0.3,
    ]
}

fn velocity(t_s: f64) -> [f64; 3] {
    let [_, _, heading] = rpy(t_s);
    let speed = 1.4 + 0.4 * (0.2 * t_s).sin();
    [
        speed * heading.cos() + 0.4,
        speed * heading.sin() - 0.3,
        0.1 * (1.1 * t_s).cos(),
    ]
}

/// The measurements of all sensors in a run, each with the time when it should arrive.
struct Run {
    fixes: Vec<GpsFix>,
    headings: Vec<Heading>,
    felt: Vec<Imu>,
    truth: Vec<Truth>,
}

fn run(seed: u64, seconds: i64) -> Run {
    let mut random = Random::fixed(seed);
    let earth = Earth::new(ORIGIN[0], ORIGIN[1], ORIGIN[2]);
    let deviation = 0.02 * random.normal();
    let gyro_bias: [f64; 3] = std::array::from_fn(|_| 0.002 * random.normal());
    let accel_bias: [f64; 3] = std::array::from_fn(|_| 0.02 * random.normal());
    let mut run = Run {
        fixes: Vec::new(),
        headings: Vec::new(),
        felt: Vec::new(),
        truth: Vec::new(),
    };
    let start = 1_000_000;
    let mut xyz_m = [3.0, -5.0, 0.0];
    let step_s = STEP_US as f64 / 1e6;
    for nth in 0..seconds * 1_000_000 / STEP_US {
        let t_s = nth as f64 * step_s;
        let utime = start + nth * STEP_US;
        let (rpy_rad, v) = (rpy(t_s), velocity(t_s));
        let pose = Transform::from_xyz_rpy(xyz_m, rpy_rad);
        if nth % 4 == 0 {
            let (before, after) = (t_s - 1e-4, t_s + 1e-4);
            let apart = |of: fn(f64) -> [f64; 3]| -> [f64; 3] {
                let (one, two) = (of(before), of(after));
                std::array::from_fn(|axis| (two[axis] - one[axis]) / 2e-4)
            };
            let mut force = apart(velocity);
            force[2] += 9.806_65;
            let [one, two] = [before, after].map(|t| Transform::from_xyz_rpy([0.0; 3], rpy(t)));
            // The vector of a small turn is twice that of its quaternion.
            let [_, x, y, z] = one.inverse_mul(&two).quat();
            let rate = [x, y, z].map(|it| it / 1e-4);
            let force = pose.inverse().turn(force);
            run.felt.push(Imu {
                utime,
                rate_radps: std::array::from_fn(|axis| {
                    rate[axis] + gyro_bias[axis] + GYRO_SD_RADPS * random.normal()
                }),
                force_mps2: std::array::from_fn(|axis| {
                    force[axis] + accel_bias[axis] + ACCEL_SD_MPS2 * random.normal()
                }),
                rate_sd_radps: GYRO_SD_RADPS,
                force_sd_mps2: ACCEL_SD_MPS2,
                ..Imu::default()
            });
        }
        if nth % 20 == 0 {
            let [dx, dy, _] = pose.turn([1.0, 0.0, 0.0]);
            run.headings.push(Heading {
                utime,
                heading_rad: dy.atan2(dx) + deviation + COMPASS_SD_RAD * random.normal(),
                sd_rad: COMPASS_SD_RAD,
                ..Heading::default()
            });
        }
        if nth % 40 == 0 {
            let noise = [FIX_SD_M, FIX_SD_M, 1.5].map(|sd| sd * random.normal());
            let at = std::array::from_fn(|axis| xyz_m[axis] + noise[axis]);
            let [lat_deg, lon_deg, alt_m] = earth.on_earth(at);
            run.fixes.push(GpsFix {
                utime,
                lat_deg,
                lon_deg,
                alt_m,
                horizontal_sd_m: FIX_SD_M,
                vertical_sd_m: 1.5,
                ..GpsFix::default()
            });
            run.truth.push(Truth {
                utime,
                xyz_m,
                rpy_rad,
                velocity_mps: v,
            });
        }
        let middle = velocity(t_s + step_s / 2.0);
        xyz_m = std::array::from_fn(|axis| xyz_m[axis] + step_s * middle[axis]);
    }
    run
}

fn parameters() -> EstimatorParameters {
    EstimatorParameters {
        origin_lat_deg: ORIGIN[0],
        origin_lon_deg: ORIGIN[1],
        origin_alt_m: ORIGIN[2],
        level_sd_m: 0.3,
        ..EstimatorParameters::default()
    }
}

/// One message of any sensor.
#[derive(Clone)]
enum Said {
    Fix(GpsFix),
    Heading(Heading),
    Felt(Imu),
}

impl Run {
    /// All messages with the times when they arrive: each after a delay of its own.
    fn arrivals(&self, mut delay_us: impl FnMut(&Said) -> i64) -> Vec<(i64, Said)> {
        let fixes = self
            .fixes
            .iter()
            .cloned()
            .map(|it| (it.utime, Said::Fix(it)));
        let headings = self
            .headings
            .iter()
            .cloned()
            .map(|it| (it.utime, Said::Heading(it)));
        let felt = self
            .felt
            .iter()
            .cloned()
            .map(|it| (it.utime, Said::Felt(it)));
        let mut all: Vec<(i64, Said)> = felt.chain(fixes).chain(headings).collect();
        for (at, said) in &mut all {
            *at += delay_us(said);
        }
        all.sort_by_key(|(at, _)| *at);
        all
    }
}

/// Passes all of it to an estimator; the poses that it publishes.
fn estimate(rig: &mut Rig, arrivals: &[(i64, Said)]) -> Vec<PoseTransform> {
    for (at, said) in arrivals {
        let until = u64::try_from(at - rig.now().utime()).unwrap_or(0);
        rig.advance(Duration::from_micros(until));
        match said.clone() {
            Said::Fix(it) => rig.send("fix", it),
            Said::Heading(it) => rig.send("heading", it),
            Said::Felt(it) => rig.send("imu", it),
        }
    }
    rig.take("pose")
}

/// How far off a pose is by its own covariance: position of two, heading of one.
fn nees(pose: &PoseTransform, truth: &Truth) -> [f64; 2] {
    let dx = pose.matrix[3] - truth.xyz_m[0];
    let dy = pose.matrix[7] - truth.xyz_m[1];
    let [xx, xy, _, _, yy, ..] = pose.position_covariance;
    let position = (yy * dx * dx - 2.0 * xy * dx * dy + xx * dy * dy) / (xx * yy - xy * xy);
    let heading = pose.matrix[4].atan2(pose.matrix[0]);
    let off = bowline_autonomy::within_half_turn(heading - truth.rpy_rad[2]);
    [position, off * off / pose.attitude_covariance[8]]
}

fn pairs<'a>(poses: &'a [PoseTransform], run: &'a Run) -> Vec<(&'a PoseTransform, &'a Truth)> {
    let with_truth = |pose: &'a PoseTransform| {
        let truth = run.truth.iter().find(|truth| truth.utime == pose.utime)?;
        Some((pose, truth))
    };
    poses.iter().filter_map(with_truth).collect()
}

/// How far from the truth a pose is, horizontally, at a time.
fn off_m(poses: &[PoseTransform], run: &Run, utime: i64) -> f64 {
    let mut pairs = pairs(poses, run).into_iter();
    let (pose, truth) = pairs.find(|(pose, _)| pose.utime >= utime).unwrap();
    (pose.matrix[3] - truth.xyz_m[0]).hypot(pose.matrix[7] - truth.xyz_m[1])
}

#[test]
fn estimate_is_consistent_over_many_runs() {
    let mut sums = [0.0; 2];
    let mut n = 0.0;
    let mut speed_off2 = 0.0;
    for seed in 0..20 {
        let run = run(seed, 60);
        let mut rig = Rig::new::<Estimator>(parameters());
        let poses = estimate(&mut rig, &run.arrivals(|_| 0));
        assert_eq!(rig.health(), &Health::Good);
        // One every few seconds: errors last.
        for (pose, truth) in pairs(&poses, &run).into_iter().skip(50).step_by(25) {
            let [position, heading] = nees(pose, truth);
            sums = [sums[0] + position, sums[1] + heading];
            n += 1.0;
            let [vx, vy, _] = truth.velocity_mps;
            let [forward, left, _] = pose.velocity_mps;
            speed_off2 += (forward.hypot(left) - vx.hypot(vy)).powi(2);
        }
    }
    let [position, heading] = sums.map(|sum| sum / n);
    let speed_off = f64::sqrt(speed_off2 / n);
    println!(
        "mean NEES of {n} poses: position {position:.2} of 2, heading {heading:.2} of 1; speed {speed_off:.2} m/s RMS"
    );
    assert!((1.6..2.4).contains(&position), "{position}");
    assert!((0.7..1.3).contains(&heading), "{heading}");
    assert!(speed_off < 0.3, "{speed_off} m/s");
}

#[test]
fn what_comes_late_and_out_of_order_gives_the_same_estimate_to_the_bit() {
    let run = run(3, 20);
    let poses = |arrivals: Vec<(i64, Said)>| {
        let mut rig = Rig::new::<Estimator>(parameters());
        let all = estimate(&mut rig, &arrivals);
        rig.advance(Duration::from_secs(1));
        (
            all,
            rig.take::<PoseTransform>("pose").pop().unwrap(),
            rig.now(),
        )
    };
    // Everything in its turn until the filter runs; then each after a delay of its own, so that most overtake others.
    let mut random = Random::new(9);
    let in_turn = poses(run.arrivals(|_| 0));
    let late = poses(run.arrivals(|said| match said {
        Said::Fix(it) if it.utime > 4_000_000 => (400_000.0 * random.uniform(0.0, 1.0)) as i64,
        Said::Heading(it) if it.utime > 4_000_000 => (150_000.0 * random.uniform(0.0, 1.0)) as i64,
        Said::Fix(_) | Said::Heading(_) | Said::Felt(_) => 0,
    }));
    let matrix = |pose: &PoseTransform| pose.matrix;
    let before_the_end =
        |(all, ..): &(Vec<PoseTransform>, PoseTransform, _)| all[all.len() - 30].clone();
    assert_ne!(
        matrix(&before_the_end(&in_turn)),
        matrix(&before_the_end(&late)),
        "it was late"
    );
    // Both have received all of it by now; their clocks differ by how late the last one was.
    let mut rig = Rig::new::<Estimator>(parameters());
    estimate(&mut rig, &run.arrivals(|_| 0));
    let until = late.2.since(rig.now());
    rig.advance(until);
    let same: PoseTransform = rig.take("pose").pop().unwrap();
    assert_eq!(same, late.1);
}

#[test]
fn late_future_or_invalid_measurement_is_rejected_and_reported() {
    let run = run(4, 10);
    let mut rig = Rig::new::<Estimator>(parameters());
    estimate(&mut rig, &run.arrivals(|_| 0));
    let mut twin = Rig::new::<Estimator>(parameters());
    estimate(&mut twin, &run.arrivals(|_| 0));
    let fix = run.fixes[20].clone();
    let now = rig.now().utime();
    for utime in [0, fix.utime, now + 1_000_000, i64::MAX, i64::MIN] {
        rig.send(
            "fix",
            GpsFix {
                utime,
                ..fix.clone()
            },
        );
    }
    for lat_deg in [f64::NAN, 91.0, 10.0] {
        rig.send(
            "fix",
            GpsFix {
                utime: now,
                lat_deg,
                ..fix.clone()
            },
        );
    }
    let heading = run.headings[20].clone();
    rig.send(
        "heading",
        Heading {
            utime: now,
            sd_rad: 0.0,
            ..heading
        },
    );
    let felt = run.felt[20].clone();
    rig.send(
        "imu",
        Imu {
            utime: now,
            rate_radps: [f64::INFINITY; 3],
            ..felt
        },
    );
    for rig in [&mut rig, &mut twin] {
        rig.advance(Duration::from_millis(200));
    }
    let [poses, same] = [&mut rig, &mut twin].map(|rig| rig.take::<PoseTransform>("pose"));
    assert_eq!(poses, same);
}

#[test]
fn fixes_that_jump_are_left_out_at_first_and_believed_when_they_insist() {
    let mut run = run(5, 60);
    let earth = Earth::new(ORIGIN[0], ORIGIN[1], ORIGIN[2]);
    for fix in run.fixes.iter_mut().filter(|fix| fix.utime > 31_000_000) {
        let [x, y, z] = earth.on_map([fix.lat_deg, fix.lon_deg, fix.alt_m]);
        [fix.lat_deg, fix.lon_deg, fix.alt_m] = earth.on_earth([x + 40.0, y, z]);
    }
    let mut rig = Rig::new::<Estimator>(parameters());
    let (first, rest): (Vec<_>, Vec<_>) = run
        .arrivals(|_| 0)
        .into_iter()
        .partition(|(at, _)| *at < 37_000_000);
    let poses = estimate(&mut rig, &first);
    let Health::Degraded(why) = rig.health().clone() else {
        panic!("{:?}", rig.health());
    };
    assert!(why.contains("fixes have not been where it can be"), "{why}");
    let off = |poses: &[PoseTransform]| {
        let (pose, truth) = pairs(poses, &run).pop().unwrap();
        pose.matrix[3] - truth.xyz_m[0]
    };
    assert!(
        off(&poses).abs() < 3.0,
        "{} m: it is not drawn away",
        off(&poses)
    );
    let poses = estimate(&mut rig, &rest);
    assert!(
        (off(&poses) - 40.0).abs() < 2.0,
        "{} m: they insisted",
        off(&poses)
    );
}

#[test]
fn estimate_with_a_wrong_speed_returns_to_steady_fixes() {
    let mut run = run(7, 80);
    // Without fixes, forces that are not there make the estimate as fast as 20 m/s and more.
    let is_bad = |utime: i64| (20_000_000..32_000_000).contains(&utime);
    run.fixes.retain(|fix| !is_bad(fix.utime));
    for felt in run.felt.iter_mut().filter(|felt| is_bad(felt.utime)) {
        felt.force_mps2[0] += 2.0;
        felt.force_mps2[1] += 1.0;
    }
    let mut rig = Rig::new::<Estimator>(parameters());
    let poses = estimate(&mut rig, &run.arrivals(|_| 0));
    let misled_m = off_m(&poses, &run, 32_000_000);
    assert!(misled_m > 100.0, "{misled_m} m");
    // Fixes are believed after ten seconds of patience.
    for at_s in [50, 60, 70, 80] {
        let off_m = off_m(&poses, &run, at_s * 1_000_000);
        assert!(off_m < 3.0, "{off_m} m off at {at_s} s");
    }
}

/// As in a simulation that is started again: in the middle of its waves the vessel is back where it began, with another
/// heading, and neither gyros nor accelerometers felt why.
#[test]
fn estimate_follows_a_vessel_that_begins_anew_without_being_felt() {
    let mut run = run(8, 30);
    let mut again = self::run(9, 70);
    let later_us = 30_000_000;
    again.fixes.iter_mut().for_each(|it| it.utime += later_us);
    again
        .headings
        .iter_mut()
        .for_each(|it| it.utime += later_us);
    again.felt.iter_mut().for_each(|it| it.utime += later_us);
    again.truth.iter_mut().for_each(|it| it.utime += later_us);
    run.fixes.append(&mut again.fixes);
    run.headings.append(&mut again.headings);
    run.felt.append(&mut again.felt);
    run.truth.append(&mut again.truth);
    // As rare as those of many receivers: what is level by the gyros, and is not, makes the estimate faster in between.
    run.fixes.retain(|fix| fix.utime % 1_000_000 == 0);
    let mut rig = Rig::new::<Estimator>(parameters());
    let poses = estimate(&mut rig, &run.arrivals(|_| 0));
    for at_s in [60, 70, 80, 90, 100] {
        let off_m = off_m(&poses, &run, at_s * 1_000_000);
        assert!(off_m < 3.0, "{off_m} m off at {at_s} s");
    }
}

#[test]
fn sensors_that_fall_silent_are_named_and_the_covariance_grows_without_fixes() {
    let mut run = run(6, 40);
    run.fixes.retain(|fix| fix.utime < 21_000_000);
    run.headings.retain(|heading| heading.utime < 36_000_000);
    let mut rig = Rig::new::<Estimator>(parameters());
    let poses = estimate(&mut rig, &run.arrivals(|_| 0));
    let sd_m = |at_s: f64| {
        let utime = 1_000_000 + (at_s * 1e6) as i64;
        let pose = poses.iter().find(|pose| pose.utime >= utime).unwrap();
        pose.position_covariance[0].sqrt()
    };
    assert!(sd_m(19.0) < 0.6 && sd_m(25.0) > 1.5 * sd_m(20.0) && sd_m(39.0) > 2.0 * sd_m(25.0));
    let Health::Degraded(why) = rig.health().clone() else {
        panic!("{:?}", rig.health());
    };
    assert!(
        why.contains("nothing comes from fixes, the compass"),
        "{why}"
    );
}
