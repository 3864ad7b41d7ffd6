//! Vectors from a seeded walk over the client: they compare the page with it in cases that are not written down.

use crate::bench::{Bench, members};
use crate::vectors::{file, path};
use bowline_wire::random::Random;
use serde_json::{Value, json};

const N_WALKS: u64 = 40;
const N_STEPS: u64 = 60;

/// Draws from the numbers of a seed.
struct Dice(Random);

impl Dice {
    fn below(&mut self, n: u64) -> u64 {
        self.0.below(n)
    }

    fn one_of<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.0.index(of.len())]
    }

    fn is_hit(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }
}

/// What a walk has reached: who holds the lease, under which epoch.
struct Walk {
    random: Dice,
    ms: u64,
    token: u64,
    holder: (u64, u64),
    /// Since when the vehicle is stopped, if it is.
    stopped_ms: Option<u64>,
    /// How often something goes wrong, percent of what goes wrong in a rough walk.
    roughness: u64,
}

impl Walk {
    /// Whether something goes wrong that goes wrong so often in a rough walk, percent.
    fn is_bad_luck(&mut self, percent: u64) -> bool {
        self.random.is_hit(percent * self.roughness / 100)
    }

    /// An event that can happen now, mostly one that makes sense.
    fn event(&mut self) -> (&'static str, Value) {
        match self.random.below(20) {
            0 => ("rules", json!({})),
            1..=3 => self.token(),
            4..=6 => self.state(),
            7 => self.refusal(),
            8 => {
                let id = self.random.below(3);
                (
                    "passed_on",
                    json!({ "id": id, "kind": self.random.one_of(&[2, 4]) }),
                )
            }
            9..=10 => {
                let names = ["take", "take", "preempt", "release", "consent", "deny"];
                ("request", json!(self.random.one_of(&names)))
            }
            11 => match self.random.below(4) {
                0 => ("dismiss_stop", json!(true)),
                1 => ("published", json!(self.random.is_hit(70))),
                _ => ("press_stop", json!("a walk")),
            },
            12 => ("clear", json!(true)),
            13 => {
                let id = self.random.below(2) + 1;
                (
                    "give",
                    json!({ "id": id, "kind": self.random.one_of(&[2, 4]) }),
                )
            }
            14 => match self.random.below(4) {
                0 => ("drop_task", json!(true)),
                1 => ("disengage", json!("let go")),
                _ => ("engage", json!(true)),
            },
            15..=16 => ("tick", self.tick()),
            _ => {
                let until = self.ms + 100 * (self.random.below(12) + 1);
                let mut run =
                    json!({ "until": until, "every": self.random.one_of(&[10, 33, 100]) });
                if !self.is_bad_luck(30) {
                    run["tokens_every"] = json!(50);
                }
                if self.random.is_hit(50) {
                    run["setpoint"] = self.setpoint();
                }
                ("run", run)
            }
        }
    }

    fn token(&mut self) -> (&'static str, Value) {
        self.token += 1;
        self.change_holder();
        let (session, epoch) = self.holder;
        let mut token = json!({ "token": self.token, "session": session, "epoch": epoch });
        self.make_late(&mut token);
        ("token", token)
    }

    fn state(&mut self) -> (&'static str, Value) {
        self.change_holder();
        if self.is_bad_luck(25) {
            self.stopped_ms = match self.stopped_ms {
                Some(_) if self.random.is_hit(60) => None,
                _ => Some(self.ms),
            };
        }
        let (session, epoch) = self.holder;
        let mut state = json!({ "session": session, "epoch": epoch });
        if let Some(since_ms) = self.stopped_ms {
            state["is_stopped"] = json!(true);
            state["since_ms"] = json!(since_ms);
            state["stopped_by"] = json!(self.random.one_of(&["bridge/anna", "deck"]));
        }
        if self.random.is_hit(15) {
            state["asking"] = json!(self.random.one_of(&["bridge/anna", "deck"]));
        }
        self.make_late(&mut state);
        ("state", state)
    }

    fn change_holder(&mut self) {
        if self.is_bad_luck(20) {
            let (_, epoch) = self.holder;
            self.holder = match self.random.below(4) {
                0 => (0, epoch),
                1 => (9, epoch + 1),
                _ => (77, epoch + 1),
            };
        }
    }

    /// Overtaken, or from a clock that was set back.
    fn make_late(&mut self, message: &mut Value) {
        if self.is_bad_luck(10) {
            let late_ms = self.random.one_of(&[20, 400, 5_000, 5_001, 9_000]);
            let ms = i64::try_from(self.ms).unwrap() - late_ms;
            message["vehicle_ms"] = json!(ms);
        }
    }

    fn refusal(&mut self) -> (&'static str, Value) {
        let commands = [
            "take", "clear", "task", "direct", "preempt", "release", "deny",
        ];
        let reasons = [
            "stale", "unseen", "asked", "denied", "stopped", "neutral", "lease",
        ];
        let mut refusal = json!({
            "command": self.random.one_of(&commands),
            "reason": self.random.one_of(&reasons),
            "text": "why",
        });
        if self.random.is_hit(20) {
            refusal["offset"] = json!(-2_000_000_000_i64);
        }
        ("refusal", refusal)
    }

    fn tick(&mut self) -> Value {
        let mut tick = json!({});
        if self.random.is_hit(40) {
            tick["setpoint"] = self.setpoint();
        }
        if self.is_bad_luck(5) {
            tick["away"] = json!("away");
        }
        tick
    }

    fn setpoint(&mut self) -> Value {
        let values = [0.0, 0.0005, 0.25, -0.5, 1.0, -3.0];
        json!([self.random.one_of(&values), self.random.one_of(&values)])
    }
}

fn walk(seed: u64, file: &Value) -> Value {
    let mut bench = Bench::new(file);
    let mut walk = Walk {
        random: Dice(Random::new(seed)),
        ms: 0,
        token: 0,
        holder: if seed.is_multiple_of(2) {
            (77, 1)
        } else {
            (0, 0)
        },
        stopped_ms: None,
        roughness: if seed.is_multiple_of(2) { 12 } else { 100 },
    };
    let mut steps = Vec::new();
    let mut before = bench.standing();
    for nth in 0..N_STEPS {
        let (event, of) = match nth {
            0 => ("rules", json!({})),
            1 => walk.token(),
            2 => walk.state(),
            3 | 20 | 40 => ("engage", json!(true)),
            4 | 21 | 41 => {
                let until = walk.ms + 600;
                (
                    "run",
                    json!({ "until": until, "every": 10, "tokens_every": 50 }),
                )
            }
            5 | 22 => {
                let until = walk.ms + 200;
                let run = json!({ "until": until, "every": 10, "setpoint": walk.setpoint(), "tokens_every": 50 });
                ("run", run)
            }
            6 | 23 => (
                "run",
                json!({ "until": walk.ms + 100, "every": 10, "tokens_every": 50 }),
            ),
            _ => walk.event(),
        };
        let mut step = json!({ "at": walk.ms, event: of });
        let sent = bench.happen(&step);
        let sent: Vec<Value> = sent.iter().map(members).collect();
        if event == "run" {
            step["sends"] = crate::vectors::counts(&sent);
            step["values"] = crate::vectors::values(&sent);
            walk.ms = step["run"]["until"].as_u64().unwrap();
        } else if !sent.is_empty() {
            step["sends"] = sent.into();
        }
        let now = bench.standing();
        let changed = now.as_object().unwrap().iter();
        let changed = changed.filter(|(name, value)| before[name.as_str()] != **value);
        step["is"] = Value::Object(
            changed
                .map(|(name, value)| (name.clone(), value.clone()))
                .collect(),
        );
        before = now;
        steps.push(step);
        walk.ms += walk.random.one_of(&[0, 1, 10, 10, 50, 200, 600]);
    }
    json!({ "name": format!("walk_{seed}"), "steps": steps })
}

/// One step on a line.
fn to_text(file: &Value, vectors: &[Value]) -> String {
    let about = "Generated by tests/it/explored.rs from a seeded walk over the Rust machine: `BOWLINE_WRITE=1 cargo test -p bowline-operator` writes it. README.md has the format.";
    let mut text = format!(
        "{{\n\"about\": {},\n\"identity\": {},\n\"rules\": {},\n\"vectors\": [\n",
        json!(about),
        file["identity"],
        file["rules"]
    );
    for (at, vector) in vectors.iter().enumerate() {
        let steps = vector["steps"].as_array().unwrap();
        let lines: Vec<String> = steps.iter().map(|it| format!("  {it}")).collect();
        let end = if at + 1 < vectors.len() { "," } else { "" };
        text += &format!(
            "{{\"name\": {}, \"steps\": [\n{}\n]}}{end}\n",
            vector["name"],
            lines.join(",\n")
        );
    }
    text + "]\n}\n"
}

#[test]
fn explored_vectors_are_those_of_this_client() {
    let specified = file("specified");
    let walks: Vec<Value> = (0..N_WALKS).map(|seed| walk(seed, &specified)).collect();
    let standings: Vec<String> = walks
        .iter()
        .flat_map(|it| it["steps"].as_array().unwrap())
        .map(|it| it["is"].to_string())
        .collect();
    for reached in [
        "\"driving\"",
        "\"trailing\"",
        "\"asking\"",
        "\"confirmed\"",
        "\"expired\"",
        "\"refused\"",
        "\"replaced\"",
        "\"lost\"",
        "\"other\"",
    ] {
        assert!(
            standings.iter().any(|it| it.contains(reached)),
            "no walk reaches {reached}"
        );
    }
    let text = to_text(&specified, &walks);
    if std::env::var_os("BOWLINE_WRITE").is_some() {
        std::fs::write(path("explored"), &text).unwrap();
    }
    let committed = std::fs::read_to_string(path("explored")).unwrap();
    assert!(
        committed == text,
        "vectors/explored.json is of another client: BOWLINE_WRITE=1 writes it anew"
    );
}
