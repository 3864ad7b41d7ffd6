//! Between supervisors of one name: what is taken over from the one before, and the word that is left for the next.

use super::{Runner, Word};
use crate::clock::Live;
use crate::supervise::machine::{Event, Machine};
use crate::supervise::news::{Care, News};
use crate::supervise::slot::Slot;
use crate::supervise::state::{Folder, GivenUp, Legacy};
use crate::supervise::takeover::Takeover;
use bowline_component::Time;

/// The clock of a supervisor: that of the one before it, as long as something of it runs that has the same time.
pub(super) fn clock(folder: &Folder) -> Live {
    let Legacy {
        children, epoch, ..
    } = folder.read();
    match epoch.filter(|_| children.iter().any(Takeover::is_left)) {
        Some(epoch) => Live::with_epoch(epoch),
        None => Live::new(),
    }
}

impl Runner {
    /// Deals with what the supervisor before has left, and begins.
    pub(super) fn take_over(&mut self, care: Care, tell: &mut dyn FnMut(&News<'_>)) {
        if care == Care::Everything {
            // Where that is refused, orphans become init's children, and are found by their marks.
            let _is_refused = rustix::process::set_child_subreaper(Some(rustix::process::getpid()));
        }
        let legacy = self.folder.read();
        let skipped = self.folder.take_skipped();
        let takeover = Takeover::new(&self.plan, legacy.children);
        let n_killed = takeover.sweep(&self.prefix);
        if n_killed > 0 {
            tell(&News::Note(&format!(
                "killed {n_killed} processes that an earlier supervisor had left"
            )));
        }
        let Takeover { left, strangers } = takeover;
        self.machine = Machine::with_strangers(&self.plan, &strangers);
        self.specs.extend(strangers);
        self.slots.resize_with(self.specs.len(), Slot::default);
        let mut events = Vec::new();
        for left in left {
            let (Some(spec), Some(slot)) =
                (self.specs.get(left.place), self.slots.get_mut(left.place))
            else {
                continue;
            };
            let n_skipped = skipped.of(&left.child.mark);
            slot.adopt(&left.child, left.run, n_skipped);
            if left.is_wanted {
                tell(&News::Adopted {
                    process: &spec.name,
                    pid: left.child.pid,
                });
                events.push(Event::Adopted(left.place));
            } else {
                tell(&News::Note(&format!(
                    "{} was started otherwise by an earlier supervisor, and is replaced",
                    spec.name
                )));
                events.push(Event::Leftover(left.place));
            }
        }
        for event in events {
            self.tell_machine(event, tell);
        }
        self.inherit_alarms(legacy.alarms, tell);
        self.tell_machine(Event::Begin, tell);
    }

    /// What was given up stays so, and the safe state holds, until an order changes it.
    fn inherit_alarms(&mut self, alarms: Vec<GivenUp>, tell: &mut dyn FnMut(&News<'_>)) {
        let mut inherited = Vec::new();
        for GivenUp {
            name,
            why,
            since_utime,
        } in alarms
        {
            let place = self.plan.processes.iter().position(|it| it.name == name);
            let slot = place.and_then(|place| Some((place, self.slots.get_mut(place)?)));
            match slot {
                Some((place, slot)) => {
                    slot.alarm_since = Some(Time::from_utime(since_utime));
                    inherited.push((place, why));
                }
                None => tell(&News::Note(&format!(
                    "{name} was given up by an earlier supervisor ({why}), and is no longer in the plan"
                ))),
            }
        }
        if !inherited.is_empty() {
            tell(&News::Note(
                "the safe state of an earlier supervisor still holds: no command has dealt with its cause",
            ));
            self.tell_machine(Event::Inherited(inherited), tell);
        }
    }

    /// Leaves for the next supervisor what runs and what was given up. On a full disk it finds our runs by their marks, and
    /// replaces them.
    pub(super) fn leave_word(&mut self) {
        let places = self.slots.iter().zip(&self.specs);
        let given_up = self.machine.alarms().filter_map(|(unit, why)| {
            Some(GivenUp {
                name: self.specs.get(unit)?.name.clone(),
                why: why.to_owned(),
                since_utime: self.slots.get(unit)?.alarm_since?.utime(),
            })
        });
        let legacy = Legacy {
            children: places.filter_map(|(slot, spec)| slot.child(spec)).collect(),
            alarms: given_up.collect(),
            epoch: Some(self.clock.epoch()),
        };
        self.word = match self.folder.write(&legacy) {
            Ok(()) => Word::Kept,
            Err(_) => Word::Lost,
        };
    }
}
