//! The state of a gate: who or what is in control, at which level, since when, until when, and why.

use super::{Actuation, Axis, Control, Fence, Gate, Level, Reason};
use bowline_component::Time;
use bowline_msgs as msgs;
use std::time::Duration;

impl<A: Actuation> Gate<A> {
    /// What holds now, under the name of the gate.
    #[must_use]
    pub fn report(&self, name: &str) -> msgs::Gate {
        let holder = self.lease.holder();
        let asking = self.lease.asking();
        let stop = self.control.stop();
        let count = |count: u64| i64::try_from(count).unwrap_or(i64::MAX);
        let heard = holder.map(|it| self.now.since(it.heard).as_micros());
        msgs::Gate {
            utime: self.now.utime(),
            name: name.to_owned(),
            state: self.state(),
            level: self.control.level().code(),
            since_utime: self.since.utime(),
            until_utime: self.until().map_or(0, Time::utime),
            in_control: self.in_control(),
            reason: self.reason(),
            holder: holder.map_or_else(String::new, |it| it.station.clone()),
            session: holder.map_or(0, |it| it.session),
            rank: holder.map_or(0, |it| it.rank),
            epoch: self.lease.epoch(),
            lease_until_utime: holder.map_or(0, |it| it.until.utime()),
            asking: asking.map_or_else(String::new, |it| it.by.station.clone()),
            asking_until_utime: asking.map_or(0, |it| it.until.utime()),
            is_stopped: stop.is_some(),
            stopped_by: stop.map_or_else(String::new, |it| it.by.clone()),
            stop_reason: stop.map_or_else(String::new, |it| it.reason.clone()),
            contingency: self.rules.contingency.word().to_owned(),
            heard_us: heard.map_or(-1, |it| i64::try_from(it).unwrap_or(i64::MAX)),
            n_accepted: count(self.counts.n_accepted),
            n_refused: count(self.counts.n_refused()),
            reasons: Reason::ALL.map(|it| it.word().to_owned()).to_vec(),
            n_refusals: Reason::ALL
                .map(|it| count(self.counts.refused_for(it)))
                .to_vec(),
            ..msgs::Gate::default()
        }
        .with_lengths()
    }

    /// What this gate demands of commands and what it guards, under the name of the gate.
    #[must_use]
    pub fn rules(&self, name: &str) -> msgs::GateRules {
        let rules = &self.rules;
        let us = |period: Duration| i64::try_from(period.as_micros()).unwrap_or(i64::MAX);
        let axes = A::AXES.iter().zip(self.direct_limits());
        let axis = |(axis, limit): (&Axis<A>, f64)| msgs::GateAxis {
            field: axis.field.to_owned(),
            word: axis.word.to_owned(),
            unit: axis.unit.to_owned(),
            min: -limit,
            max: limit,
            ahead: axis.hands.ahead,
            left: axis.hands.left,
            moves: axis.moves,
        };
        msgs::GateRules {
            utime: self.now.utime(),
            name: name.to_owned(),
            actuation: A::WORD.to_owned(),
            verb: A::VERB.to_owned(),
            setpoint: match &*rules.setpoint {
                "" => format!("{}.command", A::WORD),
                channel => channel.to_owned(),
            },
            axes: axes.map(axis).collect(),
            direct_max_age_us: us(rules.ttl),
            task_max_age_us: us(rules.task_ttl),
            setpoint_us: us(rules.setpoint_ttl),
            neutral_us: us(rules.neutral_for),
            lease_us: us(rules.lease),
            answer_us: us(rules.answer_within),
            grace_us: us(rules.grace),
            contingency: rules.contingency.word().to_owned(),
            local_stop_us: rules.beat_within.map_or(0, us),
            pose_max_age_us: us(rules.place_ttl),
            pose_sd_m: rules.place_sd_m,
            fence_m: rules.fence_m.clone().unwrap_or_default(),
            ..msgs::GateRules::default()
        }
        .with_lengths()
    }

    /// A new token.
    pub fn token(&mut self) -> msgs::GateToken {
        let token = self.mint.issue(self.now);
        let holder = self.lease.holder();
        msgs::GateToken {
            utime: self.now.utime(),
            token,
            epoch: holder.map_or(0, |_| self.lease.epoch()),
            session: holder.map_or(0, |it| it.session),
        }
    }

    /// Why it is so; and what a person answers for.
    fn reason(&self) -> String {
        let excused = self.fence.as_ref().and_then(Fence::excused);
        match excused.filter(|_| self.control.stop().is_none()) {
            Some((breach, station)) => {
                format!("{}; {}, excused by {station:?}", self.why, breach.why())
            }
            None => self.why.clone(),
        }
    }

    fn state(&self) -> i8 {
        match self.control {
            Control::Stopped(_) => msgs::Gate::STOPPED,
            Control::Idle | Control::Silent(_) => msgs::Gate::IDLE,
            Control::Direct { .. } | Control::Setpoint { .. } => msgs::Gate::OPERATED,
            Control::Autonomous(_) => msgs::Gate::AUTONOMOUS,
            Control::Contingency(_) => msgs::Gate::CONTINGENCY,
        }
    }

    fn until(&self) -> Option<Time> {
        match self.control {
            Control::Direct { until, .. } | Control::Setpoint { until } => Some(until),
            Control::Silent(_) | Control::Autonomous(_) => self.contingency_after().or_else(|| {
                let holder = self.lease.holder()?;
                Some(holder.until + self.rules.grace)
            }),
            Control::Stopped(_) | Control::Idle | Control::Contingency(_) => None,
        }
    }

    fn in_control(&self) -> String {
        match &self.control {
            Control::Stopped(_) | Control::Idle | Control::Silent(_) => "none".to_owned(),
            Control::Direct { .. } | Control::Setpoint { .. } => {
                let station = self.lease.holder().map_or("", |it| it.station.as_str());
                format!("station {station}")
            }
            Control::Autonomous(_) if self.is_returning => match self.mission.0.as_str() {
                "" => "autonomy: returns".to_owned(),
                name => format!("autonomy: returns from {name}"),
            },
            Control::Autonomous(level) => match (self.mission.0.as_str(), level) {
                ("", Level::Objective) => "autonomy: a survey".to_owned(),
                ("", Level::Route) => "autonomy: a route".to_owned(),
                ("", _) => "autonomy: a place".to_owned(),
                (name, _) => format!("autonomy: {name}"),
            },
            Control::Contingency(plan) => format!("autonomy: contingency {}", plan.word()),
        }
    }
}
