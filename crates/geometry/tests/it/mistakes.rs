use super::support::{files, read};
use bowline_geometry::{Fault, Mistakes, Model, load};
use std::path::Path;

const BODY: &str = r#"<body name="B">
  <frame name="One"/>
  <frame name="Two"/>
</body>"#;

/// What is wrong with an assembly and the body that it uses twice, as `X` and `Y`.
fn told(assembly: &str, body: &str) -> Mistakes {
    let uses = r#"<use body="b.xml" as="X"/><use body="b.xml" as="Y"/>"#;
    let assembly = format!("<assembly name=\"A\">\n{uses}\n{assembly}\n</assembly>");
    let made = read(&[("a.xml", &assembly), ("b.xml", body)])
        .and_then(|loaded| Model::new(loaded.assembly));
    made.err()
        .unwrap_or_else(|| panic!("expected mistakes in {assembly} {body}"))
}

fn expect(found: &Mistakes, expected: &[&str]) {
    let text = found.to_string();
    for expected in expected {
        assert!(text.contains(expected), "expected {expected:?} in\n{text}");
    }
}

#[test]
fn rule_1_an_assembly_has_at_least_two_bodies() {
    let assembly = r#"<assembly name="A"><use body="b.xml"/></assembly>"#;
    let loaded = read(&[("a.xml", assembly), ("b.xml", BODY)]).expect("the files are fine");
    let found = Model::new(loaded.assembly).expect_err("one body is no assembly");
    assert!(matches!(
        found.list()[0].fault,
        Fault::TooFewBodies { found: 1 }
    ));
    expect(
        &found,
        &["a.xml:1:1: expected at least 2 bodies in an assembly, found 1"],
    );
}

#[test]
fn rule_2_a_body_has_at_least_one_frame() {
    let found = told("", r#"<body name="B"/>"#);
    assert!(matches!(&found.list()[0].fault, Fault::NoFrames { body } if body == "X"));
    expect(
        &found,
        &["a.xml:2:1: expected at least 1 frame in the body \"X\", found none"],
    );
}

#[test]
fn rule_3_both_frames_of_a_constraint_exist() {
    for (constraint, expected) in [
        (
            r#"<constraint name="C" from="X:One" to="Y:Tow"/>"#,
            "did you mean \"Y:Two\"?",
        ),
        (
            r#"<constraint name="C" from="Z:One" to="Y:Two"/>"#,
            "expected a body, found \"Z\"",
        ),
    ] {
        let found = told(constraint, BODY);
        assert!(matches!(found.list()[0].fault, Fault::Unknown { .. }));
        expect(&found, &["a.xml:3:1: ", expected]);
    }
}

#[test]
fn rule_4_a_frame_carries_at_most_one_constraint() {
    let found = told(
        "<constraint name=\"C\" from=\"X:One\" to=\"Y:Two\"/>\n<constraint name=\"D\" from=\"Y:One\" to=\"X:One\"/>",
        BODY,
    );
    assert!(
        matches!(&found.list()[0].fault, Fault::FrameTaken { frame, first, .. } if frame == "X:One" && first == "C")
    );
    expect(&found, &["a.xml:4:1: ", "\"C\" at a.xml:3:1 has it"]);
}

#[test]
fn a_constraint_does_not_bind_a_frame_to_itself() {
    let found = told(r#"<constraint name="C" from="X:One" to="X:One"/>"#, BODY);
    assert!(matches!(found.list()[0].fault, Fault::SameFrame { .. }));
}

/// What is in the assembly, and the messages about it.
const ASSEMBLIES: &[(&str, &[&str])] = &[
    (
        r#"<constrain name="C" from="X:One" to="Y:One"/>"#,
        &[
            "a.xml:3:1: ",
            "one of <description>, <closure>, <use>, <constraint>",
            "did you mean \"constraint\"?",
        ],
    ),
    (
        r#"<constraint name="C" form="X:One" to="Y:One"/>"#,
        &[
            "a.xml:3:22: ",
            "found form; did you mean \"from\"?",
            "expected the attribute from in <constraint>, found none",
        ],
    ),
    (
        r#"<constraint from="X:One" to="Y:One"/>"#,
        &["expected the attribute name in <constraint>"],
    ),
    (
        r#"<constraint name="C" from="XOne" to="Y:One"/>"#,
        &["a.xml:3:22: from: expected a frame as Body:Frame, found \"XOne\""],
    ),
    (
        r#"<constraint name="C D" from="X:One" to="Y:One"/>"#,
        &["name: expected 1 to 128 bytes without spaces"],
    ),
    (
        r#"<constraint name="C" from="X:One" to="Y:One" xyz="1 2"/>"#,
        &["a.xml:3:46: xyz: expected 3 numbers with spaces between them, found \"1 2\""],
    ),
    (
        r#"<constraint name="C" from="X:One" to="Y:One" xyz="1,2,3"/>"#,
        &["found \"1,2,3\""],
    ),
    (
        r#"<constraint name="C" from="X:One" to="Y:One" xyz="1 2 inf"/>"#,
        &["found \"1 2 inf\""],
    ),
    (
        r#"<constraint name="C" from="X:One" to="Y:One" xyz="1 2 NaN"/>"#,
        &["found \"1 2 NaN\""],
    ),
    (
        r#"<constraint name="C" from="X:One" to="Y:One" xyz="1 2 1e99"/>"#,
        &["found \"1 2 1e99\""],
    ),
    (
        r#"<constraint name="C" from="X:One" to="Y:One" rpy="0 0 0" quat="1 0 0 0"/>"#,
        &["expected one of quat and rpy, found both"],
    ),
    (
        r#"<constraint name="C" from="X:One" to="Y:One" rpy="0 0 0" angle="grad"/>"#,
        &["angle: expected deg or rad, found \"grad\""],
    ),
    (
        r#"<constraint name="C" from="X:One" to="Y:One" quat="0 0 0 0"/>"#,
        &["expected a quaternion other than 0 0 0 0"],
    ),
    (
        r#"<constraint name="C" from="X:One" to="Y:One" matrix="2 0 0 0 0 1 0 0 0 0 1 0 0 0 0 1"/>"#,
        &["rows of the matrix's 3x3 part", "off by 3.00e0"],
    ),
    (
        r#"<constraint name="C" from="X:One" to="Y:One" matrix="-1 0 0 0 0 1 0 0 0 0 1 0 0 0 0 1"/>"#,
        &["found a mirror image"],
    ),
    (
        r#"<constraint name="C" from="X:One" to="Y:One" sd_xyz="0 0 -1"/>"#,
        &["sd_xyz: expected 3 numbers that are not below 0"],
    ),
    (
        r#"<constraint name="C" from="X:One" to="Y:One"><revolut/></constraint>"#,
        &["did you mean \"revolute\"?"],
    ),
    (
        r#"<constraint name="C" from="X:One" to="Y:One"><revolute/><revolute/></constraint>"#,
        &["expected no element, found <revolute>"],
    ),
    (
        r#"<constraint name="C" from="X:One" to="Y:One"><revolute axis="0 0 0"/></constraint>"#,
        &["axis: expected a direction other than 0 0 0"],
    ),
    (
        r#"<constraint name="C" from="X:One" to="Y:One"><revolute min_deg="5"/></constraint>"#,
        &["expected the attribute max_deg in <revolute>"],
    ),
    (
        r#"<constraint name="C" from="X:One" to="Y:One"><revolute min_deg="5" max_deg="-5"/></constraint>"#,
        &["max_deg: expected more than min_deg"],
    ),
    (
        r#"<constraint name="C" from="X:One" to="Y:One"><revolute min_m="5"/></constraint>"#,
        &["found min_m"],
    ),
    (
        r#"<constraint name="C" from="X:One" to="Y:One"><revolute channel="a.b"/></constraint>"#,
        &["expected the attribute field in <revolute>"],
    ),
    (
        r#"<constraint name="C" from="X:One" to="Y:One"><revolute scale="2"/></constraint>"#,
        &["scale: expected it only beside channel or follows"],
    ),
    (
        r#"<constraint name="C" from="X:One" to="Y:One"><revolute follows="D"/></constraint>"#,
        &["expected a joint that follows no other, found \"D\""],
    ),
    (
        "<constraint name=\"C\" from=\"X:One\" to=\"Y:One\"/>\n<constraint name=\"C\" from=\"X:Two\" to=\"Y:Two\"/>",
        &[
            "a.xml:4:1: expected constraints of different names, found a second \"C\"; the first is at a.xml:3:1",
        ],
    ),
    (
        r#"<use body="b.xml" as="X"/>"#,
        &[
            "a.xml:3:1: expected bodies of different names, found a second \"X\"; the first is at a.xml:2:1",
        ],
    ),
    (
        r#"<use body="c.xml"/>"#,
        &["a.xml:3:6: expected a file that can be read at c.xml"],
    ),
    (
        r#"<use body="/etc/hostname"/>"#,
        &["body: expected a file beside this one, by its relative path"],
    ),
    (
        r#"<use body="a.xml"/>"#,
        &["a.xml:1:1: expected <body>, found <assembly>"],
    ),
    (
        r#"<closure tolerance_mm="0"/>"#,
        &["tolerance_mm: expected a number above 0, found \"0\""],
    ),
    (r#"<closure/><closure/>"#, &["found a second \"closure\""]),
    (
        "some words",
        &["a.xml:2:53: expected no text in <assembly>, found \"some words\""],
    ),
    (
        r#"<x:use xmlns:x="urn:x" body="b.xml"/>"#,
        &["found <use of the namespace urn:x>"],
    ),
    (
        r#"<?stylesheet href="x"?>"#,
        &["a.xml:3:1: expected no processing instruction, found <?stylesheet ...?>"],
    ),
    (
        r#"<use body="b.xml" as="&name;"/>"#,
        &["a.xml:3:23: expected XML: unknown entity reference"],
    ),
    (
        "<use body=\"b.xml\"></closure>",
        &["a.xml:3:19: expected XML: "],
    ),
];

#[test]
fn assembly_errors_are_reported_with_their_line() {
    for (assembly, expected) in ASSEMBLIES {
        expect(&told(assembly, BODY), expected);
    }
}

/// What is in the body beside the frames `One` and `Two`, and the messages about it.
const BODIES: &[(&str, &[&str])] = &[
    (
        r#"<frame name="One"/>"#,
        &[
            "b.xml:4:1: expected frames of different names, found a second \"One\"; the first is at b.xml:2:3",
        ],
    ),
    (r#"<frame/>"#, &["expected the attribute name in <frame>"]),
    (
        r#"<frame name="a:b"/>"#,
        &["name: expected 1 to 128 bytes without spaces, colons"],
    ),
    (
        r#"<frame name="F"><pose/></frame>"#,
        &["expected no element, found <pose>"],
    ),
    (
        r#"<frame name="F" covariance="1 2 3"/>"#,
        &["covariance: expected 36 numbers"],
    ),
    (
        r#"<frmae name="F"/>"#,
        &[
            "b.xml:4:1: expected one of <description>, <frame>, ",
            ", an element that sits in a frame",
            "did you mean \"frame\"?",
        ],
    ),
    (
        r#"<anything frame="One"/>"#,
        &["expected the attribute name in <anything>"],
    ),
    (
        r#"<anything name="A" frame="One"><frame/></anything>"#,
        &["expected no element, found <frame>"],
    ),
    (
        r#"<anything name="A" frame="One" x:y="1" xmlns:x="urn:x"/>"#,
        &["found y"],
    ),
    (
        r#"<laser name="L" frame="Tow" rate_hz="10" beams="3" fov_deg="180" range_min_m="0" range_max_m="8"/>"#,
        &[
            "expected a frame of the same body, found \"Tow\"",
            "did you mean \"Two\"?",
        ],
    ),
    (r#"<box size_m="1 2"/>"#, &["size_m: expected 3 numbers"]),
    (
        r#"<box size_m="1 2 0"/>"#,
        &["size_m: expected 3 numbers above 0"],
    ),
    (
        r#"<sphere radius_m="1" role="ghost"/>"#,
        &["role: expected both, visual or collision"],
    ),
    (
        r#"<mass mass_kg="0"/>"#,
        &["mass_kg: expected a number above 0"],
    ),
    (
        r#"<mass mass_kg="1"/><mass mass_kg="1"/>"#,
        &["found a second \"mass\""],
    ),
];

#[test]
fn body_errors_are_reported_with_their_line() {
    for (element, expected) in BODIES {
        let body = BODY.replace("</body>", &format!("{element}\n</body>"));
        expect(&told("", &body), expected);
    }
}

#[test]
fn what_is_no_model_is_refused() {
    let laughs = "<!DOCTYPE assembly [<!ENTITY a \"ha\">]>";
    let deep = format!("<assembly name=\"A\">{}", "<use>".repeat(100_000));
    let deep_closed = format!(
        "<assembly name=\"A\">{}{}</assembly>",
        "<use>".repeat(100),
        "</use>".repeat(100)
    );
    for (text, expected) in [
        ("", "expected XML: "),
        ("words", "expected XML: "),
        (
            &format!("\n{laughs}<assembly name=\"A\"/>"),
            "a.xml:2:1: expected no document type declaration",
        ),
        (
            "<!DOCTYPE assembly SYSTEM \"file:///etc/passwd\"><assembly/>",
            "expected no document type declaration",
        ),
        (
            "<html/>",
            "expected one of <assembly>, <robot>, <sdf>, found <html>",
        ),
        ("<assembley/>", "did you mean \"assembly\"?"),
        (
            BODY,
            "expected an <assembly> that uses bodies, found a <body> alone",
        ),
        (&deep, "expected XML: "),
        (&deep_closed, "expected at most 64 elements in each other"),
    ] {
        let found = read(&[("a.xml", text)]).expect_err("that is no model");
        expect(&found, &[expected]);
    }
    let mut latin = files(&[("a.xml", "<assembly name=\"A\">\n  ")]);
    latin
        .values_mut()
        .for_each(|bytes| bytes.extend(b"\xe9</assembly>"));
    let found = load(Path::new("a.xml"), &mut latin).expect_err("that is not UTF-8");
    expect(
        &found,
        &["a.xml:2:3: the file: expected UTF-8, found \"byte 0xe9\""],
    );
    let mut large = files(&[("a.xml", "<assembly/>")]);
    large
        .values_mut()
        .for_each(|bytes| bytes.resize(5 << 20, b' '));
    let found = load(Path::new("a.xml"), &mut large).expect_err("that is too large");
    expect(
        &found,
        &["a.xml: expected at most 4194304 bytes in a file, found more"],
    );
    let found = load(Path::new("none.xml"), &mut files(&[])).expect_err("that is not there");
    expect(&found, &["expected a file that can be read at none.xml"]);
}

#[test]
fn errors_are_reported_together_up_to_a_limit() {
    let found = told("<a/><b/><c/>", BODY);
    assert_eq!(found.list().len(), 3);
    let found = told(&"<a/>".repeat(1_000), BODY);
    assert_eq!(found.list().len(), Mistakes::MAX);
    expect(&found, &["there may be more"]);
}
