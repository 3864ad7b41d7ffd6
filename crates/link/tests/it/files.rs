//! Files of links: every mistake has its place, and what is in the repository is right.

use bowline_link::file::LinkFile;
use bowline_link::{Keep, Tables, stream_id};
use std::path::Path;
use std::time::Duration;

const GOOD: &str = "\
[link]
name = 'vehicle'
[peer]
name = 'bridge'
[[path]]
carrier = 'udp'
listen = '127.0.0.1:7800'
[send.pose]
ttl = '300ms'
";

fn parse(text: &str) -> Result<LinkFile, Vec<String>> {
    let mut nothing = |_: &Path| Err("no other file".to_owned());
    let parsed = LinkFile::parse(
        Path::new("link.toml"),
        text,
        Tables::default(),
        &mut nothing,
    );
    let texts = |problems: Vec<bowline_component::document::Problem>| {
        problems.iter().map(ToString::to_string).collect()
    };
    parsed.map(|(file, _)| file).map_err(texts)
}

#[test]
fn file_defines_streams_and_their_options() {
    let more = "deadline = '100ms'\nkeep = 'reliable'\nas = 'v.pose'\nvalue = 3\nrate_hz = 5\nmin_rate_hz = 1\n";
    let file = parse(&format!(
        "{GOOD}{more}max_bytes = 10\nqueue = 4\nagain = '5s'\n"
    ))
    .expect("it is good");
    let pose = file.sends.first().expect("there is one");
    assert_eq!(
        (pose.channel.as_str(), pose.name.as_str()),
        ("pose", "v.pose")
    );
    assert_eq!(
        (pose.keep, pose.ttl),
        (Keep::Reliable, Duration::from_millis(300))
    );
    assert_eq!(pose.deadline, Some(Duration::from_millis(100)));
    assert_eq!((pose.max_bytes, pose.queue), (10, 4));
    assert_eq!(
        (file.scheduler.name, file.status.as_str()),
        ("value", "link.state")
    );
}

/// In the good file what to replace, by what, where the mistake is reported, and in which words.
const MISTAKES: [[&str; 4]; 16] = [
    ["ttl =", "tll =", "9:1", "did you mean \"ttl\"?"],
    [
        "'udp'",
        "'pigeon'",
        "6:11",
        "one of \"quic\", \"tcp\", \"udp\"",
    ],
    [
        "'udp'",
        "'quic'",
        "1:1",
        "expected a key for quic, found none",
    ],
    ["127.0.0.1", "0.0.0.0", "5:1", "udp has no keys"],
    ["listen", "lissen", "7:1", "did you mean \"listen\"?"],
    [
        "listen = '127.0.0.1:7800'",
        "",
        "5:1",
        "expected listen or connect in [[path]], found neither",
    ],
    ["listen", "connect = '[::1]:1'\nlisten", "5:1", "found both"],
    ["7800'", "'", "7:10", "an address and a port"],
    ["'300ms'", "300", "9:7", "a duration such as"],
    [
        "ttl =",
        "deadline = '400ms'\nttl =",
        "10:1",
        "not shorter than the deadline",
    ],
    [
        "'bridge'",
        "'bridge'\nkey = 'sha256:12'",
        "5:7",
        "64 hexadecimal digits",
    ],
    [
        "[send.pose]\nttl = '300ms'",
        "",
        "",
        "something to send or to receive",
    ],
    [
        "ttl = '300ms'",
        "rate_hz = 1\nmin_rate_hz = 2",
        "10:1",
        "not above rate_hz",
    ],
    [
        "name = 'vehicle'",
        "",
        "1:1",
        "expected name in [link], found none",
    ],
    [
        "[send.pose]",
        "[send.other]\nas = 'pose'\n[send.pose]",
        "10:7",
        "found \"pose\" again",
    ],
    [
        "[send.pose]",
        "[receive.a]\nas = 'x'\n[receive.b]\nas = 'x'\n[send.pose]",
        "10:10",
        "on this end's bus once",
    ],
];

#[test]
fn every_mistake_is_found_with_its_place_and_what_was_expected() {
    for [from, to, place, expected] in MISTAKES {
        let text = GOOD.replace(from, to);
        let problems = parse(&text).expect_err(&text);
        let place = format!("link.toml:{place}");
        let mut found = problems.iter();
        let is_found = found.any(|it| it.contains(&place) && it.contains(expected));
        let problems = problems.join("\n");
        assert!(
            is_found,
            "expected {expected:?} at {place}, found\n{problems}"
        );
    }
    let long = GOOD.replace("[send.pose]", &format!("[send.{}]", "x".repeat(64)));
    let problems = parse(&long).expect_err("its name is too long").join("\n");
    assert!(problems.contains("1 to 63 bytes"), "{problems}");
}

#[test]
fn every_file_of_the_repository_is_good_and_the_ends_of_a_link_fit() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../links");
    let load = |name: &str| match LinkFile::load(&folder.join(name), Tables::default()) {
        Ok((file, warnings)) => {
            assert!(warnings.is_empty(), "{name}: {warnings:?}");
            file
        }
        Err(error) => panic!("{name}: {error}"),
    };
    let names = std::fs::read_dir(&folder).expect("links/ is there");
    let names = names.map(|it| {
        it.expect("it can be read")
            .file_name()
            .into_string()
            .expect("a name")
    });
    let names: Vec<String> = names.filter(|name| name.ends_with(".toml")).collect();
    names.iter().for_each(|name| drop(load(name)));
    assert!(names.len() >= 3, "{names:?}");
    let (vehicle, station) = (load("harbour-vehicle.toml"), load("harbour-station.toml"));
    for (from, to) in [(&vehicle, &station), (&station, &vehicle)] {
        let mut sent: Vec<&str> = from.sends.iter().map(|it| it.name.as_str()).collect();
        let mut taken: Vec<&str> = to.receives.iter().map(|it| it.name.as_str()).collect();
        sent.sort_unstable();
        taken.sort_unstable();
        assert_eq!(sent, taken);
        assert_eq!(from.peer, to.name);
    }
    let commands = vehicle
        .receives
        .iter()
        .filter(|it| it.name.starts_with("operator."));
    assert!(commands.clone().count() >= 4 && commands.clone().all(|it| it.is_command));
}

#[test]
fn the_example_has_every_key() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../links");
    let text = std::fs::read_to_string(folder.join("example.toml")).expect("it is there");
    // An unknown key has the known ones listed beside it.
    for (table, unknown) in [
        ("link", "[link]"),
        ("peer", "[peer]"),
        ("path", "[[path]]"),
        ("send", "[send.zzz]"),
        ("receive", "[receive.zzz]"),
    ] {
        let text_with = match table {
            "link" | "peer" => GOOD.replace(unknown, &format!("{unknown}\nqqqqqqqq = 1")),
            "path" => GOOD.replace(unknown, &format!("{unknown}\nqqqqqqqq = 1")),
            _ => format!("{GOOD}{unknown}\nqqqqqqqq = 1\n"),
        };
        let problems = parse(&text_with)
            .expect_err("there is an unknown key")
            .join("\n");
        let known = problems
            .split(" has ")
            .nth(1)
            .expect("the known ones are listed");
        for key in known.lines().next().expect("a line").split(", ") {
            assert!(
                text.contains(&format!("{key} = ")),
                "{table}.{key} is in links/example.toml"
            );
        }
    }
}

#[test]
fn names_on_the_wire_are_what_they_always_were() {
    // Both ends must agree, also with ends of other days.
    assert_eq!(stream_id(""), 0x811c_9dc5);
    assert_eq!(stream_id("pose"), 0x78e7_df84);
}
