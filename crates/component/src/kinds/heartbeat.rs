//! A beat at a steady rate, for all who would rather be woken together than each by a clock of their own.

use crate::component::{Build, BuildError, Component};
use crate::health::Health;
use crate::outbox::Outbox;
use crate::parameter::Parameters;
use crate::port::{Output, Ports};
use crate::step::Step;
use bowline_msgs::Beat;
use std::time::Duration;

crate::parameters! {
    /// How a heart beats.
    pub struct HeartbeatParameters {
        /// Beats a second.
        rate_hz: f64 = 1.0, within 0.001..=1_000.0;
    }
}

/// Publishes a beat at a rate.
#[derive(Debug)]
pub struct Heartbeat {
    parameters: HeartbeatParameters,
    beat: Output<Beat>,
    n_beats: i64,
}

impl Build for Heartbeat {
    type Parameters = HeartbeatParameters;

    fn build(parameters: HeartbeatParameters, ports: &mut Ports) -> Result<Self, BuildError> {
        ports.tick(Duration::try_from_secs_f64(1.0 / parameters.rate_hz)?);
        Ok(Self {
            parameters,
            beat: ports.output("beat", "A beat, with its time and its number."),
            n_beats: 0,
        })
    }
}

impl Component for Heartbeat {
    fn step(&mut self, step: &Step<'_>, out: &mut Outbox<'_>) {
        if !step.is_tick() {
            return;
        }
        // A heartbeat that was missed is missing, so that subscribers that count can see it.
        self.n_beats += i64::try_from(step.missed_ticks()).unwrap_or(0);
        let beat = Beat {
            utime: step.now().utime(),
            count: self.n_beats,
        };
        self.n_beats += 1;
        out.health(Health::Good);
        out.send(self.beat, beat);
    }

    fn parameters(&mut self) -> Option<&mut dyn Parameters> {
        Some(&mut self.parameters)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rig::Rig;

    #[test]
    fn beats_come_at_the_rate_and_are_counted() {
        let mut rig = Rig::new::<Heartbeat>(HeartbeatParameters { rate_hz: 4.0 });
        rig.advance(Duration::from_secs(1));
        let beats = rig.take::<Beat>("beat");
        let counts: Vec<i64> = beats.iter().map(|beat| beat.count).collect();
        assert_eq!(counts, [0, 1, 2, 3]);
        let gaps = beats.windows(2).map(|pair| pair[1].utime - pair[0].utime);
        assert!(gaps.into_iter().all(|gap_us| gap_us == 250_000));
    }
}
