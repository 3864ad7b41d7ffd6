//! The messages of a supervisor: status, alarms and output.

use super::claim::Identity;
use super::lines::Batch;
use super::machine::{Machine, Phase};
use super::plan::ProcessSpec;
use super::slot::Slot;
use bowline_component::{AlarmKind, Severity, Time};
use bowline_msgs::{Alarm, Output, Supervised, Supervisor};

/// Where supervisors publish what they and their processes are doing, as `bowline.supervisor_t`.
pub const SUPERVISOR_CHANNEL: &str = "bowline.supervisor";
/// Where what processes print is published, as `bowline.output_t`.
pub const OUTPUT_CHANNEL: &str = "bowline.output";

/// Where supervisors publish which experiments a robot has, as `bowline.experiment_t`.
pub const EXPERIMENT_CHANNEL: &str = "bowline.experiment";

/// Raised for a process that is not started again by itself.
const GIVEN_UP: AlarmKind = AlarmKind {
    id: "given_up",
    severity: Severity::Alarm,
    consequence: "the process stays stopped, and what needs it does without",
    action: "see `bowline logs` of the process; then `bowline start` it",
};

/// Lines in one message, at most.
const MAX_LINES: usize = 512;
/// Processes in one status, at most.
const MAX_PROCESSES: usize = 1024;

/// A supervisor's status without processes.
pub(crate) fn status(own: &Identity, now: Time, state: i8) -> Supervisor {
    Supervisor {
        utime: now.utime(),
        robot: own.robot.clone(),
        host: own.host.clone(),
        machine: own.machine.clone(),
        pid: own.pid,
        instance: own.instance,
        state,
        ..Supervisor::default()
    }
}

/// How a supervisor and its processes are.
pub(crate) fn full_status(
    own: &Identity,
    now: Time,
    machine: &Machine,
    processes: &[(&ProcessSpec, &Slot)],
) -> Supervisor {
    let state = match (machine.is_ending(), machine.is_safe_state()) {
        (true, _) if machine.is_over() => Supervisor::ENDED,
        (true, _) => Supervisor::STOPPING,
        (false, true) => Supervisor::SAFE,
        (false, false) => Supervisor::RUNNING,
    };
    let name = |place: usize| {
        processes
            .get(place)
            .map_or("", |(spec, _)| spec.name.as_str())
    };
    let alarms = machine.alarms();
    let alarms = alarms.map(|(place, text)| format!("{}: {text}", name(place)));
    let alarms: Vec<String> = alarms.collect();
    let processes = processes.iter().enumerate().take(MAX_PROCESSES);
    let processes =
        processes.filter_map(|(place, (spec, slot))| supervised(now, machine, place, spec, slot));
    let status = Supervisor {
        alarm: alarms.join("\n"),
        processes: processes.collect(),
        ..status(own, now, state)
    };
    status.with_lengths()
}

fn supervised(
    now: Time,
    machine: &Machine,
    place: usize,
    spec: &ProcessSpec,
    slot: &Slot,
) -> Option<Supervised> {
    let view = machine.view(place, now)?;
    let is_stranger = spec.argv.is_empty();
    if is_stranger && slot.run.is_none() {
        return None;
    }
    let run = slot.run.as_ref();
    let health = match slot.health.is_empty() {
        true => view.health,
        false => slot.health.clone(),
    };
    let health = [health, extensions(view.n_extensions)];
    let health: Vec<String> = health.into_iter().filter(|it| !it.is_empty()).collect();
    let supervised = Supervised {
        name: spec.name.clone(),
        group: spec.group.clone(),
        components: spec.components.clone(),
        state: state(view.phase),
        pid: run.map_or(0, |run| run.pid.as_raw_nonzero().get()),
        is_adopted: run.is_some_and(|run| run.is_adopted),
        n_restarts: i32::try_from(view.n_restarts).unwrap_or(i32::MAX),
        last_exit: view.last_exit.to_owned(),
        started_utime: slot.started_utime,
        cpu_ratio: slot.usage.cpu_ratio,
        memory_bytes: slot.usage.memory_bytes,
        health: health.join("; "),
        n_lines: slot.lines.n_lines,
        n_lines_dropped: slot.lines.n_dropped,
        n_bytes_skipped: i64::try_from(slot.n_skipped()).unwrap_or(i64::MAX),
        ..Supervised::default()
    };
    Some(supervised.with_lengths())
}

/// How often a process was given more time, in words; nothing if it never was.
fn extensions(n: u64) -> String {
    match n {
        0 => String::new(),
        1 => "given more time once: the machine was busy".to_owned(),
        n => format!("given more time {n} times: the machine was busy"),
    }
}

fn state(phase: Phase) -> i8 {
    match phase {
        Phase::Stopped => Supervised::STOPPED,
        Phase::Finished => Supervised::FINISHED,
        Phase::GivenUp => Supervised::GIVEN_UP,
        Phase::Waiting => Supervised::WAITING,
        Phase::Resting => Supervised::RESTING,
        Phase::Starting => Supervised::STARTING,
        Phase::Running => Supervised::RUNNING,
        Phase::Stopping => Supervised::STOPPING,
    }
}

/// An alarm about a process, or its end.
pub(crate) fn alarm(
    own: &Identity,
    now: Time,
    source: &str,
    since: Time,
    text: Option<&str>,
) -> Alarm {
    Alarm {
        utime: now.utime(),
        since_utime: since.utime(),
        robot: own.robot.clone(),
        host: own.host.clone(),
        source: source.to_owned(),
        id: GIVEN_UP.id.to_owned(),
        severity: GIVEN_UP.severity.code(),
        state: if text.is_some() {
            Alarm::RAISED
        } else {
            Alarm::CLEARED
        },
        cause: text.unwrap_or_default().to_owned(),
        consequence: GIVEN_UP.consequence.to_owned(),
        action: GIVEN_UP.action.to_owned(),
    }
}

/// The text for a process that printed nothing.
pub(crate) fn output_of_nothing(own: &Identity, now: Time, name: &str, slot: &Slot) -> Output {
    Output {
        utime: now.utime(),
        robot: own.robot.clone(),
        host: own.host.clone(),
        process: name.to_owned(),
        first_line: slot.lines.n_lines,
        n_lines_dropped: slot.lines.n_dropped,
        n_bytes_skipped: i64::try_from(slot.n_skipped()).unwrap_or(i64::MAX),
        ..Output::default()
    }
}

/// Lines of a process, in messages of a size that any receiver takes.
pub(crate) fn output(
    own: &Identity,
    now: Time,
    name: &str,
    slot: &Slot,
    batch: Batch,
) -> Vec<Output> {
    let mut first = batch.first;
    let parts = batch.lines.chunks(MAX_LINES).map(|lines| {
        let output = Output {
            first_line: first,
            lines: lines.to_vec(),
            ..output_of_nothing(own, now, name, slot)
        };
        first += i64::try_from(lines.len()).unwrap_or(0);
        output.with_lengths()
    });
    parts.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extensions_are_reported_with_their_number_and_not_at_all_if_there_were_none() {
        let expected = [
            "",
            "given more time once: the machine was busy",
            "given more time 7 times: the machine was busy",
        ];
        assert_eq!([0, 1, 7].map(extensions), expected);
    }
}
