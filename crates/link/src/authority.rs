//! Whose commands they are: a command that comes in over a link must be by the station at its other end.
//!
//! A link knows by its keys who the peer is; a gate goes by the name in the command. Only together do they keep a station
//! from speaking for another.

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

fn decode<M: Message + for<'a> bowline_wire::Decode<'a>>(payload: &[u8]) -> Option<M> {
    M::decode(payload).ok()
}

#[cfg(test)]
mod tests {
    use super::station;
    use bowline_msgs::{Authority, Beat, StopCommand, TaskCommand, ThrustCommand};
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
}
