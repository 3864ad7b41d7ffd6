//! `bowline link` as people run it: processes in networks of their own, joined by thin links that fail. Nothing is measured
//! here; `bench/src/link.rs` does that.

use bowline_bus::{Bus, Inbox};
use bowline_msgs::{Authority, Experiment, GateToken, Link, LinkPath, LinkStream, StopCommand};
use bowline_tests::netns::{Namespace, Port};
use bowline_tests::peers::{bowline, run, workspace};
use bowline_tests::process::Process;
use bowline_tests::terminal::Terminal;
use bowline_wire::Message as _;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::process::Command;
use std::time::Duration;

const URL: &str = "udpm://239.255.76.67:7667?ttl=0";
/// Between two attempts.
const SHORT: Duration = Duration::from_millis(50);
/// Guards against hanging for ever; nothing is measured with it.
const MAX_ATTEMPTS: usize = 1_000;

/// A vehicle and a station, each with its own network, and two thin links between them.
struct Scene {
    vehicle: Namespace,
    station: Namespace,
    folder: tempfile::TempDir,
}

impl Scene {
    fn new() -> Self {
        let (vehicle, station) = (Namespace::new(), Namespace::new());
        for (device, net) in [("radio", 7), ("backup", 8)] {
            let addresses = [1, 2].map(|host| format!("10.{net}.0.{host}/24"));
            let [here, there] = [&vehicle, &station];
            let port = |namespace, address| Port {
                namespace,
                device,
                address: Some(address),
            };
            Namespace::link([port(here, &addresses[0]), port(there, &addresses[1])]);
            for end in [&vehicle, &station] {
                // The bus of each end stays there.
                end.route_multicast("lo");
                end.run(&format!(
                    "tc qdisc replace dev {device} root tbf rate 256kbit burst 1600 limit 20000"
                ));
            }
        }
        let folder = tempfile::tempdir().expect("a folder");
        let scene = Self {
            vehicle,
            station,
            folder,
        };
        let keys = ["vehicle", "station"].map(|name| scene.keygen(name));
        let [vehicle_key, station_key] = &keys;
        scene.write(
            "vehicle",
            &format!(
                "[link]\nname = 'harbour'\nbus = '{URL}'\nkey = 'vehicle.key'\n[peer]\nname = 'bridge'\nkey = '{station_key}'\n\
                 [[path]]\ncarrier = 'quic'\nlisten = '10.7.0.1:7800'\n\
                 [[path]]\ncarrier = 'quic'\nlisten = '10.8.0.1:7800'\n\
                 [send.'gate.token']\ndeadline = '60ms'\nttl = '1s'\nvalue = 100\n\
                 [send.'bowline.schema']\nkeep = 'fifo'\nttl = '20s'\nagain = '60s'\n\
                 [receive.'operator.stop']\ncommands = true\n"
            ),
        );
        scene.write(
            "station",
            &format!(
                "[link]\nname = 'bridge'\nbus = '{URL}'\nkey = 'station.key'\n[peer]\nname = 'harbour'\nkey = '{vehicle_key}'\n\
                 [[path]]\ncarrier = 'quic'\nconnect = '10.7.0.1:7800'\n\
                 [[path]]\ncarrier = 'quic'\nconnect = '10.8.0.1:7800'\n\
                 [send.'operator.stop']\nkeep = 'reliable'\ndeadline = '50ms'\nttl = '60s'\n\
                 [receive.'gate.token']\nas = 'harbour.token'\n[receive.'bowline.schema']\n"
            ),
        );
        scene
    }

    fn keygen(&self, name: &str) -> String {
        let file = self.folder.path().join(format!("{name}.key"));
        let made = Command::new(bowline())
            .args(["link", "keygen"])
            .arg(&file)
            .output()
            .expect("it runs");
        assert!(made.status.success(), "{made:?}");
        let shown = Command::new(bowline())
            .args(["link", "key"])
            .arg(&file)
            .output();
        assert_eq!(
            shown.expect("it runs").stdout,
            made.stdout,
            "the same is shown again"
        );
        String::from_utf8(made.stdout)
            .expect("text")
            .trim()
            .to_owned()
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.file(name), text).expect("it is written");
        run(Command::new(bowline())
            .args(["link", "--check"])
            .arg(self.file(name)));
    }

    /// The files that are in the repository, with keys and addresses of here.
    fn write_shipped(&self) {
        for (name, other) in [("vehicle", "station"), ("station", "vehicle")] {
            let shipped = workspace().join(format!("links/harbour-{name}.toml"));
            let shipped = std::fs::read_to_string(shipped).expect("it can be read");
            let key = Command::new(bowline())
                .args(["link", "key"])
                .arg(self.folder.path().join(format!("{other}.key")))
                .output()
                .expect("it runs");
            let key = String::from_utf8(key.stdout).expect("text");
            let text = shipped
                .replace("\n[peer]\n", &format!("\nbus = '{URL}'\n[peer]\n"))
                .replace(&format!("sha256:{}", "0".repeat(64)), key.trim())
                .replace("192.168.7.2", "10.7.0.1")
                .replace("192.168.8.2", "10.8.0.1");
            assert!(text.contains(key.trim()), "{text}");
            self.write(name, &text);
        }
    }

    /// A gate and a thrust driver on the vehicle.
    fn start_robot(&self) -> Robot {
        let file = self.folder.path().join("robot.toml");
        let text = format!(
            "[robot]\nname = 'behind{}'\nbus = '{URL}'\n\
             [component.gate]\nkind = 'gate'\nprocess = 'vessel'\nparameters = {{ name = 'vessel' }}\n\
             [component.thrust_driver]\nkind = 'thrust_driver'\nprocess = 'vessel'\n\
             [experiment.vessel]\ncomponents = ['gate', 'thrust_driver']\n",
            std::process::id()
        );
        std::fs::write(&file, text).expect("it is written");
        let mut command = self.vehicle.command(bowline());
        command.arg("run").arg(file).current_dir(self.folder.path());
        Robot(Some(Process::start("robot", &mut command)))
    }

    /// Sends a command at the station, and the gate takes it.
    fn say(&self, words: &[&str]) {
        let mut command = self.station.command(bowline());
        let said = command
            .args(words)
            .args(["--timeout", "60s", "-l", URL])
            .output();
        let said = said.expect("it runs");
        assert!(said.status.success(), "{words:?}: {said:?}");
    }

    fn file(&self, name: &str) -> std::path::PathBuf {
        self.folder.path().join(format!("{name}.toml"))
    }

    fn start(&self, name: &str) -> Process {
        let namespace = if name == "vehicle" {
            &self.vehicle
        } else {
            &self.station
        };
        let mut command = namespace.command(bowline());
        let process = Process::start(name, command.arg("link").arg(self.file(name)));
        for _ in 0..2 {
            let line = process.line();
            let is_said = line.contains(" listens on quic ") || line.contains(" connects to quic ");
            assert!(is_said, "{line}");
        }
        process
    }

    fn status(&self, name: &str) -> serde_json::Value {
        let namespace = if name == "vehicle" {
            &self.vehicle
        } else {
            &self.station
        };
        let mut command = namespace.command(bowline());
        let output = command
            .args(["link", "status", "--json", "-l", URL])
            .output()
            .expect("it runs");
        let text = String::from_utf8(output.stdout).expect("text");
        serde_json::from_str(text.lines().next().unwrap_or("null")).expect("JSON")
    }
}

/// A robot that runs. It is asked to end: what a supervisor leaves behind when it is killed goes on running.
struct Robot(Option<Process>);

impl Drop for Robot {
    fn drop(&mut self) {
        let Some(process) = self.0.take() else { return };
        let pid = Pid::from_raw(i32::try_from(process.id()).expect("a pid"));
        kill(pid, Signal::SIGINT).expect("its process is not waited for yet");
        let (status, lines) = process.end();
        eprintln!("the robot ended with {status}: {lines:?}");
    }
}

/// A bus inside a namespace, on a thread that went there.
fn inside<T: Send>(place: &Namespace, work: impl FnOnce(Bus) -> T + Send) -> T {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().name("inside".to_owned());
        let run = || {
            place.enter();
            work(Bus::open(URL).expect("the bus opens"))
        };
        let outcome = thread.spawn_scoped(scope, run).expect("a thread").join();
        outcome.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

fn bus_in(place: &Namespace) -> Bus {
    inside(place, |bus| bus)
}

/// Sends tokens until one of these numbers is received at the other end.
#[expect(clippy::panic, reason = "a test that panics has failed")]
fn until_heard(vehicle: &Bus, tokens: &Inbox, first: i64) -> i64 {
    for nth in 0..MAX_ATTEMPTS {
        let token = GateToken {
            token: first + i64::try_from(nth).expect("it fits"),
            ..GateToken::default()
        };
        vehicle
            .publish("gate.token", &token)
            .expect("it is published");
        while let Some((_, event)) = tokens.recv_timeout(SHORT).expect("the bus works") {
            let token = GateToken::decode(&event.payload).expect("a token").token;
            if token >= first {
                return token;
            }
        }
    }
    panic!("no token came over the link");
}

fn stop(station: &str, ask: i8) -> StopCommand {
    StopCommand {
        by: Authority {
            station: station.to_owned(),
            ..Authority::default()
        },
        ask,
        ..StopCommand::default()
    }
}

#[test]
fn a_link_carries_connects_again_fails_over_and_comes_back() {
    let scene = Scene::new();
    let (vehicle, station) = (bus_in(&scene.vehicle), bus_in(&scene.station));
    let tokens = inside(&scene.station, |bus| {
        bus.events("harbour\\.token").expect("we subscribe")
    });
    let schemas = inside(&scene.station, |bus| {
        bus.events("bowline\\.schema").expect("we subscribe")
    });
    let stops = inside(&scene.vehicle, |bus| {
        bus.events("operator\\.stop").expect("we subscribe")
    });
    let _vehicle_end = scene.start("vehicle");
    let station_end = scene.start("station");
    until_heard(&vehicle, &tokens, 1);

    // Types are known there.
    let is_known = (0..MAX_ATTEMPTS).any(|_| {
        vehicle
            .publish("gate.token", &GateToken::default())
            .expect("it is published");
        let event = schemas.recv_timeout(SHORT).expect("the bus works");
        event.is_some_and(|(_, event)| {
            let schema = bowline_msgs::Schema::decode(&event.payload);
            schema.is_ok_and(|schema| schema.name == GateToken::NAME)
        })
    });
    assert!(is_known);

    // A stop that is sent once arrives, from any station; another station cannot clear it.
    let next = || {
        let heard =
            (0..MAX_ATTEMPTS).find_map(|_| stops.recv_timeout(SHORT).expect("the bus works"));
        StopCommand::decode(&heard.expect("it arrives").1.payload).expect("a stop")
    };
    let say = |station_name, ask| {
        let said = station.publish("operator.stop", &stop(station_name, ask));
        said.expect("it is published");
    };
    say("laptop", StopCommand::STOP);
    assert_eq!(next().by.station, "laptop");
    say("somebody", StopCommand::CLEAR);
    say("bridge/anna", StopCommand::CLEAR);
    assert_eq!(next().by.station, "bridge/anna");

    // The first link is cut, and mended.
    scene.vehicle.run("ip link set radio down");
    until_heard(&vehicle, &tokens, 10_000);
    let path_in_use =
        |nth: usize| (0..30).any(|_| scene.status("station")["paths"][nth]["is_active"] == true);
    assert!(
        path_in_use(1),
        "the second is used: {}",
        scene.status("station")
    );
    scene.vehicle.run("ip link set radio up");
    assert!(
        path_in_use(0),
        "the first is used again: {}",
        scene.status("station")
    );
    until_heard(&vehicle, &tokens, 20_000);

    // An end is killed, and started anew.
    drop(station_end);
    let _station_end = scene.start("station");
    until_heard(&vehicle, &tokens, 30_000);
    let status = scene.status("vehicle");
    assert_eq!(
        status["streams"][2]["dropped"]["not_the_peer_s"], 1,
        "{status}"
    );
}

#[test]
fn a_vehicle_behind_the_harbours_own_link_is_found_stopped_cleared_and_sent_somewhere() {
    let scene = Scene::new();
    scene.write_shipped();
    let experiments = inside(&scene.station, |bus| {
        bus.events("bowline\\.experiment").expect("we subscribe")
    });
    let _robot = scene.start_robot();
    let _ends = ["vehicle", "station"].map(|name| scene.start(name));
    // By whatever name.
    scene.say(&["halt", "a swimmer"]);
    scene.say(&["operate", "clear", "--station", "bridge"]);
    scene.say(&["operate", "goto", "40", "25", "--station", "bridge/anna"]);
    scene.say(&["operate", "insert", "10", "5", "--station", "bridge"]);
    let heard = (0..MAX_ATTEMPTS).find_map(|_| experiments.recv_timeout(SHORT).expect("it works"));
    let (_, event) = heard.expect("experiments are published");
    let experiment = Experiment::decode(&event.payload).expect("one of them");
    assert_eq!(experiment.name, "vessel");
}

#[test]
fn a_file_that_is_wrong_is_refused_with_the_place_of_each_mistake() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("wrong.toml");
    let text = "[link]\nname = 'a'\nschedular = 'value'\n[peer]\nname = 'b'\n[[path]]\ncarrier = 'udp'\nlisten = '0.0.0.0:1'\n";
    std::fs::write(&file, text).expect("it is written");
    let output = Command::new(bowline())
        .arg("link")
        .arg(&file)
        .output()
        .expect("it runs");
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8(output.stderr).expect("text");
    for expected in [
        "wrong.toml:3:1",
        "did you mean \"scheduler\"?",
        "wrong.toml:6:1",
        "insecure = true",
    ] {
        assert!(said.contains(expected), "expected {expected:?} in\n{said}");
    }
}

#[test]
fn a_key_file_that_is_missing_or_no_key_is_refused_by_name() {
    let folder = tempfile::tempdir().expect("a folder");
    let write = |name: &str, text: &str| {
        std::fs::write(folder.path().join(name), text).expect("it is written");
    };
    for name in ["one", "other"] {
        let mut keygen = Command::new(bowline());
        run(keygen
            .args(["link", "keygen", name])
            .current_dir(folder.path()));
    }
    let [one, other] = ["one", "other"].map(|name| {
        let text = std::fs::read_to_string(folder.path().join(name)).expect("a key");
        let (key, certificate) = text.split_once("-----BEGIN CERTIFICATE").expect("both");
        (
            key.to_owned(),
            format!("-----BEGIN CERTIFICATE{certificate}"),
        )
    });
    write("nothing", "");
    write("text", "this is no key\n");
    write("without-key", &one.1);
    write("without-certificate", &one.0);
    write("of-two", &format!("{}{}", one.0, other.1));
    let key = format!("sha256:{}", "0".repeat(64));
    let not_a_key = "expected a private key and a certificate in ";
    for (name, expected) in [
        ("missing", "`bowline link keygen "),
        ("nothing", not_a_key),
        ("text", not_a_key),
        ("without-key", not_a_key),
        ("without-certificate", not_a_key),
        ("of-two", "found a certificate of another key"),
    ] {
        let file = format!(
            "[link]\nname = 'a'\nbus = 'memq://'\nkey = '{name}'\n[peer]\nname = 'b'\nkey = '{key}'\n\
             [[path]]\ncarrier = 'quic'\nlisten = '127.0.0.1:0'\n[send.pose]\n"
        );
        write("link.toml", &file);
        let verbs: [&[&str]; 2] = [&["link", "key", name], &["link", "link.toml"]];
        for verb in verbs {
            let mut command = Command::new(bowline());
            let output = command.args(verb).current_dir(folder.path()).output();
            let output = output.expect("it runs");
            let said = String::from_utf8_lossy(&output.stderr);
            assert_ne!(output.status.code(), Some(0), "{verb:?}: {said}");
            assert!(said.contains(expected), "{name}, {verb:?}: {said}");
            assert!(said.contains(name), "{name}, {verb:?}: {said}");
        }
    }
}

#[test]
fn status_that_is_watched_follows_the_link_until_it_is_interrupted() {
    let terminal = Terminal::new("link-watch");
    let bus = bus_in(terminal.namespace());
    let report = |state: i8, n_sent: i64| {
        let path = LinkPath {
            name: "radio".to_owned(),
            state,
            is_active: state == LinkPath::READY,
            ..LinkPath::default()
        };
        let stream = LinkStream {
            channel: "gate.token".to_owned(),
            name: "gate.token".to_owned(),
            is_sent: true,
            n_sent,
            ..LinkStream::default()
        };
        let link = Link {
            name: "harbour".to_owned(),
            peer: "bridge".to_owned(),
            scheduler: "value".to_owned(),
            paths: vec![path],
            streams: vec![stream],
            ..Link::default()
        };
        let published = bus.publish("link.state", &link.with_lengths());
        published.expect("it is published");
    };
    terminal.kind(&format!(
        "clear; {} link status --watch -l '{URL}'; echo code $?",
        bowline().display()
    ));
    let shows = |what: &str, texts: &[&str], state: i8, n_sent: i64| {
        terminal.wait_until(what, |screen| {
            report(state, n_sent);
            texts.iter().all(|text| screen.contains(text))
        })
    };
    let texts = ["harbour to bridge, by value", "radio", "in use", "4711"];
    shows("a link that works", &texts, LinkPath::READY, 4_711);
    let screen = shows(
        "a link that stalls",
        &["stalled", "4712"],
        LinkPath::STALLED,
        4_712,
    );
    assert!(!screen.contains("4711"), "it is drawn over:\n{screen}");
    terminal.keys(&["C-c"]);
    let screen = terminal.wait_for(&["code 1"]);
    assert!(screen.contains("stalled"), "the last is left:\n{screen}");
}
