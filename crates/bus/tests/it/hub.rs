//! The hub and its clients: what one does must not hurt the others, and what breaks must mend by itself.

use bowline_bus::hub::{self, Happened};
use bowline_bus::transport::SendError;
use bowline_bus::{Bus, Hub, Inbox, PublishError, Queue};
use bowline_testing::network;
use bowline_testing::patience::{PATIENCE, wait_for};
use bowline_wire::tcpq::{self, Frame, HELLO_LEN, Limits, Side};
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::time::Duration;

fn next(inbox: &Inbox) -> Vec<u8> {
    let received = inbox.recv_timeout(PATIENCE).expect("the transport works");
    received
        .expect("a message comes in time")
        .1
        .payload
        .to_vec()
}

/// A client that does what a test asks, and nothing else.
struct Raw {
    stream: TcpStream,
    heard: Vec<u8>,
}

impl Raw {
    fn connect(hub: &Hub, frames: &[Frame<'_>]) -> Self {
        let mut said = Side::Client.hello().to_vec();
        for frame in frames {
            frame.write(&mut said).expect("a frame that can be written");
        }
        Self::say(hub, &said)
    }

    fn say(hub: &Hub, bytes: &[u8]) -> Self {
        let mut stream = TcpStream::connect(hub.address()).expect("the hub listens");
        stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
        stream.write_all(bytes).expect("the hub takes it");
        Self {
            stream,
            heard: Vec::new(),
        }
    }

    fn address(&self) -> SocketAddr {
        self.stream.local_addr().expect("it is connected")
    }

    /// The next message from the hub, which sends its hello first.
    fn next(&mut self) -> (String, Vec<u8>) {
        loop {
            let after_hello = self.heard.get(HELLO_LEN..).unwrap_or_default();
            let found = tcpq::parse(after_hello, &Limits::default()).expect("frames");
            if let Some((Frame::Publish { channel, payload }, length)) = found {
                let message = (channel.to_owned(), payload.to_vec());
                self.heard.drain(HELLO_LEN..HELLO_LEN + length);
                return message;
            }
            let mut buffer = [0; 4_096];
            let n = self
                .stream
                .read(&mut buffer)
                .expect("the hub prints something");
            assert!(n > 0, "the hub hung up");
            self.heard.extend_from_slice(&buffer[..n]);
        }
    }

    /// Reads until the hub hangs up.
    fn read_to_end(&mut self) {
        let mut buffer = [0; 4_096];
        while matches!(self.stream.read(&mut buffer), Ok(n) if n > 0) {}
    }
}

fn patterns_of(hub: &Hub, peer: SocketAddr) -> Option<u64> {
    let clients = hub.status().clients;
    let client = clients.iter().find(|client| client.peer == peer);
    client.map(|client| client.patterns)
}

/// All who are gone, whatever the reason.
fn partings(hub: &Hub) -> Vec<hub::News> {
    let is_gone = |news: &hub::News| match news.what {
        Happened::Left { .. } | Happened::SentAway { .. } => true,
        Happened::Joined | Happened::Ignored { .. } => false,
    };
    hub.news_since(0).into_iter().filter(is_gone).collect()
}

const EVERYTHING: &[Frame<'_>] = &[Frame::Subscribe { pattern: ".*" }];

#[test]
fn client_that_does_not_read_stops_no_other() {
    let settings = hub::Settings {
        queue_bytes: 1 << 20,
        stall: Duration::from_secs(600),
        ..hub::Settings::default()
    };
    let hub = Hub::bind_with("127.0.0.1:0", settings).unwrap();
    let lazy = Raw::connect(&hub, EVERYTHING);
    wait_for("the lazy one's subscription", || {
        (patterns_of(&hub, lazy.address())? == 1).then_some(())
    });
    let (publisher, subscriber) = (
        Bus::open(&hub.url()).unwrap(),
        Bus::open(&hub.url()).unwrap(),
    );
    let inbox = subscriber.events("X").unwrap();
    // More than the kernel holds for the lazy one, and more than the hub does.
    for number in 0..6_000_u32 {
        let mut payload = vec![0; 8_000];
        payload[..4].copy_from_slice(&number.to_be_bytes());
        publisher.publish_bytes("X", &payload).unwrap();
        assert_eq!(next(&inbox), payload, "message {number}");
    }
    let status = hub.status();
    let of_lazy = status
        .clients
        .iter()
        .find(|client| client.peer == lazy.address())
        .unwrap();
    assert!(of_lazy.dropped > 0, "{status:?}");
    assert_eq!(
        of_lazy.dropped, status.dropped,
        "only the lazy one lost anything: {status:?}"
    );
    assert!(of_lazy.waiting_bytes <= 1 << 20, "{status:?}");
    assert_eq!(status.messages, 6_000);
}

#[test]
fn a_client_that_takes_nothing_for_too_long_is_sent_away() {
    let settings = hub::Settings {
        stall: Duration::from_millis(20),
        ..hub::Settings::default()
    };
    let hub = Hub::bind_with("127.0.0.1:0", settings).unwrap();
    let lazy = Raw::connect(&hub, EVERYTHING);
    wait_for("the lazy one's subscription", || {
        (patterns_of(&hub, lazy.address())? == 1).then_some(())
    });
    let publisher = Bus::open(&hub.url()).unwrap();
    let news = wait_for("a parting", || {
        publisher.publish_bytes("X", &vec![0; 100_000]).unwrap();
        partings(&hub).pop()
    });
    assert_eq!(news.peer, lazy.address());
    let expected = "was sent away: it took nothing for 20ms";
    assert_eq!(news.what.to_string(), expected);
}

#[test]
fn client_that_breaks_the_protocol_is_disconnected_alone() {
    let hub = Hub::bind("127.0.0.1:0").unwrap();
    let bus = Bus::open(&hub.url()).unwrap();
    let inbox = bus.events("X").unwrap();
    let mut bad_kind = Side::Client.hello().to_vec();
    bad_kind.extend_from_slice(&[0, 0, 0, 9]);
    let mut endless_channel = Side::Client.hello().to_vec();
    endless_channel.extend_from_slice(&[0, 0, 0, 1, 0, 1, 0, 1]);
    let mut huge = Side::Client.hello().to_vec();
    tcpq::write_publish_header("X", (1 << 28) + 1, &mut huge).unwrap();
    for (number, (said, expected)) in [
        (&b"GET / HTTP/1.1\r\n\r\n"[..], "expected an LCM client"),
        (&bad_kind, "expected a frame of kind 1, 2 or 3, found 9"),
        (
            &endless_channel,
            "expected a channel of at most 63 bytes, found one of 65537",
        ),
        (&huge, "expected a payload of at most 268435456 bytes"),
    ]
    .into_iter()
    .enumerate()
    {
        let mut stranger = Raw::say(&hub, said);
        stranger.read_to_end();
        let parting = wait_for("a parting", || partings(&hub).into_iter().nth(number));
        let what = parting.what.to_string();
        assert!(what.contains(expected), "{what}");
        bus.publish_bytes("X", b"still here").unwrap();
        assert_eq!(next(&inbox), b"still here");
    }
}

#[test]
fn one_bad_pattern_or_long_channel_is_left_out_and_counted_and_its_client_stays() {
    let hub = Hub::bind("127.0.0.1:0").unwrap();
    let long = "x".repeat(64);
    let publish = |channel, payload| Frame::Publish { channel, payload };
    let mut client = Raw::connect(
        &hub,
        &[
            Frame::Subscribe { pattern: "A[" },
            Frame::Subscribe { pattern: "A[" },
            Frame::Subscribe { pattern: "X" },
            publish(&long, b"no one gets this"),
            Frame::Unsubscribe { pattern: "A[" },
            publish("X", b"echo"),
        ],
    );
    assert_eq!(client.next(), ("X".to_owned(), b"echo".to_vec()));
    let status = hub.status();
    assert_eq!((status.ignored, status.messages), (3, 1), "{status:?}");
    assert_eq!(status.clients[0].ignored, 3, "{status:?}");
    assert_eq!(status.clients[0].patterns, 1, "{status:?}");
    let news: Vec<String> = hub
        .news_since(0)
        .into_iter()
        .map(|news| news.what.to_string())
        .collect();
    let [joined, ignored] = news.as_slice() else {
        panic!("expected one word for all that was left out: {news:?}");
    };
    assert_eq!(joined, "joined");
    assert!(
        ignored.contains("found \"A[\"") && ignored.contains("at position 2"),
        "{ignored}"
    );
}

#[test]
fn any_version_is_welcome() {
    let hub = Hub::bind("127.0.0.1:0").unwrap();
    let mut said = Side::Client.hello_of_version(0xFFFF_FFFF).to_vec();
    for frame in [
        Frame::Subscribe { pattern: "X" },
        Frame::Publish {
            channel: "X",
            payload: b"echo",
        },
    ] {
        frame.write(&mut said).unwrap();
    }
    assert_eq!(
        Raw::say(&hub, &said).next(),
        ("X".to_owned(), b"echo".to_vec())
    );
}

#[test]
fn a_message_comes_once_however_many_patterns_match() {
    let hub = Hub::bind("127.0.0.1:0").unwrap();
    let patterns = ["A", "A", "A.*", ".*", "B|A"];
    let mut frames: Vec<_> = patterns
        .map(|pattern| Frame::Subscribe { pattern })
        .to_vec();
    let publish = |channel| Frame::Publish {
        channel,
        payload: b"",
    };
    frames.extend([publish("A"), publish("AB"), publish("C")]);
    // One of the two goes, and the other stays.
    frames.extend(["A", "A.*", ".*", "B|A"].map(|pattern| Frame::Unsubscribe { pattern }));
    frames.extend([
        publish("C"),
        publish("A"),
        Frame::Unsubscribe { pattern: "A" },
        publish("A"),
    ]);
    frames.extend([Frame::Subscribe { pattern: "END" }, publish("END")]);
    let mut client = Raw::connect(&hub, &frames);
    let heard: Vec<String> = (0..5).map(|_| client.next().0).collect();
    assert_eq!(heard, ["A", "AB", "C", "A", "END"]);
}

#[test]
fn there_are_no_more_clients_than_the_hub_can_take() {
    let settings = hub::Settings {
        max_clients: 2,
        ..hub::Settings::default()
    };
    let hub = Hub::bind_with("127.0.0.1:0", settings).unwrap();
    let _guests = [
        Raw::connect(&hub, EVERYTHING),
        Raw::connect(&hub, EVERYTHING),
    ];
    wait_for("two clients", || {
        (hub.status().clients.len() == 2).then_some(())
    });
    Raw::connect(&hub, &[]).read_to_end();
    let status = hub.status();
    assert_eq!(
        (status.clients.len(), status.refused, status.joined),
        (2, 1, 2)
    );
}

#[test]
fn bus_opens_without_a_hub_reports_it_and_retries() {
    network::alone(|| {
        let bus = Bus::open("tcpq://127.0.0.1:7700").unwrap();
        let inbox = bus.events("X").unwrap();
        let error = bus.publish_bytes("X", b"").unwrap_err();
        assert!(
            matches!(error, PublishError::Send(SendError::NotConnected { .. })),
            "{error:?}"
        );
        let expected = "the hub at 127.0.0.1:7700: no hub listens there; `bowline hub tcpq://127.0.0.1:7700` starts one";
        assert_eq!(error.to_string(), format!("not connected to {expected}"));
        assert_eq!(bus.trouble().as_deref(), Some(expected));
        assert_eq!(bus.counts().publish_failures, 1);
        assert!(
            inbox.try_recv().unwrap().is_none(),
            "nothing comes, and that is no error"
        );

        let _hub = Hub::bind("127.0.0.1:7700").unwrap();
        wait_for("a connection", || bus.publish_bytes("X", b"there").ok());
        assert_eq!(bus.trouble(), None);
        assert_eq!(next(&inbox), b"there");
        assert_eq!(
            bus.counts().network.reconnects,
            0,
            "it is the first connection"
        );
    });
}

#[test]
fn restarted_hub_receives_all_subscriptions() {
    network::alone(|| {
        let first = Hub::bind("127.0.0.1:7700").unwrap();
        let (publisher, subscriber) =
            (Bus::open("tcpq://").unwrap(), Bus::open("tcpq://").unwrap());
        let inbox = subscriber.inbox();
        for pattern in ["A", "B.*"] {
            inbox.subscribe(pattern, Queue::default()).unwrap();
        }
        publisher.publish_bytes("A", b"1").unwrap();
        assert_eq!(next(&inbox), b"1");
        drop(first);
        let error = publisher.publish_bytes("A", b"").unwrap_err().to_string();
        assert!(error.contains("the hub closed the connection"), "{error}");
        assert!(
            inbox
                .recv_timeout(Duration::from_millis(10))
                .unwrap()
                .is_none()
        );

        let second = Hub::bind("127.0.0.1:7700").unwrap();
        // Only reading makes the subscriber connect again.
        wait_for("the subscriber", || {
            assert!(
                inbox
                    .recv_timeout(Duration::from_millis(10))
                    .unwrap()
                    .is_none()
            );
            second
                .status()
                .clients
                .iter()
                .any(|client| client.patterns == 2)
                .then_some(())
        });
        wait_for("the publisher", || publisher.publish_bytes("BC", b"2").ok());
        assert_eq!(next(&inbox), b"2");
        for bus in [&publisher, &subscriber] {
            assert_eq!(bus.counts().network.reconnects, 1);
        }
    });
}

#[test]
fn hub_that_does_not_read_blocks_for_a_bounded_time_without_half_messages() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let bus = Bus::open(&format!("tcpq://{}", listener.local_addr().unwrap())).unwrap();
    let (mut hub, _) = listener.accept().unwrap();
    hub.write_all(&Side::Server.hello()).unwrap();
    let payload = vec![7; 1 << 20];
    let mut n_sent = 0_u64;
    let error = loop {
        match bus.publish_bytes("X", &payload) {
            Ok(()) => n_sent += 1,
            Err(error) => break error,
        }
    };
    assert!(
        matches!(error, PublishError::Send(SendError::Busy { .. })),
        "{error:?}"
    );
    let counts = bus.counts();
    assert_eq!((counts.published, counts.publish_failures), (n_sent, 1));

    let reading = std::thread::Builder::new()
        .spawn(move || {
            let mut heard = Vec::new();
            hub.read_to_end(&mut heard).unwrap();
            heard
        })
        .unwrap();
    bus.publish_bytes("LAST", b"").unwrap();
    drop(bus);
    let heard = reading.join().unwrap();
    let mut rest = &heard[HELLO_LEN..];
    let mut channels = Vec::new();
    while let Some((frame, length)) = tcpq::parse(rest, &Limits::default()).unwrap() {
        let Frame::Publish {
            channel,
            payload: found,
        } = frame
        else {
            panic!("expected messages, found {frame:?}");
        };
        assert!(channel == "LAST" || found == payload);
        channels.push(channel);
        rest = &rest[length..];
    }
    assert!(rest.is_empty(), "half a message: {} bytes", rest.len());
    assert_eq!(channels.last(), Some(&"LAST"));
    // What was begun when patience ended is finished; it was reported all the same.
    let n_heard = channels.len() as u64 - 1;
    assert!(
        n_heard == n_sent || n_heard == n_sent + 1,
        "{n_heard} of {n_sent}"
    );
}

#[test]
fn a_hub_that_talks_nonsense_is_hung_up_on() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let bus = Bus::open(&format!("tcpq://{}", listener.local_addr().unwrap())).unwrap();
    let (mut stranger, _) = listener.accept().unwrap();
    stranger.write_all(b"220 mail.example ESMTP\r\n").unwrap();
    let trouble = wait_for("trouble", || {
        drop(bus.publish_bytes("X", b""));
        bus.trouble()
    });
    assert!(trouble.contains("expected an LCM hub"), "{trouble}");
    assert_eq!(bus.counts().network.malformed, 1);
}

#[test]
fn large_messages_are_not_copied_between_the_socket_and_the_reader() {
    let hub = Hub::bind("127.0.0.1:0").unwrap();
    let bus = Bus::open(&hub.url()).unwrap();
    let (one, other) = (bus.events("X").unwrap(), bus.events(".*").unwrap());
    bus.publish_bytes("X", &vec![1; 1 << 20]).unwrap();
    let payloads =
        [one, other].map(|inbox| inbox.recv_timeout(PATIENCE).unwrap().unwrap().1.payload);
    assert_eq!(payloads[0].as_ptr(), payloads[1].as_ptr());
    assert_eq!(payloads[0], vec![1; 1 << 20]);
}

#[test]
fn an_unknown_host_is_named() {
    // No name server answers here, so no name is known.
    let error = network::alone(|| Bus::open("tcpq://no-such-host").unwrap_err().to_string());
    assert!(
        error.contains("find the address of \"no-such-host\""),
        "{error}"
    );
}
