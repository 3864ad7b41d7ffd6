//! What adding something touches: for each extension point, the files that name its newest example.
//!
//! An extension is one file of its own and one row in a table. So nothing else in the repository may name it: no second
//! list, no `match`, no help text, no document, no fuzz list. Where that does not hold yet, the files are listed as debt;
//! a list may only get shorter.

use bowline_tests::peers::workspace;
use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

/// One way to extend Bowline, measured by its newest example.
struct ExtensionPoint {
    what: &'static str,
    /// How code and documents would name the example; each is searched for as a whole word.
    names: &'static [&'static str],
    /// Files and folders of the example itself, its users by design and its own document among them.
    own: &'static [&'static str],
    /// The file with the table; none where nothing but the example itself is needed.
    table: Option<&'static str>,
    /// Files that name it and should not.
    debt: &'static [&'static str],
}

const EXTENSION_POINTS: &[ExtensionPoint] = &[
    ExtensionPoint {
        what: "actuation",
        // In the simulator, and as what persons command: its set-point, its gate, its axes, its verb.
        names: &[
            "<hull",
            "\"hull\"",
            "hull::",
            "HULL",
            "Hull",
            "\"thrust\"",
            "operator.thrust",
            "thrust_command",
            "ThrustCommand",
            "GateComponent<Thrust>",
            "port_ratio",
        ],
        // The controller of vessels reads a hull's drag, shares its description with the simulator, and commands its
        // thrusters; the drivers are those of its devices. The vectors of clients and the fuzzer of gates use it.
        own: &[
            "crates/sim/src/actuation/hull",
            "crates/geometry/src/hull.rs",
            "crates/autonomy/src/gate/actuation/thrust.rs",
            "crates/autonomy/src/control/vessel",
            "crates/drivers/src/roboteq/",
            "crates/drivers/src/thrust.rs",
            "crates/operator/vectors/",
            "fuzz/src/gate.rs",
            "fuzz/src/roboteq.rs",
            "types/thrust_t.lcm",
            "docs/vessel.md",
        ],
        table: Some("crates/sim/src/actuation.rs"),
        debt: &[],
    },
    ExtensionPoint {
        what: "component kind",
        names: &["dynamic_window", "WindowDriver"],
        // The document compares drivers, this one among them.
        own: &[
            "crates/autonomy/src/plan/drivers/window.rs",
            "docs/ground.md",
        ],
        table: Some("crates/bowline/src/kinds.rs"),
        debt: &[],
    },
    ExtensionPoint {
        what: "doctor's check",
        names: &["shared_memory", "\"shared memory\""],
        own: &["crates/bowline/src/verbs/doctor/checks/host.rs"],
        table: Some("crates/bowline/src/verbs/doctor/checks.rs"),
        // What a check looks at is gathered in one place, and so far by hand.
        debt: &[
            "crates/bowline/src/verbs/doctor/gather.rs",
            "crates/bowline/src/verbs/doctor/proc.rs",
            "crates/bowline/src/verbs/doctor/snapshot.rs",
        ],
    },
    ExtensionPoint {
        what: "driver",
        names: &["roboteq", "Roboteq"],
        own: &["crates/drivers/src/roboteq", "fuzz/src/roboteq.rs"],
        table: Some("crates/bowline/src/kinds.rs"),
        // A row of a table in a document, and its parser's row in the list of fuzz targets.
        debt: &["docs/devices.md", "fuzz/src/lib.rs"],
    },
    ExtensionPoint {
        what: "fuzz target",
        names: &["station_frames"],
        own: &[
            "fuzz/src/station_frames.rs",
            "crates/station/src/fuzzing.rs",
        ],
        table: Some("fuzz/src/lib.rs"),
        debt: &[],
    },
    ExtensionPoint {
        what: "link carrier",
        names: &["tcp::Tcp", "struct Tcp", "`tcp`"],
        own: &["crates/link/src/carrier/tcp.rs"],
        table: Some("crates/link/src/carrier.rs"),
        debt: &[],
    },
    ExtensionPoint {
        what: "link scheduler",
        names: &["round_robin", "RoundRobin"],
        own: &["crates/link/src/schedule/round_robin.rs"],
        table: Some("crates/link/src/schedule.rs"),
        debt: &[],
    },
    ExtensionPoint {
        what: "message type",
        names: &["link_path_t"],
        // The message that has it as a field, and the panel that draws it.
        own: &[
            "types/link_path_t.lcm",
            "types/link_t.lcm",
            "crates/station/web/src/panels/link.ts",
        ],
        table: None,
        debt: &[],
    },
    ExtensionPoint {
        what: "panel",
        names: &["panels/metrics", "./metrics.js", "\"metrics\""],
        own: &["crates/station/web/src/panels/metrics.ts"],
        table: Some("crates/station/web/src/panels/index.ts"),
        debt: &[],
    },
    ExtensionPoint {
        what: "simulated sensor",
        names: &["<spectrometer", "\"spectrometer\"", "spectrometer::"],
        own: &["crates/sim/src/sensor/spectrometer.rs"],
        table: Some("crates/sim/src/sensor.rs"),
        debt: &[],
    },
    ExtensionPoint {
        what: "target language",
        names: &["\"cpp\"", "cpp::", "cpp.rs", "--cpp"],
        own: &["crates/lang/src/emit/cpp"],
        table: Some("crates/lang/src/emit.rs"),
        debt: &[],
    },
    ExtensionPoint {
        what: "transport",
        names: &["mpudpm"],
        // Its ports without sockets, and the messages by which it agrees on them.
        own: &[
            "crates/bus/src/transport/mpudpm",
            "crates/wire/src/mpudpm.rs",
            "types/channel_port_map_update_t.lcm",
            "types/channel_to_port_t.lcm",
        ],
        table: Some("crates/bus/src/schemes.rs"),
        // Documents that list transports, and what it shares with the transport that it is built on.
        debt: &[
            "ARCHITECTURE.md",
            "crates/bus/README.md",
            "crates/bus/src/clock.rs",
            "crates/bus/src/transport/udpm/examine.rs",
            "crates/wire/src/datagram.rs",
            "docs/bus.md",
        ],
    },
    ExtensionPoint {
        what: "verb",
        names: &["completions::", "bowline completions", "\"completions\""],
        own: &["crates/bowline/src/verbs/completions.rs"],
        table: Some("crates/bowline/src/verbs.rs"),
        debt: &[],
    },
];

/// Files that may name anything, and why.
const EXEMPT: &[(&str, &str)] = &[
    ("CHANGELOG.md", "history: it says when something was added"),
    ("tests/", "tests try examples by name"),
    ("/tests/", "tests try examples by name"),
    ("/tests.rs", "tests try examples by name"),
    ("bench/", "benchmarks compare chosen examples"),
    ("examples/", "programs that users copy use what they want"),
    ("fuzz/corpus/", "inputs, which may say anything"),
    ("links/", "a configuration uses what it wants"),
    ("missions/", "a configuration uses what it wants"),
    ("models/", "a configuration uses what it wants"),
    ("robots/", "a configuration uses what it wants"),
    ("worlds/", "a configuration uses what it wants"),
    (
        "crates/msgs/src/generated/",
        "generated from types/, and checked",
    ),
    (
        "crates/station/web/src/generated/",
        "generated from types/, and checked",
    ),
    (
        "crates/station/web/dist/",
        "built from the page's sources, and checked",
    ),
    (
        "docs/elements.md",
        "generated from the simulator's tables, and checked",
    ),
    (
        "docs/model.xsd",
        "generated from the simulator's tables, and checked",
    ),
    ("docs/reference/", "generated from --help, and checked"),
];

fn is_exempt(path: &str) -> bool {
    EXEMPT.iter().any(|(part, _)| match part.strip_prefix('/') {
        Some(_) => path.contains(part),
        None => path.starts_with(part),
    })
}

/// All text files of the repository, without what declares modules: a parent must name its children.
fn texts(root: &Path) -> Vec<(String, String)> {
    let output = Command::new("git")
        .args(["ls-files", "-z"])
        .current_dir(root)
        .output()
        .expect("git runs");
    assert!(output.status.success(), "git lists the repository's files");
    let listed = String::from_utf8(output.stdout).expect("paths are UTF-8");
    let paths = listed
        .split('\0')
        .filter(|path| !path.is_empty() && !is_exempt(path));
    let texts = paths.filter_map(|path| {
        let text = std::fs::read_to_string(root.join(path)).ok()?;
        let text = if path.ends_with(".rs") {
            without_modules(&text)
        } else {
            text
        };
        Some((path.to_owned(), text))
    });
    texts.collect()
}

/// Rust without `mod` and `pub use`.
fn without_modules(text: &str) -> String {
    let mut kept = String::new();
    let mut is_inside = false;
    for line in text.lines() {
        let begins = [
            "mod ",
            "pub mod ",
            "pub(crate) mod ",
            "pub use ",
            "pub(crate) use ",
        ];
        let code = line.trim_start();
        is_inside |= begins.iter().any(|begin| code.starts_with(begin)) && !code.ends_with('{')
            || code.starts_with("pub use ")
            || code.starts_with("pub(crate) use ");
        if !is_inside {
            kept.push_str(line);
            kept.push('\n');
        }
        is_inside &= !code.ends_with(';');
    }
    kept
}

/// Whether a text has a name as a whole word.
fn names(text: &str, name: &str) -> bool {
    let is_word = |letter: Option<char>| letter.is_some_and(|it| it.is_alphanumeric() || it == '_');
    let (first, last) = (name.chars().next(), name.chars().last());
    text.match_indices(name).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        let after = text[at + name.len()..].chars().next();
        let goes_on = is_word(before) && is_word(first) || is_word(after) && is_word(last);
        !goes_on
    })
}

#[test]
fn extension_touches_its_own_files_and_one_table() {
    let texts = texts(&workspace());
    assert!(
        texts.len() > 500,
        "only {} files were searched",
        texts.len()
    );
    let mut wrong = Vec::new();
    for point in EXTENSION_POINTS {
        let ExtensionPoint {
            what,
            names: words,
            own,
            table,
            debt,
        } = point;
        let naming = texts
            .iter()
            .filter(|(_, text)| words.iter().any(|word| names(text, word)));
        let naming: BTreeSet<&str> = naming.map(|(path, _)| path.as_str()).collect();
        let is_own = |path: &str| own.iter().any(|own| path.starts_with(own));
        if !naming.iter().any(|path| is_own(path)) {
            wrong.push(format!(
                "{what}: no file of its own names the example {words:?}"
            ));
        }
        for table in table.iter().filter(|table| !naming.contains(*table)) {
            wrong.push(format!(
                "{what}: the table {table} has no row of the example"
            ));
        }
        for path in &naming {
            if !is_own(path) && Some(*path) != *table && !debt.contains(path) {
                wrong.push(format!(
                    "{what}: {path} names the example, too: one of {words:?}"
                ));
            }
        }
        for path in debt.iter().filter(|path| !naming.contains(*path)) {
            wrong.push(format!(
                "{what}: {path} does not name it any more: take it off the list"
            ));
        }
    }
    assert!(
        wrong.is_empty(),
        "an extension is files of its own and one row of a table:\n{}",
        wrong.join("\n")
    );
}

#[test]
fn names_are_found_as_whole_words_outside_of_module_lists() {
    for (text, name, is_there) in [
        ("use hull::Hull;", "Hull", true),
        ("MakeHullError", "Hull", false),
        ("a `<hull length_m>`", "<hull", true),
        ("hulls", "hull", false),
        ("dynamic_window", "window", false),
    ] {
        assert_eq!(names(text, name), is_there, "{name} in {text}");
    }
    let text = "mod a;\npub use b::{\n    c,\n    d,\n};\nlet e = a::f();\nmod tests {\n    g\n}\n";
    assert_eq!(
        without_modules(text),
        "let e = a::f();\nmod tests {\n    g\n}\n"
    );
}
