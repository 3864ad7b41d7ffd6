//! The doctor in network namespaces that are ill in one way each. The best test of a prescription: run it, ask again.

use crate::{bowline_in, scratch, stdout, write};
use bowline_testing::network::Namespace;
use serde_json::Value;
use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::process::{Child, Output, Stdio};

/// What the doctor asks the host about. No namespace isolates it, so tests must not fail for it, nor change it.
const OF_THE_HOST: &[&str] = &["buffers", "clock", "shared memory"];

/// A doctor who is called to a network.
trait Patient {
    fn doctor(&self, arguments: &[&str]) -> Output;
    fn diagnose(&self, url: &[&str]) -> Diagnosis;
}

impl Patient for Namespace {
    fn doctor(&self, arguments: &[&str]) -> Output {
        let mut command = self.command(env!("CARGO_BIN_EXE_bowline"));
        command
            .arg("doctor")
            .args(arguments)
            .output()
            .expect("nsenter is there")
    }

    fn diagnose(&self, url: &[&str]) -> Diagnosis {
        let output = self.doctor(&[url, &["--json"]].concat());
        let report: Value = serde_json::from_slice(&output.stdout).expect("--json prints JSON");
        assert_eq!(
            output.status.code(),
            Some(if report["healthy"] == true { 0 } else { 1 }),
            "the exit code and the report disagree"
        );
        Diagnosis(report)
    }
}

#[derive(Debug)]
struct Diagnosis(Value);

impl Diagnosis {
    fn findings(&self, verdict: &str) -> Vec<&Value> {
        let all = self.0["findings"]
            .as_array()
            .expect("a report has findings");
        let ours = all.iter().filter(|finding| {
            !OF_THE_HOST.contains(&finding["check"].as_str().expect("checks have names"))
        });
        ours.filter(|finding| finding["verdict"] == verdict)
            .collect()
    }

    fn checks(&self, verdict: &str) -> Vec<&str> {
        let findings = self.findings(verdict);
        findings
            .iter()
            .filter_map(|finding| finding["check"].as_str())
            .collect()
    }

    fn fixes(&self) -> Vec<&str> {
        let findings = [self.findings("bad"), self.findings("warn")].concat();
        let fixes = findings
            .iter()
            .filter_map(|finding| finding["fix"].as_array());
        fixes.flatten().filter_map(Value::as_str).collect()
    }
}

/// Makes a network ill, and sees that the doctor notices, names the check, and knows the cure.
fn cure(illness: &str, check: &str, verdict: &str, url: &[&str]) {
    let namespace = Namespace::new();
    namespace.run(illness);
    let ill = namespace.diagnose(url);
    assert!(ill.checks(verdict).contains(&check), "{illness}: {ill:#?}");
    for fix in ill.fixes() {
        namespace.run(fix);
    }
    let well = namespace.diagnose(url);
    assert_eq!(
        (well.findings("bad"), well.findings("warn")),
        (vec![], vec![]),
        "{illness}: {:#?}",
        ill.fixes()
    );
}

#[test]
fn a_healthy_network_is_exit_code_0_and_a_message_came_back() {
    let namespace = Namespace::new();
    let diagnosis = namespace.diagnose(&[]);
    assert_eq!(diagnosis.checks("bad"), [""; 0], "{diagnosis:#?}");
    assert_eq!(diagnosis.checks("warn"), [""; 0], "{diagnosis:#?}");
    assert!(
        diagnosis.checks("ok").contains(&"live test"),
        "{diagnosis:#?}"
    );
}

#[test]
fn the_commands_for_every_illness_cure_it() {
    let group6 = ["udpm://[ff15::76:67]:7667?ttl=0"];
    for (illness, check, verdict, url) in [
        ("ip link set lo down", "interfaces", "bad", &[][..]),
        ("ip route del 224.0.0.0/4", "route", "bad", &[]),
        (
            "ip route del 224.0.0.0/4 && ip route add unreachable 224.0.0.0/4",
            "route",
            "bad",
            &[],
        ),
        ("ip link set lo multicast off", "interfaces", "warn", &[]),
        ("true", "route", "bad", &group6),
        (
            "ip link set lo mtu 1500 && sysctl -w net.ipv4.ipfrag_low_thresh=0 net.ipv4.ipfrag_high_thresh=1000",
            "fragments",
            "bad",
            &[],
        ),
        (
            "ip link set lo mtu 1500 && sysctl -w net.ipv4.ipfrag_low_thresh=0 net.ipv4.ipfrag_high_thresh=1000",
            "live test",
            "bad",
            &[],
        ),
    ] {
        cure(illness, check, verdict, url);
    }
}

#[test]
fn the_commands_for_every_firewall_cure_it() {
    let nft = |chain: &str| format!("nft -f - <<'END'\ntable inet filter {{\n{chain}\n}}\nEND\n");
    let input = "type filter hook input priority 0; policy";
    for (illness, verdict) in [
        (nft(&format!("chain input {{\n{input} drop;\n}}")), "bad"),
        (nft(&format!("chain input {{\n{input} accept; udp dport 7667 counter drop\n}}")), "bad"),
        (nft(&format!("chain input {{\n{input} accept; ip daddr 224.0.0.0/4 jump sub\n}}\nchain sub {{\nreject\n}}")), "bad"),
        (nft("chain output {\ntype filter hook output priority 0; policy accept; meta pkttype != host ip daddr 239.255.76.67 drop\n}"), "bad"),
        (nft(&format!("chain input {{\n{input} drop; udp dport 7667 limit rate 1000/second accept\n}}")), "warn"),
        ("iptables -A INPUT -p udp --dport 7667 -j DROP".to_string(), "bad"),
        ("iptables -P INPUT DROP".to_string(), "bad"),
        ("iptables -N sub && iptables -A sub -i lo -d 239.0.0.0/8 -j REJECT && iptables -A INPUT -j sub".to_string(), "bad"),
    ] {
        cure(&illness, "firewall", verdict, &[]);
    }
}

#[test]
fn a_firewall_that_lets_messages_pass_is_no_illness() {
    let namespace = Namespace::new();
    namespace.run(
        "nft -f - <<'END'
table inet filter {
  chain input {
    type filter hook input priority 0; policy drop;
    ct state established,related accept
    tcp dport 22 drop
    iifname \"lo\" accept
  }
}
END",
    );
    let diagnosis = namespace.diagnose(&[]);
    assert_eq!(diagnosis.checks("bad"), [""; 0], "{diagnosis:#?}");
    assert_eq!(diagnosis.checks("warn"), [""; 0], "{diagnosis:#?}");
}

/// A program of another kind that is bound to a port in the namespace.
struct Holder(Child);

impl Holder {
    fn new(namespace: &Namespace, script: &str) -> Self {
        let script = format!(
            "import socket, sys\ns = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n{script}\nprint('ready', flush=True)\nsys.stdin.read()"
        );
        let mut child = namespace
            .command("python3")
            .args(["-c", &script])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("python3 is there");
        let mut line = [0; 6];
        let output = child.stdout.as_mut().expect("it is piped");
        output.read_exact(&mut line).expect("the program is ready");
        Self(child)
    }
}

impl Drop for Holder {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        let _ended = self.0.wait();
    }
}

#[test]
fn a_program_that_does_not_share_the_port_is_named_and_can_be_ended() {
    let namespace = Namespace::new();
    let holder = Holder::new(&namespace, "s.bind(('', 7667))");
    let ill = namespace.diagnose(&[]);
    assert!(ill.checks("bad").contains(&"port"), "{ill:#?}");
    let found = ill.findings("bad")[0]["found"].as_str().unwrap_or_default();
    assert!(
        found.contains(&format!("python3 ({})", holder.0.id())),
        "{found}"
    );
    assert_eq!(ill.fixes(), [format!("kill {}", holder.0.id())]);
    namespace.run(ill.fixes()[0]);
    drop(holder);
    assert_eq!(namespace.diagnose(&[]).checks("bad"), [""; 0]);
}

#[test]
fn receivers_that_share_the_port_are_named_and_so_are_those_that_lose() {
    let namespace = Namespace::new();
    let _slow = Holder::new(
        &namespace,
        "group = ('239.255.76.67', 7667)
s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 10000)
s.bind(group)
s.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, socket.inet_aton(group[0]) + bytes(4))
for i in range(100):
    s.sendto(bytes(9000), group)",
    );
    let diagnosis = namespace.diagnose(&[]);
    assert_eq!(diagnosis.checks("bad"), [""; 0], "{diagnosis:#?}");
    assert_eq!(diagnosis.checks("warn"), ["losses"], "{diagnosis:#?}");
    let text = stdout(&namespace.doctor(&[]));
    assert!(text.contains("Port 7667 is shared by python3 ("), "{text}");
    assert!(text.contains("239.255.76.67 is joined on lo."), "{text}");
}

#[test]
fn a_route_that_changed_under_a_receiver_is_found() {
    let namespace = Namespace::new();
    let _receiver = Holder::new(
        &namespace,
        "s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
s.bind(('239.255.76.67', 7667))
s.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, socket.inet_aton('239.255.76.67') + bytes(4))",
    );
    namespace.run(
        "ip link add v0 type veth peer name v1 && ip addr add 10.76.67.1/24 dev v0 && ip link set v0 up && \
         ip link set v1 up && ip route replace 224.0.0.0/4 dev v0",
    );
    let ill = namespace.diagnose(&[]);
    assert_eq!(ill.checks("bad"), ["membership"], "{ill:#?}");
    namespace.run(ill.fixes()[0]);
    assert_eq!(namespace.diagnose(&[]).checks("bad"), [""; 0]);
}

#[test]
fn messages_that_should_leave_the_host_get_a_route_out() {
    let url = ["udpm://239.255.76.67:7667?ttl=1"];
    let namespace = Namespace::new();
    let alone = namespace.diagnose(&url);
    assert!(alone.checks("warn").contains(&"route"), "{alone:#?}");
    namespace.run(
        "ip link add v0 type veth peer name v1 && ip addr add 10.76.67.1/24 dev v0 && ip link set v0 up && ip link set v1 up",
    );
    let ill = namespace.diagnose(&url);
    assert_eq!(ill.checks("bad"), ["route"], "{ill:#?}");
    namespace.run(ill.fixes()[0]);
    let well = namespace.diagnose(&url);
    assert_eq!(well.checks("bad"), [""; 0], "{well:#?}");
    let on_v0 = namespace.diagnose(&["udpm://239.255.76.67:7667?ttl=1&iface=v0"]);
    assert_eq!(on_v0.checks("bad"), [""; 0], "{on_v0:#?}");
    let elsewhere = namespace.diagnose(&["udpm://239.255.76.67:7667?ttl=1&iface=v9"]);
    assert!(
        elsewhere.checks("bad").contains(&"interfaces"),
        "{elsewhere:#?}"
    );
}

#[test]
fn nothing_is_sent_when_that_is_forbidden() {
    let namespace = Namespace::new();
    let diagnosis = namespace.diagnose(&["--no-send"]);
    assert!(
        diagnosis.checks("unseen").contains(&"live test"),
        "{diagnosis:#?}"
    );
    namespace.run("grep -A1 '^Udp: In' /proc/net/snmp | tail -n1 | grep '^Udp: 0 0 0 0 '");
}

#[test]
fn lines_fit_a_terminal_but_commands_stay_whole() {
    let namespace = Namespace::bare();
    let text = stdout(&namespace.doctor(&[]));
    assert!(
        text.contains("\n    ip route replace 224.0.0.0/4 dev lo\n"),
        "{text}"
    );
    assert!(!text.contains('\x1b'), "colours are for terminals");
    for line in text.lines().filter(|line| !line.starts_with("    ")) {
        assert!(line.chars().count() <= 80, "{line}");
    }
}

#[test]
fn a_hub_is_called_and_must_answer_as_one() {
    let folder = scratch("doctor-hub");
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let url = format!("tcpq://{}", listener.local_addr().expect("it is bound"));
    for (greeting, code) in [
        (&[0x28, 0x76, 0x17, 0xfa, 0, 0, 1, 0][..], 0),
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", 1),
        (b"", 1),
    ] {
        let output = std::thread::scope(|scope| {
            scope.spawn(|| {
                let (mut stream, _) = listener.accept().expect("the doctor calls");
                let mut hello = [0; 8];
                stream.read_exact(&mut hello).expect("the doctor greets");
                assert_eq!(hello, [0x28, 0x76, 0x17, 0xfb, 0, 0, 1, 0]);
                stream.write_all(greeting).expect("the doctor listens");
            });
            bowline_in(&folder, &["doctor", &url], b"")
        });
        assert_eq!(output.status.code(), Some(code), "{}", stdout(&output));
    }
    drop(listener);
    let output = bowline_in(&folder, &["doctor", &url], b"");
    assert_eq!(output.status.code(), Some(1));
    assert!(
        stdout(&output).contains("No hub at 127.0.0.1"),
        "{}",
        stdout(&output)
    );
}

#[test]
fn logs_and_urls_are_looked_at() {
    let folder = scratch("doctor-log");
    write(&folder, "text", "not a log");
    std::fs::write(folder.join("log"), [0xed, 0xa1, 0xda, 0x01, 0, 0])
        .expect("a log can be written");
    for (url, code, part) in [
        ("file://log", 0, "begins as a log"),
        ("file://text", 1, "begins neither as"),
        ("file://missing", 1, "cannot be opened"),
        ("file://new?mode=w", 0, "can be written"),
        ("file://no/such?mode=w", 1, "mkdir -p no"),
        ("memq://", 0, "one process"),
        ("udp://239.255.76.67:7667", 1, "found \"udp\""),
        ("udpm://192.168.0.7:7667", 1, "found 192.168.0.7"),
        ("udpm://robot", 1, "\n    bowline doctor 'udpm://239"),
        ("memq://a&ttl=0", 1, "\n    bowline doctor 'memq://a?ttl=0'"),
    ] {
        let output = bowline_in(&folder, &["doctor", url], b"");
        assert_eq!(
            output.status.code(),
            Some(code),
            "{url}: {}",
            stdout(&output)
        );
        assert!(stdout(&output).contains(part), "{url}: {}", stdout(&output));
    }
    assert!(!folder.join("new").exists(), "the doctor makes nothing");
}
