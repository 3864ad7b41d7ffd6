//! `bowline station` and `bowline demo` as programs: they say where the page is, serve it, and end when they are told to.

use crate::hub::Running;
use crate::{bowline_in, scratch, stderr, stdout, write};
use bowline_bus::Bus;
use bowline_msgs::Gate;
use bowline_wire::Message as _;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Duration;

/// Nothing takes so long unless it hangs.
const PATIENCE: Duration = Duration::from_secs(60);

/// A program that serves a page, ended with the value.
struct Serving {
    child: Child,
    output: BufReader<ChildStdout>,
    address: String,
}

impl Serving {
    fn start(folder: &Path, arguments: &[&str]) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_bowline"))
            .args(arguments)
            .args(["--listen", "127.0.0.1:0"])
            .current_dir(folder)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("the binary is built");
        let mut output = BufReader::new(child.stdout.take().expect("it is piped"));
        let address = loop {
            let mut line = String::new();
            let n_read = output.read_line(&mut line).expect("it says something");
            assert!(n_read > 0, "it ended before it said where the page is");
            if let Some(url) = line.trim_end().strip_prefix("station: http://") {
                break url.trim_end_matches('/').to_owned();
            }
        };
        Self {
            child,
            output,
            address,
        }
    }

    fn get(&self, path: &str) -> String {
        let mut stream = TcpStream::connect(&self.address).expect("it listens");
        let address = &self.address;
        let request =
            format!("GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).expect("it reads");
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).expect("it answers");
        String::from_utf8_lossy(&answer).into_owned()
    }

    /// Presses ^C. Returns what it said last, and its exit code.
    fn interrupt(mut self) -> (String, Option<i32>) {
        let id = self.child.id().to_string();
        let status = Command::new("kill").args(["-INT", &id]).status();
        assert!(status.expect("kill is there").success());
        let mut rest = String::new();
        self.output.read_to_string(&mut rest).expect("it ends");
        let code = self.child.wait().expect("it can be waited for").code();
        (rest, code)
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        // It has ended already, unless the test failed.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

#[test]
fn the_demo_serves_its_page_ends_cleanly_and_leaves_a_log_that_can_be_shown_again() {
    let folder = scratch("station-demo");
    let demo = Serving::start(&folder, &["demo", "--no-open"]);
    assert!(demo.get("/").starts_with("HTTP/1.1 200"));
    assert!(
        demo.get("/charts/harbour.geojson")
            .contains("FeatureCollection")
    );
    assert!(
        demo.get("/charts/harbour-truth.geojson")
            .contains("is_truth")
    );
    let (said, code) = demo.interrupt();
    assert_eq!(code, Some(0));
    assert!(
        said.contains("bowline station --log harbour-demo/harbour.mcap"),
        "{said}"
    );
    let replay = Serving::start(&folder, &["station", "--log", "harbour-demo/harbour.mcap"]);
    assert!(replay.get("/").starts_with("HTTP/1.1 200"));
    assert_eq!(replay.interrupt().1, Some(0));
    assert!(folder.join("station-audit.mcap.00").exists());
}

#[test]
fn what_it_needs_is_made_by_itself_and_mistakes_say_what_to_do() {
    let folder = scratch("station-needs");
    let made = bowline_in(&folder, &["station", "password"], b"open sesame\n");
    let hash = stdout(&made);
    assert!(hash.starts_with("$argon2id$"), "{hash}");
    let short = bowline_in(&folder, &["station", "password"], b"sesame\n");
    assert_eq!(short.status.code(), Some(2));
    let long = "x".repeat(1_025);
    let long = bowline_in(&folder, &["station", "password"], long.as_bytes());
    assert_eq!(long.status.code(), Some(2), "nobody could log in with it");
    let made = bowline_in(&folder, &["station", "certificate", "bridge.local"], b"");
    assert_eq!(made.status.code(), Some(0), "{}", stderr(&made));
    assert!(folder.join("station.pem").exists() && folder.join("station.key").exists());
    let again = bowline_in(&folder, &["station", "certificate", "bridge.local"], b"");
    assert_eq!(again.status.code(), Some(1), "a key is not written over");
    let named = [
        "station",
        "certificate",
        "bridge.local",
        "-o",
        "bridge.local",
    ];
    write(&folder, "bridge.local.key", "somebody's");
    let refused = bowline_in(&folder, &named, b"");
    assert_eq!(refused.status.code(), Some(1), "a key is not written over");
    assert!(
        !folder.join("bridge.local.pem").exists(),
        "half of it is none"
    );
    std::fs::remove_file(folder.join("bridge.local.key")).expect("it is there");
    assert_eq!(bowline_in(&folder, &named, b"").status.code(), Some(0));
    assert!(folder.join("bridge.local.pem").exists() && folder.join("bridge.local.key").exists());
    write(&folder, "bad.geojson", "{}");
    write(&folder, "same.geojson", "{\"type\": \"FeatureCollection\"}");
    write(
        &folder,
        "people.toml",
        "[user.anna]\nrole = \"king\"\npassword = \"x\"\n",
    );
    for (more, expected) in [
        (
            &["--listen", "0.0.0.0:0"][..],
            "Give --users, --tls-cert and --tls-key",
        ),
        (
            &["--chart", "bad.geojson"],
            "an object of type FeatureCollection; `bowline sim chart` writes one",
        ),
        (
            &["--chart", "same.geojson", "--chart", "same.geojson"],
            "two that are called \"same.geojson\"",
        ),
        (&["--chart", "none.geojson"], "cannot read none.geojson"),
        (&["--users", "people.toml"], "unknown variant `king`"),
        (
            &["--name", "a name that is much too long for a gate"],
            "expected a name of 1 to 31 bytes",
        ),
        (&["--log", "none.mcap"], "none.mcap"),
    ] {
        let args = [&["station", "-l", "memq://"][..], more].concat();
        let args = if more[0] == "--log" {
            [&["station"][..], more].concat()
        } else {
            args
        };
        let output = bowline_in(&folder, &args, b"");
        assert_eq!(output.status.code(), Some(1), "{args:?}");
        assert!(stderr(&output).contains(expected), "{}", stderr(&output));
    }
}

/// What a process has in memory, in KiB.
fn resident_kib(id: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{id}/status")).expect("it runs");
    let line = status.lines().find_map(|it| it.strip_prefix("VmRSS:"));
    let size = line.and_then(|it| it.trim().split(' ').next()?.parse().ok());
    size.expect("it has a size")
}

#[test]
fn a_crowd_at_the_door_keeps_no_gate_and_takes_little_memory() {
    let folder = scratch("station-crowd");
    let mut hub = Running::start(&["tcpq://127.0.0.1:0"]);
    let line = hub.line();
    let url = line.strip_prefix("hub at ").expect("it says where it is");
    let gates = Bus::open(url)
        .expect("the hub is there")
        .events("gate.state");
    let gates = gates.expect("there is room");
    let demo = Serving::start(&folder, &["demo", "--no-open", "--url", url]);
    let next = || {
        let event = gates.recv_timeout(PATIENCE).expect("the hub is there");
        let (_, event) = event.expect("the vehicle's gate goes on");
        Gate::decode(&event.payload).expect("a gate")
    };
    // Its script has said all that it has to say: what changes from now on has another cause.
    let is_under_way = |gate: &Gate| gate.state == Gate::AUTONOMOUS && gate.holder.is_empty();
    let mut gates = std::iter::repeat_with(next).take(2_000);
    assert!(gates.any(|gate| is_under_way(&gate)), "it sets off");
    let before = resident_kib(demo.child.id());
    let crowd: Vec<TcpStream> = (0..1_000)
        .map(|n| {
            let mut stream = TcpStream::connect(&demo.address).expect("it listens");
            // Some say something that is no end of anything.
            let word = [&b"GET / HTTP/1.1\r\nX: "[..], b"", &[0x16, 3, 1]][n % 3];
            drop(stream.write_all(word));
            stream
        })
        .collect();
    for gate in gates.take(20) {
        assert!(is_under_way(&gate), "{gate:?}");
    }
    let grown = resident_kib(demo.child.id()).saturating_sub(before);
    assert!(grown < 64 << 10, "{grown} KiB");
    drop(crowd);
    assert_eq!(demo.interrupt().1, Some(0));
}
