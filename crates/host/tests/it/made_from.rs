//! The files that components are made from: part of their trace, and necessary.

use crate::robots::loader;
use bowline_component::{Build, BuildError, Component, Kind, Outbox, Ports, Step};
use bowline_host::robot::{self, Loader, MakeComponentError, Robot, Source};
use std::fs;
use std::path::{Path, PathBuf};

bowline_component::parameters! {
    /// What a chart reader is made from.
    struct ChartParameters {
        /// A file or a folder.
        chart: PathBuf = PathBuf::new();
        /// More of them.
        others: Vec<PathBuf> = Vec::new();
    }
}

/// A component with files among its parameters.
struct Chart;

impl Build for Chart {
    type Parameters = ChartParameters;

    fn build(_parameters: ChartParameters, _ports: &mut Ports) -> Result<Self, BuildError> {
        Ok(Self)
    }
}

impl Component for Chart {
    fn step(&mut self, _step: &Step<'_>, _out: &mut Outbox<'_>) {}
}

const KINDS: &[Kind] = &[Kind::of::<Chart>("chart", "Reads a chart.")];

fn robot_in(folder: &Path) -> Robot {
    let text = r#"
        [robot]
        name = "test"
        [component.chart]
        kind = "chart"
        [component.chart.parameters]
        chart = "harbour.txt"
        others = ["sheets"]
    "#;
    let kinds = Loader {
        kinds: KINDS,
        ..loader()
    };
    fs::create_dir_all(folder.join("sheets/deep")).unwrap();
    fs::write(folder.join("harbour.txt"), "pier, 'symbols/pier.txt'").unwrap();
    fs::create_dir_all(folder.join("symbols")).unwrap();
    // It names the file that names it, and one that is not there.
    let symbol = r#"<use file="../harbour.txt"/> <use file="pile.txt"/> <use file="rail.txt"/>"#;
    fs::write(folder.join("symbols/pier.txt"), symbol).unwrap();
    fs::write(folder.join("symbols/pile.txt"), "|").unwrap();
    fs::write(folder.join("sheets/deep/one.txt"), "shoal").unwrap();
    let loaded = robot::parse(text, &folder.join("robot.toml"), &kinds);
    loaded.unwrap_or_else(|error| panic!("{error}")).robot
}

fn settings(robot: &Robot) -> String {
    robot.make(Source::Live).unwrap().remove(0).settings
}

/// What was changed, and how.
type Change = (&'static str, fn(&Path));

#[test]
fn settings_of_a_component_whose_files_changed_differ() {
    let changes: [Change; 5] = [
        ("a file", |folder| {
            fs::write(folder.join("harbour.txt"), "quay").unwrap();
        }),
        ("a file in a folder", |folder| {
            fs::write(folder.join("sheets/deep/one.txt"), "reef").unwrap();
        }),
        ("a file that a file names", |folder| {
            fs::write(folder.join("symbols/pile.txt"), "||").unwrap();
        }),
        ("a file that is named and was not there", |folder| {
            fs::write(folder.join("symbols/rail.txt"), "=").unwrap();
        }),
        ("a new name in a folder", |folder| {
            fs::rename(folder.join("sheets/deep"), folder.join("sheets/other")).unwrap();
        }),
    ];
    for (change, apply) in changes {
        let folder = tempfile::tempdir().unwrap();
        let robot = robot_in(folder.path());
        let before = settings(&robot);
        assert_eq!(settings(&robot), before, "nothing changed");
        apply(folder.path());
        assert_ne!(settings(&robot), before, "{change}");
    }
}

#[test]
fn changed_file_that_another_file_names_is_named_in_its_line() {
    let folder = tempfile::tempdir().unwrap();
    let robot = robot_in(folder.path());
    let before = settings(&robot);
    fs::write(folder.path().join("symbols/pile.txt"), "||").unwrap();
    let after = settings(&robot);
    let changed: Vec<(&str, &str)> = before
        .lines()
        .zip(after.lines())
        .filter(|(before, after)| before != after)
        .collect();
    let [(was, is)] = changed.as_slice() else {
        panic!("{changed:?}");
    };
    for line in [was, is] {
        assert!(line.starts_with("chart needs symbols/pile.txt ("), "{line}");
    }
    assert!(
        before.contains("\nchart needs symbols/pier.txt ("),
        "{before}"
    );
}

#[test]
fn component_whose_file_is_gone_is_not_made() {
    let folder = tempfile::tempdir().unwrap();
    let robot = robot_in(folder.path());
    fs::remove_file(folder.path().join("harbour.txt")).unwrap();
    let error = robot.make(Source::Live).unwrap_err();
    let MakeComponentError::File {
        component, path, ..
    } = &error
    else {
        panic!("{error}");
    };
    assert_eq!(component, "chart");
    assert!(path.ends_with("harbour.txt"), "{path:?}");
}
