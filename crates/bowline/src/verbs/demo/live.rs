//! A robot in this process, as time goes by, with a recorder and a station: a person in the loop.

use super::show::{Show, Unpacked};
use crate::verbs::run::component::{self, Which};
use crate::verbs::station::{self, Doorway, USUAL_ADDRESS};
use crate::{App, Outcome, output, terminal};
use anyhow::Context as _;
use bowline_bus::{Bus, Url};
use bowline_host::robot::Source;
use bowline_log::Schemas;
use bowline_log::record::{Existing, FileOptions, Recorder, RecorderOptions, increments};
use bowline_sim::{World, to_geojson, to_truth};
use bowline_station::{Chart, Options, Origin, StartError, Station};
use clap::Args;
use std::io;
use std::path::PathBuf;

#[derive(Args, Debug)]
pub(super) struct LiveArguments {
    /// Where the robot and what is recorded go; without it NAME-demo
    #[arg(short, long, value_name = "FOLDER")]
    output: Option<PathBuf>,
    /// Where the bus is; without it in this process
    #[arg(short = 'l', long, value_name = "URL")]
    url: Option<String>,
    /// Do not open a browser
    #[arg(long)]
    no_open: bool,
    #[command(flatten)]
    door: Doorway,
}

impl LiveArguments {
    pub(super) fn folder(&self, show: &Show) -> PathBuf {
        let usual = || PathBuf::from(format!("{}-demo", show.name));
        self.output.clone().unwrap_or_else(usual)
    }
}

pub(super) fn run(app: &App, show: &Show, arguments: &LiveArguments) -> anyhow::Result<Outcome> {
    // Before there are threads, so that all of them leave the signals to us.
    let signals = terminal::end_signals().context("cannot wait for signals")?;
    let folder = arguments.folder(show);
    let unpacked = show.unpack(&folder)?;
    let url = arguments.url.clone();
    let url = url.unwrap_or_else(|| format!("memq://{}-demo", show.name));
    let robot = unpacked.robot(app, show.robot, show.presets)?;
    let robot = robot.on_bus(Url::parse(&url)?);
    let bus = Bus::open(&url).with_context(|| format!("cannot open the bus {url}"))?;

    let log = folder.join(format!("{}.mcap", show.name));
    let mut recorder = record(&bus, log.clone())?;
    let station = serve(show, arguments, &unpacked, bus)?;
    output::line(show.intro)?;
    station::announce(&station)?;
    output::note(&format!(
        "everything is recorded in {}; ^C ends it",
        log.display()
    ));
    if !arguments.no_open {
        station::open_browser(&station.url());
    }
    let stop = component::stop_at_signal(signals)?;
    let outcome = component::host(&robot, Source::Sim, Which::All, &stop);
    drop(station);
    recorder.stop();
    output::line(&format!(
        "bowline station --log {} shows it again",
        log.display()
    ))?;
    outcome
}

fn record(bus: &Bus, log: PathBuf) -> anyhow::Result<Recorder> {
    let files = FileOptions {
        existing: Existing::Replace,
        ..FileOptions::new(log)
    };
    let options = RecorderOptions {
        schemas: Schemas::generated(bowline_msgs::SCHEMA),
        ..RecorderOptions::new(files)
    };
    Ok(Recorder::start(bus, options)?)
}

fn serve(
    show: &Show,
    arguments: &LiveArguments,
    unpacked: &Unpacked,
    bus: Bus,
) -> anyhow::Result<Station> {
    let options = |listen| -> anyhow::Result<Options> {
        Ok(Options {
            origin: Origin::Bus(bus.clone()),
            name: "bridge".to_owned(),
            charts: charts(show, unpacked)?,
            models: vec![station::model_of("", &unpacked.path(show.model))?],
            audit: increments(&unpacked.path("audit.mcap")).find(|path| !path.exists()),
            recording: Some(format!("{}.mcap", show.name)),
            listen,
            ..arguments.door.options()?
        })
    };
    let told = arguments.door.listen;
    match Station::start(options(told.unwrap_or(USUAL_ADDRESS))?) {
        // Another program may have the usual port.
        Err(StartError::Listen { source, .. })
            if source.kind() == io::ErrorKind::AddrInUse && told.is_none() =>
        {
            Ok(Station::start(options((USUAL_ADDRESS.ip(), 0).into())?)?)
        }
        started => Ok(started?),
    }
}

/// What a harbour office would publish of the world, and everything that stands in it.
fn charts(show: &Show, unpacked: &Unpacked) -> anyhow::Result<Vec<Chart>> {
    let world = World::load(&unpacked.path(show.world))?;
    let published = to_geojson(&world).map(|text| (show.name.to_owned(), text));
    let charts = published
        .into_iter()
        .chain([(format!("{}-truth", show.name), to_truth(&world))]);
    let charts = charts.map(|(name, text)| Chart {
        name: format!("{name}.geojson"),
        geojson: text.into(),
    });
    Ok(charts.collect())
}
