//! What our bus promises beside the others: room for stock receivers, datagrams that fit, and times of arrival.

use bowline_bus::Hub;
use bowline_bus::{Capability, Schemes};
use bowline_log::{LogEvent, Writer, WriterOptions};
use bowline_testing::patience::wait_until;
use bowline_tests::built::own_program;
use bowline_tests::bus_peers::{
    Pace, Sending, URL, URL_ACROSS_LINKS, ask_counts, await_datagrams, implementation,
};
use bowline_tests::netns::{Namespace, Port};
use bowline_tests::peers::{Peers, run};
use bowline_tests::process::Process;
use bowline_tests::tap::Heard;
use std::collections::BTreeSet;
use std::fs;
use std::process::Command;
use std::time::{SystemTime, UNIX_EPOCH};

fn sending<'s>(channel: &'s str, sizes: &'s [usize]) -> Sending<'s> {
    Sending {
        channel,
        n_channels: 1,
        seed: 51,
        count: 0,
        pace: Pace::Step,
        sizes,
    }
}

/// Linux's default buffers hold three fragments, so from stock senders no such message arrives.
#[test]
fn stock_receivers_with_default_buffers_get_large_messages_from_us() {
    let peers = &Peers::find();
    for name in ["C", "Python"] {
        let place = Namespace::new();
        let stock = implementation(name).with_default_buffers();
        let sending = sending("large", &[1_000_000, 3_000_000, 100]);
        let receiver = stock.receive(peers, &place, URL, "large", 0);
        let mut sender = implementation("bowline").send(peers, &place, URL, &sending);
        for index in 0..15 {
            sender.tell(index);
        }
        for index in 0..15 {
            assert_eq!(receiver.line(), sending.line(index), "{name}");
        }
    }
}

#[test]
fn over_a_link_our_datagrams_fit_its_frames_and_everyone_understands_them() {
    const SIZES: &[usize] = &[0, 1_460, 1_461, 70_000, 1_000_000];
    let peers = &Peers::find();
    let [here, there] = [(); 2].map(|()| Namespace::without_multicast());
    let port = |namespace, address| Port {
        namespace,
        device: "net0",
        address: Some(address),
    };
    Namespace::link([port(&here, "10.7.0.1/24"), port(&there, "10.7.0.2/24")]);
    // A network is slower than receivers are.
    here.limit_rate("net0", 400);
    let tap = Process::start_ready(
        "tap",
        there.command(own_program("tap")).arg("239.255.76.67:7667"),
    );
    let sending = sending("far", SIZES);
    for name in ["C", "Python", "Java", "bowline"] {
        let receiver = implementation(name).receive(peers, &there, URL_ACROSS_LINKS, "far", 0);
        let mut sender = implementation("bowline").send(peers, &here, URL_ACROSS_LINKS, &sending);
        for index in 0..SIZES.len() as u64 {
            sender.tell(index);
            assert_eq!(receiver.line(), sending.line(index), "{name}");
        }
    }
    let heard: Vec<Heard> = tap
        .finish()
        .iter()
        .map(|line| Heard::from_line(line))
        .collect();
    let ours = heard
        .iter()
        .filter(|heard| heard.source.ip().to_string() == "10.7.0.1");
    let largest = ours.map(|heard| heard.size).max();
    assert_eq!(largest, Some(1_472));
}

#[test]
fn message_has_the_time_of_its_arrival_even_if_read_late() {
    let peers = &Peers::find();
    let place = Namespace::new();
    let sending = sending("time", &[100]);
    let mut receiver = implementation("bowline").receive(peers, &place, URL, "time", 0);
    let mut sender = implementation("C").send(peers, &place, URL, &sending);
    let signal = |name: &str| run(Command::new("kill").args([name, &receiver.id().to_string()]));
    // liblcm gives a time of its own to all but the first thousands; this is about any.
    signal("-STOP");
    // A thread that is stopped while it waits for a datagram may still take the next one.
    let threads = format!("/proc/{}/task", receiver.id());
    wait_until("a receiver whose threads all stand still", || {
        let threads = fs::read_dir(&threads).expect("the receiver is there");
        threads.into_iter().all(|thread| {
            let thread = thread.expect("its threads can be listed").path();
            let status = fs::read_to_string(thread.join("status")).expect("a thread has a status");
            status.contains("\nState:\tT")
        })
    });
    let before = now_ns();
    sender.tell(0);
    assert_eq!(sender.line(), "sent 0");
    let has_arrived = || {
        let output = place.command("cat").arg("/proc/net/udp").output();
        let table = String::from_utf8(output.expect("cat runs").stdout).expect("text");
        // Bytes that wait in the socket of the group's port stand behind the second colon of the queues.
        let is_ours = |line: &&str| line.contains(":1DF3 00000000:0000");
        table
            .lines()
            .filter(is_ours)
            .any(|line| !line.contains(":00000000 00:"))
    };
    wait_until("a message in the socket", has_arrived);
    let arrived = now_ns();
    while now_ns() < arrived + 50_000_000 {
        std::thread::yield_now();
    }
    signal("-CONT");
    assert_eq!(receiver.line(), sending.line(0));
    let counts = ask_counts(&mut receiver, &mut Vec::new());
    let received = counts["received_ns"].as_i64().expect("a time");
    assert!(
        (before..=arrived).contains(&received),
        "{before} {received} {arrived}"
    );
}

#[expect(
    clippy::disallowed_methods,
    reason = "the kernel stamps with the real time"
)]
fn now_ns() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    i64::try_from(since.expect("after the epoch").as_nanos()).expect("before 2262")
}

/// lcm.jar sends from the group's port: its senders on one host have one address and the same sequence numbers.
#[test]
fn two_java_senders_of_one_host_get_all_short_messages_through_and_nothing_mixed() {
    const N_SHORT: u64 = 200;
    const N_TOGETHER: u64 = 20;
    let peers = &Peers::find();
    let place = Namespace::new();
    let sendings = ["one", "other"].map(|channel| Sending {
        seed: channel.len() as u64,
        ..sending(channel, &[100, 1_000, 60_000])
    });
    let java = implementation("Java");
    let mut receiver = implementation("bowline").receive(peers, &place, URL, ".*", 0);
    let mut senders = sendings
        .each_ref()
        .map(|sending| java.send(peers, &place, URL, sending));
    let mut expected = BTreeSet::new();
    for index in 0..N_SHORT {
        for (sender, sending) in senders.iter_mut().zip(&sendings) {
            sender.tell(index);
            assert!(expected.insert(sending.line(index)));
        }
    }
    let n_datagrams = expected.len();
    let heard: BTreeSet<String> = (0..n_datagrams).map(|_| receiver.line()).collect();
    assert_eq!(heard, expected);
    drop(senders);

    // The same sizes, numbers and channel: only the content distinguishes them.
    let sendings = [1, 2].map(|seed| Sending {
        seed,
        ..sending("large", &[200_000])
    });
    let mut senders = sendings
        .each_ref()
        .map(|sending| java.send(peers, &place, URL, sending));
    for index in 0..N_TOGETHER {
        for sender in &mut senders {
            sender.tell(index);
        }
    }
    for sender in &senders {
        for index in 0..N_TOGETHER {
            assert_eq!(sender.line(), format!("sent {index}"));
        }
    }
    let mut heard = Vec::new();
    let n_fragments = 2 * 20 * 4;
    let counts = await_datagrams(&mut receiver, n_datagrams + n_fragments, &mut heard);
    let whole: BTreeSet<String> = sendings
        .iter()
        .flat_map(|sending| (0..N_TOGETHER).map(|index| sending.line(index)))
        .collect();
    assert!(heard.iter().all(|line| whole.contains(line)), "{counts}");
    // While one of them is silent, all that the other sends arrives: large messages get through.
    for index in N_TOGETHER..N_TOGETHER + 5 {
        senders[0].tell(index);
        assert_eq!(senders[0].line(), format!("sent {index}"));
        assert_eq!(receiver.line(), sendings[0].line(index));
    }
}

/// Publishes messages with options of the bus, to a stock receiver and a tap, and returns what the tap received and how
/// often the sender asked the system to send.
fn publish_with(options: &str, sending: &Sending<'_>) -> (Vec<Heard>, usize) {
    let peers = &Peers::find();
    let place = Namespace::new();
    let folder = tempfile::tempdir().expect("a scratch folder can be made");
    let trace = folder.path().join("trace");
    let group = "239.255.76.67:7667";
    let tap = Process::start_ready("tap", place.command(own_program("tap")).arg(group));
    let receiver = implementation("C").receive(peers, &place, URL, sending.channel, sending.count);
    let mut sender = place.command("strace");
    sender.args(["-f", "-qq", "-e", "trace=sendmmsg,sendmsg,sendto", "-o"]);
    sender.arg(&trace).arg(own_program("peer")).arg("send");
    sender.arg(format!("{URL}{options}")).arg(sending.channel);
    sender.args([1, sending.seed, sending.count].map(|n| n.to_string()));
    sender.args([sending.pace.to_string(), sending.sizes[0].to_string()]);
    let sender = Process::start_ready("sender", &mut sender);
    for index in 0..sending.count {
        assert_eq!(receiver.line(), sending.line(index), "{options:?}");
    }
    drop(sender.finish());
    // A channel, a message, and what is before them. The receiver sends something to itself besides.
    let size = 8 + sending.channel.len() + 1 + sending.sizes[0];
    let heard = tap.finish();
    let heard = heard.iter().map(|line| Heard::from_line(line));
    let heard = heard.filter(|heard| heard.size == size).collect();
    let trace = fs::read_to_string(trace).expect("strace writes it");
    let n_calls = trace.lines().filter(|line| line.contains(" send")).count();
    (heard, n_calls)
}

#[test]
fn a_bus_that_batches_sends_the_same_datagrams_with_fewer_calls() {
    const N_MESSAGES: u64 = 200;
    let sending = Sending {
        count: N_MESSAGES,
        pace: Pace::PerSecond(0),
        ..sending("batch", &[100])
    };
    let (one_by_one, n_calls) = publish_with("&announce=off", &sending);
    let (batched, n_calls_batched) = publish_with("&announce=off&batch=20ms", &sending);
    println!("{N_MESSAGES} messages: {n_calls} calls, batched {n_calls_batched}");
    let datagrams = |heard: &[Heard]| -> Vec<_> {
        let parts = |it: &Heard| (it.id, it.size, it.digest);
        heard.iter().map(parts).collect()
    };
    assert_eq!(one_by_one.len(), 200);
    assert!(one_by_one.iter().all(|heard| heard.id.is_some()), "LCM's");
    assert_eq!(datagrams(&batched), datagrams(&one_by_one));
    assert!(n_calls >= 200, "{n_calls} without batches");
    assert!(
        (1..=50).contains(&n_calls_batched),
        "{n_calls_batched} with batches"
    );
}

#[test]
fn no_transport_starts_a_thread_of_its_own_for_a_subscriber() {
    let place = Namespace::new();
    let folder = tempfile::tempdir().expect("a scratch folder can be made");
    let log = folder.path().join("log");
    let mut writer = Writer::create(&log, WriterOptions::default()).expect("a log");
    let event = LogEvent {
        number: 0,
        utime: 1,
        nanos: 0,
        channel: "X",
        payload: b"x",
    };
    writer.write(event).expect("an event can be written");
    writer.finish().expect("a log can be written");
    let hub = std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().name("inside".to_owned());
        let bind = || {
            place.enter();
            Hub::bind("127.0.0.1:0").expect("a hub starts")
        };
        let hub = thread.spawn_scoped(scope, bind).expect("a thread").join();
        hub.expect("a hub starts")
    });
    let urls = [
        format!("file://{}?speed=0", log.display()),
        "memq://".to_owned(),
        "mpudpm://239.255.76.67:7667?ttl=0&nports=10".to_owned(),
        format!("shm://threads-{}", std::process::id()),
        hub.url(),
        URL.to_owned(),
    ];
    let schemes = Schemes::built_in();
    assert_eq!(urls.len(), schemes.iter().len(), "one for each");
    for (url, scheme) in urls.iter().zip(schemes.iter()) {
        assert!(url.starts_with(scheme.name), "{url} for {}", scheme.name);
        let output = place.command(own_program("threads")).arg(url).output();
        let output = output.expect("nsenter is there");
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{url}: {stderr}");
        // The bus has one for when no thread waits, except within the process, where no kernel has a buffer.
        let expected = if scheme.has(Capability::InProcess) {
            "received\n"
        } else {
            "received\nbowline-relief\n"
        };
        assert_eq!(String::from_utf8_lossy(&output.stdout), expected, "{url}");
    }
}
