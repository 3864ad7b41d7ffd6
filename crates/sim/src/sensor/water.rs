//! Sensors below the water: sounders, multibeam sonars, spectrometers.

use super::{Moment, world_from};
use crate::beams::Beams;
use crate::math::single;
use crate::noise::Stream;
use crate::scene::Looked;
use crate::vehicle::Mounted;
use bowline_geometry::{Multibeam, Sonar, Spectrometer};
use bowline_msgs::{Multibeam as MultibeamMessage, Sounding, Spectrum};
use rapier3d_f64::math::Vector;
use std::f64::consts::TAU;

type At<'a, 's> = (&'a Moment<'s>, &'a mut Stream);

/// Rays that a sounder's cone is looked through with, beside the middle one.
const N_RAYS: u32 = 6;

/// The first echo of a cone: what is nearest in it, not what is below.
pub(super) fn sounder(mounted: &Mounted, sonar: &Sonar, (moment, stream): At<'_, '_>) -> Sounding {
    let pose = world_from(mounted, moment);
    let (out, ahead) = (sonar.fov_rad / 2.0).sin_cos();
    let ring = (0..N_RAYS).map(|nth| {
        let (sin, cos) = (TAU * f64::from(nth) / f64::from(N_RAYS)).sin_cos();
        Vector::new(ahead, out * cos, out * sin)
    });
    let echoes = ring.chain([Vector::X]).filter_map(|direction| {
        let direction = pose.rotation * direction;
        let met = moment
            .physics
            .cast(pose.translation, direction, sonar.range_max_m);
        met.map(|met| met.range_m)
    });
    let first = echoes.fold(f64::INFINITY, f64::min);
    let range_m = first + moment.noise * sonar.range_sd_m * stream.normal();
    let is_heard = (sonar.range_min_m..=sonar.range_max_m).contains(&range_m);
    Sounding {
        utime: moment.utime,
        frame: mounted.frame.clone(),
        depth_m: if is_heard { range_m } else { f64::NAN },
        sd_m: sonar.range_sd_m,
    }
}

/// How much of the sound comes back from the bottom, and from things that lie on it.
const MUD: f64 = 0.55;
const STEEL: f64 = 1.0;
/// How much echoes of one bottom differ, as a share of them.
const SPECKLE: f64 = 0.12;
/// Fainter echoes are not told from the noise, of 255.
const FAINTEST: f64 = 4.0;

pub(super) fn multibeam(
    mounted: &Mounted,
    sonar: &Multibeam,
    (beams, looked): (&Beams, &mut Looked),
    (moment, stream): At<'_, '_>,
) -> MultibeamMessage {
    let pose = world_from(mounted, moment);
    let scene = &moment.physics.scene;
    let at = (&pose, moment.share);
    scene.look(beams, at, sonar.range_max_m, |_| true, looked);
    let chance = (sonar.dropout_ratio * moment.noise).min(1.0);
    let n_beams = beams.len();
    let (mut ranges_cm, mut strengths) = (Vec::with_capacity(n_beams), Vec::with_capacity(n_beams));
    for nth in 0..n_beams {
        // Every beam takes its numbers, whether it needs them or not.
        let (error, luck, speckle) = (stream.normal(), stream.uniform(), stream.normal());
        let true_m = looked.range(nth);
        let range_m = true_m + moment.noise * sonar.range_sd_m * error;
        let body = looked.met(nth, scene).map(|placed| placed.body);
        let body = body.and_then(|body| moment.physics.body(body));
        let hardness = body.map_or(0.0, |body| if body.is_ground { MUD } else { STEEL });
        // It spreads on its way, and a surface that is met at a slant sends little of it back (Lambert's rule).
        let spread = 1.0 - 0.6 * (true_m / sonar.range_max_m).min(1.0);
        let square = facing(beams, looked, nth);
        let echo = 255.0 * hardness * spread * square * square;
        let echo = echo * (1.0 + moment.noise * SPECKLE * speckle);
        let is_heard = (sonar.range_min_m..=sonar.range_max_m).contains(&range_m)
            && echo >= FAINTEST
            && luck >= chance;
        let told = |value: f64| if is_heard { value } else { 0.0 };
        ranges_cm.push(whole(told(range_m * 100.0)));
        strengths.push(byte(told(echo)));
    }
    let step_rad = sonar.fov_rad / f64::from(sonar.n_beams - 1);
    MultibeamMessage {
        utime: moment.utime,
        frame: mounted.frame.clone(),
        first_rad: single(-sonar.fov_rad / 2.0),
        step_rad: single(step_rad),
        sound_speed_mps: single(sonar.sound_speed_mps),
        range_sd_m: single(sonar.range_sd_m),
        beam_width_rad: single(sonar.beam_width_rad),
        ranges_cm,
        strengths,
        ..MultibeamMessage::default()
    }
    .with_lengths()
}

/// How squarely a beam meets the bottom, 0 to 1, by what its neighbours meet.
fn facing(beams: &Beams, looked: &Looked, nth: usize) -> f64 {
    let point = |nth: usize| {
        let range = looked.range(nth);
        let direction = beams.directions().get(nth)?;
        range.is_finite().then(|| *direction * range)
    };
    let (before, after) = (nth.checked_sub(1).and_then(point), point(nth + 1));
    let (before, after) = (before.or_else(|| point(nth)), after.or_else(|| point(nth)));
    let (Some(before), Some(after), Some(direction)) = (before, after, beams.directions().get(nth))
    else {
        return 0.0;
    };
    let along = (after - before).normalize_or_zero();
    direction.cross(along).length()
}

/// Centimetres as messages have them; 0 says that there is no echo.
#[expect(
    clippy::cast_possible_truncation,
    reason = "whole, and held within what the field holds"
)]
fn whole(number: f64) -> i16 {
    number.round().clamp(0.0, f64::from(i16::MAX)) as i16
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "held within 0 and 255"
)]
fn byte(number: f64) -> u8 {
    number.round().clamp(0.0, 255.0) as u8
}

/// What is dissolved in the water at the inlet, over what is always there.
pub(super) fn spectrometer(
    mounted: &Mounted,
    spectrometer: &Spectrometer,
    (moment, stream): At<'_, '_>,
) -> Spectrum {
    let at = world_from(mounted, moment).translation;
    let mut spectrum = Spectrum {
        utime: moment.utime,
        frame: mounted.frame.clone(),
        ..Spectrum::default()
    };
    for mass in &spectrometer.masses {
        let dissolved = moment.water.map_or(0.0, |water| {
            water.dissolved_gpm3(&mass.substance, [at.x, at.y], moment.elapsed_ns)
        });
        let true_a = mass.background_a + spectrometer.sensitivity_a * dissolved;
        let [share, floor] = [stream.normal(), stream.normal()];
        let error =
            spectrometer.current_sd_ratio * true_a * share + spectrometer.current_sd_a * floor;
        spectrum.names.push(mass.substance.clone());
        spectrum.mass_da.push(single(mass.mass_da));
        let told = (true_a + moment.noise * error).max(0.0);
        spectrum.current_a.push(single(told));
    }
    spectrum.with_lengths()
}
