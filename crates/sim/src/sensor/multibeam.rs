//! A multibeam sonar: a fan of sound beams in the x-z plane, about the x axis.

use super::{Instrument, Sample, Sensor, SensorKind};
use crate::beams::Beams;
use crate::math::single;
use crate::noise::Stream;
use crate::scene::Looked;
use bowline_component::TypeInfo;
use bowline_geometry::{Attribute, Bounds, ElementKind, ElementRole, Value};
use bowline_msgs::Multibeam as Message;

pub(super) const KIND: SensorKind = SensorKind {
    element: ElementKind {
        word: "multibeam",
        doc: "A multibeam sonar: a fan of sound beams in the frame's x-z plane, about x.",
        role: ElementRole::Sensor,
        attributes: &[
            // As many as a message can have; a fan of one beam is none.
            Attribute::required("beams", Value::Count(10_000), "beams of a ping, at least 2"),
            Attribute::required(
                "fov_deg",
                Value::Number(FAN),
                "from the first beam to the last",
            ),
            Attribute::required(
                "range_min_m",
                Value::Number(Bounds::NOT_NEGATIVE),
                "nearer echoes are not received",
            ),
            Attribute::required(
                "range_max_m",
                Value::Number(Bounds::POSITIVE),
                "further echoes are not received",
            ),
            Attribute::noise("beam_width_deg", "how wide a beam is"),
            Attribute::noise("range_sd_m", "the noise of a range"),
            Attribute::optional(
                "dropout_ratio",
                Value::Number(Bounds::RATIO),
                "how many of all echoes are lost",
            ),
            Attribute::optional(
                "sound_speed_mps",
                Value::Number(Bounds::POSITIVE),
                "what ranges are made of times with (default 1490, sea water of 10 degrees)",
            ),
        ],
    },
    publishes: &[TypeInfo::of::<Message>()],
    build: |values| {
        let n_beams = values.count("beams");
        if n_beams == Some(1) {
            values.refuse("beams", "a whole number from 2 to 10000");
            return None;
        }
        let [range_min_m, range_max_m] = values.ranges(["range_min_m", "range_max_m"])?;
        Some(Instrument::new(Multibeam {
            n_beams: n_beams?,
            fov_rad: values.number("fov_deg")?.to_radians(),
            beam_width_rad: values.noise("beam_width_deg").to_radians(),
            range_min_m,
            range_max_m,
            range_sd_m: values.noise("range_sd_m"),
            dropout_ratio: values.noise("dropout_ratio"),
            sound_speed_mps: values.number("sound_speed_mps").unwrap_or(1_490.0),
            beams: None,
            looked: Looked::default(),
        }))
    },
};

/// A fan of more is none that looks ahead.
const FAN: Bounds = Bounds::above(0.0, 170.0, "an angle above 0 and up to 170 degrees");

#[derive(Clone, Debug)]
struct Multibeam {
    n_beams: u32,
    fov_rad: f64,
    beam_width_rad: f64,
    range_min_m: f64,
    range_max_m: f64,
    range_sd_m: f64,
    dropout_ratio: f64,
    sound_speed_mps: f64,
    /// From the first measurement on.
    beams: Option<Beams>,
    looked: Looked,
}

/// How much of the sound comes back from the bottom, and from things that lie on it.
const MUD: f64 = 0.55;
const STEEL: f64 = 1.0;
/// How much echoes of one bottom differ, as a share of them.
const SPECKLE: f64 = 0.12;
/// Fainter echoes are lost in the noise, of 255.
const FAINTEST: f64 = 4.0;

impl Sensor for Multibeam {
    type Message = Message;

    fn measure(&mut self, at: &Sample<'_>, noise: &mut Stream) -> Message {
        let fan = || Beams::fan(self.fov_rad, self.n_beams);
        let beams = &*self.beams.get_or_insert_with(fan);
        let looked = &mut self.looked;
        let (moment, pose) = (at.moment, at.world_from_sensor());
        let scene = &moment.physics.scene;
        let from = (&pose, moment.share);
        scene.look(beams, from, self.range_max_m, |_| true, looked);
        let chance = (self.dropout_ratio * at.noise_ratio()).min(1.0);
        let n_beams = beams.len();
        let (mut ranges_cm, mut strengths) =
            (Vec::with_capacity(n_beams), Vec::with_capacity(n_beams));
        for nth in 0..n_beams {
            // Every beam takes its numbers, whether it needs them or not.
            let (error, luck, speckle) = (noise.normal(), noise.uniform(), noise.normal());
            let true_m = looked.range(nth);
            let range_m = true_m + at.noise_ratio() * self.range_sd_m * error;
            let body = looked.met(nth, scene).map(|placed| placed.body);
            let body = body.and_then(|body| moment.physics.body(body));
            let hardness = body.map_or(0.0, |body| if body.is_ground { MUD } else { STEEL });
            // It spreads on its way, and a surface that is met at a slant sends little of it back (Lambert's rule).
            let spread = 1.0 - 0.6 * (true_m / self.range_max_m).min(1.0);
            let square = facing(beams, looked, nth);
            let echo = 255.0 * hardness * spread * square * square;
            let echo = echo * (1.0 + at.noise_ratio() * SPECKLE * speckle);
            let is_heard = (self.range_min_m..=self.range_max_m).contains(&range_m)
                && echo >= FAINTEST
                && luck >= chance;
            let told = |value: f64| if is_heard { value } else { 0.0 };
            ranges_cm.push(whole(told(range_m * 100.0)));
            strengths.push(byte(told(echo)));
        }
        let step_rad = self.fov_rad / f64::from(self.n_beams - 1);
        Message {
            utime: at.utime(),
            frame: at.frame(),
            first_rad: single(-self.fov_rad / 2.0),
            step_rad: single(step_rad),
            sound_speed_mps: single(self.sound_speed_mps),
            range_sd_m: single(self.range_sd_m),
            beam_width_rad: single(self.beam_width_rad),
            ranges_cm,
            strengths,
            ..Message::default()
        }
        .with_lengths()
    }

    fn utime_of(message: &mut Message) -> &mut i64 {
        &mut message.utime
    }
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

/// Centimetres as messages have them; 0 means no echo.
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
