//! Whose commands they are: a command that comes in over a link must be by the station at its other end, or by somebody
//! who is logged in there.
//!
//! A link knows by its keys who the peer is; a gate goes by the name in the command. Only together do they keep a station
//! from speaking for another. A stop is anybody's, as it is at the gate: to speak for another is no harm there, and to be
//! dropped for one's name is.

use bowline_msgs::{LeaseRequest, StopCommand, TaskCommand, ThrustCommand, VelocityCommand};
use bowline_wire::Message;

/// A type of command: how to find whose it is.
type Station = fn(&[u8]) -> Option<String>;

/// All messages that carry an authority. Another one is no command.
const COMMANDS: &[Station] = &[
    |payload| Some(decode::<LeaseRequest>(payload)?.by.station),
    |payload| Some(decode::<StopCommand>(payload)?.by.station),
    |payload| Some(decode::<TaskCommand>(payload)?.by.station),
    |payload| Some(decode::<ThrustCommand>(payload)?.by.station),
    |payload| Some(decode::<VelocityCommand>(payload)?.by.station),
];

/// The station that a message says it is by; `None` if it is no command.
#[must_use]
pub fn station(payload: &[u8]) -> Option<String> {
    COMMANDS.iter().find_map(|station| station(payload))
}

/// Whether a link from `peer` may bring this: a stop, or a command by that station or by a person there (`bridge/anna`).
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
    decode::<StopCommand>(payload).is_some_and(|it| it.ask == StopCommand::STOP)
}

fn decode<M: Message + for<'a> bowline_wire::Decode<'a>>(payload: &[u8]) -> Option<M> {
    M::decode(payload).ok()
}

#[cfg(test)]
mod tests {
    use super::{is_by, station};
    use bowline_msgs::{Authority, Beat, LeaseRequest, StopCommand, TaskCommand, ThrustCommand};
    use bowline_wire::Message as _;

    #[test]
    fn every_command_says_whose_it_is_and_nothing_else_does() {
        let by = || Authority {
            station: "bridge".to_owned(),
            ..Authority::default()
        };
        let stop = StopCommand {
            by: by(),
            ..StopCommand::default()
        };
        let thrust = ThrustCommand {
            by: by(),
            ..ThrustCommand::default()
        };
        let task = TaskCommand {
            by: by(),
            ..TaskCommand::default()
        };
        let encoded = [stop.encode(), thrust.encode(), task.encode()];
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
    fn people_at_the_peer_command_and_anybody_stops() {
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
