//! Which station a command is from: a command that arrives over a link must be from the station at its other end, or from a
//! person who is logged in there.
//!
//! A link knows its peer by its keys; a gate goes by the name in the command. Only together do they keep a station from
//! commanding under another's name. A stop is accepted from any station, as at the gate: a stop under another's name does no
//! harm, and one that is dropped for its name does.
//!
//! The table of commands defines which messages are commands, and which of them stops a vehicle.

use bowline_operator::{Effect, commands};

/// The station that a command names as its sender; `None` if it is no command.
#[must_use]
pub fn station(payload: &[u8]) -> Option<String> {
    let (_, head) = commands::read(payload)?;
    Some(head.station.to_owned())
}

/// Whether a link from `peer` may bring this: a stop, or a command from that station or from a person there (`bridge/anna`).
#[must_use]
pub fn is_by(payload: &[u8], peer: &str) -> bool {
    let is_of_peer = |station: &str| {
        let rest = station.strip_prefix(peer);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    is_stop(payload) || station(payload).as_deref().is_some_and(is_of_peer)
}

/// Whether a message stops a vehicle.
#[must_use]
pub fn is_stop(payload: &[u8]) -> bool {
    let command = commands::read(payload)
        .and_then(|(message, head)| commands::of(message.fingerprint, head.ask));
    command.is_some_and(|it| it.effect == Effect::Stop)
}

#[cfg(test)]
mod tests {
    use super::{is_by, station};
    use bowline_msgs::{
        Acknowledge, Authority, Beat, DirectCommand, LeaseRequest, StopCommand, TaskCommand,
    };
    use bowline_wire::Message as _;

    #[test]
    fn every_command_has_an_authority_and_no_other_message_does() {
        let by = || Authority {
            station: "bridge".to_owned(),
            ..Authority::default()
        };
        let stop = StopCommand {
            by: by(),
            ..StopCommand::default()
        };
        let thrust = DirectCommand {
            by: by(),
            ..DirectCommand::default()
        };
        let task = TaskCommand {
            by: by(),
            ..TaskCommand::default()
        };
        let acknowledge = Acknowledge {
            by: by(),
            ..Acknowledge::default()
        };
        let encoded = [
            stop.encode(),
            thrust.encode(),
            task.encode(),
            acknowledge.encode(),
        ];
        for payload in encoded {
            let payload = payload.expect("it is encoded");
            assert_eq!(station(&payload).as_deref(), Some("bridge"));
            for cut in 0..payload.len() {
                assert_eq!(station(&payload[..cut]), None, "cut at {cut}");
            }
        }
        let beat = Beat::default().encode().expect("it is encoded");
        assert_eq!(station(&beat), None);
    }

    #[test]
    fn peers_users_command_and_any_station_stops() {
        let by = |station: &str| Authority {
            station: station.to_owned(),
            ..Authority::default()
        };
        let said = |station: &str, ask| {
            let stop = StopCommand {
                by: by(station),
                ask,
                ..StopCommand::default()
            };
            let lease = LeaseRequest {
                by: by(station),
                ..LeaseRequest::default()
            };
            [stop.encode(), lease.encode()].map(|it| is_by(&it.expect("it is encoded"), "bridge"))
        };
        for (station, is_peers) in [
            ("bridge", true),
            ("bridge/anna", true),
            ("bridgehead", false),
            ("anna", false),
            ("bri", false),
            ("", false),
        ] {
            assert_eq!(said(station, StopCommand::STOP), [true, is_peers]);
            assert_eq!(said(station, StopCommand::CLEAR), [is_peers; 2]);
            assert_eq!(said(station, 77), [is_peers; 2], "no word that is known");
        }
        assert!(!is_by(b"no command at all", "bridge"));
    }
}
