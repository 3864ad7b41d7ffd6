//! The simulated twin of a scanner, which can be made to misbehave.

use super::driver::{ENTER, IN, SCAN, WHO};
use super::frame::{self, MAX_SECTORS, SHAPE};
use crate::counts::Counts;
use crate::line::Splitter;
use crate::pace::Pace;
use bowline_component::{
    Build, BuildError, Component, Expect, Health, Input, Outbox, Output, Parameters, Ports, Step,
    Time,
};
use bowline_msgs::{Range3d, Serial};
use bowline_wire::random::{Random, STEP};
use std::time::Duration;

bowline_component::parameters! {
    /// What a simulated scanner is like, and how it behaves.
    pub struct ScannerTwinParameters {
        /// How many sectors there are.
        n_sectors: i64 = 91, within 2..=512;
        /// Where the first sector is, degrees to the left of ahead.
        first_deg: f64 = -81.0, within -180.0..=180.0;
        /// From one sector to the next, degrees to the left.
        step_deg: f64 = 1.8, within -10.0..=10.0;
        /// What it sends where it sees nothing, millimetres.
        nothing_mm: i64 = 5_000, within 100..=65_535;
        /// How many bytes it sends after the distances.
        n_more_bytes: i64 = 0, within 0..=16;
        /// Bits a second; a byte has ten.
        baud: i64 = 57_600, within 300..=4_000_000;
        /// How it behaves: well; unplugged: nothing passes; stuck: it sees what it saw; garbage: it sends bytes without
        /// meaning; half: it breaks off; checksum: bits change; count: it sends too few or too many; far: it sends what
        /// cannot be; forgetful: it forgets who it let in; moody: now so, now so.
        mood: String = "well".into(), within ["well", "unplugged", "stuck", "garbage", "half", "checksum", "count", "far", "forgetful", "moody"] => live;
        /// How long a moody one stays as it is.
        mood_lasts: Duration = Duration::from_secs(2), within Duration::from_millis(50)..=Duration::from_secs(3_600) => live;
        /// Where its moods and its mistakes come from.
        seed: i64 = 1;
    }
}

/// A scanner that answers with simulated ranges.
#[derive(Debug)]
pub struct ScannerTwin {
    parameters: ScannerTwinParameters,
    splitter: Splitter,
    pace: Pace,
    random: Random,
    /// What it sees now, and what it sent last.
    sees: Option<Vec<u16>>,
    said: Option<Vec<u16>>,
    code: [u8; 8],
    in_until: Option<Time>,
    ranges: Input<Range3d>,
    line_in: Input<Serial>,
    line_out: Output<Serial>,
}

/// It forgets whom it let in after so long.
const FORGETS_AFTER: Duration = Duration::from_secs(3);

/// How a device behaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mood {
    Well,
    Unplugged,
    Stuck,
    Garbage,
    Half,
    Checksum,
    Count,
    Far,
    Forgetful,
}

const MOODS: [(&str, Mood); 9] = [
    ("well", Mood::Well),
    ("unplugged", Mood::Unplugged),
    ("stuck", Mood::Stuck),
    ("garbage", Mood::Garbage),
    ("half", Mood::Half),
    ("checksum", Mood::Checksum),
    ("count", Mood::Count),
    ("far", Mood::Far),
    ("forgetful", Mood::Forgetful),
];

impl ScannerTwin {
    fn mood(&self, now: Time) -> Mood {
        let named = MOODS.iter().find(|(name, _)| *name == self.parameters.mood);
        if let Some((_, mood)) = named {
            return *mood;
        }
        // Every other one is a good one, so that it can be seen to come back.
        let lasts_ns = self.parameters.mood_lasts.as_nanos().max(1);
        let nth = u128::from(now.ns().unsigned_abs()) / lasts_ns;
        if nth.is_multiple_of(2) {
            return Mood::Well;
        }
        let nth = u64::try_from(nth).unwrap_or(u64::MAX);
        let seed = self.parameters.seed.cast_unsigned();
        let mut random = Random::new(seed ^ nth.wrapping_mul(STEP));
        MOODS[1 + random.index(MOODS.len() - 1)].1
    }

    fn see(&mut self, range: &Range3d) {
        let n_sectors = usize::try_from(self.parameters.n_sectors).unwrap_or(MAX_SECTORS);
        let mut sees = vec![0_u16; n_sectors];
        let nothing_mm = u16::try_from(self.parameters.nothing_mm).unwrap_or(u16::MAX);
        for [x, y, _, range_m] in &range.points {
            let bearing_deg = f64::from(*y).atan2(f64::from(*x)).to_degrees();
            let sector = (bearing_deg - self.parameters.first_deg) / self.parameters.step_deg;
            let Some(sector) = whole(sector).and_then(|sector| sees.get_mut(sector)) else {
                continue;
            };
            *sector = match range_m.is_finite() {
                true => whole(f64::from(*range_m) * 1_000.0)
                    .and_then(|mm| u16::try_from(mm).ok())
                    .map_or(nothing_mm, |mm| mm.min(nothing_mm)),
                false => nothing_mm,
            };
        }
        self.sees = Some(sees);
    }

    fn hear(&mut self, now: Time, payload: &[u8], mood: Mood) -> Option<Vec<u8>> {
        let is_in = self.in_until.is_some_and(|until| now < until) && mood != Mood::Forgetful;
        let what = payload.first_chunk().copied()?;
        match (what, payload.get(2..)?) {
            (WHO, []) => {
                self.code = self.random.bits().to_le_bytes();
                self.in_until = None;
                Some([&WHO[..], &self.code].concat())
            }
            (ENTER, &[IN, low, high]) => {
                let is_right = u16::from_le_bytes([low, high]) == frame::crc(&self.code);
                self.in_until = is_right.then_some(now + FORGETS_AFTER);
                Some([&ENTER[..], &[u8::from(is_right)]].concat())
            }
            (SCAN, []) if is_in => self.scan(mood),
            _ => None,
        }
    }

    fn scan(&mut self, mood: Mood) -> Option<Vec<u8>> {
        if mood != Mood::Stuck || self.said.is_none() {
            self.said = self.sees.clone();
        }
        let mut distances_mm = self.said.clone()?;
        match mood {
            Mood::Count if self.random.index(2) == 0 => {
                distances_mm.pop();
            }
            Mood::Count => distances_mm.push(1_000),
            Mood::Far => {
                let at = self.random.index(distances_mm.len());
                let nothing_mm = u16::try_from(self.parameters.nothing_mm).unwrap_or(u16::MAX);
                distances_mm[at] =
                    nothing_mm.saturating_add(1 + u16::from(self.random.byte()) * 64);
            }
            Mood::Well
            | Mood::Unplugged
            | Mood::Stuck
            | Mood::Garbage
            | Mood::Half
            | Mood::Checksum
            | Mood::Forgetful => {}
        }
        let n_more = usize::try_from(self.parameters.n_more_bytes).unwrap_or(0);
        let distances = distances_mm.iter().flat_map(|mm| mm.to_le_bytes());
        Some(
            SCAN.into_iter()
                .chain(distances)
                .chain(vec![0; n_more])
                .collect(),
        )
    }

    /// What becomes of an answer on its way.
    fn spoil(&mut self, mut frame: Vec<u8>, mood: Mood) -> Vec<u8> {
        match mood {
            Mood::Half => frame.truncate(self.random.index(frame.len())),
            Mood::Checksum => {
                for _ in 0..=self.random.index(3) {
                    let at = 1 + self.random.index(frame.len().saturating_sub(2));
                    frame[at] = 0x20 + six(&mut self.random);
                }
            }
            Mood::Garbage => {
                let n_bytes = self.random.index(300);
                let at = self.random.index(frame.len());
                let noise: Vec<u8> = (0..n_bytes).map(|_| self.random.byte()).collect();
                frame.splice(at..at, noise);
            }
            Mood::Well
            | Mood::Unplugged
            | Mood::Stuck
            | Mood::Count
            | Mood::Far
            | Mood::Forgetful => {}
        }
        frame
    }
}

impl Build for ScannerTwin {
    type Parameters = ScannerTwinParameters;

    fn build(parameters: ScannerTwinParameters, ports: &mut Ports) -> Result<Self, BuildError> {
        if parameters.step_deg == 0.0 {
            return Err("step_deg: expected an angle between sectors, found 0".into());
        }
        Ok(Self {
            splitter: Splitter::new(SHAPE),
            pace: Pace::new(parameters.baud),
            random: Random::new(parameters.seed.cast_unsigned()),
            sees: None,
            said: None,
            code: [0; 8],
            in_until: None,
            ranges: ports.input("ranges", "What it sees.", Expect::ever()),
            line_in: ports.input("line_in", "What it is asked.", Expect::ever()),
            line_out: ports.output("line_out", "What it answers."),
            parameters,
        })
    }
}

impl Component for ScannerTwin {
    fn step(&mut self, step: &Step<'_>, out: &mut Outbox<'_>) {
        let now = step.now();
        if step.is_start() {
            out.health(Health::Good);
        }
        let mood = self.mood(now);
        if let Some(range) = step.arrived(self.ranges) {
            self.see(&range);
        }
        if mood == Mood::Unplugged {
            self.pace.clear();
            return;
        }
        if let Some(serial) = step.arrived(self.line_in) {
            let questions = self.splitter.split(&serial.bytes, &mut Counts::default());
            for question in questions {
                let payload = frame::decode(&question).ok();
                let answer = payload.and_then(|payload| self.hear(now, &payload, mood));
                let spoilt = answer.map(|answer| self.spoil(frame::encode(&answer), mood));
                if spoilt.is_some_and(|spoilt| !self.pace.push(now, &spoilt)) {
                    out.health(Health::Degraded("it is asked too often".to_owned()));
                }
            }
        }
        self.pace.run(self.line_out, out);
    }

    fn parameters(&mut self) -> Option<&mut dyn Parameters> {
        Some(&mut self.parameters)
    }
}

/// To the nearest, if there is one that is not negative.
fn whole(value: f64) -> Option<usize> {
    let rounded = value.round();
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "within these limits"
    )]
    (0.0..=1e6).contains(&rounded).then_some(rounded as usize)
}

/// A letter of the alphabet that frames are written in, less its offset.
fn six(random: &mut Random) -> u8 {
    random.byte() & 0x3f
}
