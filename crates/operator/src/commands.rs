//! The one table of commands: gate, list of alarms, link, station, command line and page read it, so a new command is a new
//! row.

use bowline_msgs::{
    Acknowledge, AcknowledgeRef, Alarms, DirectCommand, DirectCommandRef, Gate, LeaseRequest,
    LeaseRequestRef, StopCommand, StopCommandRef, TaskCommand, TaskCommandRef,
};
use bowline_wire::{DecodeError, Fingerprint, Message};

/// One command that a station can send to a vehicle.
#[derive(Clone, Copy, Debug)]
pub struct Command {
    /// Its name: in refusals, on the command line and on the page.
    pub name: &'static str,
    /// The channel that carries it, after the prefix of the vehicle.
    pub channel: &'static str,
    /// The type of its message.
    pub message: &'static MessageType,
    /// The value of the message's `ask` that makes it this command; none where the message has no `ask`.
    pub ask: Option<i8>,
    /// What it takes part in.
    pub effect: Effect,
    /// What it must bring.
    pub needs: &'static [Need],
    /// The least role at a station that may send it.
    pub role: Role,
    /// What the vehicle publishes where the command is taken, and its effect is seen.
    pub answered_on: &'static Answer,
}

/// A channel on which a vehicle shows what has become of commands. Where it is missing, no component takes them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer {
    /// After the prefix of the vehicle.
    pub channel: &'static str,
    /// Of the messages there.
    pub fingerprint: Fingerprint,
    /// What publishes it, for people.
    pub what: &'static str,
}

/// The state of a gate.
pub const GATE: Answer = Answer {
    channel: "gate.state",
    fingerprint: Gate::FINGERPRINT,
    what: "a gate",
};

/// The list of a vehicle's alarms.
pub const ALARMS: Answer = Answer {
    channel: "alarms.list",
    fingerprint: Alarms::FINGERPRINT,
    what: "a list of alarms",
};

/// What a command takes part in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Stops the vehicle: accepted from any station, however old, and never held back on the way.
    Stop,
    /// Changes who may command, or ends a stop. Moves nothing.
    Authority,
    /// Gives the vehicle a task.
    Task,
    /// Sets the actuators directly.
    Direct,
    /// Notes what a person knows. No gate decides about it.
    Notice,
}

/// What a command must bring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// A recent token of the gate, and a number that grows.
    Token,
    /// The lease, under its epoch.
    Lease,
    /// A rank: as far as the gate grants it, it decides which station yields.
    Rank,
}

/// Who may send a command from a station.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    /// Every person that is logged in.
    Viewer,
    /// Operators and supervisors.
    Operator,
}

/// A type of message that carries commands.
#[derive(Clone, Copy, Debug)]
pub struct MessageType {
    /// Full name, such as `bowline.task_command_t`.
    pub name: &'static str,
    /// What its messages begin with.
    pub fingerprint: Fingerprint,
    read: for<'a> fn(&'a [u8]) -> Result<Head<'a>, DecodeError>,
}

/// What is common to all commands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head<'a> {
    /// The station that it names as its sender.
    pub station: &'a str,
    /// Which of the commands that share the type, where several do.
    pub ask: Option<i8>,
    /// The rank that the station asks for, where the type has one.
    pub rank: Option<i32>,
}

const LEASE: MessageType = MessageType {
    name: LeaseRequest::NAME,
    fingerprint: LeaseRequest::FINGERPRINT,
    read: |bytes| {
        LeaseRequestRef::decode(bytes).map(|it| Head {
            station: it.by.station,
            ask: Some(it.ask),
            rank: Some(it.rank),
        })
    },
};

const STOP: MessageType = MessageType {
    name: StopCommand::NAME,
    fingerprint: StopCommand::FINGERPRINT,
    read: |bytes| {
        StopCommandRef::decode(bytes).map(|it| Head {
            station: it.by.station,
            ask: Some(it.ask),
            rank: None,
        })
    },
};

const TASK: MessageType = MessageType {
    name: TaskCommand::NAME,
    fingerprint: TaskCommand::FINGERPRINT,
    read: |bytes| TaskCommandRef::decode(bytes).map(|it| from_station(it.by.station)),
};

const DIRECT: MessageType = MessageType {
    name: DirectCommand::NAME,
    fingerprint: DirectCommand::FINGERPRINT,
    read: |bytes| DirectCommandRef::decode(bytes).map(|it| from_station(it.by.station)),
};

const ACKNOWLEDGE: MessageType = MessageType {
    name: Acknowledge::NAME,
    fingerprint: Acknowledge::FINGERPRINT,
    read: |bytes| AcknowledgeRef::decode(bytes).map(|it| from_station(it.by.station)),
};

const fn from_station(station: &str) -> Head<'_> {
    Head {
        station,
        ask: None,
        rank: None,
    }
}

/// All commands.
#[rustfmt::skip]
pub static COMMANDS: &[Command] = &[
    // name, channel and message, ask, effect, needs, least role; answered on the state of the gate unless it says otherwise
    row("take", ("operator.lease", &LEASE), Some(LeaseRequest::TAKE), Effect::Authority, &[Need::Token, Need::Rank], Role::Operator),
    row("renew", ("operator.lease", &LEASE), Some(LeaseRequest::RENEW), Effect::Authority, &[Need::Token, Need::Lease], Role::Operator),
    row("release", ("operator.lease", &LEASE), Some(LeaseRequest::RELEASE), Effect::Authority, &[Need::Token, Need::Lease], Role::Operator),
    row("consent", ("operator.lease", &LEASE), Some(LeaseRequest::CONSENT), Effect::Authority, &[Need::Token, Need::Lease], Role::Operator),
    row("deny", ("operator.lease", &LEASE), Some(LeaseRequest::DENY), Effect::Authority, &[Need::Token, Need::Lease], Role::Operator),
    row("preempt", ("operator.lease", &LEASE), Some(LeaseRequest::PREEMPT), Effect::Authority, &[Need::Token, Need::Rank], Role::Operator),
    row("stop", ("operator.stop", &STOP), Some(StopCommand::STOP), Effect::Stop, &[], Role::Viewer),
    row("clear", ("operator.stop", &STOP), Some(StopCommand::CLEAR), Effect::Authority, &[Need::Token, Need::Lease], Role::Operator),
    row("task", ("operator.task", &TASK), None, Effect::Task, &[Need::Token, Need::Lease], Role::Operator),
    row("direct", ("operator.direct", &DIRECT), None, Effect::Direct, &[Need::Token, Need::Lease], Role::Operator),
    row("acknowledge", ("operator.acknowledge", &ACKNOWLEDGE), None, Effect::Notice, &[], Role::Operator).answered_on(&ALARMS),
];

const fn row(
    name: &'static str,
    (channel, message): (&'static str, &'static MessageType),
    ask: Option<i8>,
    effect: Effect,
    needs: &'static [Need],
    role: Role,
) -> Command {
    Command {
        name,
        channel,
        message,
        ask,
        effect,
        needs,
        role,
        answered_on: &GATE,
    }
}

impl Command {
    const fn answered_on(self, answered_on: &'static Answer) -> Self {
        Self {
            answered_on,
            ..self
        }
    }

    /// Whether it must bring this.
    #[must_use]
    pub fn needs(&self, need: Need) -> bool {
        self.needs.contains(&need)
    }

    /// Whether it may move the vehicle.
    #[must_use]
    pub fn moves(&self) -> bool {
        matches!(self.effect, Effect::Task | Effect::Direct)
    }
}

impl MessageType {
    /// Reads what is common to all commands from a message of this type.
    ///
    /// # Errors
    /// When the bytes are no message of this type.
    pub fn read<'a>(&self, message: &'a [u8]) -> Result<Head<'a>, DecodeError> {
        (self.read)(message)
    }
}

/// The command of this name.
#[must_use]
pub fn named(name: &str) -> Option<&'static Command> {
    COMMANDS.iter().find(|it| it.name == name)
}

/// The type of message that a channel without the vehicle's prefix carries; `None` if it carries no commands.
#[must_use]
pub fn carried_on(channel: &str) -> Option<&'static MessageType> {
    let command = COMMANDS.iter().find(|it| it.channel == channel)?;
    Some(command.message)
}

/// The channel that carries messages of this type, without the vehicle's prefix; `None` if they are no commands.
#[must_use]
pub fn channel_of(message: Fingerprint) -> Option<&'static str> {
    let command = COMMANDS
        .iter()
        .find(|it| it.message.fingerprint == message)?;
    Some(command.channel)
}

/// The channel that carries commands of this type, without the vehicle's prefix.
///
/// # Panics
/// When no row of the table has it.
#[must_use]
pub fn channel<M: Message>() -> &'static str {
    channel_of(M::FINGERPRINT).expect("a type of a row of the table")
}

/// All channels that carry commands, without the vehicle's prefix.
pub fn channels() -> impl Iterator<Item = &'static str> {
    let is_first = |(at, it): &(usize, &Command)| {
        let before = COMMANDS.iter().take(*at);
        before.map(|it| it.channel).all(|other| other != it.channel)
    };
    let rows = COMMANDS.iter().enumerate().filter(is_first);
    rows.map(|(_, it)| it.channel)
}

/// The command that a message of this type with this `ask` is; `None` if there is no such command.
#[must_use]
pub fn of(message: Fingerprint, ask: Option<i8>) -> Option<&'static Command> {
    let is_it = |it: &&Command| it.message.fingerprint == message && it.ask == ask;
    COMMANDS.iter().find(is_it)
}

/// The type and head of a message; `None` if it carries no command. Only the first bytes of other messages are read.
#[must_use]
pub fn read(message: &[u8]) -> Option<(&'static MessageType, Head<'_>)> {
    let (first, _) = message.split_first_chunk::<8>()?;
    let fingerprint = Fingerprint(u64::from_be_bytes(*first));
    let command = COMMANDS
        .iter()
        .find(|it| it.message.fingerprint == fingerprint)?;
    Some((command.message, command.message.read(message).ok()?))
}
