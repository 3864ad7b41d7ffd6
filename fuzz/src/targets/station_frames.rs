//! A page that sends anything: it is a frame or an error, and nothing goes to the bus that the role may not ask for.

use bowline_station::Role;
use bowline_station::fuzzing::{Said, hear};

const CHANNELS: [&str; 4] = ["gate.state", "heron/gate.state", "truth.pose", ""];

pub(crate) fn run(bytes: &[u8]) {
    let viewer = hear(bytes, Role::Viewer, 0, &CHANNELS);
    let operator = hear(bytes, Role::Operator, 1, &CHANNELS);
    let supervisor = hear(bytes, Role::Supervisor, i32::MAX, &CHANNELS);
    assert_ne!(viewer, Said::Ask, "a viewer asks for a stop alone");
    assert_eq!(
        viewer == Said::Stop,
        supervisor == Said::Stop,
        "every role may stop"
    );
    if operator == Said::Ask {
        assert_eq!(supervisor, Said::Ask, "a higher rank may ask for no less");
        let without_gate = hear(bytes, Role::Operator, 1, &[]);
        assert!(
            matches!(without_gate, Said::Refused(_)),
            "a request without a gate is refused"
        );
    }
    for said in [&viewer, &operator, &supervisor] {
        match said {
            Said::Malformed(why) | Said::Refused(why) => assert!(!why.is_empty()),
            Said::Wanted(n) => assert!(*n <= CHANNELS.len()),
            Said::Stop | Said::Ask | Said::Other => {}
        }
    }
    if let Said::Malformed(_) = viewer {
        assert_eq!(
            (&viewer, &viewer),
            (&operator, &supervisor),
            "malformed bytes are malformed for every role"
        );
    }
}
