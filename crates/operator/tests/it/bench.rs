//! A client, and what the steps of a vector do to it. `vectors/README.md` has the format.

use bowline_msgs::{Authority, Gate, GateAxis, GateRules, GateToken, Refusal, Task};
use bowline_operator::{
    Client, Drive, Effect, Identity, Lease, Now, Outgoing, Payload, Progress, Request, StopState,
};
use serde_json::{Map, Value, json};

const STATION_UTIME: i64 = 1_000_000_000;
const VEHICLE_UTIME: i64 = 5_000_000_000;

pub(crate) struct Bench {
    client: Client,
    rules: Value,
    token: (i64, i64, i64),
    sequence: i64,
}

fn now_at(ms: i64) -> Now {
    Now {
        ms,
        utime: STATION_UTIME + ms * 1_000,
    }
}

fn number(of: &Value, name: &str, otherwise: i64) -> i64 {
    of.get(name).map_or(otherwise, |it| it.as_i64().unwrap())
}

fn text(of: &Value, name: &str) -> String {
    of.get(name)
        .map_or("", |it| it.as_str().unwrap())
        .to_owned()
}

fn setpoint(of: &Value) -> Option<Vec<f64>> {
    let values = of.get("setpoint")?.as_array().unwrap().iter();
    Some(values.map(|it| it.as_f64().unwrap()).collect())
}

fn task(of: &Value) -> Task {
    Task {
        id: number(of, "id", 0),
        kind: i8::try_from(number(of, "kind", 0)).unwrap(),
        ..Task::default()
    }
}

impl Bench {
    pub(crate) fn new(file: &Value) -> Self {
        let of = &file["identity"];
        Self {
            client: Client::new(Identity {
                station: text(of, "station"),
                session: number(of, "session", 0),
                rank: i32::try_from(number(of, "rank", 0)).unwrap(),
            }),
            rules: file["rules"].clone(),
            token: (0, 0, 0),
            sequence: 0,
        }
    }

    /// What the event of a step sends.
    pub(crate) fn happen(&mut self, step: &Value) -> Vec<Outgoing> {
        let now = now_at(number(step, "at", 0));
        let events = step.as_object().unwrap().iter();
        let sent = events.filter_map(|(event, of)| self.event(event, of, now));
        let sent: Vec<Outgoing> = sent.flatten().collect();
        if let Some(last) = sent.last() {
            self.sequence = last.payload.by().sequence;
        }
        sent
    }

    fn event(&mut self, event: &str, of: &Value, now: Now) -> Option<Vec<Outgoing>> {
        let client = &mut self.client;
        match event {
            "request" => return Some(client.request(request(of.as_str().unwrap()), now)),
            "press_stop" => return Some(client.press_stop(of.as_str().unwrap(), now)),
            "clear" => return Some(client.clear(now)),
            "give" => return Some(client.give(task(of), now)),
            "tick" => return Some(client.tick(setpoint(of).as_deref(), &text(of, "away"), now)),
            "run" => return Some(self.run(of, now)),
            "token" => self.receive_token(of, now),
            "state" => self.receive_state(of, now),
            "refusal" => self.receive_refusal(of, now),
            "rules" => {
                let rules = self.rules_with(of);
                self.client.receive_rules(&rules);
            }
            "passed_on" => client.receive_task(&task(of)),
            "published" => client.stop_published(of.as_bool().unwrap()),
            "dismiss_stop" => client.dismiss_stop(),
            "drop_task" => client.drop_task(),
            "engage" => client.engage(),
            "disengage" => client.disengage(of.as_str().unwrap()),
            "at" | "sends" | "values" | "is" => {}
            other => panic!("{other:?} is no event"),
        }
        None
    }

    fn receive_token(&mut self, of: &Value, now: Now) {
        self.token = (
            number(of, "token", 0),
            number(of, "session", 0),
            number(of, "epoch", 0),
        );
        let (token, session, epoch) = self.token;
        let utime = VEHICLE_UTIME + number(of, "vehicle_ms", now.ms) * 1_000;
        let token = GateToken {
            utime,
            token,
            epoch,
            session,
        };
        self.client.receive_token(&token, now);
    }

    fn receive_state(&mut self, of: &Value, now: Now) {
        let gate = Gate {
            utime: VEHICLE_UTIME + number(of, "vehicle_ms", now.ms) * 1_000,
            since_utime: VEHICLE_UTIME + number(of, "since_ms", 0) * 1_000,
            session: number(of, "session", 0),
            epoch: number(of, "epoch", 0),
            holder: text(of, "holder"),
            asking: text(of, "asking"),
            is_stopped: of.get("is_stopped").is_some_and(|it| it.as_bool().unwrap()),
            stopped_by: text(of, "stopped_by"),
            ..Gate::default()
        };
        let received_ms = number(of, "received_ms", now.ms);
        self.client.receive_state(&gate, now_at(received_ms).utime);
    }

    fn receive_refusal(&mut self, of: &Value, now: Now) {
        let identity = self.client.session().identity();
        let station = match of.get("station") {
            Some(_) => text(of, "station"),
            None => identity.station.clone(),
        };
        let by = Authority {
            station,
            session: number(of, "session", identity.session),
            sequence: self.sequence + number(of, "offset", 0),
            ..Authority::default()
        };
        let refusal = Refusal {
            by,
            command: text(of, "command"),
            reason: text(of, "reason"),
            text: text(of, "text"),
            ..Refusal::default()
        };
        self.client.receive_refusal(&refusal, now);
    }

    fn run(&mut self, of: &Value, from: Now) -> Vec<Outgoing> {
        let tokens_every = number(of, "tokens_every", 0);
        let setpoint = setpoint(of);
        let mut sent = Vec::new();
        let mut ms = from.ms;
        while ms < number(of, "until", 0) {
            if tokens_every > 0 && ms % tokens_every == 0 {
                let (token, session, epoch) = self.token;
                let of = json!({ "token": token + 1, "session": session, "epoch": epoch });
                self.receive_token(&of, now_at(ms));
            }
            sent.extend(self.client.tick(setpoint.as_deref(), "", now_at(ms)));
            ms += number(of, "every", 10);
        }
        sent
    }

    fn rules_with(&self, changes: &Value) -> GateRules {
        let mut of = self.rules.clone();
        for (name, value) in changes.as_object().unwrap() {
            of[name] = value.clone();
        }
        let axis = |it: &Value| GateAxis {
            field: text(it, "field"),
            min: it["min"].as_f64().unwrap(),
            max: it["max"].as_f64().unwrap(),
            ..GateAxis::default()
        };
        GateRules {
            actuation: text(&of, "actuation"),
            axes: of["axes"].as_array().unwrap().iter().map(axis).collect(),
            direct_max_age_us: number(&of, "direct_max_age_us", 0),
            setpoint_us: number(&of, "setpoint_us", 0),
            neutral_us: number(&of, "neutral_us", 0),
            lease_us: number(&of, "lease_us", 0),
            ..GateRules::default()
        }
        .with_lengths()
    }

    /// How the client stands, under the names that vectors have.
    pub(crate) fn standing(&self) -> Value {
        let client = &self.client;
        json!({
            "lease": lease(client.lease()),
            "stop": stop(client.stop_state()),
            "direct": drive(client.direct().state()),
            "reason": client.direct().reason(),
            "holder": client.is_holder(),
            "request": progress(client.lease_progress()),
            "clear": progress(client.clear_progress()),
            "task": progress(client.task_progress()),
        })
    }
}

/// A command under the names that vectors have.
pub(crate) fn members(outgoing: &Outgoing) -> Value {
    let Outgoing {
        command,
        payload,
        is_repeated,
    } = outgoing;
    let by = payload.by();
    let since_us = by.sequence - STATION_UTIME;
    let mut members = Map::new();
    members.insert("command".into(), command.name.into());
    members.insert("epoch".into(), by.epoch.into());
    members.insert("token".into(), by.token.into());
    let sequence = match since_us % 1_000 {
        0 => json!(since_us / 1_000),
        #[expect(clippy::cast_precision_loss, reason = "seconds of a test")]
        _ => json!(since_us as f64 / 1e3),
    };
    members.insert("sequence".into(), sequence);
    members.insert("repeated".into(), (*is_repeated).into());
    match payload {
        Payload::Lease(it) => members.insert("rank".into(), it.rank.into()),
        Payload::Stop(it) => members.insert("reason".into(), it.reason.clone().into()),
        Payload::Task(it) => members.insert("id".into(), it.task.id.into()),
        Payload::Direct(it) => {
            members.insert("actuation".into(), it.actuation.clone().into());
            members.insert("values".into(), json!(it.values))
        }
    };
    assert_eq!(
        members.contains_key("values"),
        command.effect == Effect::Direct
    );
    members.into()
}

fn request(name: &str) -> Request {
    let all = [
        Request::Take,
        Request::Preempt,
        Request::Release,
        Request::Consent,
        Request::Deny,
    ];
    all.into_iter().find(|it| it.name() == name).unwrap()
}

fn lease(lease: Lease) -> &'static str {
    match lease {
        Lease::Unknown => "unknown",
        Lease::Free => "free",
        Lease::Taking => "taking",
        Lease::Asking => "asking",
        Lease::Held => "held",
        Lease::Other => "other",
    }
}

fn stop(stop: StopState) -> &'static str {
    match stop {
        StopState::None => "none",
        StopState::Unsent => "unsent",
        StopState::Sent => "sent",
        StopState::Confirmed => "confirmed",
    }
}

fn drive(drive: Drive) -> &'static str {
    match drive {
        Drive::Off => "off",
        Drive::Arming => "arming",
        Drive::Ready => "ready",
        Drive::Driving => "driving",
        Drive::Trailing => "trailing",
    }
}

fn progress(progress: Progress) -> &'static str {
    match progress {
        Progress::Idle => "idle",
        Progress::Waiting => "waiting",
        Progress::Done => "done",
        Progress::Refused => "refused",
        Progress::Expired => "expired",
        Progress::Lost => "lost",
        Progress::Replaced => "replaced",
    }
}
