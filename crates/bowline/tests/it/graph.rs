//! `bowline graph --svg`: a robot file as a drawing.

use crate::{bowline_in, scratch, stderr, stdout, write};
use std::fs;

const ROBOT: &str = r#"
[robot]
name = "patrol"
external = { "gps.fix" = "bowline.gps_rmc_t" }

[component.clock]
kind = "heartbeat"
channels = { beat = "robot.beat" }

[component.relay]
kind = "relay"
channels = { heard = "robot.beat", said = "robot.again" }

[component.logger]
command = ["sh", "-c", "exit 0"]
reads = { "robot.again" = "bowline.beat_t", "gps.fix" = "bowline.gps_rmc_t" }

[component.source]
kind = "heartbeat"

[sim]
replaces = ["source"]

[sim.component.world]
kind = "heartbeat"
channels = { beat = "source.beat" }
"#;

/// All texts of a drawing, sorted, each once.
fn texts(svg: &str) -> Vec<&str> {
    let mut texts: Vec<&str> = svg
        .split("</text>")
        .filter_map(|part| part.rsplit_once('>').map(|(_, text)| text))
        .filter(|text| !text.trim().is_empty())
        .collect();
    texts.sort_unstable();
    texts.dedup();
    texts
}

#[test]
fn svg_of_a_robot_file_shows_its_components_and_channels() {
    let folder = scratch("graph-svg");
    write(&folder, "robot.toml", ROBOT);
    let drawn = bowline_in(&folder, &["graph", "robot.toml", "--svg", "live.svg"], b"");
    assert_eq!(drawn.status.code(), Some(0), "{}", stderr(&drawn));
    assert_eq!(stdout(&drawn), "", "the drawing is in the file");
    assert_eq!(stderr(&drawn), "drawn: live.svg\n");
    let svg = fs::read_to_string(folder.join("live.svg")).expect("it was written");
    assert!(svg.starts_with("<svg ") && svg.trim_end().ends_with("</svg>"));
    for tag in ["svg", "g", "text"] {
        let n_begun =
            svg.matches(&format!("<{tag}>")).count() + svg.matches(&format!("<{tag} ")).count();
        let n_ended = svg.matches(&format!("</{tag}>")).count();
        assert_eq!(n_begun, n_ended, "{tag}");
    }
    let found = texts(&svg);
    for expected in [
        "clock",
        "relay",
        "logger",
        "source",
        "robot.beat",
        "robot.again",
        "gps.fix",
    ] {
        assert!(
            found.contains(&expected),
            "{expected} is missing: {found:?}"
        );
    }
    assert!(!found.contains(&"world"), "{found:?}");

    let args = ["graph", "robot.toml", "--source", "sim", "--svg", "sim.svg"];
    let drawn = bowline_in(&folder, &args, b"");
    assert_eq!(drawn.status.code(), Some(0), "{}", stderr(&drawn));
    let svg = fs::read_to_string(folder.join("sim.svg")).expect("it was written");
    let found = texts(&svg);
    assert!(
        found.contains(&"world") && !found.contains(&"source"),
        "{found:?}"
    );
}

#[test]
fn svg_that_cannot_be_drawn_or_written_is_an_error_and_leaves_no_file() {
    let folder = scratch("graph-svg-wrong");
    write(
        &folder,
        "wrong.toml",
        "[robot]\nname = \"patrol\"\n[component.a]\nkind = \"zebra\"\n",
    );
    let wrong = bowline_in(&folder, &["graph", "wrong.toml", "--svg", "a.svg"], b"");
    assert_eq!(wrong.status.code(), Some(1));
    assert!(
        stderr(&wrong).contains("unknown kind \"zebra\""),
        "{}",
        stderr(&wrong)
    );
    assert!(!folder.join("a.svg").exists());

    write(&folder, "robot.toml", ROBOT);
    let args = ["graph", "robot.toml", "--svg", "nowhere/a.svg"];
    let unwritable = bowline_in(&folder, &args, b"");
    assert_ne!(unwritable.status.code(), Some(0));
    let report = stderr(&unwritable);
    assert!(report.contains("cannot write nowhere/a.svg"), "{report}");

    let both = bowline_in(
        &folder,
        &["graph", "robot.toml", "--svg", "a.svg", "--json"],
        b"",
    );
    assert_eq!(both.status.code(), Some(2), "one or the other");
}
