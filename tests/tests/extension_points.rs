//! What adding something touches: for each extension point, the files that name its newest example.
//!
//! An extension is one file of its own and one row in a table. So nothing else in the repository may name it: no second
//! list, no `match`, no help text, no document, no fuzz list. Where that does not hold yet, the files are listed as debt;
//! a list may only get shorter.
//!
//! The newest example is the one that was added last, by git's history, where the examples of a point are files of one folder.

use bowline_tests::peers::workspace;
use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

/// One way to extend Bowline, measured by its newest example.
struct ExtensionPoint {
    what: &'static str,
    /// The folder of the examples and what their files end with; none where they are in many places.
    folder: Option<(&'static str, &'static str)>,
    /// The example that is measured if it is among those that were added last; otherwise one of these is.
    example: &'static str,
    /// How code and documents would name the example, `{}`; each is searched for as a whole word.
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
        folder: None,
        example: "hull",
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
            "fuzz/src/targets/gate.rs",
            "fuzz/src/targets/roboteq.rs",
            "types/thrust_t.lcm",
            "docs/vessel.md",
        ],
        table: Some("crates/sim/src/actuation.rs"),
        debt: &[],
    },
    ExtensionPoint {
        what: "alarm",
        folder: None,
        example: "task_refused",
        names: &["{}"],
        own: &["crates/autonomy/src/helm.rs"],
        table: None,
        debt: &[],
    },
    ExtensionPoint {
        what: "component kind",
        folder: None,
        example: "dynamic_window",
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
        folder: Some(("crates/bowline/src/verbs/doctor/checks", "rs")),
        example: "host",
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
        folder: Some(("crates/drivers/src", "rs")),
        example: "roboteq",
        names: &["{}", "{Type}"],
        own: &["crates/drivers/src/{}", "fuzz/src/targets/{}.rs"],
        table: Some("crates/bowline/src/kinds.rs"),
        debt: &[],
    },
    ExtensionPoint {
        what: "fuzz target",
        folder: Some(("fuzz/src/targets", "rs")),
        example: "station_frames",
        names: &["{}"],
        own: &["fuzz/src/targets/{}.rs", "crates/station/src/fuzzing.rs"],
        table: None,
        debt: &[],
    },
    ExtensionPoint {
        what: "link carrier",
        folder: Some(("crates/link/src/carrier", "rs")),
        example: "tcp",
        names: &["{}::{Type}", "struct {Type}", "`{}`"],
        own: &["crates/link/src/carrier/{}.rs"],
        table: Some("crates/link/src/carrier.rs"),
        debt: &[],
    },
    ExtensionPoint {
        what: "link scheduler",
        folder: Some(("crates/link/src/schedule", "rs")),
        example: "round_robin",
        names: &["{}", "{Type}"],
        own: &["crates/link/src/schedule/{}.rs"],
        table: Some("crates/link/src/schedule.rs"),
        debt: &[],
    },
    ExtensionPoint {
        what: "map layer",
        folder: Some(("crates/station/web/src/map", "ts")),
        example: "leg",
        names: &["./{}.js", "id: \"{}\""],
        own: &["crates/station/web/src/map/{}.ts"],
        table: Some("crates/station/web/src/map/layers.ts"),
        debt: &[],
    },
    ExtensionPoint {
        what: "message type",
        folder: Some(("types", "lcm")),
        example: "listed_alarm_t",
        names: &["{}"],
        // Messages that have it as a field, documents of what uses it, and the page, which imports it by its file.
        own: &["types/", "docs/", "crates/station/web/src/"],
        table: None,
        debt: &[],
    },
    ExtensionPoint {
        what: "panel",
        folder: Some(("crates/station/web/src/panels", "ts")),
        example: "metrics",
        names: &["panels/{}", "./{}.js", "\"{}\""],
        own: &["crates/station/web/src/panels/{}.ts"],
        table: Some("crates/station/web/src/panels/index.ts"),
        debt: &[],
    },
    ExtensionPoint {
        what: "simulated sensor",
        folder: Some(("crates/sim/src/sensor", "rs")),
        example: "spectrometer",
        names: &["<{}", "\"{}\"", "{}::"],
        own: &["crates/sim/src/sensor/{}.rs"],
        table: Some("crates/sim/src/sensor.rs"),
        debt: &[],
    },
    ExtensionPoint {
        what: "target language",
        folder: Some(("crates/lang/src/emit", "rs")),
        example: "cpp",
        names: &["\"{}\"", "{}::", "{}.rs", "--{}"],
        // The document shows how code of each language is made.
        own: &["crates/lang/src/emit/{}", "docs/messages.md"],
        table: Some("crates/lang/src/emit.rs"),
        debt: &[],
    },
    ExtensionPoint {
        what: "transport",
        folder: Some(("crates/bus/src/transport", "rs")),
        example: "mpudpm",
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
        folder: Some(("crates/bowline/src/verbs", "rs")),
        example: "completions",
        names: &["{}::", "bowline {}", "\"{}\""],
        own: &["crates/bowline/src/verbs/{}", "docs/{}.md"],
        table: Some("crates/bowline/src/verbs.rs"),
        debt: &[],
    },
];

/// Files that may name anything, and why.
const EXEMPT: &[(&str, &str)] = &[
    ("CHANGELOG.md", "history: it has when something was added"),
    ("tests/", "tests try examples by name"),
    ("/tests/", "tests try examples by name"),
    ("/tests.rs", "tests try examples by name"),
    ("bench/", "benchmarks compare chosen examples"),
    ("examples/", "programs that users copy use what they want"),
    ("fuzz/corpus/", "inputs of any content"),
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

impl ExtensionPoint {
    /// Templates with the name of the example, as it is and as a type's.
    fn filled(templates: &[&str], example: &str) -> Vec<String> {
        let words = example.split('_').map(|word| {
            let (first, rest) = word.split_at(word.len().min(1));
            first.to_uppercase() + rest
        });
        let type_name: String = words.collect();
        let fill = |text: &&str| text.replace("{Type}", &type_name).replace("{}", example);
        templates.iter().map(fill).collect()
    }

    /// The newest example: that of the table if it is one of those.
    fn measured(&self) -> String {
        let newest = if is_shallow() { None } else { self.newest() };
        let other = newest.and_then(|newest| {
            let is_named = newest.contains(self.example);
            newest.into_iter().next_back().filter(|_| !is_named)
        });
        other.unwrap_or_else(|| self.example.to_owned())
    }

    /// The examples that were added last, if git knows.
    fn newest(&self) -> Option<BTreeSet<String>> {
        let (folder, extension) = self.folder?;
        let table = self.table.map(|table| {
            std::fs::read_to_string(workspace().join(table)).expect("the table is there")
        });
        let history = git(&[
            "log",
            "-M",
            "--diff-filter=A",
            "--format=%x00",
            "--name-only",
            "--",
            folder,
        ]);
        let example = |path: &str| {
            let name = path.strip_prefix(folder)?.strip_prefix('/')?;
            let name = name.strip_suffix(extension)?.strip_suffix('.')?;
            let is_row = table.as_ref().is_none_or(|table| names(table, name));
            let is_there = !name.contains('/') && workspace().join(path).exists();
            (is_there && is_row).then(|| name.to_owned())
        };
        let commits = history.split('\0');
        let mut added = commits.map(|paths| paths.lines().filter_map(example).collect());
        added.find(|examples: &BTreeSet<String>| !examples.is_empty())
    }
}

fn git(arguments: &[&str]) -> String {
    let mut command = Command::new("git");
    let output = command.args(arguments).current_dir(workspace()).output();
    let output = output.expect("git runs");
    assert!(output.status.success(), "git {arguments:?}: {output:?}");
    String::from_utf8(output.stdout).expect("git prints text")
}

#[test]
fn newest_examples_are_known_to_git() {
    if is_shallow() {
        return;
    }
    let found = EXTENSION_POINTS.iter().filter_map(ExtensionPoint::newest);
    assert!(found.count() > 8, "git knows when examples were added");
}

/// Whether the history is not here; then the examples of the table are measured, and the run shows so.
fn is_shallow() -> bool {
    let is_shallow = git(&["rev-parse", "--is-shallow-repository"]).trim() == "true";
    if is_shallow {
        eprintln!(
            "which examples are the newest is not known: `git fetch --unshallow` brings the history"
        );
    }
    is_shallow
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
            what, table, debt, ..
        } = point;
        let example = point.measured();
        if point.names.iter().all(|name| !name.contains('{')) && example != point.example {
            wrong.push(format!(
                "{what}: {example} is newer: write down how it is named"
            ));
        }
        let words = ExtensionPoint::filled(point.names, &example);
        let own = ExtensionPoint::filled(point.own, &example);
        let naming = texts
            .iter()
            .filter(|(_, text)| words.iter().any(|word| names(text, word)));
        let naming: BTreeSet<&str> = naming.map(|(path, _)| path.as_str()).collect();
        let is_own = |path: &str| own.iter().any(|own| path.starts_with(own.as_str()));
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
