use super::*;

fn packet(link: &str) -> Packet {
    Packet {
        protocol: Protocol::Udp,
        dest: "239.255.76.67".parse().unwrap(),
        dest_port: 7667,
        source: Some("192.168.0.5".parse().unwrap()),
        link: link.to_string(),
    }
}

fn iptables(rules: &str, packet: &Packet) -> Vec<Obstacle> {
    read_iptables(&format!("*filter\n{rules}\nCOMMIT\n"), packet).obstacles(packet)
}

const NFT: &str = include_str!("../recorded/nft.json");
const IPTABLES: &str = include_str!("../recorded/iptables.txt");

#[test]
fn recorded_nft_rules_drop_their_packets() {
    let eth0 = packet("eth0");
    let found = read_nft(NFT, &eth0).unwrap().obstacles(&eth0);
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(
        found[0].rule,
        "nft chain inet filter input: the rule with handle 22"
    );
    assert!(found[0].is_certain);
    assert_eq!(
        found[0].fix,
        "nft insert rule inet filter input ip daddr 239.255.76.67 udp dport 7667 accept"
    );

    let lo = packet("lo");
    let found = read_nft(NFT, &lo).unwrap().obstacles(&lo);
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(
        found[0].rule,
        "nft chain inet filter output: the rule with handle 24"
    );

    // From 10.x it returns from the chain of robots, and the named set comes before the rule for multicast.
    let from_10 = Packet {
        source: Some("10.1.2.3".parse().unwrap()),
        ..eth0.clone()
    };
    let found = read_nft(NFT, &from_10).unwrap().obstacles(&from_10);
    assert_eq!(
        found[0].rule,
        "nft chain inet filter input: the rule with handle 15"
    );
    assert!(!found[0].is_certain);

    let igmp = Packet {
        protocol: Protocol::Igmp,
        dest: "224.0.0.22".parse().unwrap(),
        ..eth0
    };
    let found = read_nft(NFT, &igmp).unwrap().obstacles(&igmp);
    assert_eq!(
        found[0].rule,
        "nft chain inet filter input: the rule with handle 15"
    );
}

#[test]
fn recorded_iptables_rules_drop_their_packets() {
    let eth0 = packet("eth0");
    let found = read_iptables(IPTABLES, &eth0).obstacles(&eth0);
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].rule.contains("5000:6000,7667"), "{found:?}");
    assert!(found[0].is_certain);
    let lo = packet("lo");
    assert_eq!(read_iptables(IPTABLES, &lo).obstacles(&lo), []);
    let igmp = Packet {
        protocol: Protocol::Igmp,
        ..lo
    };
    let found = read_iptables(IPTABLES, &igmp).obstacles(&igmp);
    assert_eq!(
        found[0].fix,
        "iptables -t filter -I OUTPUT -p igmp -j ACCEPT"
    );
}

#[test]
fn rules_stop_the_packet_or_do_not() {
    let policy = ":INPUT DROP [0:0]\n";
    for (rules, expected) in [
        ("", Some(true)),
        ("-A INPUT -j ACCEPT", None),
        (
            "-A INPUT -m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT",
            Some(true),
        ),
        ("-A INPUT -m conntrack --ctstate NEW -j ACCEPT", None),
        ("-A INPUT -p tcp -j ACCEPT", Some(true)),
        ("-A INPUT -p udp -m udp --dport 7667 -j ACCEPT", None),
        (
            "-A INPUT -p udp -m udp ! --dport 7667 -j ACCEPT",
            Some(true),
        ),
        ("-A INPUT -d 239.0.0.0/8 -j ACCEPT", None),
        ("-A INPUT -d 224.0.0.0/5 -j ACCEPT", Some(true)),
        (
            "-A INPUT -m set --match-set friends src -j ACCEPT",
            Some(false),
        ),
        ("-A INPUT ! -i eth1 -j ACCEPT", None),
        ("-A INPUT -i eth+ -j ACCEPT", None),
        (
            ":sub - [0:0]\n-A INPUT -j sub\n-A sub -i eth0 -j ACCEPT",
            None,
        ),
        (
            ":sub - [0:0]\n-A INPUT -j sub\n-A sub -o eth0 -j ACCEPT",
            Some(true),
        ),
        (
            ":sub - [0:0]\n-A INPUT -j sub\n-A sub -j RETURN\n-A sub -j ACCEPT",
            Some(true),
        ),
        (":sub - [0:0]\n-A INPUT -j sub\n-A sub -j sub", Some(false)),
    ] {
        let found = iptables(&format!("{policy}{rules}"), &packet("eth0"));
        let certain = found.first().map(|obstacle| obstacle.is_certain);
        assert_eq!(certain, expected, "{rules}");
    }
}

#[test]
fn a_drop_behind_an_unknown_condition_is_only_suspected() {
    let rules =
        ":INPUT ACCEPT [0:0]\n[7:900] -A INPUT -m hashlimit --hashlimit-above 9/sec -j DROP";
    let found = iptables(rules, &packet("eth0"));
    assert_eq!(found.len(), 1);
    assert!(!found[0].is_certain);
    assert_eq!(found[0].n_hits, Some(7));
}

#[test]
fn rules_that_both_tools_show_count_once() {
    let nft = r#"{"nftables": [
        {"chain": {"family": "ip", "table": "filter", "name": "INPUT", "hook": "input", "policy": "drop"}}]}"#;
    let eth0 = packet("eth0");
    let mut rules = read_nft(nft, &eth0).unwrap();
    rules.extend(read_iptables("*filter\n:INPUT DROP [0:0]\nCOMMIT\n", &eth0));
    let found = rules.obstacles(&eth0);
    assert_eq!(found.len(), 1);
    assert!(found[0].fix.starts_with("iptables "));
}

#[test]
fn nonsense_is_no_firewall() {
    assert_eq!(read_nft("not JSON", &packet("lo")), None);
    assert_eq!(
        read_nft(
            r#"{"nftables": [{"rule": 5}, 7, {"chain": null}]}"#,
            &packet("lo")
        ),
        Some(Ruleset::default())
    );
    assert_eq!(
        read_iptables(":\n-A\n[\n[1:2] -A\n-A x -j", &packet("lo")).n_entries(),
        0
    );
}
