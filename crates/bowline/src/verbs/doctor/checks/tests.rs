//! What no test may do to the machine it runs on, done to a snapshot.

use super::*;
use crate::verbs::doctor::netlink::{Link, Route};
use crate::verbs::doctor::proc::Socket;
use crate::verbs::doctor::report::{Colours, is_healthy, to_json, to_text};
use crate::verbs::doctor::snapshot::{Host, Live, Owner, SharedMemory};
use crate::verbs::doctor::url::Target;
use bowline_bus::diagnosis::{Fix, Verdict};

const OUT: &str = "udpm://239.255.76.67:7667?ttl=1";

/// A robot with one network card, on which all is well.
fn healthy(url: &str) -> Snapshot {
    let mut eth0 = Link::fake(2, "eth0", &["up", "multicast"]);
    eth0.addrs = vec!["10.0.0.5".parse().unwrap()];
    let settings = [
        ("net.core.rmem_max", 4 << 20),
        ("net.core.rmem_default", 212_992),
        ("net.ipv4.ipfrag_high_thresh", 4 << 20),
    ];
    Snapshot {
        target: Target::choose(Some(url), None, None),
        is_root: true,
        links: Ok(vec![Link::fake(1, "lo", &["up", "loopback"]), eth0]),
        route: Ok(Some(Route {
            link_index: 2,
            source: Some("10.0.0.5".parse().unwrap()),
            prefix_len: 4,
        })),
        rp_filter: [("all".into(), 0), ("eth0".into(), 0)].into(),
        settings: settings.into(),
        granted_bytes: Ok(4 << 20),
        sockets: Ok(Vec::new()),
        owners: Vec::new(),
        can_share_port: Ok(true),
        memberships: Ok(Vec::new()),
        counters: Ok([].into()),
        nft: Ok(r#"{"nftables": []}"#.into()),
        iptables: Ok(String::new()),
        host: Host {
            utime: 1_791_849_600_000_000,
            is_clock_synchronised: Ok(true),
            container: None,
            is_wsl: false,
            shared_memory: Ok(SharedMemory {
                size: 8 << 30,
                used: 0,
            }),
            lockable_bytes: Ok(u64::MAX),
        },
        transport: Vec::new(),
        live: Some(Live::Done {
            small: true,
            large: true,
        }),
    }
}

fn second_card(snapshot: &mut Snapshot) {
    let mut wlan0 = Link::fake(3, "wlan0", &["up", "multicast"]);
    wlan0.addrs = vec!["10.1.0.5".parse().unwrap()];
    snapshot.links.as_mut().unwrap().push(wlan0);
}

/// The URL asks for so many bytes, and the kernel gives them.
fn ask_for(snapshot: &mut Snapshot, bytes: u64) {
    let url = format!("{OUT}&recv_buf_size={bytes}");
    snapshot.target = Target::choose(Some(&url), None, None);
    snapshot.granted_bytes = Ok(bytes);
}

/// An illness, the check that should notice, its verdict and its first command.
type Case = (fn(&mut Snapshot), &'static str, Verdict, &'static str);

const CASES: &[Case] = &[
    (
        |s| {
            s.settings.insert("net.core.rmem_max", 212_992);
        },
        "buffers",
        Verdict::Warn,
        "sysctl -w net.core.rmem_max=8388608",
    ),
    (
        |s| {
            s.settings.insert("net.core.rmem_max", 65_536);
        },
        "buffers",
        Verdict::Bad,
        "sysctl -w net.core.rmem_max=8388608",
    ),
    (
        |s| {
            s.settings.insert("net.core.rmem_default", 65_536);
        },
        "buffers",
        Verdict::Bad,
        "sysctl -w net.core.rmem_default=4194304",
    ),
    (
        |s| {
            s.settings.remove("net.core.rmem_max");
        },
        "buffers",
        Verdict::Unseen,
        "",
    ),
    (
        |s| {
            s.target = Target::choose(
                Some("udpm://239.255.76.67:7667?ttl=1&recv_buf_size=9999999"),
                None,
                None,
            );
        },
        "buffers",
        Verdict::Warn,
        "sysctl -w net.core.rmem_max=9999999",
    ),
    (
        |s| ask_for(s, 2_000),
        "buffers",
        Verdict::Bad,
        "bowline doctor 'udpm://239.255.76.67:7667?ttl=1&recv_buf_size=4194304'",
    ),
    (
        |s| ask_for(s, 100_000),
        "buffers",
        Verdict::Warn,
        "bowline doctor 'udpm://239.255.76.67:7667?ttl=1&recv_buf_size=4194304'",
    ),
    (
        |s| s.counters = Ok([("Ip.ReasmFails".into(), 7)].into()),
        "fragments",
        Verdict::Warn,
        "sysctl -w net.ipv4.ipfrag_high_thresh=16777216",
    ),
    (
        |s| s.counters = Ok([("Udp.InCsumErrors".into(), 7)].into()),
        "losses",
        Verdict::Warn,
        "",
    ),
    (
        second_card,
        "reach",
        Verdict::Warn,
        "export BOWLINE_URL='udpm://239.255.76.67:7667?ttl=1&iface=eth0'",
    ),
    (
        |s| {
            second_card(s);
            s.rp_filter.insert("all".into(), 1);
        },
        "source check",
        Verdict::Warn,
        "sysctl -w net.ipv4.conf.eth0.rp_filter=2",
    ),
    (
        |s| s.links.as_mut().unwrap()[1].is_deaf_bridge = true,
        "bridge",
        Verdict::Warn,
        "ip link set eth0 type bridge mcast_querier 1",
    ),
    (
        |s| s.links.as_mut().unwrap()[0] = Link::fake(1, "lo", &["loopback"]),
        "interfaces",
        Verdict::Warn,
        "ip link set lo up",
    ),
    (
        |s| s.route = Ok(None),
        "route",
        Verdict::Bad,
        "ip route replace 224.0.0.0/4 dev eth0",
    ),
    (
        |s| s.route = Err("no netlink".into()),
        "route",
        Verdict::Unseen,
        "",
    ),
    (
        |s| s.host.utime = 86_400_000_000,
        "clock",
        Verdict::Bad,
        "timedatectl set-ntp true",
    ),
    (
        |s| s.host.is_clock_synchronised = Ok(false),
        "clock",
        Verdict::Warn,
        "timedatectl set-ntp true",
    ),
    (
        |s| s.host.container = Some("Docker".into()),
        "surroundings",
        Verdict::Warn,
        "",
    ),
    (
        |s| s.nft = Err("nft is not installed".into()),
        "firewall",
        Verdict::Unseen,
        "",
    ),
    (
        |s| s.iptables = Ok("*filter\n:OUTPUT ACCEPT [0:0]\n-A OUTPUT -p igmp -j DROP\n".into()),
        "firewall",
        Verdict::Warn,
        "iptables -t filter -I OUTPUT -p igmp -j ACCEPT",
    ),
    (
        |s| {
            s.live = Some(Live::Done {
                small: false,
                large: false,
            });
        },
        "live test",
        Verdict::Bad,
        "",
    ),
    (
        |s| {
            s.target = Target::choose(Some("shm://"), None, None);
            s.host.shared_memory = Ok(SharedMemory {
                size: 64 << 20,
                used: 0,
            });
        },
        "shared memory",
        Verdict::Warn,
        "mount -o remount,size=1G /dev/shm",
    ),
];

#[test]
fn a_healthy_machine_gets_nothing_but_ok() {
    for (name, finding) in check(&healthy(OUT)) {
        assert_eq!(finding.verdict, Verdict::Ok, "{name}: {finding:?}");
    }
}

#[test]
fn every_illness_is_noticed_by_its_check_and_by_no_other() {
    for (make_ill, check_name, verdict, command) in CASES {
        let mut snapshot = healthy(OUT);
        make_ill(&mut snapshot);
        let findings = check(&snapshot);
        let not_ok: Vec<_> = findings
            .iter()
            // Several cards are worth a word by themselves.
            .filter(|(name, finding)| {
                finding.verdict != Verdict::Ok && (name == check_name || *name != "reach")
            })
            .collect();
        let [(name, finding)] = not_ok.as_slice() else {
            panic!("{check_name} {command}: {not_ok:#?}");
        };
        assert_eq!(
            (name, finding.verdict),
            (check_name, *verdict),
            "{finding:#?}"
        );
        let fix = finding
            .fix
            .first()
            .map_or(String::new(), |fix| fix.command(true));
        assert_eq!(fix, *command, "{finding:#?}");
        assert_eq!(is_healthy(&findings), *verdict != Verdict::Bad);
    }
}

#[test]
fn a_lost_datagram_has_a_name_where_it_can_be_seen() {
    let mut snapshot = healthy(OUT);
    let socket = |inode| Socket {
        addr: "239.255.76.67".parse().unwrap(),
        port: 7667,
        inode,
        n_drops: 3,
    };
    snapshot.sockets = Ok(vec![socket(7), socket(8)]);
    snapshot.memberships = Ok(vec![("eth0".into(), "239.255.76.67".parse().unwrap())]);
    snapshot.owners = vec![Owner {
        pid: 42,
        name: "lcm-logger".into(),
        inodes: vec![6, 7],
    }];
    let found: Vec<String> = buffers::losses(&snapshot)
        .into_iter()
        .map(|finding| finding.found)
        .collect();
    assert_eq!(
        found,
        [
            "lcm-logger (42) has lost 3 datagrams since it started.",
            "a program of another user has lost 3 datagrams since it started."
        ]
    );
}

#[test]
fn commands_that_need_root_have_sudo_for_other_users() {
    assert_eq!(
        Fix::Root("sysctl -w a=1".into()).command(false),
        "sudo sysctl -w a=1"
    );
    assert_eq!(Fix::User("kill 7".into()).command(false), "kill 7");
    let mut snapshot = healthy(OUT);
    snapshot.is_root = false;
    snapshot.settings.insert("net.core.rmem_max", 1000);
    let findings = check(&snapshot);
    let text = to_text(&snapshot, &findings, Colours::Off);
    assert!(
        text.contains("\n    sudo sysctl -w net.core.rmem_max=8388608\n"),
        "{text}"
    );
    assert!(
        text.contains("\n    sudo sh -c \"echo net.core.rmem_max=8388608 > /etc/sysctl.d/60-bowline-rmem_max.conf\"\n"),
        "{text}"
    );
    assert_eq!(to_json(&snapshot, &findings)["healthy"], false);
}

#[test]
fn checks_have_names_of_their_own_that_fit_their_column() {
    let mut names: Vec<&str> = CHECKS.iter().map(|(name, _)| *name).collect();
    assert!(names.iter().all(|name| name.len() <= 14));
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), CHECKS.len());
}

#[test]
fn a_mistake_is_mended_where_it_was_made() {
    for (argument, variable, command) in [
        (
            Some("udpm://robot"),
            None,
            "bowline doctor 'udpm://239.255.76.67:7667?ttl=0'",
        ),
        (
            None,
            Some("udpm://robot"),
            "export BOWLINE_URL='udpm://239.255.76.67:7667?ttl=0'",
        ),
    ] {
        let mut snapshot = healthy(OUT);
        snapshot.target = Target::choose(argument, variable, None);
        let findings = check(&snapshot);
        let (_, finding) = findings.first().expect("a mistake in the URL is found");
        let first = finding.fix.first().map(|fix| fix.command(true));
        assert_eq!(first.as_deref(), Some(command));
    }
}

#[test]
fn root_gets_the_limits_of_other_users() {
    let found = |is_root, granted_bytes| {
        let mut snapshot = healthy(OUT);
        (snapshot.is_root, snapshot.granted_bytes) = (is_root, Ok(granted_bytes));
        let findings = check(&snapshot);
        let buffers = findings.into_iter().find(|(name, _)| *name == "buffers");
        buffers.expect("buffers are looked at").1.found
    };
    let root = found(true, 64 << 20);
    assert!(
        root.contains("67 MB as root") && root.contains("as others 4.1 MB"),
        "{root}"
    );
    let other = found(false, 4 << 20);
    assert!(
        other.starts_with("Bowline gets 4.1 MB: room for 119 large"),
        "{other}"
    );
}
