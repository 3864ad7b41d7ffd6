//! In place of lcm-gen: the same flags, the same files, and code that mixes with its own in one program.

use bowline_tests::built::rustc;
use bowline_tests::peers::{Peers, bowline, run};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

fn scratch(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"))
        .join("drop_in")
        .join(name);
    if folder.exists() {
        fs::remove_dir_all(&folder).expect("the last run's folder can go");
    }
    fs::create_dir_all(&folder).expect("a scratch folder can be made");
    folder
}

/// All files below a folder.
fn files(folder: &Path) -> BTreeSet<PathBuf> {
    let mut found = BTreeSet::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(next).expect("a folder can be read") {
            let path = entry.expect("a folder can be read").path();
            if path.is_dir() {
                folders.push(path);
            } else {
                found.insert(
                    path.strip_prefix(folder)
                        .expect("it is below")
                        .to_path_buf(),
                );
            }
        }
    }
    found
}

const TYPES: &[(&str, &str)] = &[
    (
        "waypoint_t.lcm",
        "package nav.plan; struct waypoint_t { string id; float position[2]; }",
    ),
    (
        "path_t.lcm",
        "package nav.plan; struct path_t { const int32_t MAX = 9; int32_t n; waypoint_t waypoints[n]; }",
    ),
    ("bare_t.lcm", "struct bare_t { int8_t x; }"),
];

#[test]
fn command_lines_of_lcm_gen_give_the_same_files() {
    let (peers, bowline) = (Peers::find(), bowline());
    let command_lines: &[&[&str]] = &[
        &[
            "-c",
            "--c-cpath",
            "src",
            "--c-hpath=include",
            "waypoint_t.lcm",
            "path_t.lcm",
        ],
        &[
            "--c",
            "--c-no-pubsub",
            "--c-typeinfo",
            "--cinclude",
            "nav",
            "bare_t.lcm",
        ],
        &[
            "-x",
            "--cpp-hpath",
            "out",
            "--cpp-std=c++11",
            "waypoint_t.lcm",
            "path_t.lcm",
        ],
        &[
            "--cpp",
            "--cpp-include",
            "gen",
            "--use-quotes-for-includes",
            "bare_t.lcm",
        ],
        &[
            "-j",
            "--jpath",
            "out",
            "--jdefaultpkg",
            "robot",
            "bare_t.lcm",
            "waypoint_t.lcm",
        ],
        &["-p", "--ppath", "out", "waypoint_t.lcm", "path_t.lcm"],
        &[
            "--python",
            "--python-no-init",
            "--ppath=out",
            "--lazy",
            "waypoint_t.lcm",
        ],
        &[
            "-c",
            "-x",
            "-j",
            "-p",
            "--package-prefix",
            "acme",
            "waypoint_t.lcm",
        ],
    ];
    for (i, args) in command_lines.iter().enumerate() {
        let made =
            [(peers.lcm_gen(), None), (bowline.clone(), Some("gen"))].map(|(program, verb)| {
                let folder = scratch(&format!("flags{i}{}", verb.unwrap_or("")));
                for (name, text) in TYPES {
                    fs::write(folder.join(name), text).unwrap();
                }
                // lcm-gen's C makes no folders.
                fs::create_dir_all(folder.join("src")).unwrap();
                fs::create_dir_all(folder.join("include")).unwrap();
                run(Command::new(program)
                    .args(verb)
                    .args(*args)
                    .current_dir(&folder));
                files(&folder)
            });
        let [theirs, ours] = made;
        assert_eq!(ours, theirs, "{args:?}");
    }
}

const MIXED_MAIN: &str = r#"
#include <stdio.h>
#include "nav_plan_path_t.h"
int main(void) {
    nav_plan_waypoint_t waypoint = {"dock", {1, 2}};
    nav_plan_path_t path = {1, &waypoint}, decoded;
    unsigned char buf[100];
    int n = nav_plan_path_t_encode(buf, 0, sizeof buf, &path), i;
    if (n != nav_plan_path_t_encoded_size(&path) || nav_plan_path_t_decode(buf, 0, n, &decoded) != n) return 1;
    nav_plan_path_t_decode_cleanup(&decoded);
    for (i = 0; i < n; i++) printf("%02x", buf[i]);
    return 0;
}
"#;

/// One file at a time, as build rules for lcm-gen do it, and each file from the one or the other compiler.
#[test]
fn c_files_of_both_compilers_mix_in_one_program() {
    let (peers, bowline) = (Peers::find(), bowline());
    let mut printed = BTreeSet::new();
    for (i, who) in [[0, 0], [0, 1], [1, 0], [1, 1]].into_iter().enumerate() {
        let folder = scratch(&format!("mix{i}"));
        for ((name, text), who) in TYPES.iter().zip(who) {
            fs::write(folder.join(name), text).unwrap();
            let mut command = match who {
                0 => Command::new(peers.lcm_gen()),
                _ => Command::new(&bowline),
            };
            if who == 1 {
                command.args(["gen", "--lcm-compat"]);
            }
            run(command
                .args(["-c", "--c-no-pubsub", name])
                .current_dir(&folder));
        }
        fs::write(folder.join("main.c"), MIXED_MAIN).unwrap();
        let mut gcc = Command::new("gcc");
        gcc.args([
            "-Wall",
            "-Wextra",
            "-o",
            "mix",
            "main.c",
            "nav_plan_path_t.c",
            "nav_plan_waypoint_t.c",
            "-I",
        ]);
        run(gcc.arg(peers.include()).current_dir(&folder));
        let output = Command::new(folder.join("mix")).output().unwrap();
        assert!(output.status.success(), "mix {i}");
        printed.insert(String::from_utf8(output.stdout).unwrap());
    }
    assert_eq!(printed.len(), 1, "{printed:?}");
}

/// Names that are words of some language, or close to what generated code needs for itself.
const AWKWARD: &str = "
package class.import;
struct String { int8_t self, Self, pass, interface, type, class, def, fn, end, new, null, await, async, yield; }
struct none_t { int32_t length; byte data[length]; string buf[length]; int8_t offset, maxlen, p, pos, reader, writer; }
struct list_t { int32_t n; None item; list_t next[n]; int8_t a, b, i, e, len, value, out, in, this, other, struct, meter; }
struct None { const int32_t MAX = 5; const double PI = 3.5; double constructor; int64_t encode, decode, hash, copy, NAME; }
enum Enum { class, RED = -5, default }
struct u_t { int16_t z; const int32_t constructor = 1; }
struct option { string s; }
struct string_thing_t { int8_t q; }
struct thing_t { int32_t n; Enum Enum[n]; int8_t Some[n], Ok[n], Vec[n]; int32_t N; float x[N]; }
struct Box { Enum kind; Enum kinds[2]; string toString; boolean equals, wait, NULL_, True, undefined, prototype, Object; }
";

#[test]
fn awkward_names_compile_in_every_language() {
    let (peers, bowline) = (Peers::find(), bowline());
    let folder = scratch("awkward");
    fs::write(folder.join("awkward.lcm"), AWKWARD).unwrap();
    let mut generate = Command::new(bowline);
    generate.args([
        "gen",
        "--c",
        "c",
        "--cpp",
        "cpp",
        "--java",
        "java",
        "--python",
        "py",
        "--rust",
        "src",
        "--typescript",
        "ts",
    ]);
    run(generate.arg("awkward.lcm").current_dir(&folder));
    let of = |kind: &str| -> Vec<PathBuf> {
        let is_kind = |path: &PathBuf| path.extension().is_some_and(|extension| extension == kind);
        files(&folder).into_iter().filter(is_kind).collect()
    };

    let mut gcc = Command::new("gcc");
    gcc.args(["-fsyntax-only", "-Wall", "-Wextra", "-Werror", "-Ic", "-I"])
        .arg(peers.include());
    run(gcc.args(of("c")).current_dir(&folder));
    for header in of("hpp") {
        let mut gpp = Command::new("g++");
        gpp.args([
            "-fsyntax-only",
            "-x",
            "c++",
            "-Wall",
            "-Wextra",
            "-Icpp",
            "-I",
        ])
        .arg(peers.include());
        run(gpp.arg(header).current_dir(&folder));
    }
    run(Command::new("javac")
        .arg("-cp")
        .arg(peers.jar())
        .args(["-d", "classes"])
        .args(of("java"))
        .current_dir(&folder));
    run(Command::new(peers.python())
        .args(["-m", "compileall", "-q", "py"])
        .current_dir(&folder));
    let mut tsc = Command::new(peers.tsc());
    tsc.args([
        "--noEmit",
        "--strict",
        "--target",
        "es2022",
        "--module",
        "nodenext",
        "--moduleResolution",
        "nodenext",
    ]);
    run(tsc.args(of("ts")).current_dir(&folder));

    run(rustc(Path::new("src/mod.rs"))
        .args(["--crate-type", "lib", "--crate-name", "awkward"])
        .args(["--emit", "metadata"])
        .current_dir(&folder));
}

/// Encodes with the reference's class and with ours, and decodes with ours: of each argument, the text's letters by number.
const TEXTS_MAIN: &str = r#"
import java.io.*;
class Texts {
    static String letters(String text) {
        StringBuilder out = new StringBuilder();
        text.codePoints().forEach(letter -> out.append(' ').append(letter));
        return out.toString();
    }
    static byte[] bytes(lcm.lcm.LCMEncodable message) throws IOException {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        message.encode(new DataOutputStream(out));
        return out.toByteArray();
    }
    static void show(String who, byte[] message) throws IOException {
        StringBuilder hex = new StringBuilder();
        // A fingerprint, a length, the text and its NUL.
        for (int i = 12; i < message.length - 1; i++) hex.append(String.format("%02x", message[i]));
        System.out.println(who + " " + hex + letters(new ours.text_t(message).text));
    }
    public static void main(String[] args) throws IOException {
        String text = new String(new int[] {'c', 'a', 'f', 0xe9}, 0, 4);
        theirs.text_t theirs = new theirs.text_t();
        theirs.text = text;
        show("theirs", bytes(theirs));
        ours.text_t ours = new ours.text_t();
        ours.text = text;
        show("ours", bytes(ours));
        // Every byte beyond ASCII, by itself, as Latin-1 has it.
        byte[] message = bytes(theirs);
        for (int letter = 0x80; letter < 0x100; letter++) {
            message[15] = (byte) letter;
            int read = new ours.text_t(message).text.codePointAt(3);
            if (read != letter) System.out.println(letter + " was read as " + read);
        }
    }
}
"#;

#[test]
fn generated_java_sends_utf_8_and_reads_latin_1_where_a_string_is_not_utf_8() {
    let (peers, bowline) = (Peers::find(), bowline());
    let folder = scratch("texts");
    for (package, command) in [
        ("theirs", &mut Command::new(peers.lcm_gen())),
        ("ours", Command::new(bowline).arg("gen")),
    ] {
        let file = format!("{package}.lcm");
        let text = format!("package {package}; struct text_t {{ string text; }}");
        fs::write(folder.join(&file), text).unwrap();
        run(command.args(["-j", &file]).current_dir(&folder));
    }
    fs::write(folder.join("Texts.java"), TEXTS_MAIN).unwrap();
    run(Command::new("javac")
        .args(["-J-XX:TieredStopAtLevel=1", "-J-XX:+UseSerialGC", "-cp"])
        .arg(peers.jar())
        .args(["-d", "classes", "Texts.java"])
        .args(["theirs/text_t.java", "ours/text_t.java"])
        .current_dir(&folder));
    let mut java = Command::new("java");
    java.args(["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-cp"]);
    let output = java
        .arg(format!("classes:{}", peers.jar().display()))
        .arg("Texts")
        .current_dir(&folder)
        .output()
        .unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{stderr}");
    let expected = "theirs 636166e9 99 97 102 233\nours 636166c3a9 99 97 102 233\n";
    assert_eq!(String::from_utf8(output.stdout).unwrap(), expected);
}
