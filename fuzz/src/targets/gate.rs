//! A gate that receives anything, at any time: whatever comes, nothing moves without a reason.

use bowline_autonomy::gate::{Contingency, Gate, Input, Rules};
use bowline_component::Time;
use bowline_msgs::{
    Authority, DirectCommand, Gate as Report, LeaseRequest, StopCommand, Task, TaskCommand, Thrust,
};
use std::time::Duration;

/// Bytes as a row of choices; at the end everything is 0.
struct Choices<'a>(&'a [u8]);

impl Choices<'_> {
    fn byte(&mut self) -> u8 {
        let Some((first, rest)) = self.0.split_first() else {
            return 0;
        };
        self.0 = rest;
        *first
    }

    fn number(&mut self) -> f64 {
        match self.byte() {
            0 => f64::NAN,
            1 => f64::INFINITY,
            2 => -2.0,
            byte => (f64::from(byte) - 128.0) / 120.0,
        }
    }
}

const START: Time = Time::from_utime(1_763_269_856_250_000);
const STATIONS: [&str; 4] = ["a", "b", "", "c"];

/// The last tokens, so that a command can bring any of them, or none.
#[derive(Default)]
struct Heard {
    tokens: Vec<(i64, Time)>,
    epoch: i64,
    sequence: i64,
}

impl Heard {
    fn authority(&mut self, choices: &mut Choices<'_>) -> (Authority, Option<Time>) {
        let who = choices.byte();
        let station = STATIONS[usize::from(who & 3)];
        let back = usize::from(choices.byte() >> 3);
        let token = self.tokens.iter().rev().nth(back).copied();
        self.sequence += i64::from(choices.byte() % 4) - 1;
        let by = Authority {
            station: station.to_owned(),
            session: i64::from(who & 3) + i64::from(who >> 6),
            epoch: self.epoch - i64::from(who >> 4 & 1),
            sequence: self.sequence,
            token: token.map_or(i64::from(who), |(token, _)| token),
        };
        (by, token.map(|(_, at)| at))
    }
}

/// When something was received that is taken now: most often at once.
fn waited(now: Time, choices: &mut Choices<'_>) -> Time {
    match choices.byte() {
        byte @ 0..=63 => now - Duration::from_millis(u64::from(byte) * 50),
        _ => now,
    }
}

pub(crate) fn run(data: &[u8]) {
    let mut choices = Choices(data);
    let rules = Rules {
        contingency: Contingency::ALL[usize::from(choices.byte() % 4)],
        ranks: [("b".to_owned(), 2)].into(),
        beat_within: (choices.byte() & 1 == 1).then_some(Duration::from_millis(500)),
        fence_m: (choices.byte() & 1 == 1)
            .then(|| vec![[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]]),
        ..Rules::default()
    };
    let ttl = rules.ttl;
    let Ok(mut gate) = Gate::<Thrust>::new(rules, START) else {
        return;
    };
    let mut now = START;
    let mut heard = Heard::default();
    // When the token of the direct command that was taken last was issued.
    let mut direct: Option<Time> = None;
    let mut n_events = 0_usize;
    while !choices.0.is_empty() {
        now = now + Duration::from_millis(u64::from(choices.byte()) * 4);
        let before = gate.report("");
        gate.advance(now);
        let was_stopped = gate.report("").is_stopped;
        let choice = choices.byte();
        let mut stops = false;
        let outcome = match choice % 8 {
            0 | 1 => {
                let token = gate.token();
                heard.epoch = token.epoch;
                heard.tokens.push((token.token, now));
                Ok(())
            }
            2 => {
                let (by, issued) = heard.authority(&mut choices);
                let ratio = choices.number();
                let command = DirectCommand {
                    by,
                    actuation: "thrust".to_owned(),
                    values: vec![ratio; 2],
                    ..DirectCommand::default()
                };
                let outcome = gate.handle(now, Input::Direct(&command));
                if outcome.is_ok() {
                    assert!(ratio.abs() <= 1.0, "what is no thrust was taken");
                    assert!(
                        issued.is_some_and(|at| now.since(at) <= ttl),
                        "a late command was taken"
                    );
                    assert!(!was_stopped, "taken while stopped");
                    direct = issued;
                }
                outcome
            }
            3 => {
                let (by, _) = heard.authority(&mut choices);
                let task = Task {
                    id: i64::from(choices.byte() % 4),
                    kind: (choices.byte() % 9).cast_signed() - 1,
                    placing: (choices.byte() % 4).cast_signed(),
                    heading_rad: choices.number(),
                    speed_mps: choices.number(),
                    lane_spacing_m: f64::NAN,
                    points_m: (0..choices.byte() % 5)
                        .map(|_| [choices.number(), choices.number()])
                        .collect(),
                    ..Task::default()
                };
                let command = TaskCommand {
                    by,
                    task,
                    ..TaskCommand::default()
                };
                gate.handle(now, Input::Task(&command))
            }
            4 => {
                let (by, _) = heard.authority(&mut choices);
                let ask = (choices.byte() % 4).cast_signed();
                stops = ask == StopCommand::STOP;
                let command = StopCommand {
                    by,
                    ask,
                    ..StopCommand::default()
                };
                gate.handle(now, Input::Stop(&command))
            }
            5 => {
                let (by, _) = heard.authority(&mut choices);
                let ask = (choices.byte() % 8).cast_signed();
                let request = LeaseRequest {
                    by,
                    ask,
                    rank: i32::from(choices.byte()),
                    ..LeaseRequest::default()
                };
                gate.handle(now, Input::Lease(&request))
            }
            6 => {
                let ratio = choices.number();
                let received = waited(now, &mut choices);
                let wish = Thrust {
                    utime: 0,
                    port_ratio: ratio,
                    starboard_ratio: ratio,
                };
                gate.handle_received(now, received, Input::Wish(&wish))
            }
            _ if choice & 8 == 0 => {
                gate.handle_received(now, waited(now, &mut choices), Input::Beat)
            }
            _ => {
                let place_m = [choices.number(), choices.number()];
                gate.handle_received(now, waited(now, &mut choices), Input::Place(place_m))
            }
        };
        let report = gate.report("");
        let output = gate.output();
        assert!(output.port_ratio.abs() <= 1.0, "{output:?}");
        if stops {
            assert!(outcome.is_ok() && report.is_stopped, "a stop is a stop");
        }
        let is_moving = output.port_ratio != 0.0;
        match report.state {
            Report::STOPPED | Report::IDLE => assert!(!is_moving, "{report:?}"),
            Report::OPERATED => {
                assert_ne!(report.session, 0, "operated by no station");
                if report.level == Report::DIRECT && is_moving {
                    assert!(
                        direct.is_some_and(|at| now.since(at) <= ttl),
                        "an old command moves it"
                    );
                }
            }
            _ => {}
        }
        // A stop ends by a clearing alone, and nothing moves because of it.
        if was_stopped && !report.is_stopped {
            assert!(choice % 8 == 4 && !is_moving);
        }
        assert!(report.epoch >= before.epoch, "epochs only grow");
        assert_eq!(report.holder.is_empty(), report.session == 0);
        let refused: i64 = report.n_refusals.iter().sum();
        assert_eq!(refused, report.n_refused);
        n_events += gate.events().count();
        // Nothing piles up: some tasks for each step.
        assert!(n_events <= 8 * (data.len() + 1));
        assert!(
            gate.deadline().is_none_or(|deadline| deadline > now),
            "a deadline that has passed goes round"
        );
    }
}
