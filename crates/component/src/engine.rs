//! Runs components: one order of events, the same under every host.
//!
//! In: moments, and messages from outside. Out: what the components send, to a [`Sink`]. Deliberately absent: clocks,
//! sockets, files and waiting, which are the hosts'. All hosts drive this one engine, which is why a component cannot
//! distinguish them.
//!
//! ```text
//!   deliver(now, channel, message) ─┐                      ┌────── the next wave ◀─────┐
//!   wake(now): whatever is due ─────┴▶ wave: events by cell ─▶ cells run, in their order ──┴▶ outputs, in the
//!                                                                                         order of cells ─▶ Sink
//! ```
//!
//! An event is followed to its end before the next one is taken. Cells of one wave do not see each other's outputs. They
//! run on the calling thread: a step takes microseconds, and handing it to a second thread cost five times what it saved
//! (measured in November 2026 on two cores, ten components in lockstep).

mod cell;
mod parameters;
mod services;
mod shown;
mod wiring;

pub use cell::{Aborted, Event, Panicked};
pub use wiring::{FileHash, FileHashes, Instance, Lane, WiringError};

use crate::health::Health;
use crate::outbox::CellCounts;
use crate::parcel::Parcel;
use crate::port::{Direction, PortInfo, TypeInfo};
use crate::time::Time;
use crate::trace::{Taken, Trace};
use bowline_msgs::Alarm;
use bowline_wire::Channel;
use cell::Cell;
pub(crate) use services::{Ended, Services};
use std::fmt;
use wiring::{Outlet, Target, Wiring};

/// How many times components may answer each other at one instant before that is taken for endless.
pub const MAX_WAVES: usize = 1_000;
/// What every component may publish beside what it declares.
const ALARM: TypeInfo = TypeInfo::of::<Alarm>();
/// How many events may follow from one at one instant before that is taken for endless.
pub const MAX_EVENTS: usize = 1_000_000;

/// Components, wired to each other.
pub struct Engine {
    cells: Vec<Cell>,
    /// When each cell wants to be woken; the end of time where it does not.
    due: Vec<Time>,
    wiring: Wiring,
    wave: Vec<(usize, Event)>,
    busy: Vec<usize>,
    started: Time,
}

/// The receiver of what components send.
pub trait Sink {
    /// A message left a component, in the one order of events.
    fn publish(&mut self, sent: &Sent<'_>);

    /// A message from outside is handed to components. Most sinks ignore it: its sender has it.
    fn arrived(&mut self, _now: Time, _arrival: &Arrival) {}
}

/// A message that left a component.
#[derive(Clone, Copy, Debug)]
pub struct Sent<'a> {
    /// When.
    pub at: Time,
    /// Whose it is.
    pub component: &'a str,
    /// Where it goes.
    pub channel: &'a Channel,
    /// What it is; `None` where the port takes anything.
    pub message: Option<&'a TypeInfo>,
    /// The message.
    pub parcel: &'a Parcel,
}

/// A message from outside.
#[derive(Clone, Debug)]
pub struct Arrival {
    /// When it was received: it may have waited since.
    pub received: Time,
    /// Where it was published.
    pub channel: Channel,
    /// The message.
    pub parcel: Parcel,
}

/// For those who do not listen.
impl Sink for () {
    fn publish(&mut self, _sent: &Sent<'_>) {}
}

/// A component as its host shows it to others.
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    /// Its name in the robot.
    pub name: &'a str,
    /// The name of its kind.
    pub kind: &'a str,
    /// How it is, in its own judgement.
    pub health: &'a Health,
    /// What happened in it.
    pub counts: CellCounts,
}

/// Why an engine stopped.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// A component panicked.
    #[error(transparent)]
    Panicked(#[from] Panicked),
    /// A component ended itself.
    #[error(transparent)]
    Aborted(#[from] Aborted),
    /// Components answer each other at one instant.
    #[error(
        "{} answer each other without end at {at:?}: each message is answered at once; have one of them wait for its tick",
        components.join(", ")
    )]
    Endless {
        /// When.
        at: Time,
        /// Who.
        components: Vec<String>,
    },
}

impl Engine {
    /// Wires components together: who writes a channel is connected with all who read it.
    ///
    /// # Errors
    /// When an input is not connected to a channel, two write one channel, or writer and reader differ about its type.
    pub fn new(instances: Vec<Instance>) -> Result<Self, WiringError> {
        let wiring = Wiring::new(&instances)?;
        let cells: Vec<Cell> = instances.into_iter().map(Cell::new).collect();
        let due = vec![Time::MAX; cells.len()];
        Ok(Self {
            cells,
            due,
            wiring,
            wave: Vec::new(),
            busy: Vec::new(),
            started: Time::ZERO,
        })
    }

    /// Takes messages of external writers from outside only, also where a component here writes them: on a bus others write too, and
    /// only the bus has their order.
    #[must_use]
    pub fn hearing_anybody(mut self) -> Self {
        self.wiring.hear_anybody();
        self
    }

    /// Keeps a record of every step from now on, for exact replay; it has to be taken with
    /// [`take_traces`](Self::take_traces) now and then.
    #[must_use]
    pub fn with_trace(mut self) -> Self {
        for cell in &mut self.cells {
            cell.trace = Some(Trace::default());
        }
        self
    }

    /// The first step of every component.
    ///
    /// # Errors
    /// When a component ends, or they answer each other without end.
    pub fn start(&mut self, now: Time, sink: &mut dyn Sink) -> Result<(), EngineError> {
        self.started = now;
        for index in 0..self.cells.len() {
            self.wave.push((index, Event::Start));
        }
        self.settle(now, sink)
    }

    /// Brings a message from outside to all who read its channel, and follows it to its end.
    ///
    /// # Errors
    /// When a component ends, or they answer each other without end.
    pub fn deliver(
        &mut self,
        now: Time,
        arrival: &Arrival,
        sink: &mut dyn Sink,
    ) -> Result<(), EngineError> {
        let Self { wiring, wave, .. } = self;
        let Arrival {
            received,
            channel,
            parcel,
        } = arrival;
        if wiring.is_echo(channel, parcel, self.started) {
            return Ok(());
        }
        sink.arrived(now, arrival);
        push_all(wave, wiring.readers(channel), parcel, *received);
        self.settle(now, sink)
    }

    /// Wakes whatever is due.
    ///
    /// # Errors
    /// When a component ends, or they answer each other without end.
    pub fn wake(&mut self, now: Time, sink: &mut dyn Sink) -> Result<(), EngineError> {
        for (index, due) in self.due.iter().enumerate() {
            if *due <= now {
                self.wave.push((index, Event::Time));
            }
        }
        self.settle(now, sink)
    }

    /// Ends calls that components work on: each caller is notified that there will be no reply.
    ///
    /// # Errors
    /// When a component ended.
    pub fn stop(&mut self, now: Time, sink: &mut dyn Sink) -> Result<(), EngineError> {
        let living = self.cells.iter_mut().enumerate();
        for (index, cell) in living.filter(|(_, cell)| !cell.is_dead) {
            cell.abandon(now);
            self.busy.push(index);
        }
        self.collect(now, sink)?;
        self.wave.clear();
        Ok(())
    }

    /// Ends a component at once, as its process would end if it were killed: it neither receives nor sends from now on, and
    /// its callers get no reply. `false` if there is none of that name.
    pub fn kill(&mut self, component: &str) -> bool {
        let found = self.cells.iter().position(|cell| cell.name == component);
        let Some(index) = found else {
            return false;
        };
        if let (Some(cell), Some(due)) = (self.cells.get_mut(index), self.due.get_mut(index)) {
            cell.is_dead = true;
            *due = Time::MAX;
        }
        true
    }

    /// When something is due next.
    #[must_use]
    pub fn next_due(&self) -> Option<Time> {
        let due = self.due.iter().min().copied()?;
        (due < Time::MAX).then_some(due)
    }

    /// Gives one component one event of a recorded trace, apart from all others: what it sends goes nowhere but to the
    /// sink.
    ///
    /// # Errors
    /// When the component ends.
    pub fn replay(
        &mut self,
        index: usize,
        now: Time,
        event: Event,
        sink: &mut dyn Sink,
    ) -> Result<(), EngineError> {
        self.busy.push(index);
        if let Some(cell) = self.cells.get_mut(index) {
            cell.inbox.push(event);
            cell.run(now);
        }
        self.collect(now, sink)?;
        self.wave.clear();
        Ok(())
    }

    /// The channels of a component's ports, in the order of declaration.
    #[must_use]
    pub fn lanes_of(&self, index: usize) -> &[Lane] {
        self.cells
            .get(index)
            .map_or(&[], |cell| cell.lanes.as_slice())
    }

    /// What a component declared.
    #[must_use]
    pub fn ports_of(&self, index: usize) -> &[PortInfo] {
        self.cells
            .get(index)
            .map_or(&[], |cell| cell.ports.as_slice())
    }

    /// The channels that components read and none of them writes; and those open to external writers, for engines with
    /// [external inputs](Self::hearing_anybody).
    pub fn wanted(&self) -> impl Iterator<Item = &Channel> {
        self.wiring.wanted()
    }

    /// The channels that components write, with their types: messages, requests and replies.
    pub fn spoken(&self) -> impl Iterator<Item = (&Channel, TypeInfo)> {
        let declared = self.cells.iter().flat_map(|cell| {
            let ports = cell.ports.iter().zip(&cell.lanes);
            ports.flat_map(|(port, lane)| spoken(port, lane))
        });
        declared.chain([(&self.wiring.alarms().channel, ALARM)])
    }

    /// The channels that components write, calls and answers included.
    pub fn written(&self) -> impl Iterator<Item = &Channel> {
        let lanes = self.cells.iter().flat_map(|cell| &cell.lanes);
        lanes.filter_map(|lane| lane.writes.as_ref())
    }

    /// Which components read a channel.
    pub fn readers(&self, channel: &str) -> impl Iterator<Item = usize> {
        self.wiring
            .readers(channel)
            .iter()
            .map(|target| target.cell)
    }

    /// The components, in their order.
    pub fn components(&self) -> impl Iterator<Item = View<'_>> {
        self.cells.iter().map(|cell| View {
            name: &cell.name,
            kind: &cell.kind,
            health: &cell.effects.health,
            counts: cell.effects.counts,
        })
    }

    /// What went wrong in components since this was last asked, with their names.
    pub fn take_faults(&mut self) -> Vec<(String, String)> {
        let cells = self.cells.iter_mut();
        let faults = cells.flat_map(|cell| {
            let name = &cell.name;
            let faults = cell.effects.faults.drain(..);
            faults.map(move |fault| (name.clone(), fault))
        });
        faults.collect()
    }

    /// The records of steps since this was last asked.
    pub fn take_traces(&mut self) -> impl Iterator<Item = Taken<'_>> {
        self.cells.iter_mut().filter_map(|cell| {
            let trace = cell.trace.as_mut().filter(|trace| !trace.is_empty())?;
            Some(Taken {
                component: &cell.name,
                settings: &cell.settings,
                trace: trace.take(),
            })
        })
    }

    /// Runs waves until there is silence.
    fn settle(&mut self, now: Time, sink: &mut dyn Sink) -> Result<(), EngineError> {
        let mut n_events = 0;
        for _ in 0..MAX_WAVES {
            if self.wave.is_empty() {
                return Ok(());
            }
            n_events += self.wave.len();
            if n_events > MAX_EVENTS {
                break;
            }
            self.distribute();
            self.run(now);
            self.collect(now, sink)?;
        }
        let mut components: Vec<String> = self
            .wave
            .drain(..)
            .filter_map(|(index, _)| Some(self.cells.get(index)?.name.clone()))
            .collect();
        components.sort_unstable();
        components.dedup();
        Err(EngineError::Endless {
            at: now,
            components,
        })
    }

    fn distribute(&mut self) {
        let Self {
            wave, cells, busy, ..
        } = self;
        for (index, event) in wave.drain(..) {
            let Some(cell) = cells.get_mut(index).filter(|cell| !cell.is_dead) else {
                continue;
            };
            if cell.inbox.is_empty() {
                busy.push(index);
            }
            cell.inbox.push(event);
        }
        busy.sort_unstable();
    }

    fn run(&mut self, now: Time) {
        for index in &self.busy {
            if let Some(cell) = self.cells.get_mut(*index) {
                cell.run(now);
            }
        }
    }

    /// Takes what the busy cells sent, in the order of the cells.
    fn collect(&mut self, now: Time, sink: &mut dyn Sink) -> Result<(), EngineError> {
        let Self {
            cells,
            due,
            wiring,
            wave,
            busy,
            ..
        } = self;
        for index in busy.drain(..) {
            let (Some(cell), Some(due)) = (cells.get_mut(index), due.get_mut(index)) else {
                continue;
            };
            if let Some(ended) = cell.ended.take() {
                return Err(ended);
            }
            *due = cell.next_due();
            for emission in cell.effects.sent.drain(..) {
                let is_alarm = emission.port == cell.ports.len();
                let outlet = match is_alarm {
                    true => Some(wiring.alarms()),
                    false => wiring.outlet(index, emission.port),
                };
                let Some(Outlet { channel, readers }) = outlet else {
                    continue;
                };
                let info = cell.ports.get(emission.port);
                let declared = info.and_then(|info| info.message.as_ref());
                sink.publish(&Sent {
                    at: now,
                    component: &cell.name,
                    channel,
                    message: if is_alarm { Some(&ALARM) } else { declared },
                    parcel: &emission.parcel,
                });
                push_all(wave, readers, &emission.parcel, now);
            }
        }
        Ok(())
    }
}

/// What goes over the channels of a port. Requests and replies travel within calls and answers, and readers of those
/// need both types.
fn spoken<'a>(port: &PortInfo, lane: &'a Lane) -> Vec<(&'a Channel, TypeInfo)> {
    let Lane { reads, writes, .. } = lane;
    let pairs = match port.direction {
        Direction::Reads(_) => [(None, None), (None, None)],
        Direction::Writes => [(writes.as_ref(), port.message), (None, None)],
        Direction::Serves => [
            (reads.as_ref(), port.message),
            (writes.as_ref(), port.answer),
        ],
        Direction::Calls => [(writes.as_ref(), port.message), (None, None)],
    };
    let pairs = pairs.into_iter();
    pairs
        .filter_map(|(channel, message)| Some((channel?, message?)))
        .collect()
}

fn push_all(wave: &mut Vec<(usize, Event)>, readers: &[Target], parcel: &Parcel, received: Time) {
    let events = readers.iter().map(|target| {
        let event = Event::Message {
            port: target.port,
            parcel: parcel.clone(),
            received,
        };
        (target.cell, event)
    });
    wave.extend(events);
}

impl fmt::Debug for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.cells.iter().map(|cell| cell.name.as_str()).collect();
        f.debug_struct("Engine")
            .field("components", &names)
            .finish_non_exhaustive()
    }
}
