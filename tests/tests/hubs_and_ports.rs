//! tcpq and mpudpm with the reference at the other end, both ways: its clients at our hub, our clients at its hub, and
//! channels spread over ports.

use bowline_bus::{Bus, Hub, Inbox};
use bowline_testing::patience::PATIENCE;
use bowline_tests::bus_peers::{Implementation, Pace, Sending, implementation};
use bowline_tests::content::{content, digest};
use bowline_tests::netns::Namespace;
use bowline_tests::peers::Peers;
use bowline_tests::process::Process;
use bowline_wire::mpudpm::RESERVED_PREFIX;
use std::net::TcpStream;
use std::process::Command;
use std::time::Duration;

/// Between two attempts.
const SHORT: Duration = Duration::from_millis(100);
const MAX_ATTEMPTS: usize = 600;

/// A message that is sent again and again until all ends have received it: subscriptions take effect when they do.
const PROBE: Sending<'_> = Sending {
    channel: "M",
    n_channels: 1,
    seed: 1,
    count: 1,
    pace: Pace::PerSecond(1),
    sizes: &[5],
};

/// Where the ends are, and how each of them is configured.
struct Scene<'s> {
    peers: &'s Peers,
    place: &'s Namespace,
    implementations: &'s [&'static Implementation],
    our_url: &'s str,
    their_url: &'s str,
    pattern: &'s str,
    sizes: &'s [usize],
}

/// Runs a test on a thread in a network of its own.
fn inside(test: impl FnOnce(&Namespace) + Send) {
    let place = Namespace::new();
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().name("inside".to_owned());
        let run = || {
            place.enter();
            test(&place);
        };
        let outcome = thread.spawn_scoped(scope, run).expect("a thread").join();
        outcome.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
    });
}

fn our_line(inbox: &Inbox) -> String {
    let event = inbox.recv_timeout(PATIENCE).expect("the bus works");
    let (_, event) = event.expect("a message comes in time");
    let (size, digest) = (event.payload.len(), digest(&event.payload));
    format!("{} {size} {digest:08x}", event.channel)
}

/// The next line that is not about a probe, nor about liblcm's tests of itself, which subscribers to everything receive.
fn skip_probes(mut next: impl FnMut() -> String) -> String {
    loop {
        let line = next();
        if line != PROBE.line(0) && !line.starts_with(RESERVED_PREFIX) {
            return line;
        }
    }
}

impl Scene<'_> {
    /// All ends send, one after the other, and all must receive all of it.
    fn everyone_hears_everyone(&self) {
        let bus = Bus::open(self.our_url).expect("the bus opens");
        let inbox = bus.events(self.pattern).expect("we subscribe");
        let receivers: Vec<Process> = self
            .implementations
            .iter()
            .map(|one| one.receive(self.peers, self.place, self.their_url, self.pattern, 0))
            .collect();
        for receiver in &receivers {
            let probe = || {
                bus.publish_bytes(PROBE.channel, &content(PROBE.seed, 0, 5))
                    .expect("it is sent");
                let line = receiver.line_within(SHORT);
                line.filter(|line| !line.starts_with(RESERVED_PREFIX))
            };
            let heard = std::iter::repeat_with(probe)
                .take(MAX_ATTEMPTS)
                .flatten()
                .next();
            assert_eq!(heard, Some(PROBE.line(0)));
        }
        for (seed, sender) in (10..).zip(self.implementations) {
            let sending = self.sending(seed);
            let sender = sender.send(self.peers, self.place, self.their_url, &sending);
            self.expect(&sending, &inbox, &receivers);
            drop(sender.finish());
        }
        let sending = self.sending(99);
        for index in 0..sending.count {
            let size = self.sizes[usize::try_from(index).expect("few")];
            let payload = content(sending.seed, index, size);
            bus.publish_bytes(sending.channel, &payload)
                .expect("it is sent");
        }
        self.expect(&sending, &inbox, &receivers);
        let counts = bus.counts();
        assert_eq!(
            (counts.lost(), counts.network.malformed),
            (0, 0),
            "{counts:?}"
        );
    }

    fn sending(&self, seed: u64) -> Sending<'_> {
        Sending {
            seed,
            count: self.sizes.len() as u64,
            pace: Pace::PerSecond(100),
            sizes: self.sizes,
            ..PROBE
        }
    }

    fn expect(&self, sending: &Sending<'_>, inbox: &Inbox, receivers: &[Process]) {
        for index in 0..sending.count {
            let expected = sending.line(index);
            assert_eq!(skip_probes(|| our_line(inbox)), expected, "we received");
            for (receiver, implementation) in receivers.iter().zip(self.implementations) {
                let name = implementation.name;
                assert_eq!(skip_probes(|| receiver.line()), expected, "{name} received");
            }
        }
    }
}

const TCP_SIZES: &[usize] = &[0, 17, 70_000, 3_000_000, 1];

#[test]
fn clients_of_every_implementation_meet_at_our_hub() {
    let peers = Peers::find();
    inside(|place| {
        for pattern in ["M", "M.*", "X|M"] {
            let hub = Hub::bind("127.0.0.1:0").expect("a hub starts");
            Scene {
                peers: &peers,
                place,
                implementations: &reference(),
                our_url: &hub.url(),
                // Some put further options behind the URL.
                their_url: &format!("{}?", hub.url()),
                pattern,
                sizes: TCP_SIZES,
            }
            .everyone_hears_everyone();
            let status = hub.status();
            assert_eq!(status.dropped, 0, "{status:?}");
        }
    });
}

#[test]
fn we_meet_every_implementation_at_the_reference_s_hub() {
    let peers = Peers::find();
    inside(|place| {
        // The port is free: the network is ours.
        let mut java: Command = place.command("java");
        java.args(["-XX:TieredStopAtLevel=1", "-cp"])
            .arg(peers.jar());
        let _hub = Process::start("Java hub", java.args(["lcm.lcm.TCPService", "7700"]));
        let call = || {
            let answer = TcpStream::connect("127.0.0.1:7700");
            if answer.is_err() {
                place.run("sleep 0.1");
            }
            answer.ok()
        };
        let answer = std::iter::repeat_with(call)
            .take(MAX_ATTEMPTS)
            .flatten()
            .next();
        assert!(answer.is_some(), "the reference's hub answers");
        Scene {
            peers: &peers,
            place,
            implementations: &reference(),
            our_url: "tcpq://127.0.0.1:7700",
            their_url: "tcpq://127.0.0.1:7700?",
            pattern: "M.*",
            sizes: TCP_SIZES,
        }
        .everyone_hears_everyone();
    });
}

fn reference() -> [&'static Implementation; 3] {
    ["C", "Python", "Java"].map(implementation)
}

/// lcm.jar has no mpudpm.
fn with_ports() -> [&'static Implementation; 2] {
    ["C", "Python"].map(implementation)
}

#[test]
fn channels_on_many_ports_are_received_both_ways() {
    let peers = Peers::find();
    inside(|place| {
        for (pattern, n_ports) in [("M", 500), ("M.*", 500), ("M", 7), ("M.*", 7), (".*", 1)] {
            let url = format!("mpudpm://239.255.76.67:20000?ttl=0&nports={n_ports}");
            Scene {
                peers: &peers,
                place,
                implementations: &with_ports(),
                our_url: &url,
                their_url: &url,
                pattern,
                sizes: &[0, 17, 70_000, 1],
            }
            .everyone_hears_everyone();
        }
    });
}

#[test]
fn first_message_of_an_unknown_channel_is_received_by_a_pattern() {
    let peers = Peers::find();
    inside(|place| {
        let url = "mpudpm://239.255.76.67:7667?ttl=0";
        let bus = Bus::open(url).expect("the bus opens");
        let inbox = bus.events("NEW.*").expect("we subscribe");
        for (seed, sender) in (10..).zip(with_ports()) {
            let sending = Sending {
                channel: "NEW",
                n_channels: 20,
                seed,
                count: 20,
                pace: Pace::PerSecond(1_000),
                sizes: &[100],
            };
            let sender = sender.send(&peers, place, url, &sending);
            for index in 0..sending.count {
                assert_eq!(our_line(&inbox), sending.line(index));
            }
            drop(sender.finish());
        }
        assert_eq!(
            bus.counts().lost(),
            0,
            "all ports are open, so loss would show"
        );
        assert_eq!(bus.trouble(), None);
    });
}

#[test]
fn late_pattern_of_the_reference_gets_our_channels() {
    let peers = Peers::find();
    inside(|place| {
        let url = "mpudpm://239.255.76.67:7667?ttl=0";
        // No thread reads this bus, so only publishing can answer the question.
        let bus = Bus::open(url).expect("the bus opens");
        bus.publish_bytes("LATE", b"no one receives it")
            .expect("it is sent");
        let receiver = implementation("C").receive(&peers, place, url, "LA.*", 0);
        let publish = || {
            bus.publish_bytes("LATE", b"abc").expect("it is sent");
            receiver.line_within(SHORT)
        };
        let heard = std::iter::repeat_with(publish).take(30).flatten().next();
        assert_eq!(heard, Some(format!("LATE 3 {:08x}", digest(b"abc"))));
    });
}

/// Sends the hub a pattern that is none, as stock LCM does before it looks at it itself, and returns what it answers.
const CARELESS_CLIENT: &str = "\
import lcm, sys
bus = lcm.LCM(sys.argv[1])
try:
    bus.subscribe('A[', lambda channel, payload: None)
except Exception as error:
    print('refused', error, file=sys.stderr)
bus.subscribe('M', lambda channel, payload: print(channel, payload.decode(), flush=True))
while True:
    bus.handle()
";

#[test]
fn reference_client_with_one_bad_pattern_receives_the_rest() {
    let peers = Peers::find();
    inside(|place| {
        let hub = Hub::bind("127.0.0.1:0").expect("a hub starts");
        let mut python = place.command(peers.python());
        python.args(["-c", CARELESS_CLIENT, &hub.url()]);
        let client = Process::start("Python", &mut python);
        let bus = Bus::open(&hub.url()).expect("the bus opens");
        let publish = || {
            bus.publish_bytes("M", b"received").expect("it is sent");
            client.line_within(SHORT)
        };
        let mut heard = std::iter::repeat_with(publish).take(MAX_ATTEMPTS).flatten();
        assert_eq!(heard.next().as_deref(), Some("M received"));
        let status = hub.status();
        assert_eq!(status.joined, 2, "no client had to reconnect: {status:?}");
        assert_eq!(status.ignored, 1, "{status:?}");
    });
}
