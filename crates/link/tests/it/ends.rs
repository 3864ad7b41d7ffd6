//! Two whole ends in one process: buses in memory, real carriers on the loopback, real time. Nothing here is measured.

use bowline_bus::{Bus, Inbox};
use bowline_host::clock::Live;
use bowline_link::carrier::{self, CARRIERS, Carrier};
use bowline_link::file::LinkFile;
use bowline_link::run::Link;
use bowline_link::schedule::{self, Candidate, Choice, SCHEDULERS, Scheduler, View};
use bowline_link::{Tables, keys};
use bowline_msgs::{Authority, Link as Status, LinkPath, LinkStream, StopCommand};
use bowline_wire::Message as _;
use std::net::{SocketAddr, TcpListener};
use std::os::fd::AsFd as _;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

/// Guards against hanging for ever; nothing is measured with it.
const MAX_TRIES: usize = 1_000;
/// Between two attempts.
const PAUSE: Duration = Duration::from_millis(30);

static N: AtomicU32 = AtomicU32::new(1);

/// A running end. Dropped, it ends.
struct End {
    bus: Bus,
    address: SocketAddr,
    end: Option<UnixStream>,
    thread: Option<JoinHandle<()>>,
}

impl End {
    fn start(file: &str, folder: &Path, bus: &str) -> Self {
        let mut link = open(&file.replace("BUS", &format!("memq://{bus}")), folder);
        let address = link.addresses().next().expect("there is a path");
        let (end, theirs) = UnixStream::pair().expect("a pair");
        let thread = Builder::new().name("link".to_owned());
        let thread =
            thread.spawn(move || while !link.turn(Some(theirs.as_fd())).expect("it works") {});
        Self {
            bus: Bus::open(&format!("memq://{bus}")).expect("a bus"),
            address,
            end: Some(end),
            thread: Some(thread.expect("a thread")),
        }
    }

    /// Its last status.
    fn status(&self, inbox: &Inbox) -> Option<Status> {
        let (_, event) = inbox.recv_timeout(PAUSE).expect("the bus works")?;
        Some(Status::decode(&event.payload).expect("a status"))
    }
}

impl Drop for End {
    fn drop(&mut self) {
        drop(self.end.take());
        if let Some(thread) = self.thread.take() {
            thread.join().expect("it ended well");
        }
    }
}

/// A scheduler of another crate: the first stream of the file that has anything.
#[derive(Debug)]
struct First;

impl Scheduler for First {
    fn pick(&mut self, _: &[Candidate], _: View) -> Choice {
        Choice::Send(0)
    }

    fn is_paced(&self) -> bool {
        false
    }
}

const FIRST: schedule::Row = schedule::Row {
    name: "first",
    about: "the first stream of the file that has anything",
    make: || Box::new(First),
};

/// A carrier of another crate, on one of ours.
const TUNNEL: carrier::Row = carrier::Row {
    name: "tunnel",
    about: "datagrams in a tunnel",
    is_secure: false,
    open: |opening| -> std::io::Result<Box<dyn Carrier>> {
        carrier::find("udp")
            .expect("it is in the table")
            .open(opening)
    },
};

/// Our tables, each with a row of another crate.
fn tables() -> Tables<'static> {
    static WITH: LazyLock<(Vec<schedule::Row>, Vec<carrier::Row>)> = LazyLock::new(|| {
        (
            [SCHEDULERS, &[FIRST]].concat(),
            [CARRIERS, &[TUNNEL]].concat(),
        )
    });
    let (schedulers, carriers) = &*WITH;
    Tables {
        schedulers,
        carriers,
    }
}

/// An end that does nothing yet.
fn open(file: &str, folder: &Path) -> Link {
    let mut nothing = |_: &Path| Err("no other file".to_owned());
    let path = folder.join("link.toml");
    let (file, _) = LinkFile::parse(&path, file, tables(), &mut nothing).expect("a good file");
    let life = N.fetch_add(1, Ordering::Relaxed);
    Link::open(file, Live::new(), life).expect("it opens")
}

/// Two ends with keys, of which `listens` is started first.
struct Scene {
    folder: tempfile::TempDir,
    name: String,
    carrier: &'static str,
    keys: [String; 2],
}

impl Scene {
    fn new(carrier: &'static str) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let key = |name: &str| {
            keys::generate(&folder.path().join(name))
                .expect("a key")
                .to_string()
        };
        let keys = [key("vehicle.key"), key("station.key")];
        let name = format!("link{}", N.fetch_add(1, Ordering::Relaxed));
        Self {
            folder,
            name,
            carrier,
            keys,
        }
    }

    fn vehicle(&self, listen: SocketAddr) -> End {
        let [_, station] = &self.keys;
        self.vehicle_for(listen, station)
    }

    fn vehicle_for(&self, listen: SocketAddr, peer_key: &str) -> End {
        let carrier = self.carrier;
        let file = format!(
            "[link]\nname = \"vehicle\"\nbus = \"BUS\"\nkey = \"vehicle.key\"\n\
             [peer]\nname = \"bridge\"\nkey = \"{peer_key}\"\n\
             [[path]]\ncarrier = \"{carrier}\"\nlisten = \"{listen}\"\n\
             [send.\"pose\"]\nvalue = 2\n[send.\"shared\"]\n\
             [receive.\"operator.stop\"]\ncommands = true\n[receive.\"word\"]\nas = \"heard\"\n[receive.\"shared\"]\n"
        );
        End::start(&file, self.folder.path(), &format!("{}v", self.name))
    }

    fn station(&self, to: SocketAddr) -> End {
        let [vehicle, _] = &self.keys;
        self.station_with(to, vehicle, "station.key")
    }

    fn station_with(&self, to: SocketAddr, peer_key: &str, key: &str) -> End {
        let carrier = self.carrier;
        let file = format!(
            "[link]\nname = \"bridge\"\nbus = \"BUS\"\nkey = \"{key}\"\n\
             [peer]\nname = \"vehicle\"\nkey = \"{peer_key}\"\n\
             [[path]]\ncarrier = \"{carrier}\"\nconnect = \"{to}\"\n\
             [send.\"operator.stop\"]\nkeep = \"reliable\"\nttl = \"60s\"\n[send.\"word\"]\n[send.\"shared\"]\n\
             [receive.\"pose\"]\n[receive.\"shared\"]\n"
        );
        End::start(&file, self.folder.path(), &format!("{}s", self.name))
    }
}

fn anywhere() -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], 0))
}

/// An end without a peer, and its bus.
fn alone(streams: &str) -> (Link, Bus) {
    let url = format!("memq://link{}", N.fetch_add(1, Ordering::Relaxed));
    let file = format!(
        "[link]\nname = \"vehicle\"\nbus = \"{url}\"\n[peer]\nname = \"bridge\"\n\
         [[path]]\ncarrier = \"udp\"\nlisten = \"127.0.0.1:0\"\n{streams}"
    );
    let bus = Bus::open(&url).expect("a bus");
    (open(&file, Path::new("/nowhere")), bus)
}

fn stream<'s>(status: &'s Status, channel: &str) -> &'s LinkStream {
    let found = status.streams.iter().find(|it| it.channel == channel);
    found.expect("it is reported")
}

#[test]
fn what_waited_on_the_bus_is_as_old_as_that() {
    let (mut link, bus) = alone("[send.\"depth\"]\nkeep = \"fifo\"\nttl = \"100ms\"\n");
    assert!(!link.turn(None).expect("it works"));
    // As if the process had been stopped: it takes nothing that comes.
    bus.publish_bytes("depth", b"old").expect("it is published");
    let silence = bus.events("silence").expect("an inbox");
    let nothing = silence.recv_timeout(Duration::from_millis(150));
    assert!(nothing.expect("the bus works").is_none());
    bus.publish_bytes("depth", b"new").expect("it is published");
    assert!(!link.turn(None).expect("it works"));
    let status = link.status();
    let depth = stream(&status, "depth");
    assert_eq!((depth.n_offered, depth.n_expired), (2, 1), "{depth:?}");
}

#[test]
fn what_came_faster_than_it_was_taken_is_offered_and_counted_as_dropped() {
    let (mut link, bus) = alone("[send.\"depth\"]\nkeep = \"fifo\"\nqueue = 1000\nttl = \"60s\"\n");
    for _ in 0..300 {
        bus.publish_bytes("depth", b"deep")
            .expect("it is published");
    }
    assert!(!link.turn(None).expect("it works"));
    let status = link.status();
    let depth = stream(&status, "depth");
    assert_eq!(
        (depth.n_offered, depth.n_queue_full),
        (300, 44),
        "{depth:?}"
    );
}

#[test]
fn what_the_bus_does_not_take_is_not_counted_as_delivered() {
    let scene = Scene::new("udp");
    // A hub that is not there: nothing can be published.
    let hub = TcpListener::bind(anywhere()).expect("a port");
    let url = format!("tcpq://{}", hub.local_addr().expect("it has one"));
    drop(hub);
    let file = format!(
        "[link]\nname = \"vehicle\"\nbus = \"{url}\"\n[peer]\nname = \"bridge\"\n\
         [[path]]\ncarrier = \"udp\"\nlisten = \"127.0.0.1:0\"\n[receive.\"word\"]\n"
    );
    let mut vehicle = open(&file, scene.folder.path());
    let station = scene.station(vehicle.addresses().next().expect("there is a path"));
    let status = (0..MAX_TRIES)
        .find_map(|nth| {
            let word = station.bus.publish_bytes("word", &nth.to_be_bytes());
            word.expect("it is published");
            vehicle.turn(None).expect("it works");
            let status = vehicle.status();
            (stream(&status, "word").n_offered > 3).then_some(status)
        })
        .expect("something comes");
    let word = stream(&status, "word");
    assert_eq!((word.n_delivered, word.n_bytes), (0, 0), "{word:?}");
    assert_eq!(word.n_queue_full, word.n_offered, "{word:?}");
}

#[test]
fn scheduler_of_another_crate_is_the_one_that_its_file_names() {
    let url = format!("memq://link{}", N.fetch_add(1, Ordering::Relaxed));
    let file = format!(
        "[link]\nname = \"vehicle\"\nbus = \"{url}\"\nscheduler = \"first\"\n[peer]\nname = \"bridge\"\n\
         [[path]]\ncarrier = \"tunnel\"\nlisten = \"127.0.0.1:0\"\n\
         [send.\"gate.state\"]\nkeep = \"newest\"\n"
    );
    let link = open(&file, Path::new("/nowhere"));
    assert_eq!(link.status().scheduler, "first");
    let mut nothing = |_: &Path| Err("no other file".to_owned());
    let path = Path::new("link.toml");
    let problems = LinkFile::parse(path, file, Tables::default(), &mut nothing);
    let problems = problems.expect_err("our own tables do not have it");
    assert!(
        problems
            .iter()
            .any(|it| it.to_string().contains("\"priority\", \"round_robin\"")),
        "{problems:?}"
    );
}

/// Publishes something again and again until it is received, and returns what was.
fn until_heard(from: &Bus, channel: &str, payload: &[u8], inbox: &Inbox) -> Vec<u8> {
    let heard = (0..MAX_TRIES).find_map(|_| {
        from.publish_bytes(channel, payload)
            .expect("it is published");
        inbox.recv_timeout(PAUSE).expect("the bus works")
    });
    let (_, event) = heard.expect("it is received in the end");
    event.payload.to_vec()
}

fn stop(station: &str, ask: i8) -> Vec<u8> {
    let by = Authority {
        station: station.to_owned(),
        ..Authority::default()
    };
    let stop = StopCommand {
        by,
        ask,
        ..StopCommand::default()
    };
    stop.encode().expect("it is encoded")
}

#[test]
fn messages_go_both_ways_over_every_carrier_under_the_names_of_the_files() {
    for carrier in tables().carriers {
        let scene = Scene::new(carrier.name);
        let vehicle = scene.vehicle(anywhere());
        let station = scene.station(vehicle.address);
        let poses = station.bus.events("pose").expect("an inbox");
        let words = vehicle.bus.events("heard").expect("an inbox");
        let states = station.bus.events("link\\.state").expect("an inbox");
        assert_eq!(until_heard(&vehicle.bus, "pose", b"here", &poses), b"here");
        assert_eq!(
            until_heard(&station.bus, "word", b"there", &words),
            b"there"
        );
        let mut told = std::iter::repeat_with(|| station.status(&states))
            .take(MAX_TRIES)
            .flatten();
        let is_told = told.any(|status| {
            let pose = status
                .streams
                .iter()
                .find(|it| it.channel == "pose")
                .expect("it is reported");
            let path = status.paths.first().expect("there is one");
            assert_eq!(path.is_secure, carrier.is_secure);
            path.state == LinkPath::READY
                && path.is_active
                && pose.n_delivered > 0
                && pose.age_p99_s >= 0.0
        });
        assert!(
            is_told,
            "{}: the station's end publishes its state",
            carrier.name
        );
    }
}

#[test]
fn a_large_message_is_whole_over_every_carrier() {
    let large: Vec<u8> = (0..100_000_u32)
        .map(|nth| nth.to_be_bytes()[3] ^ nth.to_be_bytes()[2])
        .collect();
    for carrier in CARRIERS {
        let scene = Scene::new(carrier.name);
        let vehicle = scene.vehicle(anywhere());
        let station = scene.station(vehicle.address);
        let poses = station.bus.events("pose").expect("an inbox");
        assert_eq!(until_heard(&vehicle.bus, "pose", b"here", &poses), b"here");
        let heard = std::iter::repeat_with(|| until_heard(&vehicle.bus, "pose", &large, &poses));
        let heard = heard.take(MAX_TRIES).find(|heard| heard != b"here");
        assert!(heard == Some(large.clone()), "{}", carrier.name);
    }
}

#[test]
fn an_end_that_is_started_anew_is_found_again_by_itself() {
    for carrier in CARRIERS {
        let scene = Scene::new(carrier.name);
        let vehicle = scene.vehicle(anywhere());
        let address = vehicle.address;
        let station = scene.station(address);
        let poses = station.bus.events("pose").expect("an inbox");
        assert_eq!(until_heard(&vehicle.bus, "pose", b"one", &poses), b"one");
        drop(vehicle);
        let vehicle = scene.vehicle(address);
        let two = std::iter::repeat_with(|| until_heard(&vehicle.bus, "pose", b"two", &poses));
        assert!(
            two.take(MAX_TRIES).any(|heard| heard == b"two"),
            "{}: the one that listens",
            carrier.name
        );
        drop(station);
        let station = scene.station(address);
        let poses = station.bus.events("pose").expect("an inbox");
        assert_eq!(
            until_heard(&vehicle.bus, "pose", b"three", &poses),
            b"three",
            "{}: the one that connects",
            carrier.name
        );
    }
}

#[test]
fn peer_with_another_key_exchanges_no_message() {
    let scene = Scene::new("quic");
    let other = keys::generate(&scene.folder.path().join("other.key"))
        .expect("a key")
        .to_string();
    let [vehicle_key, _] = &scene.keys;
    // A station with a key that the vehicle does not know; and a vehicle with one that the station does not.
    for (key, peer_key) in [("other.key", vehicle_key), ("station.key", &other)] {
        let vehicle = scene.vehicle(anywhere());
        let impostor = scene.station_with(vehicle.address, peer_key, key);
        let (stops, words) = (
            vehicle.bus.events("operator.*").expect("an inbox"),
            vehicle.bus.events("heard").expect("an inbox"),
        );
        let poses = impostor.bus.events("pose").expect("an inbox");
        let states = vehicle.bus.events("link\\.state").expect("an inbox");
        let theirs = impostor.bus.events("link\\.state").expect("an inbox");
        let mut n_problems = 0;
        for _ in 0..MAX_TRIES {
            vehicle
                .bus
                .publish_bytes("pose", b"secret")
                .expect("it is published");
            impostor
                .bus
                .publish_bytes("word", b"false")
                .expect("it is published");
            for (end, inbox) in [(&vehicle, &states), (&impostor, &theirs)] {
                let status = end.status(inbox);
                let path = status.and_then(|it| it.paths.into_iter().next());
                assert!(path.as_ref().is_none_or(|it| it.state != LinkPath::READY));
                n_problems += usize::from(path.is_some_and(|it| !it.problem.is_empty()));
            }
            if n_problems > 5 {
                break;
            }
        }
        assert!(n_problems > 5, "the fault is reported");
        for inbox in [&stops, &words, &poses] {
            assert!(
                inbox.try_recv().expect("the bus works").is_none(),
                "nothing got through"
            );
        }
    }
}

#[test]
fn a_command_by_another_station_than_the_peer_is_dropped_and_counted() {
    let scene = Scene::new("udp");
    let vehicle = scene.vehicle(anywhere());
    let station = scene.station(vehicle.address);
    let stops = vehicle.bus.events("operator\\.stop").expect("an inbox");
    let states = vehicle.bus.events("link\\.state").expect("an inbox");
    let good = stop("bridge", StopCommand::CLEAR);
    let bad = stop("harbourmaster", StopCommand::CLEAR);
    for payload in [bad.as_slice(), b"no command at all", &good] {
        station
            .bus
            .publish_bytes("operator.stop", payload)
            .expect("it is published");
    }
    let (_, event) = (0..MAX_TRIES)
        .find_map(|_| stops.recv_timeout(PAUSE).expect("the bus works"))
        .expect("the good one");
    assert_eq!(
        event.payload, good,
        "the first that comes is the bridge's own"
    );
    let n_dropped = (0..MAX_TRIES).find_map(|_| {
        let status = vehicle.status(&states)?;
        let stream = status
            .streams
            .iter()
            .find(|it| it.channel == "operator.stop")
            .expect("it is reported");
        (stream.n_delivered == 1).then_some(stream.n_not_peers)
    });
    assert_eq!(n_dropped, Some(2));
}

#[test]
fn users_logged_in_at_the_peer_command_and_all_of_its_stations_stop() {
    let scene = Scene::new("udp");
    let vehicle = scene.vehicle(anywhere());
    let station = scene.station(vehicle.address);
    let stops = vehicle.bus.events("operator\\.stop").expect("an inbox");
    let said = [
        stop("bridge/anna", StopCommand::STOP),
        // The default name of a program at the bridge.
        stop("laptop-17", StopCommand::STOP),
        stop("bridge/anna", StopCommand::CLEAR),
    ];
    for payload in &said {
        station
            .bus
            .publish_bytes("operator.stop", payload)
            .expect("it is published");
    }
    let heard: Vec<Vec<u8>> = (0..MAX_TRIES)
        .filter_map(|_| stops.recv_timeout(PAUSE).expect("the bus works"))
        .map(|(_, event)| event.payload.to_vec())
        .take(said.len())
        .collect();
    assert_eq!(heard, said);
}

#[test]
fn what_came_over_a_link_does_not_go_back() {
    let scene = Scene::new("udp");
    let vehicle = scene.vehicle(anywhere());
    let station = scene.station(vehicle.address);
    let there = station.bus.events("shared").expect("an inbox");
    let here = vehicle.bus.events("shared").expect("an inbox");
    let states = station.bus.events("link\\.state").expect("an inbox");
    until_heard(&vehicle.bus, "shared", b"sent once", &there);
    while here.recv_timeout(PAUSE).expect("the bus works").is_some() {}
    let looped = (0..MAX_TRIES).find_map(|_| {
        let status = station.status(&states)?;
        let stream = status
            .streams
            .iter()
            .find(|it| it.channel == "shared" && it.is_sent)
            .expect("it is reported");
        assert_eq!(stream.n_sent, 0, "the station's end sends none of it");
        (stream.n_looped > 0).then_some(())
    });
    assert!(looped.is_some(), "and reports so");
    let back = here.recv_timeout(PAUSE).expect("the bus works");
    assert!(back.is_none(), "{back:?}");
}
