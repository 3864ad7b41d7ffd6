//! The processes on a bus and what they offer, by their own announcements and nothing else.
//!
//! In: `heartbeat_t` and `presence_t` with the time at which they came. Out: processes, components, services, and who
//! claims a name that another process has. What comes from a bus is hostile: everything is bounded, and what is refused
//! is counted.

use crate::presence::{HEARTBEAT_PERIOD, MAX_COMPONENTS, MAX_PORTS, MAX_SERVICES, MAX_TEXT};
use bowline_component::Health;
use bowline_component::Time;
use bowline_msgs::{Heartbeat, HeartbeatComponent, Presence, PresenceComponent, PresenceService};
use bowline_wire::Message as _;
use std::collections::{BTreeMap, BTreeSet};
use std::mem;
use std::time::Duration;

/// What is added to three missed heartbeats before a process counts as dead.
const GRACE: Duration = Duration::from_millis(100);
/// Longer than this no death stays unnoticed, whatever period a process announces.
const MAX_SILENCE: Duration = Duration::from_millis(700);
/// How long the dead are remembered.
const REMEMBERED: Duration = Duration::from_secs(30);
/// How long the older of two must have been received after the younger appeared, to be more than a straggler.
const OVERLAP: Duration = Duration::from_millis(100);

/// How much a directory holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DirectoryLimits {
    /// Processes, the remembered dead included.
    pub max_processes: usize,
    /// Bytes of all announcements.
    pub max_bytes: usize,
}

impl Default for DirectoryLimits {
    fn default() -> Self {
        Self {
            max_processes: 1024,
            max_bytes: 64 << 20,
        }
    }
}

/// All processes that were received of late.
#[derive(Debug, Default)]
pub struct Directory {
    limits: DirectoryLimits,
    processes: BTreeMap<ProcessKey, Process>,
    n_bytes: usize,
    counts: DirectoryCounts,
}

/// One life of one process.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ProcessKey {
    /// Name of the robot.
    pub robot: String,
    /// Name of the machine.
    pub host: String,
    /// Name of the process.
    pub process: String,
    /// Its number on the machine.
    pub pid: i32,
    /// When it started, microseconds since the epoch.
    pub instance: i64,
}

/// A process, as it announces itself.
#[derive(Clone, Debug)]
pub struct Process {
    /// The last heartbeat; `None` if only a description came so far.
    pub heartbeat: Option<Heartbeat>,
    /// The last description.
    pub presence: Option<Presence>,
    /// When it was first received.
    pub first_heard: Time,
    /// When it was last received.
    pub last_heard: Time,
    /// Heartbeats that came.
    pub n_heartbeats: u64,
    heartbeat_bytes: usize,
    presence_bytes: usize,
}

/// ```text
///   Alive ──── a beat is missing ────▶ Silent ──── three, and a moment ────▶ Gone ──▶ forgotten
///     ▲                                  │                                    │
///     └────────── a beat ────────────────┴────────────────────────────────────┘ (unless it announced that it leaves)
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Life {
    /// Its heartbeats come as often as they should.
    Alive,
    /// A heartbeat is overdue.
    Silent,
    /// It announced its end, or was silent for so long that it must have ended.
    Gone,
}

impl Life {
    /// In a word.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Alive => "alive",
            Self::Silent => "silent",
            Self::Gone => "gone",
        }
    }
}

/// What was not taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DirectoryCounts {
    /// Messages that were taken.
    pub heard: u64,
    /// Messages with more in them than processes may announce.
    pub too_large: u64,
    /// Messages of processes for which there was no room.
    pub no_room: u64,
    /// Dead ones that were forgotten early, to make room.
    pub evicted: u64,
}

/// A service that a process offers.
#[derive(Clone, Debug)]
pub struct Offer<'a> {
    /// What is offered.
    pub service: &'a PresenceService,
    /// By which component.
    pub component: &'a str,
    /// In which process.
    pub process: &'a ProcessKey,
    /// How that is.
    pub life: Life,
    /// How the component is; `None` before its first heartbeat.
    pub health: Option<Health>,
    /// When the process was last received.
    pub last_heard: Time,
}

/// Two lives claim one name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conflict {
    /// Name of the robot.
    pub robot: String,
    /// Name of the component.
    pub component: String,
    /// All that claim it, the oldest first.
    pub claimed_by: Vec<ProcessKey>,
}

impl Directory {
    /// An empty one, with bounds of its own.
    #[must_use]
    pub fn new(limits: DirectoryLimits) -> Self {
        Self {
            limits,
            ..Self::default()
        }
    }

    /// Takes a heartbeat. Whether the process was not known, or counted as gone.
    pub fn on_heartbeat(&mut self, now: Time, heartbeat: Heartbeat) -> bool {
        let key = ProcessKey::of_heartbeat(&heartbeat);
        let is_small = heartbeat.components.len() <= MAX_COMPONENTS
            && heartbeat.components.iter().all(is_short);
        if !key.is_short() || !is_small {
            self.counts.too_large += 1;
            return false;
        }
        let n_bytes = heartbeat.encoded_size().unwrap_or(usize::MAX);
        let was_known = self.is_there(&key, now);
        let replaced = |process: &Process| process.heartbeat_bytes;
        let Some(process) = self.process(now, key, n_bytes, replaced) else {
            return false;
        };
        // One that was overtaken on its way has nothing new.
        let newest = process.heartbeat.as_ref().map_or(i64::MIN, |it| it.utime);
        process.n_heartbeats += 1;
        if heartbeat.utime >= newest {
            process.heartbeat = Some(heartbeat);
            let before = mem::replace(&mut process.heartbeat_bytes, n_bytes);
            self.n_bytes = self.n_bytes + n_bytes - before;
        }
        !was_known
    }

    /// Takes a description. Whether it is news: of an unknown process, or another one than before.
    pub fn on_presence(&mut self, now: Time, presence: Presence) -> bool {
        let key = ProcessKey::of_presence(&presence);
        let is_small = presence.components.len() <= MAX_COMPONENTS
            && presence.components.iter().all(is_modest);
        if !key.is_short() || !is_small {
            self.counts.too_large += 1;
            return false;
        }
        let n_bytes = presence.encoded_size().unwrap_or(usize::MAX);
        let replaced = |process: &Process| process.presence_bytes;
        let Some(process) = self.process(now, key, n_bytes, replaced) else {
            return false;
        };
        let known = process.presence.as_ref();
        if known.is_some_and(|known| known.utime > presence.utime) {
            return false;
        }
        let is_news = known.is_none_or(|known| known.revision != presence.revision);
        process.presence = Some(presence);
        let before = mem::replace(&mut process.presence_bytes, n_bytes);
        self.n_bytes = self.n_bytes + n_bytes - before;
        is_news
    }

    /// Forgets those that are gone for long.
    pub fn on_time(&mut self, now: Time) {
        let is_over = |process: &Process| now.since(process.last_heard) > REMEMBERED;
        let n_bytes = &mut self.n_bytes;
        self.processes.retain(|_, process| {
            let is_kept = !is_over(process);
            if !is_kept {
                *n_bytes -= process.n_bytes();
            }
            is_kept
        });
    }

    /// All processes, with how they are.
    pub fn processes(&self, now: Time) -> impl Iterator<Item = (&ProcessKey, &Process, Life)> {
        let processes = self.processes.iter();
        processes.map(move |(key, process)| (key, process, process.life(now)))
    }

    /// All lives of the process of this name in this robot, the oldest first.
    pub fn lives(
        &self,
        now: Time,
        robot: &str,
        process: &str,
    ) -> impl Iterator<Item = (&ProcessKey, &Process, Life)> {
        let all = self.processes(now);
        all.filter(move |(key, _, _)| key.robot == robot && key.process == process)
    }

    /// Services that are offered by those that are not gone, by name.
    #[must_use]
    pub fn offers(&self, now: Time) -> Vec<Offer<'_>> {
        let mut offers = self.all_offers(now);
        offers.retain(|offer| offer.life != Life::Gone);
        offers
    }

    /// Services that are or were offered, by name.
    #[must_use]
    pub fn all_offers(&self, now: Time) -> Vec<Offer<'_>> {
        let mut offers = Vec::new();
        for (key, process, life) in self.processes(now) {
            let components = process.presence.iter().flat_map(|it| &it.components);
            for component in components {
                let served = component.services.iter();
                let served = served.filter(|it| it.direction == PresenceService::SERVES);
                offers.extend(served.map(|service| Offer {
                    service,
                    component: &component.name,
                    process: key,
                    life,
                    health: process.health(&component.name),
                    last_heard: process.last_heard,
                }));
            }
        }
        offers.sort_by(|a, b| {
            let by = |offer: &Offer<'_>| (offer.service.name.clone(), offer.process.clone());
            by(a).cmp(&by(b))
        });
        offers
    }

    /// Names of components that more than one life claims at the same time.
    #[must_use]
    pub fn conflicts(&self, now: Time) -> Vec<Conflict> {
        let mut claims: BTreeMap<(&str, &str), Vec<(&ProcessKey, &Process)>> = BTreeMap::new();
        for (key, process, life) in self.processes(now) {
            if life == Life::Gone {
                continue;
            }
            for name in process.component_names() {
                let claim = claims.entry((&key.robot, name)).or_default();
                claim.push((key, process));
            }
        }
        let mut conflicts = Vec::new();
        for ((robot, component), mut claim) in claims {
            claim.sort_by_key(|(key, process)| (process.first_heard, key.instance));
            let youngest = claim.last().map_or(now, |(_, it)| it.first_heard);
            // The one before a restart is silent once the new one is there.
            claim.retain(|(_, process)| process.last_heard >= youngest + OVERLAP);
            if claim.len() > 1 {
                conflicts.push(Conflict {
                    robot: robot.to_owned(),
                    component: component.to_owned(),
                    claimed_by: claim.into_iter().map(|(key, _)| key.clone()).collect(),
                });
            }
        }
        conflicts
    }

    /// What was taken, and what was not.
    #[must_use]
    pub fn counts(&self) -> DirectoryCounts {
        self.counts
    }

    /// Bytes of all that is held.
    #[must_use]
    pub fn n_bytes(&self) -> usize {
        self.n_bytes
    }

    fn is_there(&self, key: &ProcessKey, now: Time) -> bool {
        let process = self.processes.get(key);
        process.is_some_and(|process| process.life(now) != Life::Gone)
    }

    /// The process that announces something of this size instead of what it `replaced`, if there is room for it.
    fn process(
        &mut self,
        now: Time,
        key: ProcessKey,
        n_bytes: usize,
        replaced: impl Fn(&Process) -> usize,
    ) -> Option<&mut Process> {
        let known = self.processes.get_mut(&key);
        let is_known = known.is_some();
        let replaced = known.map_or(0, |process| {
            // A process that is in lives, whether there is room for all of its announcement or not.
            process.last_heard = process.last_heard.max(now);
            replaced(process)
        });
        let is_full = |directory: &Self| {
            let is_crowded =
                !is_known && directory.processes.len() >= directory.limits.max_processes;
            let n_others = directory.n_bytes - replaced;
            is_crowded || n_others.saturating_add(n_bytes) > directory.limits.max_bytes
        };
        while is_full(self) {
            if !self.evict_dead(now, &key) {
                self.counts.no_room += 1;
                return None;
            }
        }
        self.counts.heard += 1;
        let process = self.processes.entry(key).or_insert(Process {
            heartbeat: None,
            presence: None,
            first_heard: now,
            last_heard: now,
            n_heartbeats: 0,
            heartbeat_bytes: 0,
            presence_bytes: 0,
        });
        Some(process)
    }

    fn evict_dead(&mut self, now: Time, but_for: &ProcessKey) -> bool {
        let dead = self.processes.iter();
        let dead = dead.filter(|(key, it)| it.life(now) == Life::Gone && *key != but_for);
        let oldest = dead.min_by_key(|(_, process)| process.last_heard);
        let Some(key) = oldest.map(|(key, _)| key.clone()) else {
            return false;
        };
        if let Some(process) = self.processes.remove(&key) {
            self.n_bytes -= process.n_bytes();
        }
        self.counts.evicted += 1;
        true
    }
}

impl Process {
    /// How it is at a moment.
    #[must_use]
    pub fn life(&self, now: Time) -> Life {
        if self.heartbeat.as_ref().is_some_and(|it| it.is_leaving) {
            return Life::Gone;
        }
        let period = self.period();
        let silence = now.since(self.last_heard);
        if silence > (period * 3 + GRACE).min(MAX_SILENCE) {
            Life::Gone
        } else if silence > period + GRACE {
            Life::Silent
        } else {
            Life::Alive
        }
    }

    /// When it counts as dead, if nothing more is received.
    #[must_use]
    pub fn dead_at(&self) -> Time {
        self.last_heard + (self.period() * 3 + GRACE).min(MAX_SILENCE)
    }

    /// How a component of it is, as far as it reports.
    #[must_use]
    pub fn health(&self, component: &str) -> Option<Health> {
        let heartbeat = self.heartbeat.as_ref()?;
        let components = &heartbeat.components;
        let found = components.iter().find(|it| it.name == component)?;
        Health::of(found)
    }

    /// What it is made of, from heartbeats and descriptions.
    #[must_use]
    pub fn component_names(&self) -> BTreeSet<&str> {
        let beating = self.heartbeat.iter().flat_map(|it| &it.components);
        let described = self.presence.iter().flat_map(|it| &it.components);
        let beating = beating.map(|component| component.name.as_str());
        beating
            .chain(described.map(|component| component.name.as_str()))
            .collect()
    }

    fn n_bytes(&self) -> usize {
        self.heartbeat_bytes + self.presence_bytes
    }

    fn period(&self) -> Duration {
        let period = self.heartbeat.as_ref().map(|it| it.period_us);
        let period = period.and_then(|us| u64::try_from(us).ok());
        let period = period.map_or(HEARTBEAT_PERIOD, Duration::from_micros);
        // Shorter ones would have the dead and the merely late confused.
        period.clamp(HEARTBEAT_PERIOD / 4, HEARTBEAT_PERIOD)
    }
}

impl ProcessKey {
    fn of_heartbeat(heartbeat: &Heartbeat) -> Self {
        Self {
            robot: heartbeat.robot.clone(),
            host: heartbeat.host.clone(),
            process: heartbeat.process.clone(),
            pid: heartbeat.pid,
            instance: heartbeat.instance,
        }
    }

    fn of_presence(presence: &Presence) -> Self {
        Self {
            robot: presence.robot.clone(),
            host: presence.host.clone(),
            process: presence.process.clone(),
            pid: presence.pid,
            instance: presence.instance,
        }
    }

    fn is_short(&self) -> bool {
        let texts = [&self.robot, &self.host, &self.process];
        texts.into_iter().all(|text| text.len() <= MAX_TEXT)
    }
}

fn is_short(component: &HeartbeatComponent) -> bool {
    component.name.len() <= MAX_TEXT && component.text.len() <= MAX_TEXT
}

fn is_modest(component: &PresenceComponent) -> bool {
    let ports = component.ports.iter();
    let services = component.services.iter();
    let texts = [&component.name, &component.kind].into_iter();
    let texts = texts.chain(ports.flat_map(|it| [&it.name, &it.channel, &it.type_name]));
    let mut texts =
        texts.chain(services.flat_map(|it| [&it.port, &it.name, &it.request_type, &it.reply_type]));
    component.ports.len() <= MAX_PORTS
        && component.services.len() <= MAX_SERVICES
        && texts.all(|text| text.len() <= MAX_TEXT)
}
