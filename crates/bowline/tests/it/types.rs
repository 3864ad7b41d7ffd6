use crate::{bowline_in, scratch, stderr, stdout, types_folder, write};

#[test]
fn fingerprints_are_a_line_each_sorted_by_name() {
    let folder = scratch("fingerprint");
    write(
        &folder,
        "b.lcm",
        "struct zz_t { } struct aa_t { string id; float position[2]; }",
    );
    write(
        &folder,
        "a.lcm",
        "package p.q; struct t { int64_t utime; int32_t nranges; float ranges[nranges]; float rad0; float radstep; }",
    );
    let output = bowline_in(&folder, &["types", "fingerprint", "b.lcm", "a.lcm"], b"");
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert_eq!(
        stdout(&output),
        "aa_t 0x52afd45802f11868\np.q.t 0x18f48ab44e6fd954\nzz_t 0x000000002468acf0\n"
    );
    let json = stdout(&bowline_in(
        &folder,
        &["types", "fingerprint", "--json", "."],
        b"",
    ));
    assert!(
        json.contains(r#"{"fingerprint":"0x52afd45802f11868","name":"aa_t"}"#),
        "{json}"
    );
}

#[test]
fn our_own_types_pass_our_own_check() {
    let folder = types_folder();
    let output = bowline_in(&folder, &["types", "check", "."], b"");
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
}

#[test]
fn check_reports_mistakes_missing_comments_and_missing_units() {
    let folder = scratch("check");
    write(
        &folder,
        "a.lcm",
        "struct a {\n  uint8_t x; // what\n  double y; // how far\n  int8_t z;\n}\n",
    );
    let output = bowline_in(&folder, &["types", "check", "a.lcm"], b"");
    assert_eq!(output.status.code(), Some(1));
    let report = stderr(&output);
    for part in [
        "a.lcm:2:3",
        "no unsigned types",
        "a.y: expected a unit",
        "a.z: expected a comment",
        "1 error, 2 missing",
    ] {
        assert!(report.contains(part), "expected {part:?} in\n{report}");
    }
    let lenient = bowline_in(
        &folder,
        &["types", "check", "--lcm-compat", "--no-lint", "a.lcm"],
        b"",
    );
    assert_eq!(lenient.status.code(), Some(0), "{}", stderr(&lenient));
    assert!(stderr(&lenient).contains("warning: expected a type, found `uint8_t`"));
}

#[test]
fn diff_lists_the_programs_to_rebuild() {
    let folder = scratch("diff");
    write(
        &folder,
        "old.lcm",
        "struct a { int8_t x; } struct b { a y; }",
    );
    write(
        &folder,
        "new.lcm",
        "struct a { int16_t x; } struct b { a y; }",
    );
    let output = bowline_in(&folder, &["types", "diff", "old.lcm", "new.lcm"], b"");
    assert_eq!(output.status.code(), Some(1));
    assert!(
        stdout(&output).contains("field changed: int8_t x -> int16_t x\n    also rebuild: b"),
        "{}",
        stdout(&output)
    );
    let same = bowline_in(&folder, &["types", "diff", "old.lcm", "old.lcm"], b"");
    assert_eq!(
        (same.status.code(), stdout(&same).as_str()),
        (Some(0), "no difference\n")
    );
    let json = bowline_in(
        &folder,
        &["types", "diff", "--json", "old.lcm", "new.lcm"],
        b"",
    );
    assert!(
        stdout(&json).contains(r#""rebuild":["b"]"#),
        "{}",
        stdout(&json)
    );
}

#[test]
fn json_becomes_a_message_and_the_message_json_again() {
    let folder = scratch("encode");
    let types = types_folder();
    let types = types.to_str().unwrap();
    let json = r#"{"utime": 9007199254740993, "lat": 45.5, "lon": "NaN", "sog": "-Infinity"}"#;
    let encoded = bowline_in(
        &folder,
        &["types", "encode", "gps_rmc_t", "--types", types],
        json.as_bytes(),
    );
    assert_eq!(encoded.status.code(), Some(0), "{}", stderr(&encoded));
    assert_eq!(encoded.stdout.len(), 40);
    let decoded = bowline_in(
        &folder,
        &["types", "decode", "--compact", "--types", types],
        &encoded.stdout,
    );
    assert_eq!(decoded.status.code(), Some(0), "{}", stderr(&decoded));
    assert_eq!(
        stdout(&decoded),
        "{\"utime\":\"9007199254740993\",\"lat\":45.5,\"lon\":\"NaN\",\"sog\":\"-Infinity\"}\n"
    );
    let again = bowline_in(
        &folder,
        &["types", "encode", "bowline.gps_rmc_t", "--types", types],
        &decoded.stdout,
    );
    assert_eq!(again.stdout, encoded.stdout);
}

#[test]
fn json_and_message_errors_name_the_field() {
    let folder = scratch("bad_messages");
    let types = types_folder();
    let types = types.to_str().unwrap();
    for (json, part) in [
        (
            r#"{"timestamp": 1, "waypoints": [{"id": "a", "position": [1, "x"]}]}"#,
            "field waypoints[0].position[1]",
        ),
        (r#"{"timestamp": 1}"#, "expected the field waypoints"),
        (r#"{"timestamp": 1, "waypoint": []}"#, r#"found "waypoint""#),
        (r#"{"timestamp": 1.5, "waypoints": []}"#, "field timestamp"),
        (
            r#"{"timestamp": 1, "num_waypoints": 2, "waypoints": []}"#,
            "expected 2 elements by num_waypoints, found 0",
        ),
        (
            r#"{"timestamp": 1, "waypoints": [{"id": "a", "position": [1]}]}"#,
            "expected 2 elements, found 1",
        ),
        ("{", "EOF"),
    ] {
        let output = bowline_in(
            &folder,
            &["types", "encode", "path_t", "--types", types],
            json.as_bytes(),
        );
        assert_eq!(output.status.code(), Some(1), "{json}");
        assert!(
            stderr(&output).contains(part),
            "expected {part:?} for {json}\n{}",
            stderr(&output)
        );
        assert!(output.stdout.is_empty());
    }
    for (message, part) in [
        (&b""[..], "expected 8 bytes, found 0"),
        (
            &b"whatever"[..],
            "expected the fingerprint of a known type, found 0x7768617465766572",
        ),
        (
            &b"\x9a\xb3\xca\x40\x22\x07\x2a\x1e\0\0\0\0\0\0\0\0\xff\xff\xff\xff"[..],
            "field waypoints: expected a length of 0 or more, found -1",
        ),
    ] {
        let output = bowline_in(&folder, &["types", "decode", "--types", types], message);
        assert_eq!(output.status.code(), Some(1));
        assert!(stderr(&output).contains(part), "{}", stderr(&output));
    }
}

#[test]
fn closed_output_causes_no_panic() {
    let folder = scratch("nobody");
    write(&folder, "bad.lcm", "struct t { nope_t x; }");
    let full = std::fs::File::options()
        .write(true)
        .open("/dev/full")
        .unwrap();
    let status = std::process::Command::new(env!("CARGO_BIN_EXE_bowline"))
        .args(["types", "check", "bad.lcm"])
        .current_dir(&folder)
        .stderr(full)
        .status()
        .unwrap();
    assert_eq!(status.code(), Some(1));
}

#[test]
fn a_type_with_a_mistake_has_no_fingerprint_to_copy() {
    let folder = scratch("mistake");
    write(
        &folder,
        "t.lcm",
        "struct t { int64_t utime; double y[0]; } struct u { int8_t x; }",
    );
    let output = bowline_in(&folder, &["types", "fingerprint", "t.lcm"], b"");
    assert_eq!(
        (output.status.code(), stdout(&output).as_str()),
        (Some(1), "u 0x0cd325b9ca9eede0\n")
    );
}

#[test]
fn missing_types_are_reported_with_the_option() {
    let folder = scratch("no-types");
    for verb in [&["types", "encode", "gps_rmc_t"][..], &["types", "decode"]] {
        let output = bowline_in(&folder, verb, b"");
        assert_eq!(output.status.code(), Some(2));
        let text = stderr(&output);
        assert!(text.contains("--types DIR"), "{verb:?}: {text}");
    }
}
