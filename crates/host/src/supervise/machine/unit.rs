//! One supervised process, as a state machine that gets the time.

use super::silence::Silence;
use crate::presence::HEARTBEAT_PERIOD;
use crate::supervise::exit::{Exit, Hang};
use crate::supervise::plan::{Heartbeat, ProcessSpec, Ready, Restart};
use bowline_component::Time;
use std::collections::VecDeque;
use std::time::Duration;

/// So many restarts...
pub const MAX_RESTARTS: usize = 5;
/// ...in so long, and it is given up.
pub const RESTART_WINDOW: Duration = Duration::from_secs(30);
/// Between the first failure and the restart; it doubles with each.
pub const MIN_BACK_OFF: Duration = Duration::from_millis(100);
/// It does not get longer than this.
pub const MAX_BACK_OFF: Duration = Duration::from_secs(5);
/// A process that ran for so long is restarted as if it had never failed.
pub const LIVED: Duration = Duration::from_secs(10);
/// How long a supervisor that was held up waits for heartbeats before it judges silence: until a live process has sent one
/// again, and a moment to arrive. If it listened for as long as it was held up, what hangs would go unnoticed for that
/// much longer than was promised.
const LISTEN: Duration = HEARTBEAT_PERIOD.saturating_add(Duration::from_millis(50));
/// Between two looks for what is left of a run that is to be gone.
pub(super) const KILL_AGAIN: Duration = Duration::from_millis(50);

/// What a process is doing.
///
/// ```text
///          order                 others ready            started             heartbeat
///   Down ────────▶ Waiting ────────────────▶ Spawning ───────────▶ Starting ───────────▶ Ready
///    ▲ ▲              ▲ ▲                       │ not started         │  │                │ │
///    │ │              │ └── rest over ── Resting│                     │  └─── order ──────┤ │ order,
///    │ │              │                     ▲ ▲ │                     │                   │ ▼ all that depend
///    │ │ order        │ order to restart    │ └─┘                     │ exit, hang        │ Stopping ─┐ on it gone
///    │ └──────────────┴─────────────────────┼─────────────────────────┼───────────────────┼───┘       │
///    │                                      │ gone, to be restarted   ▼                   │           │ grace over
///    └───────── gone: ordered, finished or given up ──────────── Killing ◀────────────────┴───────────┘
/// ```
///
/// What depends on it is not affected by how it ends. *Gone* is more than that the process has ended: nothing that it
/// started is left. Until then there is no other run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum State {
    Down(Down),
    /// For those that it depends on.
    Waiting {
        is_restart: bool,
    },
    /// Before it is tried again.
    Resting {
        until: Time,
    },
    /// The system was asked for a process.
    Spawning,
    /// It runs, and is not ready.
    Starting,
    Ready,
    /// It was asked to stop.
    Stopping {
        kill_at: Time,
    },
    /// All of it is being killed, again and again until nothing is left.
    Killing {
        ending: Ending,
        again_at: Time,
    },
}

/// Why there is no process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Down {
    /// No run was wanted yet.
    New,
    /// It was ordered.
    Ordered,
    /// It did what it was started for.
    Finished,
    /// It failed too often. Only an order changes that.
    GivenUp,
}

/// Whether a run ends by an order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    Ordered,
    /// By itself, or because it hung.
    Unasked,
}

/// What is wanted of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Want {
    Down,
    Up,
    /// Down, then up.
    Again,
}

/// What happens to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Happening {
    /// It runs already, started by a supervisor that is gone.
    Adopted,
    /// Something else runs in its place, started by a supervisor that is gone.
    Leftover,
    Started,
    NotStarted(String),
    /// The process ended; what it started may be left.
    Exited(Exit),
    /// Nothing of it is left.
    Gone,
    /// A sign of life from one of those that give them, and when it came.
    Beat(usize, Time),
    /// Time has passed, or another's state has changed.
    Look(Others),
}

/// What the others allow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Others {
    /// All that it depends on are ready.
    pub(crate) may_start: bool,
    /// Nothing that depends on it has to be stopped first.
    pub(crate) may_stop: bool,
    pub(crate) silence: Judged,
}

/// When silence is judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Judged {
    /// All signs of life that came are known.
    Now,
    /// Some may not have been given yet.
    Later,
}

/// What is to be done about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Effect {
    Spawn,
    /// Ask all of its process group to stop.
    Signal,
    /// Kill all that is left of it.
    Kill,
    GaveUp(String),
}

/// A supervised process.
#[derive(Clone, Debug)]
pub(crate) struct Unit {
    rules: Rules,
    pub(crate) want: Want,
    pub(crate) state: State,
    /// When the run began, if there is one.
    pub(crate) since: Time,
    /// Since it was started.
    start: Silence,
    /// Of each of those that give signs of life, since it did so last in this run.
    beats: Vec<Option<Silence>>,
    exit: Option<Exit>,
    /// Why the run was ended by force, if it was.
    pub(crate) hang: Option<Hang>,
    /// When it was restarted, of late.
    restarts: VecDeque<Time>,
    back_off: Duration,
    pub(crate) n_restarts: u64,
    /// How often it was not killed although its time was over, because the machine or the supervisor was busy.
    pub(crate) n_extensions: u64,
    /// How the last run ended.
    pub(crate) last_exit: String,
}

/// Something that must come from it.
struct Due {
    /// Which of those that give signs of life; `None` is that it is ready.
    source: Option<usize>,
    silence: Silence,
    limit: Duration,
}

impl Due {
    fn over_at(&self) -> Time {
        self.silence.over_at(self.limit)
    }
}

/// Its entry in the plan.
#[derive(Clone, Debug)]
struct Rules {
    restart: Restart,
    ready: Ready,
    ready_within: Duration,
    grace: Duration,
    silence: Duration,
    /// For how long a supervisor that was held up listens before it blames it.
    listen: Duration,
}

impl Unit {
    pub(crate) fn new(spec: &ProcessSpec) -> Self {
        let (n_beats, silence, listen) = match &spec.heartbeat {
            Heartbeat::None => (0, Duration::MAX, Duration::MAX),
            Heartbeat::Presence { components, within } => {
                (components.len(), *within, LISTEN.min(*within))
            }
            // It is not known how often there is traffic, only how often at least.
            Heartbeat::Traffic { channel: _, within } => (1, *within, *within),
        };
        Self {
            rules: Rules {
                restart: spec.restart,
                ready: spec.ready,
                ready_within: spec.ready_within,
                grace: spec.grace,
                silence,
                listen,
            },
            want: Want::Down,
            state: State::Down(Down::New),
            since: Time::ZERO,
            start: Silence::new(Time::ZERO),
            beats: vec![None; n_beats],
            exit: None,
            hang: None,
            restarts: VecDeque::new(),
            back_off: MIN_BACK_OFF,
            n_restarts: 0,
            n_extensions: 0,
            last_exit: String::new(),
        }
    }

    /// It is to be up.
    pub(crate) fn start(&mut self) {
        match self.state {
            State::Down(_) | State::Resting { .. } => {
                self.forget_failures();
                self.state = State::Waiting { is_restart: false };
            }
            State::Waiting { .. }
            | State::Spawning
            | State::Starting
            | State::Ready
            | State::Stopping { .. }
            | State::Killing { .. } => {}
        }
        if self.want == Want::Down {
            self.want = Want::Up;
        }
    }

    /// It is to be down.
    pub(crate) fn stop(&mut self) {
        self.want = Want::Down;
        match self.state {
            State::Down(Down::GivenUp) | State::Waiting { .. } | State::Resting { .. } => {
                self.state = State::Down(Down::Ordered);
            }
            State::Down(Down::New | Down::Ordered | Down::Finished)
            | State::Spawning
            | State::Starting
            | State::Ready
            | State::Stopping { .. }
            | State::Killing { .. } => {}
        }
    }

    /// A supervisor that is gone had given it up. Whether it is down indeed.
    pub(crate) fn stay_given_up(&mut self) -> bool {
        let is_down = matches!(self.state, State::Down(_));
        if is_down {
            self.want = Want::Down;
            self.state = State::Down(Down::GivenUp);
        }
        is_down
    }

    /// Another run of it is wanted.
    pub(crate) fn restart(&mut self) {
        match self.state {
            State::Spawning | State::Starting | State::Ready => self.want = Want::Again,
            State::Down(_)
            | State::Waiting { .. }
            | State::Resting { .. }
            | State::Stopping { .. }
            | State::Killing { .. } => self.start(),
        }
    }

    /// Takes what happened, and returns what is to be done. Every pair is decided here.
    pub(crate) fn step(&mut self, now: Time, happening: Happening) -> Option<Effect> {
        match (&self.state, happening) {
            (State::Down(_) | State::Waiting { .. }, Happening::Adopted) => {
                // It was ordered, and not revoked since.
                self.want = Want::Up;
                self.begin(now)
            }
            (State::Down(_) | State::Waiting { .. }, Happening::Leftover) => self.ask_to_stop(now),
            (State::Spawning, Happening::Started) => self.begin(now),
            (State::Spawning, Happening::NotStarted(why)) => {
                self.since = now;
                self.exit = Some(Exit::NotStarted(why));
                self.ended(now, Ending::Unasked)
            }
            (State::Starting | State::Ready, Happening::Exited(exit)) => {
                self.exit = Some(exit);
                self.kill(now, Ending::Unasked)
            }
            (State::Stopping { .. } | State::Killing { .. }, Happening::Exited(exit)) => {
                self.exit = Some(exit);
                None
            }
            (State::Starting | State::Ready, Happening::Gone) => self.ended(now, Ending::Unasked),
            (State::Stopping { .. }, Happening::Gone) => self.ended(now, Ending::Ordered),
            (State::Killing { ending, .. }, Happening::Gone) => self.ended(now, *ending),
            (State::Starting | State::Ready, Happening::Beat(source, at)) => {
                self.heard(source, at.min(now))
            }
            (_, Happening::Look(others)) => self.look(now, others),
            // What comes too late, or twice, changes nothing.
            (
                State::Down(_)
                | State::Waiting { .. }
                | State::Resting { .. }
                | State::Spawning
                | State::Starting
                | State::Ready
                | State::Stopping { .. }
                | State::Killing { .. },
                Happening::Adopted
                | Happening::Leftover
                | Happening::Started
                | Happening::NotStarted(_)
                | Happening::Exited(_)
                | Happening::Gone
                | Happening::Beat(..),
            ) => None,
        }
    }

    /// Whether time, or what became of others, has it do something.
    fn look(&mut self, now: Time, others: Others) -> Option<Effect> {
        match self.state {
            State::Waiting { is_restart } if others.may_start => {
                if is_restart {
                    self.n_restarts += 1;
                    self.restarts.push_back(now);
                }
                self.state = State::Spawning;
                Some(Effect::Spawn)
            }
            State::Resting { until } if now >= until => {
                self.state = State::Waiting { is_restart: true };
                None
            }
            State::Starting | State::Ready if self.want != Want::Up && others.may_stop => {
                self.ask_to_stop(now)
            }
            State::Starting | State::Ready if others.silence == Judged::Now => self.judge(now),
            State::Stopping { kill_at } if now >= kill_at => {
                self.hang = Some(Hang::NotStopped(self.rules.grace));
                self.kill(now, Ending::Ordered)
            }
            State::Killing { ending, again_at } if now >= again_at => self.kill(now, ending),
            State::Down(_)
            | State::Waiting { .. }
            | State::Resting { .. }
            | State::Spawning
            | State::Starting
            | State::Ready
            | State::Stopping { .. }
            | State::Killing { .. } => None,
        }
    }

    /// Whether it hangs.
    fn judge(&mut self, now: Time) -> Option<Effect> {
        self.n_extensions += u64::from(self.is_extended_anew(now));
        self.hang = self.hang_at(now);
        self.hang.and_then(|_| self.kill(now, Ending::Unasked))
    }

    /// When it has to be looked at again, whatever happens.
    pub(crate) fn deadline(&self) -> Option<Time> {
        match self.state {
            State::Down(_) | State::Waiting { .. } | State::Spawning => None,
            State::Resting { until } => Some(until),
            State::Starting | State::Ready => self.first().map(|due| due.over_at()),
            State::Stopping { kill_at } => Some(kill_at),
            State::Killing { again_at, .. } => Some(again_at),
        }
    }

    /// The supervisor itself was held up, and does not know which processes were silent meanwhile: each has a while from
    /// now for its next sign of life.
    pub(crate) fn forgive(&mut self, now: Time, held_up: Duration) {
        let Rules {
            silence,
            listen,
            ready_within,
            ..
        } = self.rules;
        for beat in self.beats.iter_mut().flatten() {
            beat.hold_up(now, held_up, silence, listen);
        }
        self.start.hold_up(now, held_up, ready_within, ready_within);
    }

    /// It waited for a processor for so long since it was looked at last: that time does not count.
    pub(crate) fn starve(&mut self, waited: Duration) {
        let Rules {
            silence,
            ready_within,
            ..
        } = self.rules;
        for beat in self.beats.iter_mut().flatten() {
            beat.starve(waited, silence);
        }
        self.start.starve(waited, ready_within);
    }

    /// Whether it may hang, so that what it waits for matters.
    pub(crate) fn is_doubtful(&self, now: Time) -> bool {
        matches!(self.state, State::Starting | State::Ready)
            && self
                .first()
                .is_some_and(|due| due.silence.is_doubtful(now, due.limit))
    }

    /// Whether there is, or may be, something of it in the system.
    pub(crate) fn is_alive(&self) -> bool {
        match self.state {
            State::Down(_) | State::Waiting { .. } | State::Resting { .. } => false,
            State::Spawning
            | State::Starting
            | State::Ready
            | State::Stopping { .. }
            | State::Killing { .. } => true,
        }
    }

    /// Whether those that depend on it may start.
    pub(crate) fn is_served(&self) -> bool {
        match self.state {
            State::Ready => self.want == Want::Up,
            State::Down(Down::Finished) => true,
            State::Down(Down::New | Down::Ordered | Down::GivenUp)
            | State::Waiting { .. }
            | State::Resting { .. }
            | State::Spawning
            | State::Starting
            | State::Stopping { .. }
            | State::Killing { .. } => false,
        }
    }

    /// Whether signs of life are waited for.
    pub(crate) fn is_watched(&self) -> bool {
        !self.beats.is_empty() && matches!(self.state, State::Starting | State::Ready)
    }

    /// Its state, in words; nothing where there is nothing to report.
    pub(crate) fn health(&self, now: Time) -> String {
        if !self.is_watched() {
            return String::new();
        }
        let began = self.beats.iter().map(|beat| beat.map(|it| it.began));
        match began.min().flatten() {
            None => "no heartbeat yet".to_owned(),
            Some(began) => format!("heartbeat {:.1} s ago", now.since(began).as_secs_f32()),
        }
    }

    fn begin(&mut self, now: Time) -> Option<Effect> {
        self.since = now;
        self.exit = None;
        self.hang = None;
        self.start = Silence::new(now);
        self.beats.fill(None);
        self.state = match self.rules.ready {
            Ready::Immediately => State::Ready,
            Ready::FirstHeartbeat | Ready::AtEnd => State::Starting,
        };
        None
    }

    fn heard(&mut self, source: usize, at: Time) -> Option<Effect> {
        if let Some(beat) = self.beats.get_mut(source) {
            match beat {
                Some(silence) => silence.end(at),
                None => *beat = Some(Silence::new(at)),
            }
        }
        if self.rules.ready != Ready::AtEnd && self.beats.iter().all(Option::is_some) {
            self.state = State::Ready;
        }
        None
    }

    fn ask_to_stop(&mut self, now: Time) -> Option<Effect> {
        self.state = State::Stopping {
            kill_at: now + self.rules.grace,
        };
        Some(Effect::Signal)
    }

    fn kill(&mut self, now: Time, ending: Ending) -> Option<Effect> {
        self.state = State::Killing {
            ending,
            again_at: now + KILL_AGAIN,
        };
        Some(Effect::Kill)
    }

    /// What is over first. As long as one of those that give signs of life never gave any, only the start counts.
    fn first(&self) -> Option<Due> {
        let Rules {
            silence: limit,
            ready_within,
            ..
        } = self.rules;
        let is_one_missing = self.beats.iter().any(Option::is_none);
        let is_waited_for = self.state == State::Starting || is_one_missing;
        let start = is_waited_for.then_some(Due {
            source: None,
            silence: self.start,
            limit: ready_within,
        });
        let beats = self.beats.iter().enumerate().filter(|_| !is_one_missing);
        let beats = beats.filter_map(|(source, beat)| {
            Some(Due {
                source: Some(source),
                silence: (*beat)?,
                limit,
            })
        });
        beats.chain(start).min_by_key(Due::over_at)
    }

    /// Whether the time of what is over first was extended. True once.
    fn is_extended_anew(&mut self, now: Time) -> bool {
        let Some(Due { source, limit, .. }) = self.first() else {
            return false;
        };
        let silence = match source {
            Some(source) => self.beats.get_mut(source).and_then(Option::as_mut),
            None => Some(&mut self.start),
        };
        silence.is_some_and(|silence| silence.is_extended_anew(now, limit))
    }

    fn hang_at(&self, now: Time) -> Option<Hang> {
        let due = self.first().filter(|due| now >= due.over_at())?;
        let Due { source, limit, .. } = due;
        let extension = due.silence.extension();
        Some(match source {
            Some(_) => Hang::Silent { limit, extension },
            None => Hang::NotReady { limit, extension },
        })
    }

    /// Nothing of a run is left: what now?
    fn ended(&mut self, now: Time, ending: Ending) -> Option<Effect> {
        let exit = self.exit.take().unwrap_or(Exit::Unknown);
        let hang = self.hang.take();
        self.last_exit = match hang {
            Some(hang) => format!("{hang}, {exit}"),
            None => exit.to_string(),
        };
        let has_failed = hang.is_some() || !exit.is_success();
        match (self.want, ending) {
            (Want::Down, _) => self.state = State::Down(Down::Ordered),
            (Want::Again, _) | (Want::Up, Ending::Ordered) => {
                self.want = Want::Up;
                self.forget_failures();
                self.state = State::Waiting { is_restart: false };
            }
            (Want::Up, Ending::Unasked) => return self.ended_unasked(now, has_failed),
        }
        None
    }

    fn ended_unasked(&mut self, now: Time, has_failed: bool) -> Option<Effect> {
        match (self.rules.restart, has_failed) {
            (Restart::Always, _) | (Restart::OnFailure, true) => self.rest(now),
            (Restart::Never, true) => self.give_up("it failed, and is not to be restarted"),
            (Restart::OnFailure | Restart::Never, false) => {
                self.want = Want::Down;
                self.state = State::Down(Down::Finished);
                None
            }
        }
    }

    fn rest(&mut self, now: Time) -> Option<Effect> {
        let is_old = |at: &Time| now.since(*at) >= RESTART_WINDOW;
        while self.restarts.front().is_some_and(is_old) {
            self.restarts.pop_front();
        }
        if self.restarts.len() >= MAX_RESTARTS {
            let seconds = RESTART_WINDOW.as_secs();
            return self.give_up(&format!("restarted {MAX_RESTARTS} times in {seconds} s"));
        }
        if now.since(self.since) >= LIVED {
            self.back_off = MIN_BACK_OFF;
        }
        self.state = State::Resting {
            until: now + self.back_off,
        };
        self.back_off = (self.back_off * 2).min(MAX_BACK_OFF);
        None
    }

    fn give_up(&mut self, why: &str) -> Option<Effect> {
        self.want = Want::Down;
        self.state = State::Down(Down::GivenUp);
        Some(Effect::GaveUp(format!("{why}; last: {}", self.last_exit)))
    }

    fn forget_failures(&mut self) {
        self.restarts.clear();
        self.back_off = MIN_BACK_OFF;
    }
}
