//! One channel under another name, at a limited rate: for thin links, and for programs that
//! expect a name of their own.

use crate::component::{Build, BuildError, Component};
use crate::health::Health;
use crate::outbox::Outbox;
use crate::parameter::Parameters;
use crate::parcel::Raw;
use crate::port::{Expect, Input, Output, Ports};
use crate::step::Step;
use crate::time::Time;
use std::time::Duration;

crate::parameters! {
    /// How a relay passes on.
    pub struct RelayParameters {
        /// Messages a second, at most; 0 passes on all of them.
        max_rate_hz: f64 = 0.0, within 0.0..=1_000_000.0 => live;
    }
}

/// Passes on what it receives, byte for byte.
#[derive(Debug)]
pub struct Relay {
    parameters: RelayParameters,
    heard: Input<Raw>,
    said: Output<Raw>,
    last: Option<Time>,
}

impl Build for Relay {
    type Parameters = RelayParameters;

    fn build(parameters: RelayParameters, ports: &mut Ports) -> Result<Self, BuildError> {
        let heard = ports.raw_input("heard", "What is passed on.", Expect::ever());
        let said = ports.raw_output("said", "The same, not too often.");
        ports.pass_on(heard, said);
        Ok(Self {
            parameters,
            heard,
            said,
            last: None,
        })
    }
}

impl Component for Relay {
    fn step(&mut self, step: &Step<'_>, out: &mut Outbox<'_>) {
        if step.is_start() {
            out.health(Health::Good);
        }
        let Some(heard) = step.arrived(self.heard) else {
            return;
        };
        let period = period(self.parameters.max_rate_hz);
        if self
            .last
            .is_some_and(|last| step.now().since(last) < period)
        {
            return;
        }
        self.last = Some(step.now());
        out.send_raw(self.said, heard.message().clone());
    }

    fn parameters(&mut self) -> Option<&mut dyn Parameters> {
        Some(&mut self.parameters)
    }
}

fn period(rate_hz: f64) -> Duration {
    if rate_hz > 0.0 {
        Duration::try_from_secs_f64(1.0 / rate_hz).unwrap_or(Duration::MAX)
    } else {
        Duration::ZERO
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rig::Rig;
    use bowline_msgs::Beat;

    #[test]
    fn what_comes_too_often_is_left_out_and_the_rest_is_the_same() {
        for (max_rate_hz, expected) in [(0.0, vec![0, 1, 2, 3, 4, 5]), (50.0, vec![0, 2, 4])] {
            let mut rig = Rig::new::<Relay>(RelayParameters { max_rate_hz });
            for count in 0..6 {
                rig.send("heard", Beat { utime: 1, count });
                rig.advance(Duration::from_millis(10));
            }
            let counts: Vec<i64> = rig
                .take::<Beat>("said")
                .iter()
                .map(|beat| beat.count)
                .collect();
            assert_eq!(counts, expected, "at most {max_rate_hz} Hz");
        }
    }
}
