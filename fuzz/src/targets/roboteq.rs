//! Any bytes from a motor controller that is being commanded: nothing panics, what is sent moves no motor beyond what
//! was asked for, and there is always a moment at which to look again.

use bowline_component::Time;
use bowline_drivers::roboteq::{Reply, Roboteq, RoboteqParameters, SHAPE, faults, parse};
use bowline_drivers::{Actuator as _, Arrived, Counts, Line, Splitter};
use bowline_msgs::Thrust;
use std::time::Duration;

pub(crate) fn run(bytes: &[u8]) {
    let (mut splitter, mut counts) = (Splitter::new(SHAPE), Counts::default());
    for line in splitter.split(bytes, &mut counts) {
        if let Ok(Reply::Faults(bits)) = parse(&line) {
            assert_eq!(faults(bits).is_empty(), bits == 0);
        }
    }
    let mut driver = Roboteq::new(RoboteqParameters::default()).expect("defaults are fine");
    let mut now = Time::from_utime(1_000_000);
    let wish = Thrust {
        utime: 1,
        port_ratio: 0.5,
        starboard_ratio: -0.25,
    };
    for (nth, piece) in bytes.chunks(16).enumerate() {
        now = now + Duration::from_millis(40);
        let mut line = Line::new(piece);
        let command = Arrived {
            message: &wish,
            at: now,
        };
        let told = driver.act(now, Some(command).filter(|_| nth % 2 == 0), &mut line);
        let told = told.unwrap_or(wish.clone());
        assert_eq!((told.port_ratio, told.starboard_ratio), (0.5, -0.25));
        let (said, wake) = line.into_parts();
        assert!(said.is_ascii() && said.len() < 100);
        assert!(
            wake.is_some_and(|wake| wake > now),
            "it never waits for ever, and never spins"
        );
    }
}
