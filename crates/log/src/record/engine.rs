//! The recording thread: from the inbox into the sink, whatever the sink returns.

use super::clock;
use super::gate::{Gate, Verdict};
use super::sink::{Refusal, Sink};
use super::status::{Board, Phase, Status};
use super::trigger::Trigger;
use super::{RECORDER_CHANNEL, RecorderOptions, StartRecorderError};
use bowline_bus::{
    Bus, Event, Inbox, Queue, QueueCounts, RecvError, SubscribeError, SubscriptionId, wall_ns,
};
use bowline_format::{LogEvent, SCHEMA_CHANNEL, Schemas};
use bowline_msgs::{ALARM_CHANNEL, Alarm, Recorder as RecorderMessage, Schema};
use bowline_wire::Message as _;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, TryRecvError};
use std::time::{Duration, Instant};

/// Between two looks at what others want.
const LOOK_UP_EVERY: Duration = Duration::from_millis(20);
/// Events that are taken before it looks up.
const MAX_DRAIN: usize = 1_024;
/// Between two tries to write what was refused.
const TRY_AGAIN_AFTER: Duration = Duration::from_millis(100);
/// While nothing can be written, the network is read so often.
const READ_OUT_EVERY: Duration = Duration::from_millis(5);
/// Between two words on how it goes.
const SHOW_EVERY: Duration = Duration::from_millis(100);
/// Between two words to the bus while nothing can be written.
const ALARM_EVERY: Duration = Duration::from_secs(1);
/// How often it is published that the alarm is over.
const N_CLEARED: u32 = 3;
/// How long a recorder that is to end waits for a disk that refuses.
const GRACE: Duration = Duration::from_secs(2);
/// An event counts as at least so many bytes, because it takes them.
const MIN_EVENT_BYTES: usize = 256;

/// What others want of the recording thread.
#[derive(Debug)]
pub(super) enum Command {
    Split,
    Trigger,
    Bookmark(i64, String),
    Stop { at_ns: i64 },
}

/// Records.
#[derive(Debug)]
pub(super) struct Engine {
    bus: Bus,
    inbox: Inbox,
    subscriptions: Vec<SubscriptionId>,
    wanted_by: Vec<SubscriptionId>,
    commands: Receiver<Command>,
    board: Arc<Board>,
    gate: Gate,
    trigger: Option<Trigger>,
    schemas: Schemas,
    sink: Sink,
    /// The next event to write, which the sink had no file for.
    held: Option<Event>,
    trouble: Option<Trouble>,
    bus_trouble: Option<String>,
    status: Status,
    show_at: Instant,
    status_every: Option<Duration>,
    status_at: Instant,
    /// When the alarm was raised that is in force or was last, microseconds since the epoch.
    alarm_since: i64,
    /// How often it is still to be published that it is over; all of them while it is in force.
    n_alarms_left: u32,
    end: End,
}

/// Why nothing can be written, and since when.
#[derive(Debug)]
struct Trouble {
    why: String,
    since: Instant,
    try_at: Instant,
    tell_at: Instant,
    n_dropped_before: u64,
}

/// How far the end is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    NotYet,
    /// What came until then is still recorded.
    After {
        ns: i64,
        give_up_at: Instant,
    },
    Reached,
}

impl Engine {
    pub(super) fn new(
        bus: &Bus,
        options: RecorderOptions,
        commands: Receiver<Command>,
        board: Arc<Board>,
    ) -> Result<Self, StartRecorderError> {
        let sink = Sink::open(&options)?;
        let conditions = options
            .trigger
            .iter()
            .flat_map(|trigger| &trigger.conditions);
        let watched = conditions.flat_map(super::Condition::channels).collect();
        let mut gate = Gate::new(options.channels, options.inverts_channels, options.streams);
        let inbox = bus.inbox();
        let max_bytes = options.max_unwritten_bytes;
        let queue = Queue::default()
            .with_max_bytes(max_bytes)
            .with_capacity(max_bytes / MIN_EVENT_BYTES);
        let subscribe = |pattern| inbox.subscribe_to(pattern, queue);
        let patterns = gate.subscriptions(watched).into_iter();
        let subscriptions: Result<_, _> = patterns.map(subscribe).collect();
        let subscriptions = subscriptions.map_err(SubscribeError::from)?;
        let mut engine = Self {
            bus: bus.clone(),
            inbox,
            subscriptions,
            wanted_by: Vec::new(),
            commands,
            board,
            gate,
            trigger: options.trigger.map(Trigger::new),
            schemas: options.schemas,
            sink,
            held: None,
            trouble: None,
            bus_trouble: None,
            status: Status::default(),
            show_at: clock::now(),
            status_every: options.status_every,
            status_at: clock::now(),
            alarm_since: 0,
            n_alarms_left: 0,
            end: End::NotYet,
        };
        engine.show(clock::now());
        Ok(engine)
    }

    pub(super) fn run(mut self) {
        while self.end != End::Reached {
            self.obey_all();
            if self.trouble.is_some() {
                self.wait_for_room();
            } else {
                self.record();
            }
        }
        self.finish();
    }

    /// Waits for events, and takes those that are there.
    fn record(&mut self) {
        let now = clock::now();
        let worked = self.sink.work(now);
        self.note(worked, now);
        self.show_when_due(now);
        let due = self
            .sink
            .due()
            .map(|due| due.saturating_duration_since(now));
        let wait = due.unwrap_or(LOOK_UP_EVERY).min(LOOK_UP_EVERY);
        let wait = if self.end == End::NotYet {
            wait
        } else {
            Duration::ZERO
        };
        let mut timeout = wait;
        for _ in 0..MAX_DRAIN {
            if self.trouble.is_some() {
                return;
            }
            match self.inbox.recv_for_all(Some(timeout), &mut self.wanted_by) {
                Ok(Some(event)) => self.take(event),
                Ok(None) => {
                    if self.end != End::NotYet {
                        self.end = End::Reached;
                    }
                    break;
                }
                Err(error) => {
                    self.not_received(&error);
                    break;
                }
            }
            timeout = Duration::ZERO;
        }
        self.sink.note_pending(clock::now());
    }

    fn not_received(&mut self, error: &RecvError) {
        if error.is_end() {
            self.end = End::Reached;
        } else if !error.is_interrupted() {
            self.board.tell(format!("cannot receive: {error}"), true);
            // Not again at once, so that a dead interface does not keep a core busy.
            self.obey_one(TRY_AGAIN_AFTER);
        }
    }

    /// Takes an event that came.
    fn take(&mut self, event: Event) {
        if let End::After { ns, .. } = self.end
            && event.arrival.received_ns > ns
        {
            self.end = End::Reached;
            return;
        }
        if event.channel.as_str() == SCHEMA_CHANNEL {
            self.learn(&event);
        }
        let is_met = self.is_met(&event);
        match self.gate.judge(&event) {
            Verdict::Record => {}
            Verdict::LeaveOut => {
                self.status.n_left_out += 1;
                return self.write_kept_if(is_met);
            }
            Verdict::Ignore => return self.write_kept_if(is_met),
        }
        let Some(trigger) = &mut self.trigger else {
            return self.write(event);
        };
        let is_recording = trigger.is_recording_at(event.arrival.received_ns);
        let let_go = trigger.keep(event, is_recording);
        self.status.n_expired += let_go.n_old;
        self.status.n_over += let_go.n_over;
        self.write_kept_if(is_recording);
    }

    /// Whether the event is a reason to record.
    fn is_met(&mut self, event: &Event) -> bool {
        let Some(trigger) = &mut self.trigger else {
            return false;
        };
        let watch = &mut trigger.watch;
        let met = watch.first_met(&event.channel, &LogEvent::from(event), &self.schemas);
        let reason = met.map(ToString::to_string);
        for complaint in watch.take_complaints() {
            self.board.tell(complaint, true);
        }
        let Some(reason) = reason else {
            return false;
        };
        self.pull(event.arrival.received_ns, &reason);
        true
    }

    /// Records from now on, for a reason.
    fn pull(&mut self, now_ns: i64, reason: &str) {
        let Some(trigger) = &mut self.trigger else {
            return;
        };
        let was_armed = !trigger.is_recording_at(now_ns);
        let let_go = trigger.pull(now_ns);
        self.status.n_expired += let_go.n_old;
        self.status.n_over += let_go.n_over;
        if was_armed {
            self.status.n_triggers += 1;
            self.board.tell(format!("triggered: {reason}"), false);
            self.bookmark(now_ns.div_euclid(1_000), &format!("triggered: {reason}"));
        }
    }

    fn write_kept_if(&mut self, is_wanted: bool) {
        while is_wanted && self.trouble.is_none() {
            let kept = self.trigger.as_mut().and_then(Trigger::take_oldest);
            let Some(event) = kept else {
                return;
            };
            self.write(event);
        }
    }

    fn learn(&mut self, event: &Event) {
        // What is no description is an event like any other.
        if let Ok(schema) = Schema::decode(&event.payload)
            && self.schemas.add_bytes(&schema.bytes).is_ok()
            && self.trigger.is_some()
        {
            // With a trigger, the description itself may never be written.
            self.sink.add_schemas(&self.schemas);
        }
    }

    fn write(&mut self, event: Event) {
        if self.sink.must_split_for(&event) {
            self.split();
            if self.trouble.is_some() {
                self.held = Some(event);
                return;
            }
        }
        if let Err(error) = self.sink.write(&event) {
            self.status.n_unwritable += 1;
            if self.status.n_unwritable == 1 {
                let text = format!("{}: {error}", event.channel);
                self.board.tell(text, true);
            }
        }
        if self.sink.is_batch() {
            let now = clock::now();
            let flushed = self.sink.flush(now);
            self.note(flushed, now);
        }
    }

    fn split(&mut self) {
        let now = clock::now();
        let split = self.sink.split(&self.schemas);
        let is_split = split.is_ok();
        self.note(split, now);
        if is_split {
            self.tell_file(now);
        }
    }

    fn tell_file(&mut self, now: Instant) {
        let text = format!("recording to {}", self.sink.path().display());
        self.board.tell(text, false);
        self.show(now);
    }

    fn bookmark(&mut self, utime: i64, text: &str) {
        if let Err(error) = self.sink.bookmark(utime, text) {
            self.board.tell(format!("no bookmark: {error}"), true);
        }
    }

    fn obey_all(&mut self) {
        loop {
            match self.commands.try_recv() {
                Ok(command) => self.obey(command),
                Err(TryRecvError::Empty) => return,
                // No owner is left that could stop it later.
                Err(TryRecvError::Disconnected) => return self.stop(wall_ns()),
            }
        }
    }

    /// Waits for a command, but not longer than that.
    fn obey_one(&mut self, patience: Duration) {
        match self.commands.recv_timeout(patience) {
            Ok(command) => self.obey(command),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => self.stop(wall_ns()),
        }
    }

    fn obey(&mut self, command: Command) {
        match command {
            Command::Split if self.trouble.is_none() => self.split(),
            Command::Split => self
                .board
                .tell("no new file while nothing can be written".to_owned(), true),
            Command::Trigger => self.trigger_by_hand(),
            Command::Bookmark(utime, text) => {
                self.status.n_bookmarks += 1;
                self.bookmark(utime, &text);
            }
            Command::Stop { at_ns } => self.stop(at_ns),
        }
    }

    fn trigger_by_hand(&mut self) {
        self.pull(wall_ns(), "by hand");
        self.write_kept_if(true);
    }

    fn stop(&mut self, ns: i64) {
        if self.end == End::NotYet {
            let give_up_at = clock::now() + GRACE;
            self.end = End::After { ns, give_up_at };
        }
    }

    /// Takes note of the result of the sink.
    fn note(&mut self, outcome: Result<(), Refusal>, now: Instant) {
        let Err(refusal) = outcome else {
            return;
        };
        self.status.n_write_errors += 1;
        let why = refusal.to_string();
        if let Some(trouble) = &mut self.trouble {
            trouble.try_at = now + TRY_AGAIN_AFTER;
            if trouble.why == why {
                return;
            }
            trouble.why.clone_from(&why);
        } else {
            self.trouble = Some(Trouble {
                why: why.clone(),
                since: now,
                try_at: now + TRY_AGAIN_AFTER,
                tell_at: now + ALARM_EVERY,
                n_dropped_before: self.queue().dropped,
            });
        }
        self.board.tell(
            format!("{why}; the newest data is kept in memory until there is room"),
            true,
        );
        self.show(now);
        self.tell_bus();
    }

    /// Keeps the newest while nothing can be written, and tries again from time to time.
    fn wait_for_room(&mut self) {
        self.obey_one(READ_OUT_EVERY);
        // What is wrong with the network shows again when it is read.
        drop(self.inbox.read_out());
        let now = clock::now();
        self.show_when_due(now);
        let Some(trouble) = &mut self.trouble else {
            return;
        };
        let is_told = now < trouble.tell_at;
        if !is_told {
            trouble.tell_at = now + ALARM_EVERY;
        }
        let is_time = now >= trouble.try_at;
        if !is_told {
            self.tell_bus();
        }
        if is_time {
            self.try_again(now);
        }
        if let End::After { give_up_at, .. } = self.end
            && self.trouble.is_some()
            && now >= give_up_at
        {
            self.end = End::Reached;
        }
    }

    fn try_again(&mut self, now: Instant) {
        let n_files = self.sink.n_files();
        let outcome = self.sink.go_on(now, &self.schemas);
        if outcome.is_err() {
            return self.note(outcome, now);
        }
        let Some(trouble) = self.trouble.take() else {
            return;
        };
        let n_dropped = self.queue().dropped - trouble.n_dropped_before;
        let text = format!(
            "recording goes on after {:.1} s, {n_dropped} events were dropped: {}",
            now.saturating_duration_since(trouble.since).as_secs_f64(),
            trouble.why
        );
        self.board.tell(text.clone(), n_dropped > 0);
        self.bookmark(wall_ns().div_euclid(1_000), &text);
        if self.sink.n_files() != n_files {
            self.tell_file(now);
        }
        self.show(now);
        self.tell_bus();
        if let Some(event) = self.held.take() {
            self.write(event);
        }
        let is_armed = self.trigger.as_ref().is_none_or(Trigger::is_armed);
        self.write_kept_if(!is_armed);
    }

    /// Ends the log, or gives up and counts what is in none.
    fn finish(&mut self) {
        let mut lost = u64::from(self.held.is_some());
        if let Some(trigger) = &self.trigger {
            let n_kept = trigger.kept().0 as u64;
            if trigger.is_armed() {
                self.status.n_expired += n_kept;
            } else {
                lost += n_kept;
            }
        }
        let mut outcome = self.sink.finish();
        if self.trouble.is_none()
            && let Err(refusal) = &outcome
        {
            self.status.n_write_errors += 1;
            self.board.tell(refusal.to_string(), true);
            outcome = self.finish_within_grace();
        }
        if let Err(refusal) = outcome {
            // They were taken for recorded when they were handed to the writer.
            let n_unwritten = self.sink.n_unwritten();
            self.sink.n_recorded = self.sink.n_recorded.saturating_sub(n_unwritten);
            lost += n_unwritten;
            self.status.n_write_errors += 1;
            self.board.tell(format!("gave up: {refusal}"), true);
        }
        if self.trouble.is_some() {
            lost += self.queue().waiting as u64;
        }
        self.status.n_unwritten = lost;
        self.show(clock::now());
        self.status.phase = Phase::Ended;
        self.board.show(&self.status);
    }

    fn finish_within_grace(&mut self) -> Result<(), Refusal> {
        let give_up_at = clock::now() + GRACE;
        loop {
            self.obey_one(TRY_AGAIN_AFTER);
            let outcome = self.sink.finish();
            if outcome.is_ok() || clock::now() >= give_up_at {
                return outcome;
            }
        }
    }

    fn queue(&self) -> QueueCounts {
        let all = self.subscriptions.iter();
        let mut sum = QueueCounts::default();
        for counts in all.map(|id| self.inbox.queue_counts(*id)) {
            sum.queued += counts.queued;
            sum.dropped += counts.dropped;
            sum.waiting += counts.waiting;
            sum.waiting_bytes += counts.waiting_bytes;
        }
        sum
    }

    fn show_when_due(&mut self, now: Instant) {
        if now >= self.show_at {
            self.show(now);
        }
        if let Some(every) = self.status_every.filter(|_| now >= self.status_at) {
            self.status_at = now + every;
            self.tell_bus();
        }
    }

    fn show(&mut self, now: Instant) {
        self.show_at = now + SHOW_EVERY;
        let (sync_error, n_sync_errors) = self.sink.take_sync_error();
        if let Some(error) = sync_error {
            let text = format!("cannot have the log on the disk, some of it may be lost: {error}");
            self.board.tell(text, true);
        }
        if let Some(text) = self.sink.take_index_refusal() {
            self.board.tell(text, true);
        }
        let bus_trouble = self.bus.trouble();
        if bus_trouble != self.bus_trouble {
            if let Some(text) = &bus_trouble {
                self.board.tell(text.clone(), true);
            }
            self.bus_trouble = bus_trouble;
        }
        let (n_kept, kept_bytes) = self.trigger.as_ref().map_or((0, 0), Trigger::kept);
        let is_armed = self.trigger.as_ref().is_some_and(Trigger::is_armed);
        self.status = Status {
            file: self.sink.path().to_owned(),
            n_files: self.sink.n_files(),
            phase: match (&self.trouble, is_armed) {
                (Some(_), _) => Phase::Refused,
                (None, true) => Phase::Armed,
                (None, false) => Phase::Recording,
            },
            alarm: self.trouble.as_ref().map(|trouble| trouble.why.clone()),
            n_recorded: self.sink.n_recorded,
            n_recorded_bytes: self.sink.n_recorded_bytes,
            n_written_bytes: self.sink.n_written_bytes(),
            n_kept: n_kept as u64,
            kept_bytes: kept_bytes as u64,
            n_sync_errors,
            queue: self.queue(),
            network: self.bus.counts().network,
            disk_left: self.sink.room_left(),
            ..std::mem::take(&mut self.status)
        };
        self.board.show(&self.status);
    }

    /// Reports to the list of alarms that nothing can be written, and a few times that it can again.
    fn tell_alarm(&mut self) {
        let utime = wall_ns().div_euclid(1_000);
        let status = &self.status;
        match &status.alarm {
            Some(_) if self.n_alarms_left < N_CLEARED => {
                self.alarm_since = utime;
                self.n_alarms_left = N_CLEARED;
            }
            Some(_) => {}
            None if self.n_alarms_left > 0 => self.n_alarms_left -= 1,
            None => return,
        }
        let name = status.file.file_name().unwrap_or_default();
        let alarm = Alarm {
            utime,
            since_utime: self.alarm_since,
            source: format!("recorder {}", name.display()),
            id: "not_written".to_owned(),
            severity: Alarm::WARNING,
            state: match status.alarm {
                Some(_) => Alarm::RAISED,
                None => Alarm::CLEARED,
            },
            cause: status.alarm.clone().unwrap_or_default(),
            consequence: "what happens is kept in memory, and the oldest is lost when that is full"
                .to_owned(),
            action: "make room on the disk, or look why it refuses".to_owned(),
            ..Alarm::default()
        };
        drop(self.bus.publish(ALARM_CHANNEL, &alarm));
    }

    /// Publishes its status.
    fn tell_bus(&mut self) {
        self.tell_alarm();
        let signed = |n: u64| i64::try_from(n).unwrap_or(i64::MAX);
        let status = &self.status;
        let message = RecorderMessage {
            utime: wall_ns().div_euclid(1_000),
            file: status.file.display().to_string(),
            alarm: status.alarm.clone().unwrap_or_default(),
            n_recorded: signed(status.n_recorded),
            n_lost: signed(status.lost_here()),
            n_waiting: signed(status.queue.waiting as u64),
            waiting_bytes: signed(status.queue.waiting_bytes as u64),
            disk_left: status.disk_left.map_or(-1, signed),
        };
        // Where it cannot be published, it is on the screen, and the bus counts it.
        drop(self.bus.publish(RECORDER_CHANNEL, &message));
    }
}
