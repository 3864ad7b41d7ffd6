//! What a supervisor publishes on the bus.

use super::{Runner, STATUS_AGAIN, STATUS_EVERY};
use crate::supervise::report;
use bowline_component::ALARM_CHANNEL;
use bowline_component::Time;
use bowline_msgs::Experiment;

impl Runner {
    pub(super) fn repeat_alarms(&self, now: Time) {
        for (unit, (slot, spec)) in self.slots.iter().zip(&self.specs).enumerate() {
            let text = self.machine.view(unit, now).and_then(|view| view.alarm);
            if let (Some(text), Some(since)) = (text, slot.alarm_since) {
                let alarm = report::alarm(self.claim.own(), now, &spec.name, since, Some(text));
                self.publish(ALARM_CHANNEL, &alarm);
            }
        }
    }

    pub(super) fn report(&mut self, now: Time) {
        let processes: Vec<_> = self.specs.iter().zip(&self.slots).collect();
        let status = report::full_status(self.claim.own(), now, &self.machine, &processes);
        self.publish(report::SUPERVISOR_CHANNEL, &status);
        for experiment in &self.plan.experiments {
            let told = Experiment {
                utime: now.utime(),
                host: self.plan.host.clone(),
                ..experiment.clone()
            };
            self.publish(report::EXPERIMENT_CHANNEL, &told);
        }
        self.n_told = self.machine.n_changes();
        self.due.status = now + STATUS_EVERY;
        self.due.soonest_status = now + STATUS_AGAIN;
    }

    pub(super) fn publish(&self, channel: &str, message: &impl bowline_wire::Message) {
        // It is sent again in a second, and the bus counts what it could not send.
        drop(self.bus.publish(channel, message));
    }
}
