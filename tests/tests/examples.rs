//! The programs of `examples/`, built and run as their users do. `scripts/build-examples` has built the Rust ones.

use crate::robots::Running;
use bowline_tests::built::scratch_root;
use bowline_tests::liblcm::{on_library, our_library};
use bowline_tests::netns::Namespace;
use bowline_tests::peers::{Peers, bowline, run, workspace};
use bowline_tests::process::Process;
use bowline_tests::python::Python;
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

fn example(name: &str) -> PathBuf {
    workspace().join("examples").join(name)
}

/// An empty folder.
fn scratch(name: &str) -> PathBuf {
    let folder = scratch_root().join("examples").join(name);
    if folder.exists() {
        fs::remove_dir_all(&folder).expect("the last run's folder can be removed");
    }
    fs::create_dir_all(&folder).expect("a scratch folder can be made");
    folder
}

/// Cargo's target folder of the examples.
fn target() -> PathBuf {
    let target = scratch_root();
    target
        .parent()
        .expect("it is in the target folder")
        .join("examples")
}

/// Makes a command one of cargo in an example, with what is built there already.
fn cargo(mut command: Command, folder: &Path, args: &[&str]) -> Command {
    command
        .args(args)
        .current_dir(folder)
        .env("CARGO_TARGET_DIR", target())
        .env("CARGO_PROFILE_DEV_DEBUG", "false")
        .env("CARGO_INCREMENTAL", "0")
        .env("CARGO_NET_OFFLINE", "true");
    command
}

/// The standard output of `cargo run -- ARGS` in an example; it must succeed.
fn cargo_run(folder: &Path, args: &[&str]) -> String {
    let args = [&["run", "--quiet", "--"], args].concat();
    let mut command = cargo(Command::new(env!("CARGO")), folder, &args);
    let output = command.output().expect("cargo starts");
    assert!(output.status.success(), "{args:?}: {output:?}");
    String::from_utf8(output.stdout).expect("it prints text")
}

#[test]
fn example_robot_passes_its_tests_runs_in_simulation_and_verifies() {
    let folder = example("robot");
    let python = Python::with_our_module(&Peers::find());
    run(&mut cargo(
        Command::new(env!("CARGO")),
        &folder,
        &["test", "--quiet"],
    ));
    cargo_run(&folder, &["gen", "--python=.", "types"]);
    if folder.join("logs").exists() {
        fs::remove_dir_all(folder.join("logs")).expect("the last run's logs can be removed");
    }

    let place = Namespace::new();
    let inside = |args: &[&str]| {
        let args = [&["run", "--quiet", "--"], args].concat();
        let mut command = cargo(place.command(env!("CARGO")), &folder, &args);
        command.env("PYTHONPATH", python.folder());
        command
    };
    let robot = Running::of(&mut inside(&["run", "robot.toml", "--source", "sim"]));
    // The limit of the Python process has come through the component in Rust, from the laser in the simulator.
    run(&mut inside(&["echo", "limiter.limit", "-n", "20"]));
    robot.end();

    let verify = [
        "run",
        "robot.toml",
        "--source",
        "log:logs/rover.mcap",
        "--verify",
    ];
    let output = inside(&verify).output().expect("nsenter is there");
    let verified = String::from_utf8(output.stdout).expect("it prints text");
    assert!(output.status.success(), "{verified}");
    for component in ["keeper", "limiter", "sim"] {
        let line = format!("{component}: the same:");
        assert!(verified.contains(&line), "{line} in\n{verified}");
    }
}

#[test]
fn example_robot_is_smaller_than_200_lines() {
    let output = Command::new("git")
        .args(["ls-files", "--cached", "--others", "--exclude-standard"])
        .current_dir(example("robot"))
        .output()
        .expect("git starts");
    let listed = String::from_utf8(output.stdout).expect("names are text");
    let read = |name: &str| fs::read_to_string(example("robot").join(name)).expect("it is text");
    let n_lines: usize = listed.lines().map(|name| read(name).lines().count()).sum();
    assert!(listed.contains("robot.toml"), "{listed}");
    assert!(n_lines < 200, "{n_lines} lines");
}

#[test]
fn example_driver_reads_its_twin() {
    let folder = example("driver");
    let log = scratch("driver").join("sounder.log").display().to_string();
    let simulate = [
        "run",
        "robot.toml",
        "--source",
        "sim",
        "--lockstep",
        "--for",
        "3s",
    ];
    cargo_run(&folder, &[&simulate[..], &["--record", &log]].concat());
    let depths = cargo_run(
        &folder,
        &["log", "cat", &log, "--channel", "sounder.reading"],
    );
    assert!(depths.lines().count() >= 5, "{depths}");
    assert!(depths.lines().all(|line| line.contains("12.3")), "{depths}");
}

#[test]
fn example_transport_keeps_its_promises_and_carries_what_verbs_publish() {
    let folder = example("transport");
    run(&mut cargo(
        Command::new(env!("CARGO")),
        &folder,
        &["test", "--quiet"],
    ));
    let transports = cargo_run(&folder, &["doctor", "--transports"]);
    assert!(transports.contains("mailbox://"), "{transports}");
    let url = format!("mailbox://examples-{}", std::process::id());
    let verb = |args: &[&str]| {
        let args = [&["run", "--quiet", "--"], args].concat();
        cargo(Command::new(env!("CARGO")), &folder, &args)
    };
    let wait = ["echo", "-l", &url, "mark", "-n", "1"];
    let echo = Process::start("echo", &mut verb(&wait));
    // Until it has been received: nothing tells when the other program listens.
    let words = ["pub", "-l", &url, "mark", "bowline.bookmark_t"];
    let message = r#"{"utime": 7, "text": "from the mailbox"}"#;
    let repeat = [message, "--rate", "20"];
    let publisher = Process::start("pub", &mut verb(&[&words[..], &repeat].concat()));
    let mut lines = std::iter::repeat_with(|| echo.line()).take(20);
    assert!(lines.any(|line| line.contains("from the mailbox")));
    drop(publisher);
}

#[test]
fn example_voter_votes_beside_those_of_bowline() {
    let folder = example("voter");
    let log = scratch("voter").join("corridor.log").display().to_string();
    let simulate = [
        "run",
        "robot.toml",
        "--source",
        "sim",
        "--lockstep",
        "--for",
        "3s",
    ];
    cargo_run(&folder, &[&simulate[..], &["--record", &log]].concat());
    let said = cargo_run(&folder, &["log", "cat", &log, "--channel", "arbiter"]);
    assert!(said.contains("corridor"), "{said}");
    let verify = ["run", "robot.toml", "--source"];
    let source = format!("log:{log}");
    let verified = cargo_run(&folder, &[&verify[..], &[&source, "--verify"]].concat());
    assert!(verified.contains("corridor: the same:"), "{verified}");
}

/// Code of the example's types in one language.
fn generate(language: &str, folder: &Path) {
    let mut command = Command::new(bowline());
    command.args(["gen", &format!("--{language}={}", folder.display())]);
    run(command.arg(example("pubsub/types")));
}

fn compile_c(peers: &Peers, compiler: &str, source: &Path, generated: &[PathBuf]) -> PathBuf {
    let folder = source.file_stem().expect("it has a name");
    let folder = scratch(&format!("{}-{compiler}", folder.display()));
    let program = folder.join("depth");
    let mut command = Command::new(compiler);
    command.args(["-Wall", "-Wextra", "-Werror", "-isystem"]);
    command.arg(peers.include()).arg(source).args(generated);
    command.arg("-L").arg(peers.library());
    run(command.args(["-llcm", "-pthread", "-o"]).arg(&program));
    program
}

/// On Bowline's library, by its name the one that the program was linked with.
fn c(peers: &Peers) -> Vec<OsString> {
    let types = scratch("pubsub-c");
    generate("c", &types);
    let include = format!("-I{}", types.display()).into();
    let generated = [include, types.join("sonar_depth_t.c")];
    let program = compile_c(peers, "gcc", &example("pubsub/c/depth.c"), &generated);
    on_library(&our_library(), &program)
}

/// On LCM's own library.
fn cpp(peers: &Peers) -> Vec<OsString> {
    let types = scratch("pubsub-cpp");
    generate("cpp", &types);
    let include = format!("-I{}", types.display()).into();
    let program = compile_c(peers, "g++", &example("pubsub/cpp/depth.cpp"), &[include]);
    on_library(&peers.library(), &program)
}

fn java(peers: &Peers) -> Vec<OsString> {
    let types = scratch("pubsub-java");
    generate("java", &types);
    let classes = types.join("classes");
    let mut javac = Command::new("javac");
    javac.args(["-J-XX:TieredStopAtLevel=1", "-cp"]);
    javac.arg(peers.jar()).arg("-d").arg(&classes);
    javac.arg(types.join("sonar/depth_t.java"));
    run(javac.arg(example("pubsub/java/Depth.java")));
    let mut path = classes.into_os_string();
    path.push(":");
    path.push(peers.jar());
    let java = ["java", "-XX:TieredStopAtLevel=1", "-cp"].map(OsString::from);
    java.into_iter().chain([path, "Depth".into()]).collect()
}

fn python(peers: &Peers, module: &Python) -> Vec<OsString> {
    let types = scratch("pubsub-python");
    generate("python", &types);
    let mut variable = OsString::from("PYTHONPATH=");
    variable.push(module.folder());
    variable.push(":");
    variable.push(&types);
    let script = example("pubsub/python/depth.py");
    vec!["env".into(), variable, peers.python().into(), script.into()]
}

fn typescript(peers: &Peers) -> Vec<OsString> {
    let folder = scratch("pubsub-typescript");
    generate("typescript", &folder.join("types"));
    for name in ["depth.ts", "node.d.ts", "package.json", "tsconfig.json"] {
        let source = example("pubsub/typescript").join(name);
        fs::copy(source, folder.join(name)).expect("a scratch folder can be written");
    }
    run(Command::new(peers.tsc()).arg("-p").arg(&folder));
    vec!["node".into(), folder.join("compiled/depth.js").into()]
}

#[test]
fn example_programs_of_six_languages_receive_each_other() {
    let peers = Peers::find();
    let module = Python::with_our_module(&peers);
    let rust = target().join("debug/depth");
    let programs = [
        ("c", c(&peers)),
        ("c++", cpp(&peers)),
        ("java", java(&peers)),
        ("python", python(&peers, &module)),
        ("rust", vec![rust.into()]),
        ("typescript", typescript(&peers)),
    ];
    let place = Namespace::new();
    let running = programs.each_ref().map(|(name, words)| {
        let mut command = place.command(&words[0]);
        Process::start(*name, command.args(&words[1..]))
    });
    let expected: BTreeSet<&str> = programs.iter().map(|(name, _)| *name).collect();
    for (process, receiver) in running.iter().zip(&expected) {
        let mut senders = BTreeSet::new();
        while senders.len() < expected.len() {
            let line = process.line();
            let sender = line.split(' ').next().unwrap_or_default();
            let known = expected.get(sender);
            let known = known.unwrap_or_else(|| panic!("{receiver} printed {line:?}"));
            senders.insert(*known);
        }
    }
}
