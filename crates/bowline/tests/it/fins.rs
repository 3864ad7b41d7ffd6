//! A third kind of actuation, of a program: an underwater vehicle's propeller, rudder and elevator. Nothing of Bowline
//! names it, and gate, rules, clients, scripts and the command line take it all the same.
#![expect(clippy::float_cmp, reason = "its numbers are exact")]

use crate::hosted::{Hosted, instance};
use crate::{bowline_in, scratch, stderr, stdout, write};
use bowline::App;
use bowline::autonomy::gate::{Actuation, Axis, GateComponent, Hands};
use bowline::autonomy::operator::Operator;
use bowline::bus::{Bus, Hub, Queue};
use bowline::component::{Kind, Setting};
use bowline::sim::{ActuationKind, Tables};
use bowline::wire::{
    Decode, DecodeError, Encode, EncodeError, Fingerprint, Message, Meter, Reader, Writer,
};
use bowline_testing::patience::PATIENCE;
use serde_json::Value;

/// What its actuators read.
#[derive(Clone, Debug, Default, PartialEq)]
struct Fins {
    utime: i64,
    propeller_ratio: f64,
    rudder_rad: f64,
    elevator_rad: f64,
}

impl Message for Fins {
    const NAME: &'static str = "torpedo.fins_t";
    const FINGERPRINT: Fingerprint = Fingerprint(0x0f1e_2d3c_4b5a_6978);

    fn utime(&self) -> Option<i64> {
        Some(self.utime)
    }
}

impl Encode for Fins {
    fn measure(&self, meter: &mut Meter) -> Result<(), EncodeError> {
        meter.add(32);
        Ok(())
    }

    fn write(&self, writer: &mut Writer<'_>) {
        self.utime.write(writer);
        for value in [self.propeller_ratio, self.rudder_rad, self.elevator_rad] {
            value.write(writer);
        }
    }
}

impl<'a> Decode<'a> for Fins {
    const MIN_SIZE: usize = 32;

    fn read(reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
        Ok(Self {
            utime: Decode::read(reader)?,
            propeller_ratio: Decode::read(reader)?,
            rudder_rad: Decode::read(reader)?,
            elevator_rad: Decode::read(reader)?,
        })
    }
}

const fn hands(ahead: f64, left: f64) -> Hands {
    Hands { ahead, left }
}

impl Actuation for Fins {
    const WORD: &'static str = "fins";
    const VERB: &'static str = "fly";
    const AXES: &'static [Axis<Self>] = &[
        Axis {
            field: "propeller_ratio",
            word: "propeller",
            unit: "ratio",
            bound: 1.0,
            direct_limit: 1.0,
            hands: hands(1.0, 0.0),
            moves: true,
            get: |it| it.propeller_ratio,
            set: |it, value| it.propeller_ratio = value,
        },
        Axis {
            field: "rudder_rad",
            word: "rudder",
            unit: "rad",
            bound: 1.0,
            direct_limit: 0.5,
            hands: hands(0.0, 1.0),
            moves: false,
            get: |it| it.rudder_rad,
            set: |it, value| it.rudder_rad = value,
        },
        Axis {
            field: "elevator_rad",
            word: "elevator",
            unit: "rad",
            bound: 1.0,
            direct_limit: 0.25,
            hands: hands(0.0, 0.0),
            moves: false,
            get: |it| it.elevator_rad,
            set: |it, value| it.elevator_rad = value,
        },
    ];

    fn at(&self, utime: i64) -> Self {
        Self { utime, ..*self }
    }
}

const GATE: Kind = Kind::of::<GateComponent<Fins>>("gate_fins", "Decides what may move a torpedo.");

/// The rows of a program that simulates it.
#[derive(Debug)]
struct Torpedo;

impl Tables for Torpedo {
    const ACTUATIONS: &'static [ActuationKind] = &[FINS];
}

/// The row.
const FINS: ActuationKind = ActuationKind {
    needs: "a <propeller>",
    elements: &[],
    build: |_| Ok(None),
    gate: Some(GATE),
};

#[test]
fn gate_of_a_programs_actuation_is_a_kind_that_robot_files_name() {
    let folder = scratch("fins-app");
    let text = "[robot]\nname = \"torpedo\"\n[component.gate]\nkind = \"gate_fins\"\n\
                parameters = { direct_limits = [0.5, 0.3, 0.2] }\n\
                [experiment.dive]\ncomponents = [\"gate\"]\n";
    let file = write(&folder, "robot.toml", text);
    let loaded = App::new().simulator::<Torpedo>().load(&file).unwrap();
    assert_eq!(loaded.robot.name(), "torpedo");
    let error = App::new().load(&file).unwrap_err().to_string();
    assert!(error.contains("gate_fins"), "{error}");
    let clash = App::new()
        .simulator::<Torpedo>()
        .simulator::<Torpedo>()
        .check();
    assert!(clash.unwrap_err().to_string().contains("gate_fins"));
}

#[test]
fn three_axes_are_driven_from_the_command_line_by_the_rules_of_the_gate() {
    let folder = scratch("fins-operate");
    let hub = Hub::open("tcpq://127.0.0.1:0").unwrap();
    let url = hub.url().to_string();
    let bus = Bus::open(&url).unwrap();
    let commands = bus
        .subscribe_queued::<Fins>("fins.command", Queue::default())
        .unwrap();
    let _gate = Hosted::start(&url, vec![instance(&GATE, &[])]);
    let operate = |args: &[&str]| {
        let args = [&["operate"], args, &["-l", &url, "--station", "bridge"]].concat();
        bowline_in(&folder, &args, b"")
    };
    assert_eq!(operate(&["clear"]).status.code(), Some(0));
    for (args, expected) in [
        (
            &["thrust", "0.3", "0.3"][..],
            "expected \"fly\", which this vehicle is driven by",
        ),
        (
            &["fly", "0.5", "10"],
            "expected propeller in ratio and rudder in degrees and elevator in degrees, found 2 numbers",
        ),
        (
            &["fly", "0.5", "10", "-20"],
            "expected elevator_rad from -0.25 to 0.25",
        ),
    ] {
        let output = operate(args);
        assert_eq!(output.status.code(), Some(1), "{args:?}");
        assert!(
            stderr(&output).contains(expected),
            "{args:?}: {}",
            stderr(&output)
        );
    }
    let output = operate(&["fly", "0.5", "10", "-5", "for=500ms"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let expected = [0.5, 10_f64.to_radians(), -5_f64.to_radians()];
    while let Some(fins) = commands.recv_timeout(PATIENCE).unwrap() {
        if [fins.propeller_ratio, fins.rudder_rad, fins.elevator_rad] == expected {
            break;
        }
    }
    let status: Value = serde_json::from_str(&stdout(&operate(&["status", "--json"]))).unwrap();
    let rules = &status["rules"];
    assert_eq!(
        (
            rules["actuation"].as_str(),
            rules["verb"].as_str(),
            rules["setpoint"].as_str()
        ),
        (Some("fins"), Some("fly"), Some("fins.command"))
    );
    assert_eq!(rules["axes"][2]["word"], "elevator");
}

#[test]
fn three_axes_are_driven_by_a_script() {
    let hub = Hub::open("tcpq://127.0.0.1:0").unwrap();
    let url = hub.url().to_string();
    let bus = Bus::open(&url).unwrap();
    let commands = bus
        .subscribe_queued::<Fins>("fins.command", Queue::default())
        .unwrap();
    let steps = ["take", "clear", "fly 0.25 -3 2 for=300ms", "release"];
    let steps = steps.map(|it| Setting::Text(it.to_owned())).to_vec();
    let operator = Kind::of::<Operator>("operator", "Commands a vehicle by a script.");
    let operator = instance(&operator, &[("steps", Setting::List(steps))]);
    let _running = Hosted::start(&url, vec![instance(&GATE, &[]), operator]);
    let expected = [0.25, -3_f64.to_radians(), 2_f64.to_radians()];
    loop {
        let fins = commands.recv_timeout(PATIENCE).unwrap();
        let fins = fins.unwrap_or_else(|| panic!("the fins never moved"));
        if [fins.propeller_ratio, fins.rudder_rad, fins.elevator_rad] == expected {
            return;
        }
    }
}
