//! What a page may publish, and which services it may call. The gate on the vehicle decides what is done; here it is
//! decided who may ask.

use crate::people::Role;
use bowline_msgs::{SimControl, SimFault};
use bowline_operator::commands::{self, MessageType};
use bowline_operator::{Effect, Role as LeastRole};
use bowline_wire::{DecodeError, Fingerprint, Message as _};
use serde_json::Value;

/// The sender.
#[derive(Clone, Debug)]
pub(crate) struct Speaker {
    pub(crate) role: Role,
    /// The name that they command under.
    pub(crate) station: String,
    pub(crate) rank: i32,
}

/// What is let through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ask {
    /// Stops a vehicle: the first is never held back.
    Stop {
        /// Whether a gate was received there.
        is_heard: bool,
    },
    /// Anything else.
    Other,
}

/// Why something is not let through.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Refusal {
    #[error("expected a channel of an operator, found {0:?}")]
    NotOperators(String),
    #[error("no vehicle has {what} at {channel:?}")]
    NoSuchVehicle { what: &'static str, channel: String },
    #[error("expected a message of type {expected}: {source}")]
    BadMessage {
        expected: &'static str,
        source: DecodeError,
    },
    #[error("expected an ask of {expected} that exists, found {found}")]
    NoSuchCommand { expected: &'static str, found: i8 },
    #[error("expected the station {expected:?}, found {found:?}")]
    NotYou { expected: String, found: String },
    #[error("a viewer may stop a vehicle, and nothing else")]
    Viewer,
    #[error("expected a rank of at most {most}, found {found}")]
    Rank { most: i32, found: i32 },
    #[error("a page may not call the service {0:?}")]
    NotForPages(String),
    #[error("a viewer may not call services")]
    ViewerCalls,
    #[error("expected a request of type {expected}, found {found:?}")]
    OtherRequest {
        expected: &'static str,
        found: String,
    },
}

/// The services that pages may call: what stands after the prefix of the vehicle, what they take, and who may ask at least.
/// Whatever else answers on a bus, such as those who stop processes or set parameters, is no page's business.
const SERVICES: [(&str, &str, Role); 2] = [
    ("sim.control", SimControl::NAME, Role::Operator),
    ("sim.fault", SimFault::NAME, Role::Operator),
];

/// Whether a page may call this service with a request of this type.
pub(crate) fn judge_service(
    role: Role,
    name: &str,
    type_name: &str,
    request: &Value,
) -> Result<(), Refusal> {
    let found = SERVICES.iter().find(|(suffix, ..)| {
        let prefix = name.strip_suffix(suffix);
        prefix.is_some_and(is_prefix)
    });
    let Some(&(_, expected, least)) = found else {
        return Err(Refusal::NotForPages(name.to_owned()));
    };
    if type_name != expected {
        return Err(Refusal::OtherRequest {
            expected,
            found: type_name.to_owned(),
        });
    }
    if role < least && !is_sim_question(type_name, request) {
        return Err(Refusal::ViewerCalls);
    }
    Ok(())
}

/// A look at a simulation changes nothing.
pub(crate) fn is_sim_question(type_name: &str, request: &Value) -> bool {
    let action = request.get("action");
    let is_look = action.is_none_or(|it| it.as_i64() == Some(i64::from(SimControl::STATE)));
    type_name == SimControl::NAME && is_look
}

/// Whether this may go to the bus. `type_on` gives the type on a channel.
pub(crate) fn judge(
    speaker: &Speaker,
    channel: &str,
    message: &[u8],
    type_on: impl Fn(&str) -> Option<Fingerprint>,
) -> Result<Ask, Refusal> {
    let (prefix, carried) = split(channel)?;
    let expected = carried.name.trim_start_matches("bowline.");
    let head = carried
        .read(message)
        .map_err(|source| Refusal::BadMessage { expected, source })?;
    let found = head.ask.unwrap_or_default();
    let command = commands::of(carried.fingerprint, head.ask)
        .ok_or(Refusal::NoSuchCommand { expected, found })?;
    check_station(speaker, head.station)?;
    if let Some(rank) = head.rank.filter(|rank| *rank > speaker.rank) {
        return Err(Refusal::Rank {
            most: speaker.rank,
            found: rank,
        });
    }
    if command.role > LeastRole::Viewer && speaker.role == Role::Viewer {
        return Err(Refusal::Viewer);
    }
    let answer = command.answered_on;
    let channel = format!("{prefix}{}", answer.channel);
    let is_heard = type_on(&channel) == Some(answer.fingerprint);
    if command.effect == Effect::Stop {
        return Ok(Ask::Stop { is_heard });
    }
    if !is_heard {
        let what = answer.what;
        return Err(Refusal::NoSuchVehicle { what, channel });
    }
    Ok(Ask::Other)
}

/// The prefix of the vehicle, and the type of command that the channel carries.
fn split(channel: &str) -> Result<(&str, &'static MessageType), Refusal> {
    let found = commands::channels().find_map(|name| {
        let prefix = channel.strip_suffix(name).filter(|it| is_prefix(it))?;
        Some((prefix, commands::carried_on(name)?))
    });
    found.ok_or_else(|| Refusal::NotOperators(channel.to_owned()))
}

/// Nothing, `NAME.` or `NAME/`. No vehicle is called `truth`: that is the word by which a simulation is known.
pub(crate) fn is_prefix(text: &str) -> bool {
    let is_name = |name: &str| !name.is_empty() && !name.contains(['.', '/']) && name != "truth";
    text.is_empty() || text.strip_suffix(['.', '/']).is_some_and(is_name)
}

fn check_station(speaker: &Speaker, station: &str) -> Result<(), Refusal> {
    if station == speaker.station {
        return Ok(());
    }
    Err(Refusal::NotYou {
        expected: speaker.station.clone(),
        found: station.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use bowline_msgs::{
        Acknowledge, Alarms, Authority, DirectCommand, Gate, LeaseRequest, StopCommand, TaskCommand,
    };

    const STATION: &str = "bridge/anna";

    fn speaker(role: Role) -> Speaker {
        Speaker {
            role,
            station: STATION.to_owned(),
            rank: 1,
        }
    }

    fn by(station: &str) -> Authority {
        Authority {
            station: station.to_owned(),
            ..Authority::default()
        }
    }

    fn stop(station: &str, ask: i8) -> Vec<u8> {
        let command = StopCommand {
            by: by(station),
            ask,
            ..StopCommand::default()
        };
        command.encode().unwrap()
    }

    fn acknowledge(station: &str) -> Vec<u8> {
        let acknowledge = Acknowledge {
            by: by(station),
            id: "lost".to_owned(),
            ..Acknowledge::default()
        };
        acknowledge.encode().unwrap()
    }

    #[test]
    fn an_alarm_is_acknowledged_under_ones_own_name_where_a_list_is_kept() {
        let has_list = |name: &str| (name == "heron.alarms.list").then_some(Alarms::FINGERPRINT);
        let judge = |role, channel: &str, station| {
            judge(&speaker(role), channel, &acknowledge(station), has_list)
        };
        let channel = "heron.operator.acknowledge";
        assert_eq!(judge(Role::Operator, channel, STATION).unwrap(), Ask::Other);
        assert!(matches!(
            judge(Role::Operator, channel, "bridge/bo"),
            Err(Refusal::NotYou { .. })
        ));
        assert!(matches!(
            judge(Role::Viewer, channel, STATION),
            Err(Refusal::Viewer)
        ));
        assert!(matches!(
            judge(Role::Operator, "tern.operator.acknowledge", STATION),
            Err(Refusal::NoSuchVehicle {
                what: "a list of alarms",
                ..
            })
        ));
    }

    fn lease(rank: i32) -> Vec<u8> {
        let request = LeaseRequest {
            by: by(STATION),
            ask: LeaseRequest::TAKE,
            rank,
            ..LeaseRequest::default()
        };
        request.encode().unwrap()
    }

    fn thrust(station: &str) -> Vec<u8> {
        let command = DirectCommand {
            by: by(station),
            ..DirectCommand::default()
        };
        command.encode().unwrap()
    }

    fn verdict(role: Role, channel: &str, message: &[u8]) -> Result<Ask, String> {
        let type_on = |name: &str| {
            ["gate.state", "heron/gate.state"]
                .contains(&name)
                .then_some(Gate::FINGERPRINT)
        };
        judge(&speaker(role), channel, message, type_on).map_err(|it| it.to_string())
    }

    #[test]
    fn operators_may_ask_their_vehicles_under_their_own_name() {
        let task = TaskCommand {
            by: by(STATION),
            ..TaskCommand::default()
        };
        let task = task.encode().unwrap();
        for role in [Role::Operator, Role::Supervisor] {
            assert_eq!(
                verdict(role, "operator.direct", &thrust(STATION)),
                Ok(Ask::Other)
            );
            assert_eq!(verdict(role, "heron/operator.task", &task), Ok(Ask::Other));
            assert_eq!(verdict(role, "operator.lease", &lease(1)), Ok(Ask::Other));
            let clear = stop(STATION, StopCommand::CLEAR);
            assert_eq!(verdict(role, "operator.stop", &clear), Ok(Ask::Other));
        }
    }

    #[test]
    fn any_user_may_stop_and_a_viewer_nothing_else() {
        for role in [Role::Viewer, Role::Operator, Role::Supervisor] {
            let word = stop(STATION, StopCommand::STOP);
            for (channel, is_heard) in [("operator.stop", true), ("unheard/operator.stop", false)] {
                assert_eq!(verdict(role, channel, &word), Ok(Ask::Stop { is_heard }));
            }
        }
        let refused = Err("a viewer may stop a vehicle, and nothing else".to_owned());
        let clear = stop(STATION, StopCommand::CLEAR);
        assert_eq!(verdict(Role::Viewer, "operator.stop", &clear), refused);
        assert_eq!(
            verdict(Role::Viewer, "operator.direct", &thrust(STATION)),
            refused
        );
        assert_eq!(verdict(Role::Viewer, "operator.lease", &lease(0)), refused);
    }

    #[test]
    fn messages_beyond_an_operators_role_are_refused_with_the_reason() {
        let cases: [(&str, Vec<u8>, &str); 10] = [
            (
                "gate.state",
                thrust(STATION),
                "expected a channel of an operator, found \"gate.state\"",
            ),
            (
                "thrust.command",
                thrust(STATION),
                "expected a channel of an operator, found \"thrust.command\"",
            ),
            (
                "a.b.operator.direct",
                thrust(STATION),
                "expected a channel of an operator, found \"a.b.operator.direct\"",
            ),
            (
                "xoperator.direct",
                thrust(STATION),
                "expected a channel of an operator, found \"xoperator.direct\"",
            ),
            (
                "truth/operator.stop",
                stop(STATION, StopCommand::STOP),
                "expected a channel of an operator, found \"truth/operator.stop\"",
            ),
            (
                "ghost/operator.direct",
                thrust(STATION),
                "no vehicle has a gate at \"ghost/gate.state\"",
            ),
            (
                "operator.direct",
                thrust("bridge/bob"),
                "expected the station \"bridge/anna\", found \"bridge/bob\"",
            ),
            (
                "operator.stop",
                stop("bridge/bob", StopCommand::STOP),
                "expected the station \"bridge/anna\", found \"bridge/bob\"",
            ),
            (
                "operator.lease",
                lease(2),
                "expected a rank of at most 1, found 2",
            ),
            (
                "operator.task",
                thrust(STATION),
                "expected a message of type task_command_t: ",
            ),
        ];
        for (channel, message, expected) in cases {
            let error = verdict(Role::Supervisor, channel, &message).unwrap_err();
            assert!(error.starts_with(expected), "{error}");
        }
    }

    #[test]
    fn only_services_of_simulations_are_open_to_pages() {
        let act = serde_json::json!({ "action": SimControl::PAUSE });
        let look = serde_json::json!({ "action": SimControl::STATE });
        let judge = |role, name, type_name, request| {
            judge_service(role, name, type_name, request).map_err(|it| it.to_string())
        };
        for role in [Role::Operator, Role::Supervisor] {
            for (name, type_name) in [
                ("sim.control", SimControl::NAME),
                ("heron/sim.control", SimControl::NAME),
                ("heron.sim.fault", SimFault::NAME),
            ] {
                assert_eq!(judge(role, name, type_name, &act), Ok(()), "{name}");
            }
            for name in [
                "supervisor.heron.box.order",
                "a.b.sim.control",
                "gate.parameters",
                "xsim.control",
                "model.transform",
                "",
            ] {
                let refused = Err(format!("a page may not call the service {name:?}"));
                assert_eq!(judge(role, name, SimControl::NAME, &look), refused);
            }
            let other = judge(role, "sim.control", "bowline.order_t", &act);
            assert!(other.unwrap_err().contains("bowline.sim_control_t"));
        }
        let viewer = |type_name, name, request| judge(Role::Viewer, name, type_name, request);
        assert_eq!(viewer(SimControl::NAME, "sim.control", &look), Ok(()));
        for (type_name, name) in [
            (SimControl::NAME, "sim.control"),
            (SimFault::NAME, "sim.fault"),
        ] {
            let refused = Err("a viewer may not call services".to_owned());
            assert_eq!(viewer(type_name, name, &act), refused);
        }
    }
}
