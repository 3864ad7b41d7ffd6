//! From a robot to what its supervisor runs.

use super::{Command, Component, Experiment, Process, Program, Record, Robot, SafeMessage, Source};
use crate::program::READY_STEPS;
use crate::supervise::{
    HEARTBEAT_LIMIT, Heartbeat, Plan, ProcessSpec, Ready, SafeState, StopSignal,
};
use bowline_component::Setting;
use bowline_format::RECORDER_CHANNEL;
use std::collections::BTreeSet;
use std::fmt;
use std::path::Path;
use std::time::Duration;

/// What the process that records is called.
pub const RECORDER: &str = "record";

/// How long the recorder may keep quiet: a disk may be slow.
const RECORDER_SILENCE: Duration = Duration::from_secs(5);

/// How built-in parts of a robot are started: the program and its arguments.
pub struct Programs<'a> {
    /// For a process with components of ours.
    pub host: &'a dyn Fn(&Process<'_>) -> Vec<String>,
    /// For the recorder.
    pub record: &'a dyn Fn(&Record) -> Vec<String>,
}

impl Robot {
    /// The hosts that it runs on, sorted; none if its file names none, and it runs wherever it is started.
    #[must_use]
    pub fn hosts(&self) -> BTreeSet<&str> {
        let components = self.components.iter();
        components
            .filter_map(|component| component.host.as_deref())
            .collect()
    }

    /// What the supervisor of a host runs.
    #[must_use]
    pub fn plan(&self, source: Source, host: &str, programs: &Programs<'_>) -> Plan {
        let is_here = |named: &Option<String>| named.as_deref().is_none_or(|named| named == host);
        let here: Vec<Process<'_>> = self
            .processes(source)
            .into_iter()
            .filter(|process| process.components.iter().all(|it| is_here(&it.host)))
            .collect();
        let mut processes = Vec::new();
        if let Some(record) = self.record.as_ref().filter(|record| is_here(&record.host)) {
            let mut spec = ProcessSpec::new(RECORDER, (programs.record)(record));
            // What it holds goes to the file before it ends.
            spec.stop_signal = StopSignal::Interrupt;
            spec.env = self.bus_env();
            // Others start once it receives them, so that a log has their whole runs.
            spec.ready = Ready::FirstHeartbeat;
            spec.heartbeat = Heartbeat::Traffic {
                channel: RECORDER_CHANNEL.to_owned(),
                within: RECORDER_SILENCE,
            };
            processes.push(spec);
        }
        let before_all: Vec<String> = processes.iter().map(|spec| spec.name.clone()).collect();
        processes.extend(here.iter().map(|process| {
            let mut spec = self.spec(process, &here, programs);
            spec.after.extend(before_all.iter().cloned());
            spec
        }));
        Plan {
            robot: self.name.clone(),
            host: host.to_owned(),
            processes,
            safe_state: self.safe_plan(&here),
            experiments: self.told_experiments(source),
        }
    }

    /// What is published to stations about experiments: with the components that run with this source. Time and publisher are for
    /// the publisher to fill in.
    #[must_use]
    pub fn told_experiments(&self, source: Source) -> Vec<bowline_msgs::Experiment> {
        let told = |experiment: &Experiment| {
            let is_in = |it: &&Component| experiment.components.contains(&it.name);
            let message = bowline_msgs::Experiment {
                robot: self.name.clone(),
                name: experiment.name.clone(),
                about: experiment.about.clone(),
                gate: experiment.gate.clone().unwrap_or_default(),
                components: self
                    .components(source)
                    .filter(is_in)
                    .map(Component::described)
                    .collect(),
                ..bowline_msgs::Experiment::default()
            };
            message.with_lengths()
        };
        self.experiments.iter().map(told).collect()
    }

    fn spec(
        &self,
        process: &Process<'_>,
        here: &[Process<'_>],
        programs: &Programs<'_>,
    ) -> ProcessSpec {
        let command = process.components.iter().find_map(|it| match &it.program {
            Program::Command(command) if !it.takes_steps() => Some(command),
            Program::Command(_) | Program::Kind { .. } => None,
        });
        let components = process.components.iter().map(|it| it.name.clone());
        let mut spec = match command {
            Some(command) => self.of_command(process, command),
            None => self.of_kinds(process, components.clone().collect(), programs),
        };
        spec.components = components.collect();
        spec.after = process.waits_for(here);
        // They agree on these.
        if let Some(first) = process.components.first() {
            spec.group = first.group.clone().unwrap_or_default();
            spec.start = first.start;
            spec.restart = first.restart;
        }
        spec
    }

    fn of_kinds(
        &self,
        process: &Process<'_>,
        names: Vec<String>,
        programs: &Programs<'_>,
    ) -> ProcessSpec {
        let mut spec = ProcessSpec::new(process.name, (programs.host)(process));
        // They agree on the limit.
        let within = process.components.iter().find_map(|it| match &it.program {
            Program::Kind {
                heartbeat_within, ..
            } => Some(*heartbeat_within),
            // The host sends none while it waits for a step.
            Program::Command(command) => {
                let how = command.deterministic.as_ref()?;
                spec.ready_within += how.step_within.saturating_mul(READY_STEPS);
                spec.grace += command.stop_grace;
                Some(HEARTBEAT_LIMIT + how.step_within)
            }
        });
        spec.heartbeat = Heartbeat::Presence {
            components: names,
            within: within.unwrap_or(HEARTBEAT_LIMIT),
        };
        spec.ready = Ready::FirstHeartbeat;
        spec.env = self.bus_env();
        let parts: Vec<String> = process.components.iter().map(|it| describe(it)).collect();
        spec.revision = parts.join("\n");
        spec
    }

    fn of_command(&self, process: &Process<'_>, command: &Command) -> ProcessSpec {
        let mut spec = ProcessSpec::new(process.name, command.command.iter().cloned());
        spec.env = self.bus_env();
        // The robot file's own value comes last, and so counts.
        spec.env.extend(command.env.iter().cloned());
        spec.cwd = Some(command.folder.clone()).filter(|folder| folder != Path::new(""));
        spec.described = process.components.iter().map(|it| it.described()).collect();
        spec.stop_signal = command.stop_signal;
        spec.grace = command.stop_grace;
        if let Some(heartbeat) = &command.heartbeat {
            spec.heartbeat = Heartbeat::Traffic {
                channel: heartbeat.channel.clone(),
                within: heartbeat.within,
            };
            spec.ready = Ready::FirstHeartbeat;
        }
        spec
    }

    /// So that any program finds the robot's bus: ours, and those that were written for LCM.
    fn bus_env(&self) -> Vec<(String, String)> {
        let url = self.url();
        let names = ["BOWLINE_URL", "LCM_DEFAULT_URL"];
        names.map(|name| (name.to_owned(), url.clone())).into()
    }

    fn safe_plan(&self, here: &[Process<'_>]) -> SafeState {
        let processes_of = |names: &[String]| -> Vec<String> {
            let has_any = |process: &&Process<'_>| {
                process.components.iter().any(|it| names.contains(&it.name))
            };
            here.iter()
                .filter(has_any)
                .map(|process| process.name.to_owned())
                .collect()
        };
        let publications = self.safe_state.publish.iter();
        let publications = publications.map(SafeMessage::publication);
        SafeState {
            stop: processes_of(&self.safe_state.stop),
            start: processes_of(&self.safe_state.start),
            publish: publications.collect(),
        }
    }
}

impl Process<'_> {
    /// Processes of this host that are started before it. One that runs elsewhere, or that this source of data
    /// replaces, cannot be waited for.
    fn waits_for(&self, here: &[Process<'_>]) -> Vec<String> {
        let before: BTreeSet<&str> = self
            .components
            .iter()
            .flat_map(|it| &it.after)
            .map(String::as_str)
            .collect();
        let is_before = |process: &&Process<'_>| {
            process.name != self.name
                && process
                    .components
                    .iter()
                    .any(|it| before.contains(it.name.as_str()))
        };
        here.iter()
            .filter(is_before)
            .map(|process| process.name.to_owned())
            .collect()
    }
}

/// All that makes a component what it is, as one text: another text, another component.
fn describe(component: &Component) -> String {
    let (kind, settings) = match &component.program {
        Program::Kind { kind, settings, .. } => (kind, settings),
        Program::Command(command) => return format!("{} {command:?}", component.name),
    };
    let setting = |(name, value): &(String, Setting)| format!("{name}={value}");
    let settings: Vec<String> = settings.iter().map(setting).collect();
    let channels: Vec<String> = component
        .ports
        .iter()
        .map(|port| {
            format!(
                "{}={}",
                port.name,
                port.channel.as_deref().unwrap_or_default()
            )
        })
        .collect();
    format!("{} {} {settings:?} {channels:?}", component.name, kind.name)
}

impl fmt::Debug for Programs<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Programs")
    }
}
