//! What a component reads and writes: declared once, and used for wiring, checks, graphs and documentation.

use crate::parcel::{Decoder, Raw};
use bowline_wire::{Decode, FieldPath, Fingerprint, Message};
use std::fmt;
use std::marker::PhantomData;
use std::time::Duration;

/// What a component declares while it is built.
///
/// A port has a name of the component's own; which channel it is on is decided by the robot.
#[derive(Debug, Default)]
pub struct Ports {
    declared: Vec<Declared>,
    tick: Option<Duration>,
}

/// A port with what the host needs to serve it.
#[derive(Clone, Debug)]
pub(crate) struct Declared {
    pub(crate) info: PortInfo,
    /// How to read what arrives: messages, requests or answers.
    pub(crate) decoder: Option<Decoder>,
}

/// A port as others see it.
#[derive(Clone, Debug, PartialEq)]
pub struct PortInfo {
    /// Its name within the component.
    pub name: String,
    /// What it is for.
    pub doc: String,
    /// Which way data flows through it.
    pub direction: Direction,
    /// What flows; requests, at a service. `None` is anything.
    pub message: Option<TypeInfo>,
    /// What comes back, at a service.
    pub answer: Option<TypeInfo>,
    /// The channel that the component itself knows it by, from a file that describes the robot for example.
    pub channel: Option<String>,
    /// Fields that must be numbers in what comes in, whatever its type is.
    pub numbers: Vec<FieldPath>,
    /// The input that goes out here as it came in, at an output that does nothing else.
    pub passes_on: Option<String>,
}

impl PortInfo {
    /// What the port is connected to: what the robot sets, what the component itself knows, or `COMPONENT.PORT` for
    /// what is sent and served.
    #[must_use]
    pub fn connection(&self, component: &str, named: Option<&str>) -> Option<String> {
        let known = named.or(self.channel.as_deref()).map(str::to_owned);
        match self.direction {
            Direction::Reads(_) | Direction::Calls => known,
            Direction::Writes | Direction::Serves => {
                Some(known.unwrap_or_else(|| format!("{component}.{}", self.name)))
            }
        }
    }
}

/// Which way data flows through a port.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Direction {
    /// Messages come in.
    Reads(Expect),
    /// Messages go out.
    Writes,
    /// Requests come in, answers go out.
    Serves,
    /// Requests go out, answers come in.
    Calls,
}

impl Direction {
    /// Whether external writers may write what comes in.
    #[must_use]
    pub fn is_from_anybody(&self) -> bool {
        matches!(self, Self::Reads(expect) if expect.writers == Writers::Anybody)
    }
}

/// A message type as far as checks need it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct TypeInfo {
    /// With its package.
    pub name: &'static str,
    /// What its messages begin with.
    pub fingerprint: Fingerprint,
    /// It and all that it contains, in the compact form; empty where it is unknown.
    pub schema: &'static [u8],
}

impl TypeInfo {
    /// Of a type that is known when this is compiled.
    #[must_use]
    pub const fn of<M: Message>() -> Self {
        Self {
            name: M::NAME,
            fingerprint: M::FINGERPRINT,
            schema: M::SCHEMA,
        }
    }
}

impl fmt::Debug for TypeInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {:?}", self.name, self.fingerprint)
    }
}

/// What a component expects of an input: until when a message is good, and how often there should be one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Expect {
    /// How old the latest message may get. `None`: it does not age.
    pub fresh_for: Option<Duration>,
    /// How often there should be one, so that missing ones can be noticed.
    pub every: Option<Duration>,
    /// Whether the component can do without.
    pub need: Need,
    /// Who may write there.
    pub writers: Writers,
}

/// Whether a component can do without an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// A robot file that does not connect it is wrong.
    Required,
    /// It may stay unconnected.
    Optional,
}

/// Who may write the channel of an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Writers {
    /// One: with two, it would be undefined whose message counts.
    One,
    /// Any client, people and programs outside the robot file among them. The messages name their senders.
    Anybody,
}

impl Expect {
    /// A message is good for so long, and then stale: the component is woken when that happens.
    #[must_use]
    pub const fn within(fresh_for: Duration) -> Self {
        Self {
            fresh_for: Some(fresh_for),
            every: None,
            need: Need::Required,
            writers: Writers::One,
        }
    }

    /// A message is good until the next one comes.
    #[must_use]
    pub const fn ever() -> Self {
        Self {
            fresh_for: None,
            every: None,
            need: Need::Required,
            writers: Writers::One,
        }
    }

    /// There should be one every so often.
    #[must_use]
    pub const fn every(mut self, period: Duration) -> Self {
        self.every = Some(period);
        self
    }

    /// The component can do without.
    #[must_use]
    pub const fn optional(mut self) -> Self {
        self.need = Need::Optional;
        self
    }

    /// Any client may write there, or none.
    #[must_use]
    pub const fn from_anybody(mut self) -> Self {
        self.writers = Writers::Anybody;
        self.optional()
    }
}

/// Where messages of a type come in. Asked for in [`Step`](crate::Step).
pub struct Input<T> {
    pub(crate) index: usize,
    kind: PhantomData<fn() -> T>,
}

/// Where messages of a type go out, through the [`Outbox`](crate::Outbox).
pub struct Output<T> {
    pub(crate) index: usize,
    kind: PhantomData<fn(T)>,
}

/// Where requests come in and answers go out.
pub struct Service<Request, Reply> {
    pub(crate) index: usize,
    kind: PhantomData<fn(Request) -> Reply>,
}

/// Where requests go out and answers come in.
pub struct Client<Request, Reply> {
    pub(crate) index: usize,
    kind: PhantomData<fn(Reply) -> Request>,
}

macro_rules! handle {
    ($name:ident < $($of:ident),+ >) => {
        impl<$($of),+> $name<$($of),+> {
            const fn at(index: usize) -> Self {
                Self {
                    index,
                    kind: PhantomData,
                }
            }
        }

        impl<$($of),+> Clone for $name<$($of),+> {
            fn clone(&self) -> Self {
                *self
            }
        }

        impl<$($of),+> Copy for $name<$($of),+> {}

        impl<$($of),+> fmt::Debug for $name<$($of),+> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!(stringify!($name), "({})"), self.index)
            }
        }
    };
}

handle!(Input<T>);
handle!(Output<T>);
handle!(Service<Request, Reply>);
handle!(Client<Request, Reply>);

impl Ports {
    /// Declares an input. Every message of it is a step.
    pub fn input<T>(&mut self, name: &str, doc: &str, expect: Expect) -> Input<T>
    where
        T: Message + for<'a> Decode<'a> + Send + Sync + 'static,
    {
        let info = info(
            name,
            doc,
            Direction::Reads(expect),
            Some(TypeInfo::of::<T>()),
        );
        Input::at(self.declare(info, Some(Decoder::of::<T>())))
    }

    /// Declares an input on a channel that the component knows itself, which a robot file may name anew.
    pub fn input_on<T>(&mut self, name: &str, doc: &str, expect: Expect, channel: &str) -> Input<T>
    where
        T: Message + for<'a> Decode<'a> + Send + Sync + 'static,
    {
        let input = self.input(name, doc, expect);
        self.declared[input.index].info.channel = Some(channel.to_owned());
        input
    }

    /// Declares an input of messages of any type, which come as bytes.
    pub fn raw_input(&mut self, name: &str, doc: &str, expect: Expect) -> Input<Raw> {
        let info = info(name, doc, Direction::Reads(expect), None);
        Input::at(self.declare(info, Some(Decoder::raw())))
    }

    /// Declares an input of a type that is known only at run time. Its messages come as bytes, which are not decoded.
    pub fn bytes_input(
        &mut self,
        name: &str,
        expect: Expect,
        message: Option<TypeInfo>,
    ) -> Input<Raw> {
        let info = info(name, "", Direction::Reads(expect), message);
        Input::at(self.declare(info, Some(Decoder::raw())))
    }

    /// Declares an output of a type that is known only at run time. Its messages are handed over as bytes.
    pub fn bytes_output(&mut self, name: &str, message: Option<TypeInfo>) -> Output<Raw> {
        Output::at(self.declare(info(name, "", Direction::Writes, message), None))
    }

    /// Declares an input of messages of any type, on a channel that the component knows itself.
    pub fn raw_input_on(
        &mut self,
        name: &str,
        doc: &str,
        expect: Expect,
        channel: &str,
    ) -> Input<Raw> {
        let mut info = info(name, doc, Direction::Reads(expect), None);
        info.channel = Some(channel.to_owned());
        Input::at(self.declare(info, Some(Decoder::raw())))
    }

    /// Declares that what comes in there must have a number in this field, so that a robot file that connects something else
    /// is found out before anything starts.
    pub fn need_number(&mut self, input: Input<Raw>, field: &FieldPath) {
        if let Some(declared) = self.declared.get_mut(input.index) {
            declared.info.numbers.push(field.clone());
        }
    }

    /// Declares that what comes in there goes out here as it is, so that a robot file that makes a ring of such is found out.
    pub fn pass_on(&mut self, input: Input<Raw>, output: Output<Raw>) {
        let name = self
            .declared
            .get(input.index)
            .map(|it| it.info.name.clone());
        if let Some(declared) = self.declared.get_mut(output.index) {
            declared.info.passes_on = name;
        }
    }

    /// Declares an output.
    pub fn output<T>(&mut self, name: &str, doc: &str) -> Output<T>
    where
        T: Message + Send + Sync + 'static,
    {
        let info = info(name, doc, Direction::Writes, Some(TypeInfo::of::<T>()));
        Output::at(self.declare(info, None))
    }

    /// Declares an output on a channel that the component knows itself, which a robot file may name anew.
    pub fn output_on<T>(&mut self, name: &str, doc: &str, channel: &str) -> Output<T>
    where
        T: Message + Send + Sync + 'static,
    {
        let output = self.output(name, doc);
        self.declared[output.index].info.channel = Some(channel.to_owned());
        output
    }

    /// Declares an output of messages of any type, as bytes.
    pub fn raw_output(&mut self, name: &str, doc: &str) -> Output<Raw> {
        Output::at(self.declare(info(name, doc, Direction::Writes, None), None))
    }

    /// Declares a service that is offered. Every call of it is a step.
    pub fn service<Request, Reply>(&mut self, name: &str, doc: &str) -> Service<Request, Reply>
    where
        Request: Message + for<'a> Decode<'a> + Send + Sync + 'static,
        Reply: Message,
    {
        let mut info = info(
            name,
            doc,
            Direction::Serves,
            Some(TypeInfo::of::<Request>()),
        );
        info.answer = Some(TypeInfo::of::<Reply>());
        Service::at(self.declare(info, Some(Decoder::of::<Request>())))
    }

    /// Declares a service that is used. Every answer is a step.
    pub fn client<Request, Reply>(&mut self, name: &str, doc: &str) -> Client<Request, Reply>
    where
        Request: Message,
        Reply: Message + for<'a> Decode<'a> + Send + Sync + 'static,
    {
        let mut info = info(name, doc, Direction::Calls, Some(TypeInfo::of::<Request>()));
        info.answer = Some(TypeInfo::of::<Reply>());
        Client::at(self.declare(info, Some(Decoder::of::<Reply>())))
    }

    /// Has the component woken every so often.
    pub fn tick(&mut self, every: Duration) {
        self.tick = Some(every);
    }

    /// What was declared, in that order.
    pub fn iter(&self) -> impl Iterator<Item = &PortInfo> {
        self.declared.iter().map(|declared| &declared.info)
    }

    /// How often the component wants to be woken.
    #[must_use]
    pub fn tick_period(&self) -> Option<Duration> {
        self.tick
    }

    pub(crate) fn into_declared(self) -> Vec<Declared> {
        self.declared
    }

    fn declare(&mut self, info: PortInfo, decoder: Option<Decoder>) -> usize {
        self.declared.push(Declared { info, decoder });
        self.declared.len() - 1
    }
}

fn info(name: &str, doc: &str, direction: Direction, message: Option<TypeInfo>) -> PortInfo {
    PortInfo {
        name: name.to_owned(),
        doc: doc.to_owned(),
        direction,
        message,
        answer: None,
        channel: None,
        numbers: Vec::new(),
        passes_on: None,
    }
}
