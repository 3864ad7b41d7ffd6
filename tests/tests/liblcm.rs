//! In place of LCM's C library: programs built for it run on ours, unchanged and not built again.

use bowline_bus::Hub;
use bowline_tests::bus_peers::URL;
use bowline_tests::liblcm::{c_program, cpp_program, on_library, our_library};
use bowline_tests::netns::Namespace;
use bowline_tests::peers::Peers;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Both libraries, and a network to try them in.
struct Bench {
    peers: Peers,
    place: Namespace,
}

impl Bench {
    fn new() -> Self {
        Self {
            peers: Peers::find(),
            place: Namespace::new(),
        }
    }

    /// What a program prints on a library. Fails when it fails or hangs.
    fn run(&self, library: &Path, program: &Path, arguments: [&str; 2]) -> String {
        let output = self.output(library, program, arguments);
        let [stdout, stderr] = [output.stdout, output.stderr]
            .map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        let library = library.display();
        let outcome = output.status;
        assert!(
            outcome.success(),
            "{arguments:?} on {library}: {outcome}\n{stdout}\n{stderr}"
        );
        stdout
    }

    fn output(&self, library: &Path, program: &Path, arguments: [&str; 2]) -> Output {
        let mut command = self.place.command("timeout");
        command.arg("60").args(on_library(library, program));
        let output = command.args(arguments).output();
        output.expect("nsenter and timeout are there")
    }

    fn theirs(&self) -> PathBuf {
        self.peers.library()
    }

    /// Runs a program on both libraries, and holds what it prints against each other.
    fn assert_same(&self, program: &Path, arguments: [&str; 2]) {
        let expected = self.run(&self.theirs(), program, arguments);
        let found = self.run(&our_library(), program, arguments);
        assert!(!expected.is_empty(), "{arguments:?} prints nothing");
        assert_eq!(found, expected, "{arguments:?}");
    }

    fn assert_ours(&self, arguments: [&str; 2], expected: &str) {
        let found = self.run(&our_library(), &c_program(&self.peers), arguments);
        let lines: Vec<&str> = expected.lines().map(str::trim).collect();
        let found_lines: Vec<&str> = found.lines().map(str::trim).collect();
        assert_eq!(found_lines, lines, "{arguments:?}");
    }
}

const MEMQ: &str = "memq://";
/// LCM passes over what it does not know, and so do we where programs count on it.
const UNKNOWN_OPTION: &str = "udpm://239.255.76.67:7667?ttl=0&nosuch=1&neither=2";
const PORTS: &str = "mpudpm://239.255.76.67:7667?ttl=0&nports=10";

#[test]
fn a_c_program_prints_the_same_on_both_libraries() {
    let bench = Bench::new();
    let program = c_program(&bench.peers);
    // Where liblcm's other transports do not do what its udpm does, lose messages or hang, they cannot be compared.
    #[rustfmt::skip]
    let cases: &[(&str, &[&str])] = &[
        ("dispatch",           &[URL, MEMQ, UNKNOWN_OPTION]),
        ("fileno_poll",        &[URL, MEMQ, PORTS]),
        ("fileno_select",      &[URL, MEMQ]),
        ("fileno_epoll",       &[URL, MEMQ]),
        ("timeouts",           &[URL, MEMQ, PORTS]),
        ("unsubscribe_inside", &[URL, MEMQ, PORTS]),
        ("subscribe_inside",   &[URL, MEMQ, PORTS]),
        ("queue_capacity",     &[URL]),
        ("queue_unlimited",    &[URL]),
        ("sizes",              &[URL, MEMQ, PORTS]),
        ("empty",              &[URL, MEMQ]),
        ("names",              &[URL]),
        ("default_url",        &[MEMQ]),
        ("writable",           &[URL, MEMQ, PORTS]),
        ("signals",            &[URL, PORTS]),
    ];
    for (case, urls) in cases {
        for url in *urls {
            bench.assert_same(&program, [case, url]);
        }
    }
}

#[test]
fn a_cpp_program_prints_the_same_on_both_libraries() {
    let bench = Bench::new();
    let program = cpp_program(&bench.peers);
    for case in ["handlers", "exceptions"] {
        for url in [URL, MEMQ] {
            bench.assert_same(&program, [case, url]);
        }
    }
    let log = scratch().join("cpp.log");
    bench.assert_same(&program, ["logs", &log.to_string_lossy()]);
}

/// LCM's own tcpq needs its hub in Java, and interleaves what threads publish; ours prints there what LCM's prints on
/// multicast.
#[test]
fn a_c_program_prints_the_same_through_a_hub() {
    let bench = Bench::new();
    let program = c_program(&bench.peers);
    let hub = Hub::bind("127.0.0.1:0").expect("a hub starts");
    for case in [
        "dispatch",
        "fileno_poll",
        "unsubscribe_inside",
        "sizes",
        "writable",
    ] {
        let expected = bench.run(&bench.theirs(), &program, [case, URL]);
        // Not in the namespace, where the hub is not.
        let mut command = Command::new("timeout");
        command.arg("60").args(on_library(&our_library(), &program));
        let output = command.args([case, &hub.url()]).output();
        let output = output.expect("timeout is there");
        assert_eq!(
            String::from_utf8_lossy(&output.stdout),
            expected,
            "{case}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
    }
}

/// Each of these loses messages, hangs or dies on LCM's own library.
#[test]
fn what_liblcm_does_not_survive_ours_does() {
    let bench = Bench::new();
    let timeouts = "negative: -1
        nothing there: 0
        nothing comes: 0
        t got T: x
        something comes: 1
        nothing more: 0";
    let queue_capacity = "set: 0
        waiting: 5 and 1
        queue got Q: 0
        handled
        queue got Q: 1
        handled
        queue got Q: 2
        handled
        queue got Q: 3
        handled
        queue got Q: 4
        handled
        end got END:
        handled
        waiting: 0";
    let very_large = "publish: 0
        LARGE: 1000000 bytes, the same, time good, lcm good
        handle: 1
        publish: 0
        LARGE: 8000000 bytes, the same, time good, lcm good
        handle: 1";
    let recursion = "outer got R: 1
        handle: -1
        handle_timeout: -1
        handle: 0
        outer got R: 2
        handle: -1
        handle_timeout: -1
        handle: 0";
    #[rustfmt::skip]
    let cases = [
        ("queue_default",     URL,  "got: 100"),
        ("queue_default",     MEMQ, "got: 100"),
        ("queue_capacity",    MEMQ, queue_capacity),
        ("queue_unlimited",   MEMQ, "set: 0\nwaiting: 300\ngot: 300"),
        // Two of its threads may both be woken by one message, and the second waits forever for another.
        ("threads",           URL,  "handled 200, called 200"),
        ("threads",           PORTS, "handled 200, called 200"),
        ("threads",           MEMQ, "handled 200, called 200"),
        ("very_large",        URL,  very_large),
        ("strangers",         URL,  "no such subscription: -1"),
        ("recursion",         URL,  recursion),
        ("destroy_inside",    URL,  "first got D: x\nhandle: 0"),
        ("destroy_elsewhere", URL,  "handle: -1"),
        ("destroy_elsewhere", MEMQ, "handle: -1"),
        ("many_descriptors",  URL,  timeouts),
    ];
    for (case, url, expected) in cases {
        bench.assert_ours([case, url], expected);
    }
}

#[test]
fn a_panic_in_the_library_is_a_failed_call_and_the_next_call_works() {
    let bench = Bench::new();
    let program = c_program(&bench.peers);
    for url in [URL, MEMQ, PORTS] {
        let output = bench.output(&our_library(), &program, ["panics", url]);
        let [stdout, stderr] = [output.stdout, output.stderr]
            .map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        assert!(
            output.status.success(),
            "{}: {stdout}{stderr}",
            output.status
        );
        assert!(
            stderr.contains("panicked at"),
            "there was a panic: {stderr}"
        );
        let failed = "handle without a clock: -1\n".repeat(3);
        let expected = format!("{failed}unsubscribe: 0\n  p got P: x\nhandle: 1\n");
        assert_eq!(stdout, expected, "{url}: {stderr}");
    }
}

#[test]
fn a_log_that_one_library_wrote_the_other_reads() {
    let bench = Bench::new();
    let program = c_program(&bench.peers);
    let [of_theirs, of_ours] = ["theirs.log", "ours.log"].map(|name| scratch().join(name));
    let (of_theirs, of_ours) = (of_theirs.to_string_lossy(), of_ours.to_string_lossy());
    let ours = our_library();
    let expected = bench.run(&bench.theirs(), &program, ["log-write", &of_theirs]);
    let found = bench.run(&ours, &program, ["log-write", &of_ours]);
    assert_eq!(found, expected);
    let bytes = |path: &str| fs::read(path).expect("the log is there");
    assert!(bytes(&of_ours) == bytes(&of_theirs), "the files differ");
    for case in ["log-read", "log-seek", "log-modes"] {
        bench.assert_same(&program, [case, &of_ours]);
    }
}

#[test]
fn a_log_is_written_and_played_as_a_bus_by_both() {
    let bench = Bench::new();
    let program = c_program(&bench.peers);
    let log = scratch().join("bus.log");
    let url = |options: &str| format!("file://{}?{options}", log.display());
    for library in [bench.theirs(), our_library()] {
        bench.run(&library, &program, ["record", &url("mode=w")]);
        for case in ["play", "play_by_poll", "play_for_nobody"] {
            bench.assert_same(&program, [case, &url("speed=0")]);
        }
        bench.assert_same(&program, ["subscribe_to_a_recording", &url("mode=w")]);
    }
}

#[test]
fn appending_goes_on_counting_and_damage_ends_nothing() {
    let bench = Bench::new();
    let program = c_program(&bench.peers);
    let log = scratch().join("damaged.log");
    let path = log.to_string_lossy();
    let ours = our_library();
    bench.run(&ours, &program, ["log-write", &path]);
    let appended = bench.run(&ours, &program, ["log-append", &path]);
    assert!(
        appended.starts_with("wrote 0: 0, number 200, count 201"),
        "{appended}"
    );

    let mut bytes = fs::read(&log).expect("the log is there");
    let sync = [0xed, 0xa1, 0xda, 0x01];
    let starts = bytes.windows(4).enumerate();
    let hundredth = starts.filter(|(_, word)| *word == sync).nth(100);
    let (at, _) = hundredth.expect("there are 400");
    bytes[at] ^= 1;
    fs::write(&log, bytes).expect("the log can be damaged");
    let output = bench.output(&ours, &program, ["log-read", &path]);
    let (stdout, stderr) = (
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr),
    );
    let numbers: Vec<usize> = stdout
        .lines()
        .take_while(|line| !line.starts_with("end"))
        .map(|line| line.split(' ').next().unwrap_or_default())
        .map(|number| number.parse().expect("a line begins with its number"))
        .collect();
    let expected: Vec<usize> = (0..400).filter(|number| *number != 100).collect();
    assert_eq!(numbers, expected, "{stderr}");
    assert!(
        stderr.contains("bytes that are no event were skipped"),
        "{stderr}"
    );
}

#[test]
fn library_has_the_name_and_exactly_the_exports_of_lcms() {
    let peers = Peers::find();
    let [theirs, ours] = [peers.library(), our_library()].map(|folder| folder.join("liblcm.so.1"));
    // The linker that made LCM's has marks of its own among the data.
    let is_function = |(kind, name): (char, String)| (kind == 'T').then_some(name);
    let expected: BTreeSet<String> = exports(&theirs)
        .into_iter()
        .filter_map(is_function)
        .collect();
    assert_eq!(expected.len(), 16);
    let mut found: BTreeSet<String> = exports(&ours).into_iter().map(|(_, name)| name).collect();
    // What shared memory brings, as the README has it: it is one of the features that tests are built with.
    assert!(found.remove("__internal_default_logger"), "{found:?}");
    assert_eq!(found, expected);
    let dynamic = text(Command::new("readelf").arg("--dynamic").arg(&ours));
    assert!(dynamic.contains("soname: [liblcm.so.1]"), "{dynamic}");
}

/// What a library exports, functions and data: the kind that `nm` gives, and the name.
fn exports(library: &Path) -> Vec<(char, String)> {
    let symbols = text(
        Command::new("nm")
            .args(["--dynamic", "--defined-only", "--format=posix"])
            .arg(library),
    );
    let export = |line: &str| {
        let mut words = line.split(' ');
        let name = words.next()?.to_owned();
        Some((words.next()?.chars().next()?, name))
    };
    symbols.lines().filter_map(export).collect()
}

fn text(command: &mut Command) -> String {
    let output = command.output().expect("binutils are installed");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn scratch() -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("liblcm/logs");
    fs::create_dir_all(&folder).expect("a scratch folder can be made");
    folder
}
