use crate::{bowline_in, scratch, stderr, stdout, types_folder, write};
use std::fs;
use std::time::SystemTime;

#[test]
fn unchanged_files_are_left_alone() {
    let folder = scratch("unchanged");
    write(&folder, "a.lcm", "package p; struct a { int8_t x; }");
    write(&folder, "b.lcm", "package q; struct b { int8_t y; }");
    let args = ["gen", "--rust", "out", "a.lcm", "b.lcm"];
    let first = bowline_in(&folder, &args, b"");
    assert_eq!(first.status.code(), Some(0), "{}", stderr(&first));
    let file = fs::File::options()
        .append(true)
        .open(folder.join("out/p.rs"))
        .unwrap();
    file.set_modified(SystemTime::UNIX_EPOCH).unwrap();
    let second = bowline_in(&folder, &args, b"");
    assert!(
        stderr(&second).contains("2 types: 0 files written, 3 unchanged"),
        "{}",
        stderr(&second)
    );
    assert_eq!(
        fs::metadata(folder.join("out/p.rs"))
            .unwrap()
            .modified()
            .unwrap(),
        SystemTime::UNIX_EPOCH
    );
    write(&folder, "a.lcm", "package p; struct a { int16_t x; }");
    let third = bowline_in(&folder, &args, b"");
    assert!(
        // The module above both has the schemas of all.
        stderr(&third).contains("2 files written, 1 unchanged"),
        "{}",
        stderr(&third)
    );
}

#[test]
fn nothing_is_written_when_something_is_wrong() {
    let folder = scratch("wrong");
    write(&folder, "a.lcm", "struct a { int8_t x; }");
    write(&folder, "b.lcm", "struct b { nope_t x; }");
    let output = bowline_in(&folder, &["gen", "--rust", "out", "a.lcm", "b.lcm"], b"");
    assert_eq!(output.status.code(), Some(1));
    assert!(
        stderr(&output).contains("b.lcm:1:12"),
        "{}",
        stderr(&output)
    );
    assert!(!folder.join("out").exists());
}

#[test]
fn folders_are_read_with_all_that_is_in_them() {
    let folder = scratch("folders");
    fs::create_dir_all(folder.join("in/deep")).unwrap();
    write(&folder, "in/a.lcm", "package p; struct a { b.c x; }");
    write(
        &folder,
        "in/deep/b.lcm",
        "package b; struct c { int8_t x; }",
    );
    write(&folder, "in/readme.txt", "not a type");
    let output = bowline_in(&folder, &["gen", "--rust=out", "in"], b"");
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(
        folder.join("out/p.rs").exists()
            && folder.join("out/b.rs").exists()
            && folder.join("out/mod.rs").exists()
    );
}

/// The types that are generated into the codec, for the formats of logs, with the settings of `make gen`.
const OF_WIRE: [&str; 2] = ["bookmark_t", "schema_t"];

/// Checks that a crate's generated folder is what these arguments make.
fn expect_fresh(name: &str, arguments: &[&str], crate_folder: &str) {
    let folder = scratch(name);
    let output = bowline_in(
        &folder,
        &[&["gen", "--rust", "out"], arguments].concat(),
        b"",
    );
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    for name in ["mod.rs", "bowline.rs"] {
        let committed = types_folder().join("..").join(crate_folder);
        let committed = committed.join("src/generated").join(name);
        let fresh = fs::read_to_string(folder.join("out").join(name)).expect("it was generated");
        assert!(
            fs::read_to_string(&committed).expect("it is committed") == fresh,
            "{} is stale: run `make gen`",
            committed.display()
        );
    }
}

#[test]
fn our_committed_messages_are_fresh() {
    let types = types_folder();
    let reuse = OF_WIRE.map(|name| format!("bowline.{name}=bowline_wire::messages"));
    let reuse = reuse.join(",");
    expect_fresh(
        "fresh",
        &["--rust-reuse", &reuse, types.to_str().unwrap()],
        "crates/msgs",
    );
    let files = OF_WIRE.map(|name| types.join(name).with_extension("lcm"));
    let files = files.each_ref().map(|file| file.to_str().unwrap());
    expect_fresh(
        "fresh_of_wire",
        &[&["--rust-wire", "crate"], &files[..]].concat(),
        "crates/wire",
    );
}

#[test]
fn a_reused_type_is_reexported_and_not_defined_again() {
    let folder = scratch("reuse");
    write(
        &folder,
        "a.lcm",
        "package p; struct near_t { string x; } struct far_t { near_t near; int8_t y; }",
    );
    let gen_with = |reuse: &str| {
        let arguments = ["gen", "--rust", "out", "--rust-reuse", reuse, "a.lcm"];
        bowline_in(&folder, &arguments, b"")
    };
    let output = gen_with("p.near_t=theirs::p");
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let code = fs::read_to_string(folder.join("out/p.rs")).unwrap();
    assert!(
        code.contains("pub use theirs::p::{Near, NearRef};"),
        "{code}"
    );
    assert!(!code.contains("pub struct Near"), "{code}");
    assert!(code.contains("pub struct Far "), "{code}");

    let output = gen_with("p=theirs::p");
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let code = fs::read_to_string(folder.join("out/p.rs")).unwrap();
    assert!(!code.contains("struct"), "{code}");

    for (reuse, expected) in [
        ("p.near_t", "expected NAME=MODULE, found \"p.near_t\""),
        (
            "p.nearer_t=theirs::p",
            "expected a type or a package of these files, found \"p.nearer_t\"",
        ),
    ] {
        let output = gen_with(reuse);
        assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
        assert!(stderr(&output).contains(expected), "{}", stderr(&output));
    }
}

#[test]
fn a_type_of_another_file_is_an_error_for_rust_even_under_compat() {
    let folder = scratch("external");
    write(&folder, "a.lcm", "package p; struct a { far_t x; }");
    let output = bowline_in(
        &folder,
        &["gen", "--lcm-compat", "--rust", "out", "a.lcm"],
        b"",
    );
    assert_eq!(output.status.code(), Some(1), "{}", stdout(&output));
    assert!(
        stderr(&output).contains("found none for p.far_t"),
        "{}",
        stderr(&output)
    );
}

#[test]
fn two_types_that_would_be_one_file_are_refused() {
    let folder = scratch("one_file");
    write(&folder, "1.lcm", "package a.b; struct c_t { int8_t x; }");
    write(&folder, "2.lcm", "package a; struct b_c_t { int16_t y; }");
    let output = bowline_in(&folder, &["gen", "--c", "out", "1.lcm", "2.lcm"], b"");
    assert_eq!(output.status.code(), Some(1));
    assert!(
        stderr(&output).contains("found two that are out/a_b_c_t.h in c"),
        "{}",
        stderr(&output)
    );
    assert!(!folder.join("out").exists());
}

#[test]
fn a_folder_taken_for_the_output_is_named_when_no_input_is_left() {
    let folder = scratch("no_input");
    let output = bowline_in(&folder, &["gen", "--rust", "types"], b"");
    assert_eq!(output.status.code(), Some(2));
    assert!(
        stderr(&output).contains("types is where the output goes"),
        "{}",
        stderr(&output)
    );
}

#[test]
fn typescript_on_a_runtime_from_a_package_imports_it_and_writes_none() {
    let folder = scratch("typescript runtime");
    write(&folder, "a.lcm", "package p; struct a { int8_t x; }");
    let generate = |out: &str, more: &[&str]| {
        let args: Vec<&str> = ["gen", "--typescript", out, "a.lcm"]
            .iter()
            .chain(more)
            .copied()
            .collect();
        let output = bowline_in(&folder, &args, b"");
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        let read = |name: &str| fs::read_to_string(folder.join(out).join(name)).unwrap();
        (read("p/a.ts"), read("index.ts"))
    };
    let (module, index) = generate("own", &[]);
    assert!(module.contains("from \"../bowline.js\";"), "{module}");
    assert!(
        index.contains("EncodeError } from \"./bowline.js\";"),
        "{index}"
    );
    assert!(folder.join("own/bowline.ts").exists());

    let (module, index) = generate("packaged", &["--typescript-runtime", "bowline/wire"]);
    assert!(module.contains("from \"bowline/wire\";"), "{module}");
    assert!(
        index.contains("EncodeError } from \"bowline/wire\";"),
        "{index}"
    );
    assert!(!folder.join("packaged/bowline.ts").exists());
}
