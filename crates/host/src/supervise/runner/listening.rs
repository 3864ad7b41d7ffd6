//! What a supervisor receives: heartbeats, and other supervisors.

use crate::presence::HEARTBEAT_CHANNEL;
use crate::supervise::plan::{Heartbeat, Plan};
use crate::supervise::report::SUPERVISOR_CHANNEL;
use crate::supervise::slot::Slot;
use bowline_bus::transport::ListenError;
use bowline_bus::{Event, Inbox, Pattern, Queue, SubscriptionId};
use bowline_component::Health;
use bowline_msgs::{self as msgs, HeartbeatComponent, Supervisor};
use bowline_wire::Message as _;
use rustix::process::{Pid, getpgid};
use std::collections::BTreeMap;

/// Which subscriptions mean what.
#[derive(Debug)]
pub(super) struct Listening {
    pub(super) supervisors: SubscriptionId,
    heartbeats: Option<SubscriptionId>,
    robot: String,
    /// By component: whose sign of life that is, and which of its.
    components: BTreeMap<String, Vec<(usize, usize)>>,
    /// Of these, messages are heartbeats whatever their contents.
    traffic: Vec<(SubscriptionId, usize)>,
}

/// What a message means.
#[derive(Debug)]
pub(super) enum Heard {
    Nothing,
    /// Signs of life: of whom, and which of theirs.
    Beats(Vec<(usize, usize)>),
    Supervisor(Supervisor),
}

impl Listening {
    pub(super) fn new(plan: &Plan, inbox: &Inbox) -> Result<Self, ListenError> {
        let mut components: BTreeMap<String, Vec<(usize, usize)>> = BTreeMap::new();
        let mut traffic = Vec::new();
        for (unit, spec) in plan.processes.iter().enumerate() {
            match &spec.heartbeat {
                Heartbeat::None => {}
                Heartbeat::Presence {
                    components: names, ..
                } => {
                    for (source, name) in names.iter().enumerate() {
                        components
                            .entry(name.clone())
                            .or_default()
                            .push((unit, source));
                    }
                }
                Heartbeat::Traffic { channel, within: _ } => {
                    let pattern = Pattern::exact(channel);
                    traffic.push((inbox.subscribe_to(pattern, Queue::latest())?, unit));
                }
            }
        }
        let listen =
            |channel| inbox.subscribe_to(Pattern::exact(channel), Queue::keep_newest(4096));
        let heartbeats = match components.is_empty() {
            true => None,
            false => Some(listen(HEARTBEAT_CHANNEL)?),
        };
        Ok(Self {
            supervisors: listen(SUPERVISOR_CHANNEL)?,
            heartbeats,
            robot: plan.robot.clone(),
            components,
            traffic,
        })
    }

    pub(super) fn hear(&self, id: SubscriptionId, event: &Event, slots: &mut [Slot]) -> Heard {
        if id == self.supervisors {
            // What makes no sense is none of ours.
            return match Supervisor::decode(&event.payload) {
                Ok(other) => Heard::Supervisor(other),
                Err(_) => Heard::Nothing,
            };
        }
        if Some(id) == self.heartbeats {
            return self.hear_heartbeat(event, slots);
        }
        let traffic = self.traffic.iter().filter(|(own, _)| *own == id);
        Heard::Beats(traffic.map(|(_, unit)| (*unit, 0)).collect())
    }

    fn hear_heartbeat(&self, event: &Event, slots: &mut [Slot]) -> Heard {
        let Ok(heartbeat) = msgs::Heartbeat::decode(&event.payload) else {
            return Heard::Nothing;
        };
        if heartbeat.robot != self.robot || heartbeat.is_leaving {
            return Heard::Nothing;
        }
        let mut beats = Vec::new();
        for component in &heartbeat.components {
            for &(unit, source) in self.components.get(&component.name).into_iter().flatten() {
                let Some(slot) = slots
                    .get_mut(unit)
                    .filter(|slot| is_of(heartbeat.pid, slot))
                else {
                    continue;
                };
                slot.health = in_words(component);
                beats.push((unit, source));
            }
        }
        Heard::Beats(beats)
    }
}

/// Whether a heartbeat is of the run that is there now: the process itself, or one of its group. Another of the same name
/// must not hide that ours is silent.
fn is_of(pid: i32, slot: &Slot) -> bool {
    let Some(run) = &slot.run else {
        return false;
    };
    let Some(pid) = Pid::from_raw(pid) else {
        return false;
    };
    pid == run.pid || getpgid(Some(pid)) == Ok(run.pid)
}

fn in_words(component: &HeartbeatComponent) -> String {
    let HeartbeatComponent { name, text, .. } = component;
    let health = Health::of(component);
    if health == Some(Health::Good) {
        return text.clone();
    }
    let word = health.as_ref().map_or("unknown", Health::word);
    match text.is_empty() {
        true => format!("{name} {word}"),
        false => format!("{name} {word}: {text}"),
    }
}
