//! `bowline station`: the operator's page, from a bus or a log.

mod quiet;

use crate::input::Usage;
use crate::terminal::{self, Woken};
use crate::verbs::log::choice;
use crate::{App, Outcome, input, output, robot_file};
use anyhow::{Context as _, bail};
use bowline_bus::Bus;
use bowline_geometry::{Disk, load};
use bowline_host::supervise::unblock_signals;
use bowline_log::IndexUse;
use bowline_log::record::increments;
use bowline_station::{
    Access, Certificate, Chart, MAX_PASSWORD, Model, Options, Origin, People, Station,
    hash_password, self_signed,
};
use clap::{Args, Subcommand};
use nix::sys::signalfd::SignalFd;
use std::ffi::OsStr;
use std::fs;
use std::io::{BufRead as _, IsTerminal as _};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

const EXAMPLES: &str = "\
Examples:
  bowline station                                       what is on the bus, at http://127.0.0.1:8080/
  bowline station --chart worlds/harbour.geojson --robot robots/harbour.toml
                                                        with a chart, and with sensors where they are
  bowline station --panels examples/panel               with panels of your own, which the page loads
  bowline station --log harbour.mcap                    a log in the same displays, without commands
  bowline station password                              asks for a password, prints what --users wants of it
  bowline station certificate bridge.local 192.168.1.5  makes station.pem and station.key for these names
  bowline station --listen 0.0.0.0:8443 --host bridge.local --users people.toml \\
      --tls-cert station.pem --tls-key station.key      for others too: with log-in and TLS, or not at all

A file of people:
  [user.anna]
  role = \"operator\"                # viewer, operator or supervisor
  rank = 1                         # at most, when asking for control; 0 without it
  password = \"$argon2id$...\"       # from `bowline station password`

The station cannot move a vehicle: it carries what people ask for to the vehicle's gate, which decides.
What people do is written to the audit log, a log like any other, and published as station.audit.
It ends with ^C. Exit code 0 if it ran; 1 if it could not; 2 for wrong usage.";

/// The default address of a station: only this machine reaches it.
pub(crate) const USUAL_ADDRESS: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 8080);

#[derive(Args, Debug)]
#[command(
    after_help = EXAMPLES,
    args_conflicts_with_subcommands = true
)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    verb: Option<Verb>,
    #[arg(
        short = 'l',
        long = "lcm-url",
        visible_alias = "url",
        value_name = "URL",
        default_value = "",
        hide_default_value = true,
        help = "Where the bus is; without it $BOWLINE_URL, then $LCM_DEFAULT_URL, then udpm://239.255.76.67:7667?ttl=0"
    )]
    url: String,
    /// A log to replay, in place of a bus
    #[arg(long, value_name = "FILE", conflicts_with = "url")]
    log: Option<PathBuf>,
    /// What the station is called, 1 to 31 bytes: gates know people by this name; without it the name of the host
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// A chart for the map, GeoJSON as `bowline sim chart` writes it; may be given several times
    #[arg(long = "chart", value_name = "FILE")]
    charts: Vec<PathBuf>,
    /// A folder of custom panels: modules that the page loads beside its own panels
    #[arg(long, value_name = "DIR")]
    panels: Option<PathBuf>,
    /// A robot file, to know where sensors are on the robot; PREFIX=FILE for one whose channels have a prefix
    #[arg(long = "robot", value_name = "[PREFIX=]FILE")]
    robots: Vec<String>,
    /// Where it is written down what people do; without it station-audit.mcap.NN, the first that is not there
    #[arg(long, value_name = "FILE")]
    audit: Option<PathBuf>,
    #[command(flatten)]
    door: Doorway,
}

// Where browsers find a station, and who may use it. (No doc comment: clap would take it for the summary of a verb.)
#[derive(Args, Debug)]
pub(crate) struct Doorway {
    /// Where to listen; port 0 is any free one. Without it 127.0.0.1:8080
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) listen: Option<SocketAddr>,
    /// A name that browsers may use for it; may be given several times
    #[arg(long = "host", value_name = "NAME")]
    hosts: Vec<String>,
    /// Who may log in; without it all users of this machine may do everything
    #[arg(long, value_name = "FILE")]
    users: Option<PathBuf>,
    /// The certificate, PEM
    #[arg(long, value_name = "FILE", requires_all = ["tls_key", "users"])]
    tls_cert: Option<PathBuf>,
    /// Its key, PEM
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    tls_key: Option<PathBuf>,
    /// How long a log-in lasts
    #[arg(long, value_name = "DURATION", value_parser = input::period, default_value = "12h")]
    session: Duration,
}

#[derive(Subcommand, Debug)]
enum Verb {
    /// Ask for a password, and print it as a file of people has it
    Password,
    /// Make a certificate that vouches for itself: NAME.pem and NAME.key
    Certificate {
        /// Names and addresses that browsers may use
        #[arg(value_name = "NAME", required = true)]
        names: Vec<String>,
        /// What the files are called
        #[arg(short, long, value_name = "FILE", default_value = "station")]
        output: PathBuf,
    },
}

pub(crate) fn run(app: &App, arguments: &Arguments) -> anyhow::Result<Outcome> {
    match &arguments.verb {
        Some(Verb::Password) => password(),
        Some(Verb::Certificate { names, output }) => certificate(names, output),
        None => serve(app, arguments),
    }
}

fn serve(app: &App, arguments: &Arguments) -> anyhow::Result<Outcome> {
    let Arguments {
        url,
        log,
        name,
        charts,
        panels,
        robots,
        audit,
        door,
        verb: _,
    } = arguments;
    // Before there are threads, so that all of them leave the signals to us.
    let signals = terminal::end_signals().context("cannot wait for signals")?;
    let origin = match log {
        Some(path) => {
            choice::check_is_log(path)?;
            Origin::Log(Box::new(choice::open(path, IndexUse::Make)?))
        }
        None => Origin::Bus(Bus::open(url).with_context(|| format!("cannot open the bus {url}"))?),
    };
    let audit = audit.clone().unwrap_or_else(free_audit);
    let options = Options {
        origin,
        charts: charts
            .iter()
            .map(|path| chart(path))
            .collect::<Result<_, _>>()?,
        panels: panels.clone(),
        models: robots
            .iter()
            .map(|text| model(app, text))
            .collect::<Result<_, _>>()?,
        audit: Some(audit.clone()),
        recording: None,
        name: name.clone().unwrap_or_else(host_name),
        ..door.options()?
    };
    let station = Station::start(options)?;
    announce(&station)?;
    output::note(&format!("what people do is written to {}", audit.display()));
    wait_for_end(&signals)?;
    Ok(Outcome::Fine)
}

impl Doorway {
    /// The options of the command line; the rest is the caller's.
    pub(crate) fn options(&self) -> anyhow::Result<Options> {
        Ok(Options {
            origin: Origin::Bus(Bus::open("memq://")?),
            listen: self.listen.unwrap_or(USUAL_ADDRESS),
            name: String::new(),
            access: self.access()?,
            hosts: self.hosts.clone(),
            charts: Vec::new(),
            panels: None,
            models: Vec::new(),
            audit: None,
            recording: None,
            session: self.session,
        })
    }

    fn access(&self) -> anyhow::Result<Access> {
        let Some(users) = &self.users else {
            return Ok(Access::Open);
        };
        let people = People::parse(&read(users)?);
        let people = people.with_context(|| format!("people of {}", users.display()))?;
        let certificate = match (&self.tls_cert, &self.tls_key) {
            (Some(chain), Some(key)) => Some(read_certificate(chain, key)?),
            _ => None,
        };
        Ok(Access::LogIn {
            people,
            certificate,
        })
    }
}

/// A certificate with its key, such as browsers can be shown.
fn read_certificate(chain: &Path, key: &Path) -> anyhow::Result<Certificate> {
    let certificate = Certificate {
        chain_pem: read(chain)?,
        key_pem: read(key)?,
    };
    certificate.check().with_context(|| {
        let (chain, key) = (chain.display(), key.display());
        format!("cannot use the certificate {chain} with the key {key}")
    })?;
    Ok(certificate)
}

/// Prints where the page is: for people, and for programs that wait for this line.
pub(crate) fn announce(station: &Station) -> anyhow::Result<()> {
    output::line(&format!("station: {}", station.url()))
}

pub(crate) fn wait_for_end(signals: &SignalFd) -> anyhow::Result<()> {
    while terminal::wait(signals, None, Duration::from_secs(60))? != Woken::Signal {}
    Ok(())
}

/// Shows the page in the user's browser, if there is one.
pub(crate) fn open_browser(url: &str) {
    let has_screen = ["DISPLAY", "WAYLAND_DISPLAY"]
        .iter()
        .any(|name| std::env::var_os(name).is_some_and(|it| !it.is_empty()));
    if !has_screen || !std::io::stdout().is_terminal() {
        return;
    }
    let opened = visitor(OsStr::new("xdg-open"), url)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    let note = format!("open {url} in a browser");
    let Ok(mut child) = opened else {
        return output::note(&note);
    };
    // It ends when it has found a browser, or with it.
    let waiting = std::thread::Builder::new()
        .name("browser".to_owned())
        .spawn(move || {
            if !child.wait().is_ok_and(|status| status.success()) {
                output::note(&note);
            }
        });
    // Without a thread it is not waited for, and it is a line in the table of processes until we end.
    drop(waiting);
}

/// A program of the user's, which ^C at ours does not end and whose signals are its own.
fn visitor(program: &OsStr, argument: &str) -> Command {
    let mut command = Command::new(program);
    command.arg(argument).process_group(0);
    unblock_signals(&mut command);
    command
}

fn read(path: &Path) -> anyhow::Result<String> {
    fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))
}

/// A chart, as far as it can be recognised as one.
pub(crate) fn chart(path: &Path) -> anyhow::Result<Chart> {
    let text = read(path)?;
    let json: serde_json::Value = serde_json::from_str(&text)
        .with_context(|| format!("expected GeoJSON in {}", path.display()))?;
    if json.get("type").and_then(|it| it.as_str()) != Some("FeatureCollection") {
        bail!(
            "expected GeoJSON in {}: an object of type FeatureCollection; `bowline sim chart` writes one",
            path.display()
        );
    }
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    Ok(Chart {
        name: name.into_owned(),
        geojson: text.into(),
    })
}

/// The model of a robot, from its file.
fn model(app: &App, text: &str) -> anyhow::Result<Model> {
    let (prefix, path) = text.split_once('=').unwrap_or(("", text));
    let checked = robot_file::check(app, Path::new(path), &[])?;
    let Some(robot) = checked.robot else {
        output::problems(&checked.problems);
        return Err(Usage(format!("{path} is no robot that could run")).into());
    };
    let Some(file) = robot.model() else {
        return Err(Usage(format!("{path} names no model")).into());
    };
    model_of(prefix, file)
}

pub(crate) fn model_of(prefix: &str, file: &Path) -> anyhow::Result<Model> {
    let loaded = load(file, &mut Disk).map_err(|mistakes| anyhow::anyhow!("{mistakes}"))?;
    let model = bowline_geometry::Model::new(loaded.assembly);
    let model = model.map_err(|mistakes| anyhow::anyhow!("{mistakes}"))?;
    Ok(Model {
        prefix: prefix.to_owned(),
        model,
    })
}

/// As much of the host's name as a station may have.
fn host_name() -> String {
    let host = nix::unistd::gethostname().ok();
    let host = host.and_then(|host| host.into_string().ok());
    let host = host.unwrap_or_else(|| "station".to_owned());
    host.chars().take(31).filter(char::is_ascii).collect()
}

fn free_audit() -> PathBuf {
    let base = Path::new("station-audit.mcap");
    increments(base)
        .find(|path| !path.exists())
        .unwrap_or_else(|| base.to_owned())
}

fn password() -> anyhow::Result<Outcome> {
    let stdin = std::io::stdin();
    let mut line = String::new();
    if stdin.is_terminal() {
        let signals = terminal::end_signals().context("cannot wait for signals")?;
        let quiet = quiet::Quiet::begin().context("cannot hide what is typed")?;
        output::note("type the password, and Enter; it is not seen while it is typed");
        if quiet.wait(&signals)? == Woken::Signal {
            bail!("interrupted");
        }
        stdin.lock().read_line(&mut line)?;
    } else {
        stdin.lock().read_line(&mut line)?;
    }
    let password = line.trim_end_matches(['\r', '\n']);
    if password.chars().count() < 8 {
        return Err(Usage("expected a password of at least 8 letters".to_owned()).into());
    }
    if password.len() > MAX_PASSWORD {
        let why = format!("expected a password of at most {MAX_PASSWORD} bytes");
        return Err(Usage(why).into());
    }
    output::line(&hash_password(password))?;
    Ok(Outcome::Fine)
}

fn certificate(names: &[String], base: &Path) -> anyhow::Result<Outcome> {
    let made = self_signed(names)?;
    let (chain, key) = (with_ending(base, ".pem"), with_ending(base, ".key"));
    let written = write_new(&chain, &made.chain_pem, 0o644);
    written.with_context(|| format!("cannot write {}", chain.display()))?;
    let written = write_new(&key, &made.key_pem, 0o600);
    if written.is_err() {
        // A certificate without its key is of no use, and would be in the way the next time.
        drop(fs::remove_file(&chain));
    }
    written.with_context(|| format!("cannot write {}", key.display()))?;
    output::line(&format!(
        "{} and {}: browsers will ask once whether to trust it",
        chain.display(),
        key.display()
    ))?;
    Ok(Outcome::Fine)
}

/// `bridge.local` is a name, and not one with an ending that could be replaced.
fn with_ending(base: &Path, ending: &str) -> PathBuf {
    let mut name = base.as_os_str().to_owned();
    name.push(ending);
    name.into()
}

fn write_new(path: &Path, text: &str, mode: u32) -> std::io::Result<()> {
    use std::io::Write as _;
    use std::os::unix::fs::OpenOptionsExt as _;
    let mut file = fs::OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(mode)
        .open(path)?;
    file.write_all(text.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser as _;

    #[derive(clap::Parser)]
    struct Line {
        #[command(flatten)]
        door: Doorway,
    }

    #[test]
    fn station_listens_on_loopback_by_default() {
        let options = Line::parse_from(["station"]).door.options().unwrap();
        assert!(options.listen.ip().is_loopback(), "{}", options.listen);
        let listen = SocketAddr::new(options.listen.ip(), 0);
        let station = Station::start(Options {
            listen,
            name: "bridge".to_owned(),
            ..options
        });
        assert!(station.unwrap().address().ip().is_loopback());
    }

    #[test]
    fn a_browser_gets_signals_though_we_block_them_and_a_group_of_its_own() {
        let earlier = nix::sys::signal::SigSet::thread_get_mask().unwrap();
        let signals = terminal::end_signals().unwrap();
        let output = visitor(OsStr::new("cat"), "/proc/self/status").output();
        earlier.thread_set_mask().unwrap();
        drop(signals);
        let status = String::from_utf8(output.unwrap().stdout).unwrap();
        let field = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name));
            line.unwrap().trim().to_owned()
        };
        assert_eq!(field("SigBlk:"), "0000000000000000");
        assert_eq!(field("NSpgid:"), field("NSpid:"));
    }
}
