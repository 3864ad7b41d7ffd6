//! Services over a bus within the process.

use bowline_bus::Bus;
use bowline_component::service::{CallError, Failure};
use bowline_host::service::{self, ClientError};
use bowline_msgs::{Pose, Waypoint};
use bowline_testing::patience::PATIENCE;
use std::sync::atomic::{AtomicBool, Ordering};

fn waypoint(id: &str) -> Waypoint {
    Waypoint {
        id: id.to_owned(),
        position: [1.0, 2.0],
    }
}

/// Runs `with` while a service answers with the waypoint it was asked for, or that there is none.
fn served(url: &str, with: impl FnOnce(&Bus)) {
    let bus = Bus::open(url).unwrap();
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let serving = scope.spawn(|| {
            service::serve(&bus, "plan.find", &stop, |asked: Waypoint| {
                if asked.id == "nowhere" {
                    return Err(Failure::new(7, "there is no such place"));
                }
                Ok(asked)
            })
        });
        with(&bus);
        stop.store(true, Ordering::Relaxed);
        serving.join().unwrap().unwrap();
    });
}

#[test]
fn a_call_has_its_reply_or_the_services_own_error() {
    served("memq://", |bus| {
        let mut client = service::Client::new(bus);
        for id in ["dock", "pier"] {
            let reply: Waypoint = client.call("plan.find", &waypoint(id), PATIENCE).unwrap();
            assert_eq!(reply, waypoint(id));
        }
        let refused = client.call::<_, Waypoint>("plan.find", &waypoint("nowhere"), PATIENCE);
        let Err(ClientError::Call { source, .. }) = refused else {
            panic!("{refused:?}");
        };
        let (code, text) = (7, "there is no such place".to_owned());
        assert_eq!(source, CallError::Remote { code, text });
    });
}

#[test]
fn type_mismatch_is_distinguished_from_silence() {
    served("memq://", |bus| {
        let wrong_request =
            service::call::<_, Waypoint>(bus, "plan.find", &Pose::default(), PATIENCE);
        let Err(ClientError::Call { source, .. }) = wrong_request else {
            panic!("{wrong_request:?}");
        };
        let CallError::WrongType { text } = source else {
            panic!("{source:?}");
        };
        assert!(text.contains("bowline.waypoint_t"), "{text}");
        let wrong_reply = service::call::<_, Pose>(bus, "plan.find", &waypoint("dock"), PATIENCE);
        let is_told = matches!(
            wrong_reply,
            Err(ClientError::Call {
                source: CallError::WrongReply { .. },
                ..
            })
        );
        assert!(is_told, "{wrong_reply:?}");
    });
}
