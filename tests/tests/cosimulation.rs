//! Programs of other languages in lockstep and under `--verify`: docs/cosimulation.md, with Bowline's Python module, and with the
//! reference's Python module and C library, which know nothing of it.

use crate::robots::{Place, Running};
use bowline_tests::peers::{Peers, run, workspace};
use bowline_tests::process::Process;
use bowline_tests::python::Python;
use std::path::Path;
use std::process::Command;

/// Bowline's module: adds up the beats that it receives, and publishes the sum and the time.
const OURS: &str = r#"
import random
import sys
import bowline_bus
from bowline import beat_t

bus = bowline_bus.LCM()
total = 0

def on_beat(channel, beat):
    global total
    total += beat.count
    answer = beat_t()
    answer.utime, answer.count = beat.utime, total
    if "random" in sys.argv and beat.count >= 4:
        answer.count = random.getrandbits(62)
    bus.publish("ours.sum", answer)

def step(request):
    if request.reason == "message":
        return None
    tick = beat_t()
    tick.utime, tick.count = request.time_ns // 1000, request.number
    bus.publish("ours.tick", tick)
    return request.time_ns + 70_000_000 if request.reason != "period" else None

bus.subscribe("clock.beat", on_beat, type=beat_t)
bowline_bus.deterministic(bus, step, period=0.05, name="ours")
"#;

/// The reference's module, by the protocol alone.
const PLAIN: &str = r#"
import lcm
from bowline import beat_t, step_done_t, step_ready_t, step_request_t

bus = lcm.LCM()

def on_beat(channel, data):
    beat = beat_t.decode(data)
    beat.count = -beat.count
    bus.publish("plain.beat", beat.encode())

def on_request(channel, data):
    done = step_done_t()
    done.step = step_request_t.decode(data).step
    bus.publish("bowline.step.done", done.encode())

bus.subscribe("ours.sum", on_beat)
bus.subscribe("bowline.step.request", on_request)
ready = step_ready_t()
ready.version = step_ready_t.VERSION
bus.publish("bowline.step.ready", ready.encode())
while True:
    bus.handle()
"#;

/// LCM's C library, which Bowline's replaces too.
const NATIVE: &str = r#"
#include "bowline_beat_t.h"
#include "bowline_step_done_t.h"
#include "bowline_step_ready_t.h"
#include "bowline_step_request_t.h"

static lcm_t *bus;

static void on_beat(const lcm_recv_buf_t *from, const char *channel, const bowline_beat_t *beat, void *user) {
    bowline_beat_t answer = {.utime = beat->utime, .count = 2 * beat->count};
    (void)from, (void)channel, (void)user;
    bowline_beat_t_publish(bus, "native.beat", &answer);
}

static void on_request(const lcm_recv_buf_t *from, const char *channel, const bowline_step_request_t *request, void *user) {
    bowline_step_done_t done = {.step = request->step, .error = ""};
    (void)from, (void)channel, (void)user;
    bowline_step_done_t_publish(bus, "bowline.step.done", &done);
}

int main(void) {
    bowline_step_ready_t ready = {.version = BOWLINE_STEP_READY_T_VERSION, .name = "native"};
    bus = lcm_create(NULL);
    bowline_beat_t_subscribe(bus, "plain.beat", on_beat, NULL);
    bowline_step_request_t_subscribe(bus, "bowline.step.request", on_request, NULL);
    bowline_step_ready_t_publish(bus, "bowline.step.ready", &ready);
    while (lcm_handle(bus) == 0) {
    }
    return 0;
}
"#;

/// The third program, compiled for the reference's library.
fn compile_native(place: &Place, peers: &Peers, types: &[&str]) {
    place.says(&[&["gen", "--c=native"], types].concat());
    place.write("native.c", NATIVE);
    let mut gcc = Command::new("gcc");
    gcc.current_dir(place.folder())
        .args([
            "-Wall", "-Wextra", "-Werror", "-o", "program", "native.c", "-Inative",
        ])
        .args(
            ["beat_t", "step_done_t", "step_ready_t", "step_request_t"]
                .map(|it| format!("native/bowline_{it}.c")),
        )
        .arg("-isystem")
        .arg(peers.include())
        .arg("-L")
        .arg(peers.library())
        .arg("-llcm");
    run(&mut gcc);
}

/// A robot with all three programs, each of which waits for the one before it.
fn robot(place: &Place, python: &Python, arguments: &str) {
    let peers = Peers::find();
    let interpreter = peers.python().display().to_string();
    let types = ["beat_t", "step_done_t", "step_ready_t", "step_request_t"];
    let types = types.map(|name| workspace().join(format!("types/{name}.lcm")));
    let types = types.each_ref().map(|path| path.display().to_string());
    let types = types.each_ref().map(String::as_str);
    place.says(&[&["gen", "--python=types"], &types[..]].concat());
    compile_native(place, &peers, &types);
    let library = peers.library().display().to_string();
    let path = format!("{}:types", python.folder().display());
    place.write("ours.py", OURS);
    place.write("plain.py", PLAIN);
    let text = format!(
        r#"
[robot]
name = "languages"
bus = "udpm://239.255.76.67:7667?ttl=0"

[record]
file = "live.mcap"

[component.clock]
kind = "heartbeat"
parameters = {{ rate_hz = 20.0 }}

[component.ours]
command = ["{interpreter}", "ours.py"{arguments}]
env = {{ PYTHONPATH = "{path}" }}
reads = {{ "clock.beat" = "beat_t" }}
writes = {{ "ours.sum" = "beat_t", "ours.tick" = "beat_t" }}
deterministic = true
step_within = "20s"

[component.plain]
command = ["{interpreter}", "plain.py"]
env = {{ PYTHONPATH = "{path}" }}
reads = {{ "ours.sum" = "beat_t" }}
writes = {{ "plain.beat" = "beat_t" }}
deterministic = true
step_within = "20s"

[component.native]
command = ["./program"]
env = {{ LD_LIBRARY_PATH = "{library}" }}
reads = {{ "plain.beat" = "beat_t" }}
writes = {{ "native.beat" = "beat_t" }}
deterministic = true
step_within = "20s"

[sim]

[log]
"#
    );
    place.write("robot.toml", &text);
}

fn simulate(place: &Place, log: &str) -> Vec<u8> {
    let run = ["run", "robot.toml", "--source", "sim", "--lockstep"];
    let until = ["--for", "2s", "--record", log];
    place.says(&[&run[..], &until].concat());
    place.read(log)
}

fn verify(place: &Place, log: &str) -> (bool, String) {
    let source = format!("log:{log}");
    let output = place
        .command(&["run", "robot.toml", "--source", &source, "--verify"])
        .output()
        .expect("it runs");
    let text = String::from_utf8(output.stdout).expect("text");
    (output.status.success(), text)
}

fn new(name: &str, arguments: &str) -> (Place, Python) {
    let python = Python::with_our_module(&Peers::find());
    let place = Place::new(name);
    robot(&place, &python, arguments);
    (place, python)
}

#[test]
fn programs_of_three_libraries_in_lockstep_give_the_same_bytes_and_verify() {
    let (place, _python) = new("cosimulation-lockstep", "");
    let first = simulate(&place, "first.lcmlog");
    let second = simulate(&place, "second.lcmlog");
    assert!(first == second, "the logs differ");

    let (is_same, text) = verify(&place, "first.lcmlog");
    assert!(is_same, "{text}");
    for component in ["clock", "native", "ours", "plain"] {
        assert!(text.contains(&format!("{component}: the same: ")), "{text}");
    }
    let n_on = |channel| {
        let said = place.says(&["log", "cat", "first.lcmlog", "--channel", channel]);
        said.lines().count()
    };
    // Each answered the one before it.
    let n_sums = n_on("ours.sum");
    assert!(n_sums >= 39, "{n_sums}");
    assert_eq!((n_on("plain.beat"), n_on("native.beat")), (n_sums, n_sums));
    // Every 50 ms, and every 70 ms.
    assert!(n_on("ours.tick") >= 39 + 28);
}

#[test]
fn python_program_that_is_random_is_found_with_its_channel() {
    let (place, _python) = new("cosimulation-random", ", \"random\"");
    simulate(&place, "random.lcmlog");
    let (is_same, text) = verify(&place, "random.lcmlog");
    assert!(!is_same, "{text}");
    assert!(text.contains("ours: NOT the same: "), "{text}");
    assert!(text.contains("on ours.sum:"), "{text}");
    assert!(text.contains("count: recorded "), "{text}");
    assert!(text.contains("plain: the same: "), "{text}");
}

#[test]
fn python_program_that_was_changed_is_named_with_its_file() {
    let (place, _python) = new("cosimulation-changed", "");
    simulate(&place, "before.lcmlog");
    place.write("plain.py", &PLAIN.replace("-beat.count", "-beat.count - 1"));
    let (is_same, text) = verify(&place, "before.lcmlog");
    assert!(!is_same, "{text}");
    assert!(text.contains("ours: the same: "), "{text}");
    assert!(text.contains("plain: NOT the same: "), "{text}");
    assert!(text.contains("+argument plain.py ("), "{text}");
    assert!(text.contains("on plain.beat:"), "{text}");
}

#[test]
fn python_program_that_raises_ends_the_run_with_its_exception() {
    let (place, _python) = new("cosimulation-raises", "");
    place.write(
        "ours.py",
        &OURS.replace("total += beat.count", "total += 1 // (2 - beat.count)"),
    );
    let run = ["run", "robot.toml", "--source", "sim", "--lockstep"];
    let output = place
        .command(&[&run[..], &["--for", "2s"]].concat())
        .output();
    let output = output.expect("it runs");
    assert!(!output.status.success(), "{output:?}");
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(text.contains("component \"ours\" ended at "), "{text}");
    assert!(text.contains("ZeroDivisionError"), "{text}");
}

#[test]
fn programs_of_three_libraries_in_a_live_run_are_traced_and_verify() {
    let (place, _python) = new("cosimulation-live", "");
    let robot = Running::start_with(&place, &["robot.toml"]);
    let echo = ["echo", "native.beat", "-n", "20"];
    let url = ["-l", "udpm://239.255.76.67:7667?ttl=0"];
    let (status, lines) = Process::start(
        "echo",
        &mut place.command(&[echo.as_slice(), &url].concat()),
    )
    .end();
    assert!(status.success(), "{lines:?}");
    robot.end();
    let (is_same, text) = verify(&place, "live.mcap.00");
    assert!(is_same, "{text}");
    for component in ["clock", "native", "ours", "plain"] {
        assert!(text.contains(&format!("{component}: the same: ")), "{text}");
    }
}

/// The program that docs/cosimulation.md shows is the one that is tested, but for the types.
#[test]
fn program_of_the_document_is_the_plain_one() {
    let page = std::fs::read_to_string(workspace().join(Path::new("docs/cosimulation.md")));
    let page = page.expect("the page is there");
    let own = |line: &&str| !line.contains(", on_beat)") && !line.contains(", on_gap)");
    let page: Vec<&str> = page.lines().filter(own).collect();
    let common: Vec<&str> = PLAIN
        .lines()
        .skip_while(|line| !line.contains("def on_request"))
        .filter(own)
        .collect();
    assert!(page.join("\n").contains(&common.join("\n")), "{common:#?}");
}
