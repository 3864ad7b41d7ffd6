//! Parameters: defaults, types, limits, words.

use bowline_component::{
    Build, BuildError, Change, Component, Kind, Outbox, Parameters as _, Ports, Setting, Step,
    Vehicle,
};
use std::time::Duration;

bowline_component::parameters! {
    /// One of each.
    struct All {
        /// A number.
        number: f64 = 2.5, within -10.0..=10.0 => live;
        /// A count.
        count: i64 = 3, within 1..=5;
        /// A switch.
        switch: bool = true;
        /// A word.
        word: String = "left".into(), within ["left", "right"];
        /// A while.
        patience: Duration = Duration::from_millis(250), within Duration::ZERO..=Duration::from_secs(5);
        /// Numbers.
        gains: Vec<f64> = vec![1.0, 2.0];
        /// Words.
        names: Vec<String> = vec![];
    }
}

#[test]
fn value_errors_are_reported() {
    let cases = [
        (
            "number",
            "11",
            "parameter \"number\" must be -10.0 to 10.0, found 11",
        ),
        (
            "number",
            "\"a\"",
            "parameter \"number\" is a number, found the text \"a\"",
        ),
        (
            "number",
            "nan",
            "parameter \"number\" must be -10.0 to 10.0, found nan",
        ),
        (
            "count",
            "1.5",
            "parameter \"count\" is a whole number, found the number 1.5",
        ),
        ("count", "9", "parameter \"count\" must be 1 to 5, found 9"),
        (
            "switch",
            "1",
            "parameter \"switch\" is a boolean, found the whole number 1",
        ),
        (
            "word",
            "up",
            "parameter \"word\" must be one of \"left\", \"right\", found \"up\"",
        ),
        (
            "patience",
            "6s",
            "parameter \"patience\" must be \"0s\" to \"5s\", found \"6s\"",
        ),
        (
            "patience",
            "soon",
            "parameter \"patience\" is a duration such as \"700ms\" or \"3s\", found the text \"soon\"",
        ),
        (
            "gains",
            "[1, \"x\"]",
            "parameter \"gains\" is a list of numbers, found the list [1, \"x\"]",
        ),
        (
            "numbr",
            "1",
            "there is no parameter \"numbr\": did you mean \"number\"?",
        ),
        ("zebra", "1", "there is no parameter \"zebra\""),
    ];
    for (name, text, expected) in cases {
        let mut all = All::default();
        let error = all.set(name, &Setting::parse(text).unwrap()).unwrap_err();
        assert_eq!(error.to_string(), expected, "{name} = {text}");
        assert_eq!(
            format!("{all:?}"),
            format!("{:?}", All::default()),
            "nothing has changed"
        );
    }
}

#[test]
fn what_is_set_is_read_back_as_it_would_be_written() {
    let cases = [
        ("number", "-3", "-3.0"),
        ("count", "4", "4"),
        ("switch", "false", "false"),
        ("word", "right", "\"right\""),
        ("patience", "1500ms", "\"1500ms\""),
        ("patience", "2s", "\"2s\""),
        ("gains", "[1, 2.5]", "[1.0, 2.5]"),
        ("names", "[\"a\", \"b\"]", "[\"a\", \"b\"]"),
    ];
    for (name, text, expected) in cases {
        let mut all = All::default();
        all.set(name, &Setting::parse(text).unwrap()).unwrap();
        let read = all.get(name).unwrap();
        assert_eq!(read.to_string(), expected);
        all.set(name, &Setting::parse(&read.to_string()).unwrap())
            .unwrap();
        assert_eq!(all.get(name).unwrap(), read);
    }
}

#[test]
fn the_table_documents_everything() {
    let all = All::default();
    assert!(!all.table().is_empty());
    for parameter in all.table() {
        assert!(!parameter.doc.trim().is_empty());
        assert_eq!((parameter.default)(), all.get(parameter.name).unwrap());
    }
    let live: Vec<&str> = all
        .table()
        .iter()
        .filter(|parameter| parameter.change == Change::Live)
        .map(|parameter| parameter.name)
        .collect();
    assert_eq!(live, ["number"]);
    let number = &all.table()[0];
    assert_eq!(number.limits.unwrap()(), "-10.0 to 10.0");
}

#[test]
fn text_that_is_no_value_is_refused_with_examples() {
    for text in ["", "[1", "\"open", "{ a = 1 }", "1979-05-27"] {
        let error = Setting::parse(text).unwrap_err();
        assert!(error.to_string().contains("such as 0.4"), "{error}");
    }
}

bowline_component::parameters! {
    /// How one drives.
    struct Driving {
        in vehicle: Vehicle;
        /// The fastest, metres a second.
        fastest_mps: f64 = 1.0, within 0.0..=5.0 => live;
    }
}

#[test]
fn group_of_parameters_is_set_and_read_with_those_of_the_component() {
    let mut driving = Driving::default();
    let table = driving.table();
    let groups = table.iter().map(|it| it.group).collect::<Vec<_>>();
    assert_eq!(table[0].name, "fastest_mps");
    assert_eq!(groups[0], None);
    assert!(groups[1..].iter().all(|it| *it == Some("vehicle")));
    assert_eq!(table.len(), 1 + Vehicle::default().table().len());
    for (name, value) in [("fastest_mps", 2.0), ("wheelbase_m", 1.9)] {
        driving.set(name, &Setting::Real(value)).unwrap();
        assert_eq!(driving.get(name), Some(Setting::Real(value)), "{name}");
    }
    assert!((driving.fastest_mps - 2.0).abs() < 1e-12, "{driving:?}");
    assert_eq!(driving.vehicle.wheelbase_m(), Ok(1.9));
    let limits = driving.set("wheelbase_m", &Setting::Real(0.0)).unwrap_err();
    let told = "parameter \"wheelbase_m\" must be 0.01 to 100.0, found 0.0";
    assert_eq!(limits.to_string(), told);
    let unknown = driving.set("wheelbas_m", &Setting::Real(1.0)).unwrap_err();
    assert!(
        unknown
            .to_string()
            .ends_with("did you mean \"wheelbase_m\"?")
    );
    assert_eq!(
        driving.vehicle.wheelbase_m,
        Some(1.9),
        "nothing has changed"
    );
}

#[test]
fn optional_parameter_has_no_value_until_it_is_set() {
    let mut vehicle = Vehicle::default();
    let unset = Setting::Text(String::new());
    assert_eq!(vehicle.get("front_m"), Some(unset.clone()));
    vehicle.set("front_m", &Setting::Integer(2)).unwrap();
    assert_eq!(vehicle.front_m, Some(2.0), "2 for 2.0");
    vehicle.set("front_m", &unset).unwrap();
    assert_eq!(vehicle.front_m, None, "as a path that is not given");
    let text = vehicle.set("front_m", &Setting::Text("2".into()));
    let told = "parameter \"front_m\" is a number, found the text \"2\"";
    assert_eq!(text.unwrap_err().to_string(), told);
}

#[test]
fn fact_of_the_vehicle_that_is_missing_is_named_with_the_fix() {
    let missing = Vehicle::default().wheelbase_m().unwrap_err();
    assert_eq!(
        missing.to_string(),
        "[vehicle] has no wheelbase_m: add it to the robot file, or give it with --set wheelbase_m=VALUE"
    );
    assert_eq!(Vehicle::default().model().unwrap_err().name, "model");
}

/// Needs two facts, and refuses a wheelbase below 0.5 m.
struct Driver;

impl Component for Driver {
    fn step(&mut self, _step: &Step<'_>, _out: &mut Outbox<'_>) {}
}

impl Build for Driver {
    type Parameters = Driving;

    fn build(parameters: Driving, _ports: &mut Ports) -> Result<Self, BuildError> {
        parameters.vehicle.front_m()?;
        match parameters.vehicle.wheelbase_m()? {
            0.5.. => Ok(Self),
            _ => Err("it is too short".into()),
        }
    }
}

#[test]
fn attempt_names_every_fact_that_is_missing() {
    let kind = Kind::of::<Driver>("driver", "Drives.");
    let nothing = kind.attempt(&[]);
    assert_eq!(nothing.missing, ["front_m", "wheelbase_m"]);
    assert!(nothing.built.is_ok());
    let short = kind.attempt(&[("wheelbase_m", Setting::Real(0.1))]);
    assert_eq!(short.missing, ["front_m"]);
    assert_eq!(short.built.unwrap_err().to_string(), "it is too short");
    assert!(
        kind.outline().is_ok(),
        "its ports are known without a vehicle"
    );
}
