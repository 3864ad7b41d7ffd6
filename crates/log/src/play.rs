//! Plays a log: which event goes out next, when, and under which name.
//!
//! In: commands, the events of a log in their order, and what time it is. Out: for each event, whether it goes out now,
//! later or not at all, and where the reader has to go. A [`Player`] has no clock, no file and no bus, so that the same
//! inputs give the same outputs; a [`Runner`] gives it all three.
//!
//! ```text
//!                pause              the range ends
//!   Playing  <---------->  Paused      Playing, Paused --> Ended
//!                play, step         seek, play: back to where it was
//! ```

mod channels;
mod descriptions;
mod lateness;
mod remote;
mod runner;
mod waiting;

pub use bowline_format::{Rate, Timeline};
pub use channels::{ChannelStatus, Channels};
pub use lateness::Lateness;
pub use remote::{BadRequest, REQUEST_CHANNEL, STATUS_CHANNEL};
pub use runner::{Controls, PlayError, RemoteError, Report, Runner, RunnerOptions};

use crate::rename::Rename;
use bowline_bus::Pattern;
use bowline_format::Placed;
use std::time::Duration;

/// Held up for longer than this, playing takes up from there: the events that are late keep the times between them.
const STALL: Duration = Duration::from_secs(1);

/// Decides what is played next, and when.
#[derive(Clone, Debug)]
pub struct Player {
    timeline: Timeline,
    channels: Channels,
    state: State,
    /// What it does when it comes back from the end.
    state_before_end: State,
    stepping: Option<Goal>,
    range: Range,
    span: Option<(i64, i64)>,
    is_looping: bool,
    max_gap_us: Option<i64>,
    /// Where the reader is to go before anything else.
    place: Option<Place>,
    /// Whether the event that is offered has its place on the timeline.
    is_placed: bool,
    /// Where a seek leads, until the reader is there. Log time waits for it.
    arriving: Option<i64>,
    /// Events and seeks since the range began. A loop over nothing would turn for ever.
    n_since_turn: u64,
    tallies: Tallies,
    lateness: Lateness,
}

/// How a log is played.
#[derive(Clone, Debug, Default)]
pub struct PlayerOptions {
    /// How fast.
    pub rate: Rate,
    /// Waits for a command before the first event.
    pub is_paused: bool,
    /// Which part.
    pub range: Range,
    /// Starts again at the end of it.
    pub is_looping: bool,
    /// Longer times without events are made this long, in log time.
    pub max_gap: Option<Duration>,
    /// Which channels, and under which names.
    pub channels: Channels,
    /// The earliest and the latest time of the log, microseconds since the epoch, if they are known.
    pub span: Option<(i64, i64)>,
}

/// A part of a log: from the first event that is not before its start, to the last before one that is after its end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Range {
    /// Microseconds since the epoch. `None`: the beginning of the log.
    pub start: Option<i64>,
    /// Microseconds since the epoch. `None`: the end of the log.
    pub end: Option<i64>,
}

/// What a player is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Log time runs.
    Playing,
    /// Log time stands still.
    Paused,
    /// Everything in the range was played.
    Ended,
}

/// The commands of a player.
#[derive(Clone, Debug)]
pub enum Command {
    /// Go on, or start again where the end was reached.
    Play,
    /// Stand still.
    Pause,
    /// Whichever of the two it is not doing.
    Toggle,
    /// Publish the next event, and pause.
    Step,
    /// Publish everything up to the next event of such a channel, and pause.
    StepTo(Pattern),
    /// Go to a moment, microseconds since the epoch.
    SeekTo(i64),
    /// Go forward by so many microseconds of log time, or back.
    SeekBy(i64),
    /// Play so fast.
    SetRate(Rate),
    /// Double the rate.
    Faster,
    /// Halve the rate.
    Slower,
    /// Play this part.
    SetRange(Range),
    /// The range begins at this moment.
    StartHere,
    /// The range ends at this moment.
    EndHere,
    /// Start again at the end of it, or do not.
    SetLoop(bool),
    /// Whichever of the two it does not do.
    ToggleLoop,
    /// Play such channels.
    Enable(Pattern),
    /// Do not play such channels.
    Disable(Pattern),
    /// Publish under other names.
    Rename(Rename),
    /// End.
    Quit,
}

/// An event as far as it decides what is done with it.
#[derive(Clone, Copy, Debug)]
pub struct Offer<'a> {
    /// When it was received, microseconds since the epoch.
    pub utime: i64,
    /// Where it was published.
    pub channel: &'a str,
    /// Bytes of its message.
    pub len: usize,
}

/// What is to be done now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step<'p> {
    /// The event is to be published on this channel, and the next one offered.
    Publish(&'p str),
    /// The event is not played. The next one is to be offered.
    Pass,
    /// The reader is to go elsewhere, and what it finds there to be offered.
    Seek(Place),
    /// The same event is to be offered again, then or after a command.
    WaitUntil(Duration),
    /// The same event is to be offered again after a command.
    WaitForCommand,
    /// Nothing more is played without a command.
    End,
}

/// Where in a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// At its first event.
    Beginning,
    /// At the first event that is not before this, microseconds since the epoch.
    Utime(i64),
}

/// What a step is to reach.
#[derive(Clone, Debug)]
enum Goal {
    Event,
    Channel(Pattern),
}

/// What a player did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tallies {
    /// Events that were published.
    pub n_published: u64,
    /// Bytes of their messages.
    pub n_bytes: u64,
    /// Events that were passed over.
    pub n_passed: u64,
    /// How often the range started again.
    pub n_loops: u64,
    /// How often times went back by more than disorder explains.
    pub n_backward: u64,
    /// Gaps that were shortened.
    pub n_shortened: u64,
    /// How often it was held up for long.
    pub n_stalls: u64,
}

/// What a player is doing and has done.
#[derive(Clone, Debug)]
pub struct Status {
    /// What it does.
    pub state: State,
    /// Log time, microseconds since the epoch. `None` before the first event.
    pub log_utime: Option<i64>,
    /// How fast.
    pub rate: Rate,
    /// Which part.
    pub range: Range,
    /// Of the log, if it is known: its earliest and latest time.
    pub span: Option<(i64, i64)>,
    /// Whether the range starts again.
    pub is_looping: bool,
    /// What it did.
    pub tallies: Tallies,
}

impl Player {
    /// A player at the beginning of its range.
    #[must_use]
    pub fn new(options: PlayerOptions) -> Self {
        let PlayerOptions {
            rate,
            is_paused,
            range,
            is_looping,
            max_gap,
            channels,
            span,
        } = options;
        let state = if is_paused {
            State::Paused
        } else {
            State::Playing
        };
        let mut player = Self {
            timeline: Timeline::new(rate, !is_paused),
            channels,
            state,
            state_before_end: state,
            stepping: None,
            range,
            span,
            is_looping,
            max_gap_us: max_gap
                .map(|max_gap| i64::try_from(max_gap.as_micros()).unwrap_or(i64::MAX)),
            place: None,
            is_placed: false,
            arriving: None,
            n_since_turn: 1,
            tallies: Tallies::default(),
            lateness: Lateness::default(),
        };
        if let Some(start) = range.start {
            player.go_to(start, Duration::ZERO);
        }
        player
    }

    /// Carries out a command.
    pub fn command(&mut self, command: Command, now: Duration) {
        match command {
            Command::Play => self.play(now),
            Command::Pause => self.pause(now),
            Command::Toggle => match self.state {
                State::Playing => self.pause(now),
                State::Paused | State::Ended => self.play(now),
            },
            Command::Step => self.step(Goal::Event, now),
            Command::StepTo(pattern) => self.step(Goal::Channel(pattern), now),
            Command::SeekTo(utime) => self.seek_within(utime, now),
            Command::SeekBy(us) => self.seek_by(us, now),
            Command::SetRate(rate) => self.timeline.set_rate(rate, now),
            Command::Faster => self.timeline.set_rate(self.timeline.rate().faster(), now),
            Command::Slower => self.timeline.set_rate(self.timeline.rate().slower(), now),
            Command::SetRange(range) => self.set_range(range, now),
            Command::StartHere => self.range = self.range.starting(self.timeline.utime(now)),
            Command::EndHere => self.range = self.range.ending(self.timeline.utime(now)),
            Command::SetLoop(is_looping) => self.is_looping = is_looping,
            Command::ToggleLoop => self.is_looping = !self.is_looping,
            Command::Enable(pattern) => self.channels.enable(pattern),
            Command::Disable(pattern) => self.channels.disable(pattern),
            Command::Rename(rename) => self.channels.rename(rename),
            Command::Quit => self.end(now),
        }
    }

    /// What is to be done, with the event that the reader is at; `None` is the end of the log.
    pub fn next(&mut self, offer: Option<Offer<'_>>, now: Duration) -> Step<'_> {
        if let Some(place) = self.place.take() {
            return Step::Seek(place);
        }
        if let Some(utime) = self.arriving.take() {
            self.timeline.jump(utime, now);
        }
        match self.state {
            State::Ended => return Step::End,
            State::Paused if self.stepping.is_none() => return Step::WaitForCommand,
            State::Paused | State::Playing => {}
        }
        let is_in_range = |offer: &Offer<'_>| self.range.end.is_none_or(|end| offer.utime <= end);
        let Some(offer) = offer.filter(is_in_range) else {
            return self.turn(now);
        };
        let Some(route) = self.channels.find(offer.channel) else {
            self.tallies.n_passed += 1;
            return Step::Pass;
        };
        if self.stepping.is_some() {
            self.step_over(&offer, now);
        } else if let Some(due) = self.due(&offer, now) {
            if due > now {
                return Step::WaitUntil(due);
            }
            self.be_late(now.saturating_sub(due));
        }
        self.is_placed = false;
        self.n_since_turn += 1;
        self.tallies.n_published += 1;
        self.tallies.n_bytes += offer.len as u64;
        self.channels.published(route);
        Step::Publish(self.channels.name(route))
    }

    /// Whether events are due as soon as they are read.
    #[must_use]
    pub fn is_flat_out(&self) -> bool {
        self.state == State::Playing && self.timeline.rate() == Rate::Max
    }

    /// What it is doing and has done.
    #[must_use]
    pub fn status(&self, now: Duration) -> Status {
        Status {
            state: self.state,
            log_utime: self.timeline.utime(now),
            rate: self.timeline.rate(),
            range: self.range,
            span: self.span,
            is_looping: self.is_looping,
            tallies: self.tallies,
        }
    }

    /// Its channels.
    #[must_use]
    pub fn channels(&self) -> &Channels {
        &self.channels
    }

    /// Makes channels known before their first event, for displays.
    pub fn expect_channels<'a>(&mut self, channels: impl IntoIterator<Item = &'a str>) {
        for channel in channels {
            self.channels.expect(channel);
        }
    }

    /// How late it was.
    #[must_use]
    pub fn lateness(&self) -> &Lateness {
        &self.lateness
    }

    fn play(&mut self, now: Duration) {
        self.stepping = None;
        if self.state == State::Ended {
            self.seek(self.beginning(), now);
        }
        self.set_state(State::Playing, now);
    }

    fn pause(&mut self, now: Duration) {
        self.stepping = None;
        if self.state == State::Playing {
            self.set_state(State::Paused, now);
        }
        self.state_before_end = State::Paused;
    }

    fn end(&mut self, now: Duration) {
        self.stepping = None;
        if self.state != State::Ended {
            self.state_before_end = self.state;
        }
        self.set_state(State::Ended, now);
    }

    fn set_state(&mut self, state: State, now: Duration) {
        self.timeline.run(state == State::Playing, now);
        self.state = state;
    }

    fn step(&mut self, goal: Goal, now: Duration) {
        if self.state == State::Ended {
            return;
        }
        self.set_state(State::Paused, now);
        self.stepping = Some(goal);
    }

    /// An event of a step goes out at once, and log time jumps to it.
    fn step_over(&mut self, offer: &Offer<'_>, now: Duration) {
        self.timeline.jump(offer.utime, now);
        let is_reached = match &self.stepping {
            Some(Goal::Channel(pattern)) => pattern.matches(offer.channel),
            Some(Goal::Event) | None => true,
        };
        if is_reached {
            self.stepping = None;
        }
    }

    fn due(&mut self, offer: &Offer<'_>, now: Duration) -> Option<Duration> {
        if !self.is_placed {
            self.is_placed = true;
            match self.timeline.place(offer.utime, self.max_gap_us, now) {
                Placed::InOrder => {}
                Placed::Backward => self.tallies.n_backward += 1,
                Placed::Shortened => self.tallies.n_shortened += 1,
            }
        }
        self.timeline.due_placed()
    }

    fn be_late(&mut self, late: Duration) {
        self.lateness.add(late);
        if late > STALL {
            self.tallies.n_stalls += 1;
            self.timeline.delay(late);
        }
    }

    /// At the end of the range: from its beginning again, or this is it.
    fn turn(&mut self, now: Duration) -> Step<'_> {
        if !self.is_looping || self.n_since_turn == 0 {
            self.end(now);
            return Step::End;
        }
        let mut turning = now;
        if let Some(end) = self.range.end
            && self.stepping.is_none()
            && let Some(due) = self.timeline.due(end)
        {
            if due > now {
                return Step::WaitUntil(due);
            }
            // Not from now on, so that lateness does not add up; unless it has nothing to do with this.
            if now - due < STALL {
                turning = due;
            }
        }
        self.tallies.n_loops += 1;
        self.n_since_turn = 0;
        self.seek(self.beginning(), turning);
        self.place.take().map_or(Step::End, Step::Seek)
    }

    fn beginning(&self) -> Place {
        self.range.start.map_or(Place::Beginning, Place::Utime)
    }

    fn seek_by(&mut self, us: i64, now: Duration) {
        let first = self.span.map(|(first, _)| first);
        if let Some(from) = self.timeline.utime(now).or(first) {
            self.seek_within(from.saturating_add(us), now);
        }
    }

    fn seek_within(&mut self, utime: i64, now: Duration) {
        let first = self.range.start.or(self.span.map(|(first, _)| first));
        let last = self.range.end.or(self.span.map(|(_, last)| last));
        let utime = utime.min(last.unwrap_or(utime)).max(first.unwrap_or(utime));
        if self.state == State::Ended {
            self.set_state(self.state_before_end, now);
        }
        self.go_to(utime, now);
    }

    fn seek(&mut self, place: Place, now: Duration) {
        match place {
            Place::Beginning => self.timeline.forget(),
            Place::Utime(utime) => self.timeline.jump(utime, now),
        }
        self.place = Some(place);
        self.is_placed = false;
    }

    fn go_to(&mut self, utime: i64, now: Duration) {
        self.seek(Place::Utime(utime), now);
        self.arriving = Some(utime);
        self.n_since_turn += 1;
    }

    fn set_range(&mut self, range: Range, now: Duration) {
        self.range = range;
        if let (Some(start), Some(utime)) = (range.start, self.timeline.utime(now))
            && utime < start
        {
            self.go_to(start, now);
        }
    }
}

impl Range {
    /// The part from here on. An end that is before it goes away.
    #[must_use]
    pub fn starting(self, start: Option<i64>) -> Self {
        let is_after = |end: &i64| start.is_none_or(|start| start < *end);
        Self {
            start,
            end: self.end.filter(is_after),
        }
    }

    /// The part up to here. A start that is after it goes away.
    #[must_use]
    pub fn ending(self, end: Option<i64>) -> Self {
        let is_before = |start: &i64| end.is_none_or(|end| *start < end);
        Self {
            start: self.start.filter(is_before),
            end,
        }
    }
}
