//! What models have for the simulator: every mistake is reported at its place.

use crate::support::repository;
use bowline_geometry::{Disk, Mistakes, load};
use bowline_sim::Catalog;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

const BODY: &str = r#"<body name="B">
  <frame name="One"/>
  <frame name="Two"/>
</body>"#;

/// What is wrong with an element of a body that an assembly uses twice.
fn mistakes(element: &str) -> Mistakes {
    let body = BODY.replace("</body>", &format!("{element}\n</body>"));
    let assembly =
        r#"<assembly name="A"><use body="b.xml" as="X"/><use body="b.xml" as="Y"/></assembly>"#;
    let mut files: BTreeMap<PathBuf, Vec<u8>> = [("a.xml", assembly), ("b.xml", body.as_str())]
        .into_iter()
        .map(|(name, text)| (name.into(), text.as_bytes().to_vec()))
        .collect();
    let loaded = load(Path::new("a.xml"), &mut files).unwrap_or_else(|error| panic!("{error}"));
    let checked = Catalog::default().check(&loaded.assembly);
    checked.expect_err(element)
}

/// What is in the body beside its frames, and the messages about it.
const ELEMENTS: &[(&str, &[&str])] = &[
    (
        r#"<lazer name="L" frame="One" rate_hz="10"/>"#,
        &[
            "b.xml:4:1: expected one of <description>, <frame>, ",
            "<multibeam>",
            "found <lazer>; did you mean \"laser\"?",
        ],
    ),
    (
        r#"<truster name="T" frame="One" ahead_n="1"/>"#,
        &["did you mean \"thruster\"?"],
    ),
    (
        r#"<laser name="L" frame="One" rate_hz="10" beams="0" fov_deg="400" range_min_m="9" range_max_m="8"/>"#,
        &[
            "b.xml:4:42: beams: expected a whole number of at least 1",
            "fov_deg: expected an angle above 0 and up to 360 degrees",
            "range_max_m: expected more than range_min_m",
        ],
    ),
    (
        r#"<laser name="L" frame="One" rate_hz="10" beams="3" fov="180" range_min_m="0" range_max_m="8"/>"#,
        &[
            "found fov; did you mean",
            "expected the attribute fov_deg in <laser>",
        ],
    ),
    (
        r#"<laser name="L" frame="One" rate_hz="10" beams="3" rows="16" fov_deg="180" range_min_m="0" range_max_m="8"/>"#,
        &["expected the attribute fov_vertical_deg"],
    ),
    (
        r#"<laser name="L" frame="One" rate_hz="10" beams="3" fov_deg="180" range_min_m="0" range_max_m="8" range_errors="2 0 0, 1 0 0"/>"#,
        &["range_errors: expected rows of range, bias and deviation"],
    ),
    (
        r#"<camera name="C" frame="One" rate_hz="-1" width_px="1" height_px="1" fov_deg="9"/>"#,
        &["rate_hz: expected a number that is not below 0"],
    ),
    (
        r#"<camera name="C" frame="One" width_px="1" height_px="1" fov_deg="9"/>"#,
        &["expected the attribute rate_hz in <camera>"],
    ),
    (
        r#"<camera name="C" frame="One" rate_hz="1" width_px="1" height_px="1" fov_deg="9" gives="smell"/>"#,
        &["gives: expected lines or picture, found \"smell\""],
    ),
    (
        r#"<multibeam name="M" frame="One" rate_hz="1" beams="1" fov_deg="175" range_min_m="0" range_max_m="8"/>"#,
        &[
            "beams: expected a whole number from 2 to 10000",
            "fov_deg: expected an angle above 0 and up to 170 degrees",
        ],
    ),
    (
        r#"<spectrometer name="S" frame="One" rate_hz="1" masses="18 water" sensitivity_a="1"/>"#,
        &["masses: expected rows of daltons, a substance and its background"],
    ),
    (
        r#"<hull length_m="2" beam_m="1" added_mass="6 -90 24" linear_drag="20 100"/>"#,
        &[
            "added_mass: expected 3 numbers, each a number that is not below 0",
            "linear_drag: expected 3 numbers",
        ],
    ),
    (
        r#"<thruster name="T" frame="One" ahead_n="0"/>"#,
        &["ahead_n: expected a number above 0"],
    ),
];

#[test]
fn elements_with_mistakes_are_refused_at_their_places() {
    for (element, expected) in ELEMENTS {
        let found = mistakes(element).to_string();
        for expected in *expected {
            assert!(
                found.contains(expected),
                "expected {expected:?} in\n{found}"
            );
        }
        // Both bodies have it, and it is one mistake.
        assert_eq!(
            found.lines().count(),
            found
                .lines()
                .collect::<std::collections::BTreeSet<_>>()
                .len(),
            "{found}"
        );
    }
}

#[test]
fn models_of_the_repository_have_only_known_elements() {
    let mut n_sensors = 0;
    for path in [
        "igvc/igvc.xml",
        "jackal/jackal.xml",
        "jackal/jackal_pb9.xml",
        "raptor/raptor.xml",
        "raptor_ugv/raptor_ugv.xml",
        "raptor_ugv/raptor_stereo.xml",
        "upsv/upsv.xml",
    ] {
        let path = repository().join("models").join(path);
        let loaded = load(&path, &mut Disk).unwrap_or_else(|mistakes| panic!("{mistakes}"));
        let checked = Catalog::default().check(&loaded.assembly);
        checked.unwrap_or_else(|mistakes| panic!("{mistakes}"));
        let sensors = loaded
            .assembly
            .bodies
            .iter()
            .flat_map(|body| body.sensors());
        n_sensors += sensors.count();
    }
    assert!(n_sensors > 20, "{n_sensors}");
}

#[test]
fn documents_of_elements_are_those_of_the_tables() {
    let catalog = Catalog::default();
    for (name, expected, verb) in [
        ("model.xsd", catalog.schema(), "schema"),
        ("elements.md", catalog.reference(), "elements"),
    ] {
        let path = repository().join("docs").join(name);
        let found = std::fs::read_to_string(path).unwrap_or_default();
        assert!(
            found == expected,
            "docs/{name} differs from the tables: `bowline model {verb} > docs/{name}`"
        );
    }
}
