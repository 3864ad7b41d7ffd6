//! What `udpm` promises beyond what every transport does: interfaces, groups, sizes, filters, and manners.

use bowline_bus::{Bus, Event, Inbox, NetworkCounts, Queue, Sender};
use bowline_testing::network::{self, ip};
use bowline_testing::patience::{PATIENCE, wait_until};
use bowline_testing::random::Random;
use bowline_wire::datagram::{Cut, write_short_header};
use socket2::{Domain, Protocol, Socket, Type};
use std::io::Read as _;
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

const URL: &str = "udpm://239.255.76.67:7667?ttl=0";
const GROUP: &str = "239.255.76.67:7667";

fn open(url: &str) -> Bus {
    Bus::open(url).expect("the bus opens")
}

fn next(inbox: &Inbox) -> Event {
    let received = inbox.recv_timeout(PATIENCE).expect("the transport works");
    let received =
        received.unwrap_or_else(|| panic!("none came in time: {:?}", inbox.bus().counts()));
    received.1
}

fn network(inbox: &Inbox) -> NetworkCounts {
    inbox.bus().counts().network
}

/// The text of each message until the one with the text "end".
fn texts_until_end(inbox: &Inbox) -> Vec<String> {
    let text = |event: Event| String::from_utf8_lossy(&event.payload).into_owned();
    std::iter::from_fn(|| Some(text(next(inbox))))
        .take_while(|text| text != "end")
        .collect()
}

/// A plain socket that receives the group, as a program that knows nothing of us would.
fn tap() -> UdpSocket {
    let socket = Socket::new(Domain::IPV4, Type::DGRAM, Some(Protocol::UDP)).unwrap();
    socket.set_reuse_address(true).unwrap();
    let group: SocketAddr = GROUP.parse().unwrap();
    socket.bind(&group.into()).unwrap();
    let tap = UdpSocket::from(socket);
    let address = "239.255.76.67".parse().unwrap();
    tap.join_multicast_v4(&address, &Ipv4Addr::UNSPECIFIED)
        .unwrap();
    tap.set_read_timeout(Some(PATIENCE)).unwrap();
    tap
}

/// A plain socket that sends as another implementation would.
fn stranger() -> UdpSocket {
    let socket = UdpSocket::bind("0.0.0.0:0").unwrap();
    socket.set_multicast_ttl_v4(0).unwrap();
    socket
}

fn fragments(sequence: u32, channel: &str, payload: &[u8], body: usize) -> Vec<Vec<u8>> {
    let cut = Cut::new(channel, payload.len(), body).unwrap();
    let datagram = |index| {
        let mut datagram = Vec::new();
        cut.write_header(sequence, index, &mut datagram);
        datagram.extend_from_slice(&payload[cut.range(index)]);
        datagram
    };
    (0..cut.count()).map(datagram).collect()
}

/// Bytes of which no stretch is like another.
fn noise(seed: u64, size: usize) -> Vec<u8> {
    let mut random = Random::new(seed);
    let words = std::iter::repeat_with(|| random.bits().to_le_bytes());
    let mut bytes: Vec<u8> = words.take(size.div_ceil(8)).flatten().collect();
    bytes.truncate(size);
    bytes
}

/// Sends datagrams only as fast as the bus reads them, so that none is lost whatever the machine does.
fn send_in_step(from: &UdpSocket, datagrams: &[Vec<u8>], to: &Bus) {
    for batch in datagrams.chunks(8) {
        let before = to.counts().network.datagrams;
        for datagram in batch {
            from.send_to(datagram, GROUP).unwrap();
        }
        wait_until("all datagrams", || {
            to.counts().network.datagrams >= before + batch.len() as u64
        });
    }
}

/// What the kernel calls this thread: `ip` puts links into the network of a thread by it.
fn thread_id() -> u32 {
    let path = std::fs::read_link("/proc/thread-self").expect("proc is mounted");
    let name = path.file_name().and_then(|name| name.to_str());
    let id = name.and_then(|name| name.parse().ok());
    id.expect("proc names threads by number")
}

/// A second host, joined to this one by a link with a device of the same name at both ends: 10.7.N.1 here and 10.7.N.2
/// there. Runs the closures that it gets, one after the other.
struct Host {
    tasks: SyncSender<Box<dyn FnOnce() + Send>>,
    done: Receiver<()>,
    thread: u32,
}

impl Host {
    fn new() -> Self {
        let (tasks, inbox) = sync_channel::<Box<dyn FnOnce() + Send>>(1);
        let (outbox, done) = sync_channel(1);
        let (tell, id) = sync_channel(1);
        let live = move || {
            network::alone(move || {
                tell.send(thread_id()).unwrap();
                for task in inbox {
                    task();
                    outbox.send(()).unwrap();
                }
            });
        };
        let thread = std::thread::Builder::new().name("host".to_owned());
        thread.spawn(live).unwrap();
        Self {
            tasks,
            done,
            thread: id.recv_timeout(PATIENCE).unwrap(),
        }
    }

    fn run(&self, task: impl FnOnce() + Send + 'static) {
        self.tasks.send(Box::new(task)).unwrap();
        self.done.recv_timeout(PATIENCE).unwrap();
    }

    /// Makes the link, with addresses of network `n`.
    fn link(&self, device: &'static str, n: u8) {
        let Self { thread, .. } = self;
        ip(&format!(
            "link add {device} type veth peer name {device} netns {thread}"
        ));
        self.run(move || bring_up(device, &format!("10.7.{n}.2/24")));
        bring_up(device, &format!("10.7.{n}.1/24"));
        await_carrier(device);
        self.run(move || await_carrier(device));
    }

    /// Publishes there.
    fn publish(&self, url: &'static str, text: &'static str) {
        self.run(move || open(url).publish_bytes("LINK", text.as_bytes()).unwrap());
    }
}

fn bring_up(device: &str, address: &str) {
    ip(&format!("address add {address} dev {device}"));
    // No waiting for word from neighbours that might have the same address.
    ip(&format!("link set {device} addrgenmode none"));
    ip(&format!("link set {device} up"));
}

/// Waits until a link carries what is sent: the kernel takes a moment after it is set up.
fn await_carrier(device: &str) {
    let link = format!("link show {device}");
    wait_until("a carrier", || {
        network::ip_output(&link).contains("qdisc noqueue state UP")
    });
}

#[test]
fn a_url_without_a_port_means_lcms() {
    network::alone(|| {
        let inbox = open("udpm://239.255.76.67").events("PORT").unwrap();
        open(URL).publish_bytes("PORT", b"here").unwrap();
        assert_eq!(&next(&inbox).payload[..], b"here");
    });
}

#[test]
fn a_subscription_sends_nothing() {
    network::alone(|| {
        let tap = tap();
        let bus = open(URL);
        let inbox = bus.events(".*").unwrap();
        bus.publish_bytes("FIRST", b"x").unwrap();
        assert_eq!(&next(&inbox).payload[..], b"x");
        let mut buffer = [0; 100];
        let size = tap.recv(&mut buffer).unwrap();
        assert_eq!(&buffer[..size], b"LC02\0\0\0\0FIRST\0x");
        tap.set_nonblocking(true).unwrap();
        tap.recv(&mut buffer).unwrap_err();
    });
}

#[test]
fn the_granted_receive_buffer_is_reported() {
    let most = std::fs::read_to_string("/proc/sys/net/core/rmem_max").unwrap();
    let most: u64 = most.trim().parse().unwrap();
    network::alone(move || {
        let inbox = open(URL).events("BUFFER").unwrap();
        assert!(network(&inbox).receive_buffer >= most.min(64 << 20));
        let inbox = open("udpm://?recv_buf_size=128k").events("BUFFER").unwrap();
        assert_eq!(network(&inbox).receive_buffer, 128 << 10);
    });
}

#[test]
fn the_ttl_is_the_urls() {
    network::alone(|| {
        let _member = tap();
        let mut raw = Socket::new(Domain::IPV4, Type::RAW, Some(Protocol::UDP)).unwrap();
        raw.set_read_timeout(Some(PATIENCE)).unwrap();
        for ttl in [0, 1, 5, 255] {
            let bus = open(&format!("udpm://?ttl={ttl}"));
            bus.publish_bytes("TTL", &[ttl]).unwrap();
            let mut packet = [0; 100];
            let size = raw.read(&mut packet).unwrap();
            assert_eq!(packet[..size].last(), Some(&ttl));
            assert_eq!(packet[8], ttl);
        }
    });
}

#[test]
fn traffic_goes_and_comes_through_the_interface_of_the_url_only() {
    network::alone(|| {
        let host = Host::new();
        host.link("one", 1);
        host.link("two", 2);
        for (one, two) in [
            ("udpm://?ttl=1&iface=one", "udpm://?ttl=1&iface=two"),
            (
                "udpm://?ttl=1&iface=10.7.1.1",
                "udpm://?ttl=1&iface=10.7.2.1",
            ),
        ] {
            let inboxes = [one, two].map(|url| open(url).events("LINK").unwrap());
            host.publish("udpm://?ttl=1&iface=one", "one from there");
            host.publish("udpm://?ttl=1&iface=two", "two from there");
            open(one).publish_bytes("LINK", b"one from here").unwrap();
            open(two).publish_bytes("LINK", b"two from here").unwrap();
            for url in ["udpm://?ttl=1&iface=one", "udpm://?ttl=1&iface=two"] {
                host.publish(url, "end");
            }
            let texts = inboxes.each_ref().map(texts_until_end);
            assert_eq!(texts[0], ["one from there", "one from here"]);
            assert_eq!(texts[1], ["two from there", "two from here"]);
        }
    });
}

#[test]
fn ipv6_groups_work_those_of_one_link_too() {
    network::alone(|| {
        ip("-6 route replace local ff00::/8 dev lo table local");
        for url in [
            "udpm://[ff05::4c43]:7667",
            "udpm://[ff01::4c43]?iface=lo",
            "udpm://[ff02::4c43]:7667?iface=lo",
        ] {
            let inbox = open(url).events("SIX").unwrap();
            let bus = open(url);
            for size in [0, 1_000, 200_000] {
                bus.publish_bytes("SIX", &noise(6, size)).unwrap();
                assert_eq!(next(&inbox).payload, noise(6, size), "{url}");
            }
        }
    });
}

#[test]
fn a_group_is_joined_again_when_its_interface_comes_again() {
    network::alone(|| {
        let host = Host::new();
        host.link("one", 1);
        let url = "udpm://?ttl=1&iface=one";
        let bus = open(url);
        let inbox = bus.events("LINK").unwrap();
        // More often than the system allows memberships, and each time as another interface.
        for round in 0..25 {
            host.publish(url, "from there");
            assert_eq!(&next(&inbox).payload[..], b"from there", "round {round}");
            bus.publish_bytes("LINK", b"from here").unwrap();
            assert_eq!(&next(&inbox).payload[..], b"from here", "round {round}");
            ip("link delete one");
            host.link("one", 1);
            await_rejoin(&inbox, round + 1);
        }
    });
}

/// Waits until the group was joined again so many times. Only a reader learns of interfaces.
fn await_rejoin(inbox: &Inbox, times: u64) {
    wait_until("a rejoin", || {
        assert!(inbox.try_recv().unwrap().is_none());
        network(inbox).reconnects >= times
    });
}

#[test]
fn a_group_is_joined_again_where_the_routes_lead() {
    network::alone(|| {
        ip("route delete 224.0.0.0/4 dev lo");
        let host = Host::new();
        let link = |host: &Host| {
            host.link("one", 1);
            ip("route add 224.0.0.0/4 dev one");
        };
        link(&host);
        let inbox = open("udpm://?ttl=1").events("LINK").unwrap();
        ip("link delete one");
        link(&host);
        await_rejoin(&inbox, 1);
        host.publish("udpm://?ttl=1&iface=one", "again");
        assert_eq!(&next(&inbox).payload[..], b"again");
    });
}

#[test]
fn an_interface_that_goes_down_and_up_needs_nothing() {
    network::alone(|| {
        let host = Host::new();
        host.link("one", 1);
        let url = "udpm://?ttl=1&iface=one";
        let inbox = open(url).events("LINK").unwrap();
        ip("link set one down");
        ip("link set one up");
        await_carrier("one");
        host.run(|| await_carrier("one"));
        host.publish(url, "up");
        assert_eq!(&next(&inbox).payload[..], b"up");
    });
}

#[test]
fn changes_of_other_interfaces_lose_nothing() {
    network::alone(|| {
        const N: u32 = 20_000;
        let bus = open(URL);
        let inbox = bus.events("STEADY").unwrap();
        let publish = move || {
            let publisher = open(URL);
            for number in 0..N {
                publisher
                    .publish_bytes("STEADY", &number.to_be_bytes())
                    .unwrap();
                if number % 1_000 == 0 {
                    // Many words each: a link, its addresses, its routes.
                    ip("link add other type veth peer name rehto");
                    ip("address add 10.9.0.1/24 dev other");
                    ip("link set other up");
                    ip("link delete other");
                }
            }
        };
        let thread = std::thread::Builder::new().spawn(publish).unwrap();
        for number in 0..N {
            assert_eq!(&next(&inbox).payload[..], number.to_be_bytes());
        }
        thread.join().unwrap();
        let counts = bus.counts();
        assert_eq!((counts.lost(), counts.network.reconnects), (0, 0));
        assert_eq!(counts.network.kernel_drops, 0);
    });
}

#[test]
fn fragments_of_every_size_are_put_together() {
    network::alone(|| {
        let bus = open(URL);
        let inbox = bus.events("CUT").unwrap();
        let reader = move || {
            let mut sizes = Vec::new();
            for (seed, size) in (0..).zip([7_893, 100_000, 300_000, 3_000_000]) {
                for _ in 0..4 {
                    let event = next(&inbox);
                    assert!(event.payload == noise(seed, size), "{size} bytes");
                    sizes.push(size);
                }
            }
            sizes.len()
        };
        let reader = std::thread::Builder::new().spawn(reader).unwrap();
        let stranger = stranger();
        let mut sequence = 0;
        for (seed, size) in (0..).zip([7_893, 100_000, 300_000, 3_000_000]) {
            // lcm-lite's, LCM's on macOS, Java's, and C's.
            for body in [7_892, 1_423, 64_000, 65_487] {
                let datagrams = fragments(sequence, "CUT", &noise(seed, size), body);
                send_in_step(&stranger, &datagrams, &bus);
                sequence += 1;
            }
        }
        assert_eq!(reader.join().unwrap(), 16);
        assert_eq!(bus.counts().lost(), 0);
    });
}

#[test]
fn large_messages_of_two_senders_that_come_interleaved_both_arrive() {
    const SIZE: usize = 64 << 20;
    network::alone(|| {
        let bus = open(URL);
        let inbox = bus.events("LARGE").unwrap();
        let strangers = [stranger(), stranger()];
        let reader = move || [next(&inbox), next(&inbox)];
        let reader = std::thread::Builder::new().spawn(reader).unwrap();
        let messages = [1, 2].map(|seed| fragments(0, "LARGE", &noise(seed, SIZE), 65_487));
        let [first, second] = &messages;
        for pair in first.chunks(4).zip(second.chunks(4)) {
            send_in_step(&strangers[0], pair.0, &bus);
            send_in_step(&strangers[1], pair.1, &bus);
        }
        for event in reader.join().unwrap() {
            let Sender::Socket(sender) = event.arrival.sender else {
                panic!("expected a socket, found {}", event.arrival.sender);
            };
            let is_first = sender.port() == strangers[0].local_addr().unwrap().port();
            let seed = if is_first { 1 } else { 2 };
            assert!(event.payload == noise(seed, SIZE));
        }
    });
}

#[test]
fn a_message_of_more_than_256_mib_arrives() {
    const SIZE: usize = (256 << 20) + 12_345;
    network::alone(|| {
        let inbox = open(URL).events("HUGE").unwrap();
        let publish = || open(URL).publish_bytes("HUGE", &noise(8, SIZE)).unwrap();
        let thread = std::thread::Builder::new().spawn(publish).unwrap();
        assert!(next(&inbox).payload == noise(8, SIZE));
        thread.join().unwrap();
        assert_eq!(network(&inbox).kernel_drops, 0);
    });
}

#[test]
fn datagrams_have_the_size_of_url_and_path() {
    network::alone(|| {
        let tap = tap();
        let inbox = open(URL).events("MTU").unwrap();
        let sizes_of = |url: &str| {
            open(url).publish_bytes("MTU", &noise(9, 5_000)).unwrap();
            assert_eq!(next(&inbox).payload, noise(9, 5_000), "{url}");
            let mut buffer = vec![0; 1 << 16];
            let mut left = 5_000;
            let mut sizes = Vec::new();
            while left > 0 {
                let size = tap.recv(&mut buffer).unwrap();
                left -= size - if buffer[3] == b'2' { 12 } else { 20 };
                left += usize::from(buffer[3] == b'3' && sizes.is_empty()) * 4;
                sizes.push(size);
            }
            sizes
        };
        assert_eq!(sizes_of(URL), [5_012]);
        assert_eq!(
            sizes_of(&format!("{URL}&max_datagram=1472")),
            [1_472, 1_472, 1_472, 668]
        );
        ip("link set lo mtu 3000");
        assert_eq!(sizes_of(URL), [2_972, 2_072]);
    });
}

#[test]
fn a_filter_in_the_kernel_loses_nothing_that_is_wanted() {
    network::alone(|| {
        let bus = open(URL);
        let inbox = bus.inbox();
        for pattern in ["wanted.one", "prefix.*", "a\\.b"] {
            inbox.subscribe(pattern, Queue::default()).unwrap();
        }
        // An unescaped dot is any character.
        let wanted = [
            "wanted.one",
            "wantedXone",
            "prefix.",
            "prefix.and.more",
            "prefixed",
            "a.b",
        ];
        // What is like those that are wanted, but not quite; and what ends in the middle of them.
        let unwanted = ["wanted.on", "wanted.one2", "prefi", "aXb", "other"];
        let publisher = open(URL);
        let mut n_wanted = 0_u32;
        // With and without company, in batches and one by one: the filter comes and goes.
        for (n_rounds, n_unwanted) in [(1_500, 16), (3_000, 0), (1_500, 16), (500, 4)] {
            for round in 0..n_rounds {
                let company: Vec<_> = unwanted.iter().cycle().take(n_unwanted).collect();
                publish_round(&publisher, &wanted, &company, (round, n_wanted));
                n_wanted += u32::try_from(wanted.len()).unwrap();
                expect_numbers(&inbox, &wanted, n_wanted);
            }
        }
        let counts = bus.counts();
        assert!(counts.network.filtered > 10_000, "{counts:?}");
        assert_eq!(counts.network.kernel_drops, 0, "{counts:?}");
        assert_eq!(counts.received, u64::from(n_wanted));
    });
}

#[test]
fn what_one_publishes_and_does_not_want_back_stays_in_the_kernel() {
    network::alone(|| {
        let bus = open(URL);
        let inbox = bus.inbox();
        inbox.subscribe("wanted.*", Queue::default()).unwrap();
        let large = vec![7; 200_000];
        for _ in 0..50 {
            bus.publish_bytes("other", &large).unwrap();
        }
        let counts = bus.counts();
        assert!(counts.network.filtered >= 50 * 4, "{counts:?}");
        let mut n_wanted = 0_u32;
        for round in 0_u32..40 {
            let mut cork = bus.cork();
            for channel in ["other", "else", "wanted.1", "wanted.2", "other", "wanted.3"] {
                let mut payload = n_wanted.to_be_bytes().to_vec();
                if round % 3 == 2 {
                    payload.resize(large.len(), 0);
                }
                n_wanted += u32::from(channel.starts_with("wanted"));
                cork.publish_bytes(channel, &payload).unwrap();
            }
            cork.flush().unwrap();
            for expected in n_wanted - 3..n_wanted {
                let event = next(&inbox);
                assert_eq!(event.payload[..4], expected.to_be_bytes());
            }
        }
        assert_eq!(bus.counts().received, u64::from(n_wanted));
    });
}

/// Publishes a number on each channel that is wanted, in company; in every other round the company goes together.
fn publish_round(publisher: &Bus, wanted: &[&str], company: &[&&str], (round, first): (u32, u32)) {
    let mut cork = publisher.cork();
    for (number, channel) in (first..).zip(wanted) {
        let payload = number.to_be_bytes();
        let published = match round % 2 {
            0 => cork.publish_bytes(channel, &payload),
            _ => publisher.publish_bytes(channel, &payload),
        };
        published.unwrap();
        for channel in company {
            cork.publish_bytes(channel, b"no one wants this").unwrap();
        }
    }
    cork.flush().unwrap();
}

/// Reads the last numbers up to `end`, one on each channel, in whatever order batches brought them.
fn expect_numbers(inbox: &Inbox, channels: &[&str], end: u32) {
    let mut got: Vec<(u32, String)> = (0..channels.len())
        .map(|_| {
            let event = next(inbox);
            let number = u32::from_be_bytes(event.payload[..].try_into().unwrap());
            (number, event.channel.to_string())
        })
        .collect();
    got.sort();
    let first = end - u32::try_from(channels.len()).unwrap();
    let expected: Vec<_> = (first..end)
        .zip(channels.iter().map(ToString::to_string))
        .collect();
    assert_eq!(got, expected);
}

#[test]
fn senders_that_share_address_and_port_get_all_short_messages_through_and_never_mix() {
    network::alone(|| {
        let bus = open(URL);
        let inbox = bus.events("SHARED").unwrap();
        // lcm.jar sends from the group's port, so all of a host look like one socket.
        let socket = stranger();
        let short = |sequence: u32, text: &str| {
            let mut datagram = Vec::new();
            write_short_header(sequence, "SHARED", &mut datagram);
            datagram.extend_from_slice(text.as_bytes());
            socket.send_to(&datagram, GROUP).unwrap();
        };
        let mut expected = Vec::new();
        for sequence in 0..2_000 {
            // One began long before the other.
            for (who, sequence) in [("old", sequence + 5_000), ("new", sequence)] {
                short(sequence, who);
                expected.push(who);
            }
        }
        short(0, "end");
        assert_eq!(texts_until_end(&inbox), expected);

        let [one, other] = [1, 2].map(|seed| fragments(9, "SHARED", &noise(seed, 200_000), 64_000));
        for (a, b) in one.iter().zip(&other) {
            socket.send_to(a, GROUP).unwrap();
            socket.send_to(b, GROUP).unwrap();
        }
        short(0, "end");
        assert!(texts_until_end(&inbox).is_empty());
        let counts = network(&inbox);
        assert_eq!((counts.conflicts, counts.incomplete), (1, 1), "{counts:?}");
    });
}
