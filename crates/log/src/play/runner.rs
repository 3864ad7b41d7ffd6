//! Gives a player its clock, its log and its bus.
//!
//! One thread reads, decides, waits and publishes. Commands come to it through a bounded queue, from any owner of its
//! [`Controls`] and from the bus; what it is doing can be seen there too. Events that are due alone go out at once,
//! those that are due together go together.

use super::descriptions::Descriptions;
use super::remote::{Saying, command_of, message_of};
use super::waiting::Waiting;
use super::{
    ChannelStatus, Command, Lateness, Offer, Place, Player, REQUEST_CHANNEL, STATUS_CHANNEL,
    Status, Step,
};
use bowline_bus::{Bus, Capability, Cork, Inbox, PublishError, Queue, SubscribeError, wall_ns};
use bowline_format::{Damages, LogEvent, ReadError, Reader};
use bowline_msgs::{Bookmark, PlayerRequest};
use bowline_wire::Message as _;
use std::io;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// Commands that may wait. A sender of more waits too.
const MAX_ORDERS: usize = 64;
/// Between two statuses, while nothing changes.
const STATUS_EVERY: Duration = Duration::from_millis(100);
/// Events between two looks at the clock and the commands, when none of them waits.
const LOOK_EVERY: u32 = 32;
/// Longer messages are not collected: that would be a copy for nothing.
const MAX_COLLECTED: usize = 16 << 10;
/// So many events one after the other without a wait, and those after them are collected.
const ALONE: u32 = 4;

/// Plays a log onto a bus.
#[derive(Debug)]
pub struct Runner {
    reader: Reader,
    bus: Bus,
    player: Player,
    options: RunnerOptions,
    orders: Receiver<Order>,
    controls: Controls,
    remote: Option<Remote>,
}

/// What a runner does around its player.
#[derive(Default)]
pub struct RunnerOptions {
    /// What it is called on the bus.
    pub name: String,
    /// Waits at the end for commands, instead of returning.
    pub is_staying: bool,
    /// Receives every event that is published, and the name under which it is.
    #[expect(clippy::type_complexity, reason = "it is reported here once")]
    pub on_publish: Option<Box<dyn FnMut(&LogEvent<'_>, &str) + Send>>,
}

impl std::fmt::Debug for RunnerOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut debug = f.debug_struct("RunnerOptions");
        debug.field("name", &self.name);
        debug.field("is_staying", &self.is_staying);
        debug.finish_non_exhaustive()
    }
}

/// Commands a runner, and observes it. For another thread than the one that runs it.
#[derive(Clone, Debug)]
pub struct Controls {
    orders: SyncSender<Order>,
    view: Arc<Mutex<Arc<Report>>>,
}

#[derive(Debug)]
enum Order {
    Command(Command),
    Request(PlayerRequest),
}

/// What a runner did so far.
#[derive(Clone, Debug)]
pub struct Report {
    /// What the player does and did.
    pub status: Status,
    /// The channels that were met.
    pub channels: Vec<ChannelStatus>,
    /// How late events were.
    pub lateness: Lateness,
    /// Events that the bus did not take.
    pub n_failed: u64,
    /// Why, for the first of them.
    pub first_failure: Option<String>,
    /// Requests that made no sense.
    pub n_refused: u64,
    /// Why, for the last of them.
    pub last_refusal: Option<String>,
    /// What was wrong with the log.
    pub damages: Damages,
    /// Since it was started.
    pub elapsed: Duration,
}

impl Controls {
    /// Has the player do something. `false` if it was not taken: too much waits already, or the player is gone. To quit
    /// is always taken, and may wait for that.
    pub fn send(&self, command: Command) -> bool {
        if matches!(command, Command::Quit) {
            return self.orders.send(Order::Command(command)).is_ok();
        }
        // A person who holds a key down must not wait for a log that cannot be read.
        self.orders.try_send(Order::Command(command)).is_ok()
    }

    /// What it did, a moment ago.
    #[must_use]
    pub fn report(&self) -> Arc<Report> {
        let view = self.view.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(&view)
    }

    fn show(&self, report: Report) {
        let report = Arc::new(report);
        *self.view.lock().unwrap_or_else(PoisonError::into_inner) = report;
    }
}

impl Runner {
    /// Is ready to play.
    #[must_use]
    pub fn new(reader: Reader, bus: Bus, player: Player, options: RunnerOptions) -> Self {
        let (sender, orders) = sync_channel(MAX_ORDERS);
        let report = Report::of(&player, Duration::ZERO);
        Self {
            reader,
            bus,
            player,
            options,
            orders,
            controls: Controls {
                orders: sender,
                view: Arc::new(Mutex::new(Arc::new(report))),
            },
            remote: None,
        }
    }

    /// A way to control it.
    #[must_use]
    pub fn controls(&self) -> Controls {
        self.controls.clone()
    }

    /// Takes requests from the bus from now on, and publishes its status there.
    ///
    /// # Errors
    /// When nothing can be received on that bus. It can still be played onto.
    pub fn listen(&mut self) -> Result<(), RemoteError> {
        // What is published into a log answers no one, and does not belong there.
        if self.bus.has(Capability::Log) {
            return Err(RemoteError::Log);
        }
        self.remote = Some(Remote::start(&self.bus, self.controls.orders.clone())?);
        Ok(())
    }

    /// Plays, until the end of the log or a command to quit.
    ///
    /// # Errors
    /// When the log cannot be read.
    pub fn run(self) -> Result<Report, PlayError> {
        let Self {
            mut reader,
            bus,
            player,
            options,
            orders,
            controls,
            remote,
        } = self;
        let log = reader.path().display().to_string();
        let summary = reader.summary();
        let bookmarks = summary.map_or_else(Vec::new, |summary| summary.bookmarks.clone());
        let mut stage = Stage {
            bus: &bus,
            cork: bus.cork(),
            player,
            options,
            orders,
            controls,
            is_remote: remote.is_some(),
            descriptions: Descriptions::default(),
            log,
            bookmarks,
            waiting: Waiting::new(),
            now: Duration::ZERO,
            say_at: Duration::ZERO,
            // Commands from before the start come first.
            n_without_look: LOOK_EVERY,
            n_without_wait: 0,
            is_over: false,
            failures: Failures::default(),
            n_refused: 0,
            last_refusal: None,
            damages: Damages::default(),
        };
        let played = stage.play(&mut reader);
        stage.note_damage(&mut reader);
        stage.say();
        let report = stage.report();
        drop(stage);
        drop(remote);
        played?;
        Ok(report)
    }
}

/// Everything but the log, which lends its events.
struct Stage<'b> {
    bus: &'b Bus,
    cork: Cork<'b>,
    player: Player,
    options: RunnerOptions,
    orders: Receiver<Order>,
    controls: Controls,
    is_remote: bool,
    descriptions: Descriptions,
    log: String,
    bookmarks: Vec<Bookmark>,
    waiting: Waiting,
    now: Duration,
    say_at: Duration,
    n_without_look: u32,
    n_without_wait: u32,
    is_over: bool,
    failures: Failures,
    n_refused: u64,
    last_refusal: Option<String>,
    damages: Damages,
}

/// What the bus did not take.
#[derive(Debug, Default)]
struct Failures {
    /// That it never counted, because they have no name that can be sent.
    n_unnamed: u64,
    first: Option<String>,
}

/// What became of an event.
enum Done {
    Next,
    Seek(Place),
    Over,
}

impl Stage<'_> {
    fn play(&mut self, reader: &mut Reader) -> Result<(), PlayError> {
        loop {
            if self.is_remote {
                self.descriptions.learn_from(reader);
            }
            let event = reader.next_event()?;
            match self.perform(event) {
                Done::Next => {}
                Done::Seek(place) => {
                    self.flush();
                    self.note_damage(reader);
                    match place {
                        Place::Beginning => reader.rewind()?,
                        Place::Utime(utime) => reader.seek_to(utime)?,
                    }
                    self.now = self.waiting.now();
                }
                Done::Over => return Ok(()),
            }
        }
    }

    /// Does what is to be done with the event that the reader is at.
    fn perform(&mut self, event: Option<LogEvent<'_>>) -> Done {
        let offer = event.map(|event| Offer {
            utime: event.utime,
            channel: event.channel,
            len: event.payload.len(),
        });
        loop {
            self.look();
            let is_flat_out = self.player.is_flat_out();
            match self.player.next(offer, self.now) {
                Step::Publish(channel) => {
                    let Some(event) = event else {
                        return Done::Next;
                    };
                    self.descriptions.describe(self.bus, channel, &event);
                    let is_alone = !is_flat_out && self.n_without_wait < ALONE;
                    self.n_without_wait = self.n_without_wait.saturating_add(1);
                    let published = if is_alone || event.payload.len() > MAX_COLLECTED {
                        let flushed = self.cork.flush();
                        flushed.and_then(|()| self.bus.publish_bytes(channel, event.payload))
                    } else {
                        self.cork.publish_bytes(channel, event.payload)
                    };
                    if let Some(on_publish) = &mut self.options.on_publish {
                        on_publish(&event, channel);
                    }
                    self.failures.note(published);
                    return Done::Next;
                }
                Step::Pass => return Done::Next,
                Step::Seek(place) => return Done::Seek(place),
                Step::WaitUntil(due) => self.wait(Some(due)),
                Step::End if self.is_over || !self.options.is_staying => return Done::Over,
                Step::WaitForCommand | Step::End => self.wait(None),
            }
        }
    }

    /// Takes note of the time and of commands: for each event, or for some when they go out as fast as possible.
    fn look(&mut self) {
        self.n_without_look += 1;
        if self.player.is_flat_out() && self.n_without_look < LOOK_EVERY {
            return;
        }
        self.n_without_look = 0;
        self.now = self.waiting.now();
        while let Ok(order) = self.orders.try_recv() {
            self.obey(order);
        }
        if self.now >= self.say_at {
            self.say();
        }
    }

    fn wait(&mut self, due: Option<Duration>) {
        self.flush();
        self.n_without_wait = 0;
        self.n_without_look = LOOK_EVERY;
        let told = self.waiting.until(due, self.say_at, &self.orders);
        self.now = self.waiting.now();
        if let Some(order) = told {
            self.obey(order);
        }
    }

    fn obey(&mut self, order: Order) {
        let command = match order {
            Order::Command(command) => command,
            Order::Request(request) => match self.command_of(&request) {
                Some(command) => command,
                None => return,
            },
        };
        self.is_over |= matches!(command, Command::Quit);
        self.player.command(command, self.now);
        // A change is published at once.
        self.say_at = self.now;
    }

    fn command_of(&mut self, request: &PlayerRequest) -> Option<Command> {
        if !request.player.is_empty() && request.player != self.options.name {
            return None;
        }
        let status = self.player.status(self.now);
        match command_of(request, &status, &self.bookmarks) {
            Ok(command) => Some(command),
            Err(error) => {
                self.n_refused += 1;
                self.last_refusal = Some(error.to_string());
                self.say_at = self.now;
                None
            }
        }
    }

    fn flush(&mut self) {
        let flushed = self.cork.flush();
        self.failures.note(flushed);
    }

    fn note_damage(&mut self, reader: &mut Reader) {
        let damages = reader.damages();
        if damages.n_places() > self.damages.n_places() {
            self.damages = damages.clone();
        }
    }

    /// Publishes its status on the bus, and for the owners of the controls.
    fn say(&mut self) {
        self.say_at = self.now.saturating_add(STATUS_EVERY);
        self.flush();
        let report = self.report();
        if self.is_remote {
            let saying = Saying {
                player: &self.options.name,
                log: &self.log,
                utime: wall_ns().div_euclid(1_000),
                n_failed: report.n_failed,
                n_refused: report.n_refused,
            };
            let message = message_of(saying, &report.status, &report.lateness);
            // A subscriber that misses one receives the next.
            drop(self.bus.publish(STATUS_CHANNEL, &message));
        }
        self.controls.show(report);
    }

    fn report(&self) -> Report {
        Report {
            n_failed: self.failures.n_unnamed + self.bus.counts().publish_failures,
            first_failure: self.failures.first.clone(),
            n_refused: self.n_refused,
            last_refusal: self.last_refusal.clone(),
            damages: self.damages.clone(),
            ..Report::of(&self.player, self.now)
        }
    }
}

impl Report {
    fn of(player: &Player, now: Duration) -> Self {
        Self {
            status: player.status(now),
            channels: player.channels().statuses().collect(),
            lateness: player.lateness().clone(),
            n_failed: 0,
            first_failure: None,
            n_refused: 0,
            last_refusal: None,
            damages: Damages::default(),
            elapsed: now,
        }
    }
}

impl Failures {
    fn note(&mut self, published: Result<(), PublishError>) {
        let Err(error) = published else {
            return;
        };
        self.n_unnamed += u64::from(matches!(error, PublishError::Channel(_)));
        self.first.get_or_insert_with(|| error.to_string());
    }
}

/// Passes requests on from the bus. Dropped, it ends.
#[derive(Debug)]
struct Remote {
    inbox: Arc<Inbox>,
    thread: Option<JoinHandle<()>>,
}

impl Remote {
    fn start(bus: &Bus, orders: SyncSender<Order>) -> Result<Self, RemoteError> {
        let inbox = bus.inbox();
        inbox.subscribe(REQUEST_CHANNEL, Queue::default())?;
        let inbox = Arc::new(inbox);
        let read = Arc::clone(&inbox);
        let thread = std::thread::Builder::new()
            .name("player requests".to_owned())
            .spawn(move || pass_on(&read, &orders))?;
        Ok(Self {
            inbox,
            thread: Some(thread),
        })
    }
}

fn pass_on(inbox: &Inbox, orders: &SyncSender<Order>) {
    loop {
        let request = match inbox.recv() {
            Ok((_, event)) => PlayerRequest::decode(&event.payload),
            Err(error) if error.is_interrupted() => continue,
            Err(_ended) => return,
        };
        // Anything may be on that channel. What is no request asks for nothing that there is.
        let request = request.unwrap_or_default();
        if orders.send(Order::Request(request)).is_err() {
            return;
        }
    }
}

impl Drop for Remote {
    fn drop(&mut self) {
        self.inbox.close();
        if let Some(thread) = self.thread.take() {
            // It returns nothing, and its panic is no reason for one here.
            drop(thread.join());
        }
    }
}

/// Why a player cannot be controlled over its bus.
#[derive(Debug, thiserror::Error)]
pub enum RemoteError {
    /// It plays into a log.
    #[error("a log that is being written sends no requests")]
    Log,
    /// Nothing can be received.
    #[error(transparent)]
    Subscribe(#[from] SubscribeError),
    /// There is no thread for it.
    #[error("cannot start a thread for requests: {0}")]
    Thread(#[from] io::Error),
}

/// Why a log is not played any further.
#[derive(Debug, thiserror::Error)]
pub enum PlayError {
    /// It cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
}
