//! The table of commands.

use bowline_msgs::{
    Acknowledge, Authority, Beat, DirectCommand, LeaseRequest, StopCommand, TaskCommand,
};
use bowline_operator::commands::{self, GATE, carried_on, channels, named, of};
use bowline_operator::{COMMANDS, Effect, Need, Role};
use bowline_wire::Message as _;
use std::collections::BTreeSet;

fn by() -> Authority {
    Authority {
        station: "bridge".to_owned(),
        ..Authority::default()
    }
}

#[test]
fn table_names_each_command_once_and_each_channel_has_one_type() {
    let names: BTreeSet<&str> = COMMANDS.iter().map(|it| it.name).collect();
    assert_eq!(names.len(), COMMANDS.len());
    let keys: BTreeSet<_> = COMMANDS
        .iter()
        .map(|it| (it.message.fingerprint.0, it.ask))
        .collect();
    assert_eq!(keys.len(), COMMANDS.len(), "each message is one command");
    for command in COMMANDS {
        assert_eq!(named(command.name).unwrap().name, command.name);
        let carried = carried_on(command.channel).unwrap();
        assert_eq!(carried.name, command.message.name, "{}", command.channel);
        let found = of(command.message.fingerprint, command.ask).unwrap();
        assert_eq!(found.name, command.name);
        assert_eq!(
            commands::channel_of(command.message.fingerprint),
            Some(command.channel)
        );
    }
    let all: Vec<&str> = channels().collect();
    let unique: BTreeSet<&str> = COMMANDS.iter().map(|it| it.channel).collect();
    assert_eq!(all.len(), unique.len(), "{all:?}");
}

#[test]
fn only_stop_is_open_to_viewers_and_what_a_gate_takes_besides_needs_a_token() {
    for command in COMMANDS {
        let is_stop = command.effect == Effect::Stop;
        let is_for_gate = command.answered_on == &GATE;
        let needs_token = is_for_gate && !is_stop;
        assert_eq!(command.needs(Need::Token), needs_token, "{}", command.name);
        assert_eq!(command.needs.is_empty(), !needs_token, "{}", command.name);
        assert_eq!(is_for_gate, command.effect != Effect::Notice);
        assert_eq!(command.role == Role::Viewer, is_stop, "{}", command.name);
        let needs_lease = command.needs(Need::Lease);
        assert!(!command.moves() || needs_lease, "{}", command.name);
    }
}

#[test]
fn read_finds_the_station_of_every_command_and_of_nothing_else() {
    let messages = [
        LeaseRequest {
            by: by(),
            ask: LeaseRequest::TAKE,
            rank: 2,
            ..LeaseRequest::default()
        }
        .encode(),
        StopCommand {
            by: by(),
            ask: StopCommand::STOP,
            ..StopCommand::default()
        }
        .encode(),
        TaskCommand {
            by: by(),
            ..TaskCommand::default()
        }
        .encode(),
        DirectCommand {
            by: by(),
            values: vec![0.5, 0.25, -0.1],
            ..DirectCommand::default()
        }
        .with_lengths()
        .encode(),
        Acknowledge {
            by: by(),
            id: "lost".to_owned(),
            ..Acknowledge::default()
        }
        .encode(),
    ];
    let expected = ["take", "stop", "task", "direct", "acknowledge"];
    for (message, expected) in messages.into_iter().zip(expected) {
        let message = message.unwrap();
        let (kind, head) = commands::read(&message).unwrap();
        assert_eq!(head.station, "bridge");
        assert_eq!(of(kind.fingerprint, head.ask).unwrap().name, expected);
        assert_eq!(head.rank, (expected == "take").then_some(2));
        for cut in 0..message.len() {
            assert!(commands::read(&message[..cut]).is_none(), "cut at {cut}");
        }
    }
    assert!(commands::read(&Beat::default().encode().unwrap()).is_none());
    assert!(of(StopCommand::FINGERPRINT, Some(77)).is_none());
}
