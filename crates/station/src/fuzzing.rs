//! Frames from a page, for a fuzzer that sends anything: read, and judged as if they came over a socket.

use crate::frame::{self, FromPage};
use crate::people::Role;
use crate::policy::{self, Ask, Speaker};
use crate::wish::Wishes;
use bowline_msgs::Gate;
use bowline_wire::Message as _;

/// What came of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Said {
    /// It is no frame, or wishes that make no sense; with what is wrong.
    Malformed(String),
    /// How many of these channels are wanted.
    Wanted(usize),
    /// It goes to the bus: a stop.
    Stop,
    /// It goes to the bus: something else.
    Ask,
    /// It does not go to the bus; with why not.
    Refused(String),
    /// Something that goes nowhere: a request, a ping.
    Other,
}

/// A page in this role sends this, where there are these channels. On the first of them is a gate.
#[must_use]
pub fn hear(frame: &[u8], role: Role, rank: i32, channels: &[&str]) -> Said {
    match frame::read(frame) {
        Err(error) => Said::Malformed(error.to_string()),
        Ok(FromPage::Subscribe(rows)) => match Wishes::new(rows) {
            Err(error) => Said::Malformed(error.to_string()),
            Ok(wishes) => {
                let is_wanted = |name: &&&str| wishes.find(name, None).is_some();
                Said::Wanted(channels.iter().filter(is_wanted).count())
            }
        },
        Ok(FromPage::Publish { channel, message }) => {
            let speaker = Speaker {
                role,
                station: "bridge".to_owned(),
                rank,
            };
            let type_on =
                |name: &str| (channels.first() == Some(&name)).then_some(Gate::FINGERPRINT);
            match policy::judge(&speaker, channel, message, type_on) {
                Ok(Ask::Stop { is_heard: _ }) => Said::Stop,
                Ok(Ask::Other) => Said::Ask,
                Err(refusal) => Said::Refused(refusal.to_string()),
            }
        }
        Ok(FromPage::Request { .. } | FromPage::Ping(_)) => Said::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn what_the_fuzzer_begins_with_is_what_it_is_called() {
        let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/station_frames");
        for (name, by_viewer, by_operator) in [
            ("stop", Some(Said::Stop), Some(Said::Stop)),
            ("clear", None, Some(Said::Ask)),
            ("lease", None, Some(Said::Ask)),
            ("lease_heron", None, None),
            ("direct", None, Some(Said::Ask)),
            ("unknown_channel", None, None),
            ("subscribe", Some(Said::Wanted(3)), Some(Said::Wanted(3))),
            ("ping", Some(Said::Other), Some(Said::Other)),
            ("player", Some(Said::Other), Some(Said::Other)),
            ("service", Some(Said::Other), Some(Said::Other)),
        ] {
            let frame = std::fs::read(corpus.join(name)).unwrap();
            let channels = ["gate.state", "heron/gate.state", "truth.pose"];
            for (role, expected) in [(Role::Viewer, by_viewer), (Role::Operator, by_operator)] {
                let said = hear(&frame, role, 1, &channels);
                match expected {
                    Some(expected) => assert_eq!(said, expected, "{name}"),
                    None => assert!(matches!(said, Said::Refused(_)), "{name}: {said:?}"),
                }
            }
        }
        let wild = std::fs::read(corpus.join("subscribe_wild")).unwrap();
        let said = hear(&wild, Role::Viewer, 0, &[]);
        assert!(matches!(said, Said::Malformed(_)), "{said:?}");
    }
}
