//! `bowline bench`: that it measures, not what.

use crate::{bowline_in, scratch, stderr, stdout};
use bowline_testing::network::Namespace;
use bowline_testing::patience::wait_until;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The reference library, which `scripts/setup-peers` installs.
fn liblcm() -> PathBuf {
    let target = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/peers");
    let peers = std::env::var_os("BOWLINE_PEERS").map_or(target, PathBuf::from);
    let pythons =
        fs::read_dir(peers.join("venv/lib")).expect("the lcm wheel is there: run `make peers`");
    pythons
        .flatten()
        .map(|python| python.path().join("site-packages/lib"))
        .find(|folder| folder.join("liblcm.so").exists())
        .expect("the lcm wheel has a library: run `make peers`")
}

fn parses_as_xml(path: &Path) -> bool {
    let script = "import sys, xml.dom.minidom; xml.dom.minidom.parse(sys.argv[1])";
    let status = Command::new("python3")
        .args(["-c", script])
        .arg(path)
        .status();
    status.expect("python3 is there").success()
}

#[test]
fn the_echo_test_has_figures_for_us_and_for_liblcm_and_a_plot() {
    let folder = scratch("bench-echo");
    let namespace = Namespace::new();
    let output = namespace
        .command(env!("CARGO_BIN_EXE_bowline"))
        .args([
            "bench",
            "echo",
            "--quick",
            "--clients",
            "1,2",
            "--rates",
            "200",
            "--bytes",
            "80k",
            "--json",
        ])
        .arg("--plot")
        .arg(folder.join("echo.svg"))
        .arg("--liblcm")
        .arg(liblcm())
        .output()
        .expect("nsenter is there");
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(stderr(&output).contains("[4/4]"), "{}", stderr(&output));
    let report: Value = serde_json::from_slice(&output.stdout).expect("--json prints JSON");
    let points = report["points"].as_array().expect("there are points");
    let who: Vec<_> = points
        .iter()
        .map(|point| (&point["system"], &point["receivers"]))
        .collect();
    assert_eq!(
        format!("{who:?}"),
        r#"[(String("bowline"), Number(1)), (String("liblcm"), Number(1)), (String("bowline"), Number(2)), (String("liblcm"), Number(2))]"#
    );
    for point in points {
        for figure in ["delivered_mbps", "mean_us", "p50_us", "p99_us"] {
            assert!(point[figure].as_f64() > Some(0.0), "{figure} in {point:#}");
        }
    }
    assert!(parses_as_xml(&folder.join("echo.svg")));
}

#[test]
fn one_way_is_measured_within_a_process_and_for_each_size() {
    let folder = scratch("bench-oneway");
    let arguments = [
        "bench",
        "oneway",
        "--quick",
        "--url",
        "memq://",
        "--clients",
        "2",
        "--rates",
        "0",
        "--sizes",
        "100,5000",
        "--plot",
        "plot.svg",
    ];
    let output = bowline_in(&folder, &arguments, b"");
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(
        stdout(&output).contains("delivered/s"),
        "{}",
        stdout(&output)
    );
    for name in ["plot-100.svg", "plot-5000.svg"] {
        assert!(parses_as_xml(&folder.join(name)), "{name}");
    }
}

/// Two figures of two messages each, within one process.
const TINY: &[&str] = &[
    "bench",
    "oneway",
    "--quick",
    "--url",
    "memq://",
    "--clients",
    "1",
    "--sizes",
    "3000000",
    "--plot",
];

#[test]
fn a_plot_that_cannot_be_written_is_known_before_anything_is_measured() {
    let folder = scratch("bench-no-folder");
    let output = bowline_in(&folder, &[TINY, &["nope/x.svg"]].concat(), b"");
    assert_eq!(output.status.code(), Some(2));
    let text = stderr(&output);
    assert!(
        text.contains("cannot write the plot to nope/x.svg"),
        "{text}"
    );
    assert!(!text.contains("[1/"), "{text}");
}

#[test]
fn figures_are_shown_although_the_plot_fails() {
    let folder = scratch("bench-no-room");
    let output = bowline_in(&folder, &[TINY, &["/dev/full"]].concat(), b"");
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    assert!(stderr(&output).contains("cannot write the plot to /dev/full"));
    let text = stdout(&output);
    assert!(text.contains("delivered/s"), "{text}");
    assert!(!text.contains("plotted in"), "{text}");
    // Two messages are no rate, and who has no time of its own is explained.
    for part in ["- for a rate: too few", "- for receive: subscribers in"] {
        assert!(text.contains(part), "{text}");
    }
}

#[test]
fn help_offers_only_accepted_options_and_the_plots_path() {
    let folder = scratch("bench-help");
    for (verb, is_flat_out) in [("echo", false), ("oneway", true)] {
        let text = stdout(&bowline_in(&folder, &["bench", verb, "--help"], b""));
        assert_eq!(text.contains("0 is flat out"), is_flat_out, "{text}");
        assert!(
            text.contains(&format!("bowline-bench-{verb}.svg")),
            "{text}"
        );
    }
}

#[test]
fn a_network_without_multicast_is_diagnosed_instead_of_measured() {
    let namespace = Namespace::bare();
    let output = namespace
        .command(env!("CARGO_BIN_EXE_bowline"))
        .args(["bench", "oneway", "--quick"])
        .output()
        .expect("nsenter is there");
    assert_eq!(output.status.code(), Some(1));
    assert!(
        stderr(&output).contains("ip link set lo multicast on"),
        "{}",
        stderr(&output)
    );
}

#[test]
fn interrupted_run_leaves_no_process() {
    let folder = scratch("bench-interrupted");
    let namespace = Namespace::new();
    let mut bench = namespace
        .command(env!("CARGO_BIN_EXE_bowline"))
        .args([
            "bench",
            "echo",
            "--clients",
            "2",
            "--rates",
            "100",
            "--plot",
        ])
        .arg(folder.join("never.svg"))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("nsenter is there");
    let path = format!("/proc/{0}/task/{0}/children", bench.id());
    let mut children = Vec::new();
    wait_until("workers that start", || {
        let text = fs::read_to_string(&path).unwrap_or_default();
        children = text.split_whitespace().map(str::to_owned).collect();
        children.len() >= 3
    });
    bench.kill().expect("it runs");
    bench.wait().expect("it can be waited for");
    wait_until("workers that end", || {
        !children.iter().any(|child| is_running(child))
    });
}

/// A process that was not reaped yet is still there, as a zombie.
fn is_running(process: &str) -> bool {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    stat.rsplit(')')
        .next()
        .is_some_and(|rest| !rest.is_empty() && !rest.starts_with(" Z"))
}
