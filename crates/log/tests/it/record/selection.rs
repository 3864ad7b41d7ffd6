//! A selection file leaves streams out, and counts what it leaves out.

use super::{contents, record};
use crate::support::events;
use bowline_log::record::{Rate, Streams};

#[test]
fn streams_are_recorded_at_the_files_rates() {
    let text = r#"
        others = false
        [[stream]]
        channel = "sonar.depth"
        every = 5
        [[stream]]
        channel = "camera.*"
        max_rate_hz = 5.0
        [[stream]]
        channel = "X"
    "#;
    // 250 of each of four channels, 25 a second each.
    let played = events(1_000);
    let folder = tempfile::tempdir().unwrap();
    let (status, _) = record(folder.path(), &played, |options| {
        options.streams = Streams::parse(text).unwrap();
    });
    let found = contents(&folder.path().join("out"));
    let count = |name: &str| found.iter().filter(|(channel, _)| channel == name).count();
    assert_eq!(count("sonar.depth"), 50);
    assert_eq!(count("camera.image"), 50);
    assert_eq!(count("X"), 250);
    assert_eq!(count("vehicle.pose"), 0);
    assert_eq!(status.n_left_out, 650);
    assert_eq!(status.n_recorded, 350);
    assert!(!status.is_lossy());
}

#[test]
fn the_first_rule_that_matches_counts() {
    let text = "[[stream]]\nchannel = 'a.b'\n[[stream]]\nchannel = 'a.*'\nrecord = false\n";
    let streams = Streams::parse(text).unwrap();
    assert_eq!(streams.rate("a.b"), Rate::All);
    assert_eq!(streams.rate("a.c"), Rate::Never);
    assert_eq!(streams.rate("b"), Rate::All);
}

#[test]
fn a_mistake_is_named_with_its_file_and_line() {
    #[rustfmt::skip]
    let cases = [
        ("others = 1", 1, "boolean"),
        ("\n\nnonsense", 3, ""),
        ("[[stream]]\nchanel = 'a'", 2, "chanel"),
        ("[[stream]]\n\nrecord = false", 1, "channel"),
        ("[[stream]]\nchannel = '('", 2, "regular expression"),
        ("[[stream]]\nchannel = 'a'\nmax_rate_hz = -1.0", 3, "between"),
        ("[[stream]]\nchannel = 'a'\nmax_rate_hz = nan", 3, "between"),
        ("[[stream]]\nchannel = 'a'\nevery = 0", 3, "1 or more"),
        ("[[stream]]\nchannel = 'a'\nevery = -1", 3, ""),
        ("[[stream]]\nchannel = 'a'\nevery = 2\nmax_rate_hz = 1.0", 2, "both"),
        ("[[stream]]\nchannel = 'a'\nrecord = false\nevery = 2", 2, "both"),
    ];
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("streams.toml");
    for (text, line, part) in cases {
        std::fs::write(&path, text).unwrap();
        let error = Streams::read(&path).unwrap_err().to_string();
        let place = format!("{}:{line}: ", path.display());
        assert!(error.starts_with(&place), "{text:?}: {error}");
        assert!(error.contains(part), "{text:?}: {error}");
    }
    let missing = Streams::read(&folder.path().join("none")).unwrap_err();
    assert!(missing.to_string().contains("cannot read"), "{missing}");
}
