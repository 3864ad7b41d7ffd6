//! `bowline log draw`: the last map of a log as a picture, with where the vehicle went and what was found.

use super::choice::{self, TIMES_HELP, Times};
use super::report;
use crate::input::Usage;
use crate::{Outcome, output};
use anyhow::{Context as _, bail};
use bowline_autonomy::map::Planes;
use bowline_autonomy::map::draw::{Layer, Palette, Picture, Rgb};
use bowline_log::{IndexUse, LogEvent, Reader};
use bowline_msgs::{Map, Path as Places, PoseTransform};
use bowline_wire::Message as _;
use clap::Args;
use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  bowline run robots/harbour.toml --source sim --lockstep --for 10m --record harbour.mcap
  bowline log draw harbour.mcap basin.png --map bathymetry --path pose --points bathymetry.finds
  bowline log draw raptor.mcap ground.png --map terrain --plane height -e 60   as it was after a minute

North is at the top, and the bar at the lower left is 10 m long. Colours go from the smallest value, which is light, to
the largest, which is dark; unobserved cells are nearly black. A path is drawn in red; places are rings.";

#[derive(Args, Debug)]
#[command(about = "Draw the last map of a log as a PNG", after_help = format!("{EXAMPLES}\n\n{TIMES_HELP}"))]
pub(crate) struct Arguments {
    /// The log
    log: PathBuf,
    /// The picture; a file that is there is replaced
    picture: PathBuf,
    /// The channel of the map; not needed if there is one with maps only
    #[arg(long, value_name = "CHANNEL")]
    map: Option<String>,
    /// Which plane of the map; without it depth or height, if it has them
    #[arg(long, value_name = "NAME")]
    plane: Option<String>,
    /// A channel of poses: where they have been. Several add up
    #[arg(long = "path", value_name = "CHANNEL")]
    paths: Vec<String>,
    /// A channel of places: the last ones are drawn. Several add up
    #[arg(long = "points", value_name = "CHANNEL")]
    points: Vec<String>,
    /// Pixels a cell of the map
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u8).range(1..=64))]
    scale: u8,
    #[command(flatten)]
    times: Times,
}

/// What of a log is drawn.
#[derive(Default)]
struct Seen {
    map: Option<Map>,
    /// All channels that have maps.
    maps: BTreeSet<String>,
    tracks: Vec<Vec<[f64; 2]>>,
    places: Vec<Vec<[f64; 2]>>,
}

const TRACK: Rgb = [222, 60, 48];
const PLACE: Rgb = [255, 214, 64];
const BAR: Rgb = [240, 240, 240];
/// Of a vehicle that stands still, a point for each of so many metres is enough.
const TRACK_STEP_M: f64 = 0.25;

impl Seen {
    fn take(&mut self, event: &LogEvent<'_>, arguments: &Arguments) -> anyhow::Result<()> {
        let channel = event.channel;
        let is_map = event.payload.starts_with(&Map::FINGERPRINT.0.to_be_bytes());
        if is_map && !self.maps.contains(channel) {
            self.maps.insert(channel.to_owned());
        }
        let wrong = || format!("{channel} is of another type");
        if is_map && arguments.map.as_deref().is_none_or(|it| it == channel) {
            self.map = Some(Map::decode(event.payload).with_context(wrong)?);
        }
        for (nth, _) in named(&arguments.paths, channel) {
            let pose = PoseTransform::decode(event.payload).with_context(wrong)?;
            let at_m = [pose.matrix[3], pose.matrix[7]];
            let track = row(&mut self.tracks, nth);
            let is_new = track
                .last()
                .is_none_or(|[x, y]| (at_m[0] - x).hypot(at_m[1] - y) >= TRACK_STEP_M);
            if is_new {
                track.push(at_m);
            }
        }
        for (nth, _) in named(&arguments.points, channel) {
            let places = Places::decode(event.payload).with_context(wrong)?;
            let places = places.waypoints.iter();
            *row(&mut self.places, nth) = places.map(|it| it.position.map(f64::from)).collect();
        }
        Ok(())
    }
}

fn named<'a>(names: &'a [String], channel: &str) -> impl Iterator<Item = (usize, &'a String)> {
    names
        .iter()
        .enumerate()
        .filter(move |(_, it)| *it == channel)
}

/// The one of a number, made if need be.
fn row(rows: &mut Vec<Vec<[f64; 2]>>, nth: usize) -> &mut Vec<[f64; 2]> {
    if rows.len() <= nth {
        rows.resize(nth + 1, Vec::new());
    }
    &mut rows[nth]
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<Outcome> {
    let mut log = choice::open(&arguments.log, IndexUse::IfThere)?;
    let seen = read(&mut log, arguments)?;
    let map = the_map(&seen, arguments)?;
    let name = plane_of(&map, arguments)?;
    let planes = Planes::new(&map)?;
    let values = planes.plane(&name)?.iter().flatten();
    let known = values.copied().filter(|it| it.is_finite());
    let (low, high) = known.fold((f32::INFINITY, f32::NEG_INFINITY), |(low, high), it| {
        (low.min(it), high.max(it))
    });
    if low > high {
        bail!("nothing of the plane {name:?} is known: the picture would be empty");
    }
    let palette = Palette::Span {
        low: low.into(),
        high: high.into(),
    };
    let picture = draw(&Layer::new(&map, &name, palette)?, &seen, arguments.scale);
    let path = &arguments.picture;
    fs::write(path, picture.to_png()?)
        .with_context(|| format!("cannot write {}", path.display()))?;
    let (width, height) = picture.size();
    let unit = map.names.iter().position(|it| *it == name);
    let unit = unit
        .and_then(|nth| map.units.get(nth))
        .map_or("", String::as_str);
    output::line(&format!(
        "{}: {name} from {low:.2} to {high:.2} {unit}, {} by {} cells of {} m, {width} by {height} pixels",
        path.display(),
        map.n_columns,
        map.n_rows,
        map.cell_m
    ))?;
    report::note_damage(log.damages());
    Ok(match log.damages().is_lossy() {
        true => Outcome::Diagnostics,
        false => Outcome::Fine,
    })
}

fn read(log: &mut Reader, arguments: &Arguments) -> anyhow::Result<Seen> {
    let times = arguments.times.range(log)?;
    if log.summary().is_some() && times.from_utime > i64::MIN {
        log.seek_to(times.from_utime)?;
    }
    let mut seen = Seen::default();
    while let Some(event) = log.next_event()? {
        if (times.from_utime..=times.to_utime).contains(&event.utime) {
            seen.take(&event, arguments)?;
        }
    }
    for channel in arguments.paths.iter().chain(&arguments.points) {
        let is_there = |rows: &[Vec<[f64; 2]>], names: &[String]| {
            named(names, channel).all(|(nth, _)| rows.len() > nth)
        };
        if !is_there(&seen.tracks, &arguments.paths) || !is_there(&seen.places, &arguments.points) {
            return Err(Usage(format!(
                "nothing is on {channel}: `bowline log info` lists channels"
            ))
            .into());
        }
    }
    Ok(seen)
}

fn the_map(seen: &Seen, arguments: &Arguments) -> anyhow::Result<Map> {
    let maps: Vec<&str> = seen.maps.iter().map(String::as_str).collect();
    let wrong = match (&arguments.map, maps.as_slice()) {
        (_, []) => "expected a log with maps (bowline.map_t), found none".to_owned(),
        (None, [_, _, ..]) => format!("expected --map with one of {}", maps.join(", ")),
        (Some(name), _) if seen.map.is_none() => {
            format!(
                "expected a channel with maps, {}, found {name:?}",
                maps.join(" or ")
            )
        }
        (Some(_) | None, _) => return seen.map.clone().context("there is a map"),
    };
    Err(Usage(wrong).into())
}

fn plane_of(map: &Map, arguments: &Arguments) -> anyhow::Result<String> {
    let has = |name: &str| map.names.iter().any(|it| it == name);
    let usual = ["depth", "height"].into_iter().find(|name| has(name));
    let first = map.names.first().map(String::as_str);
    let name = arguments.plane.as_deref().or(usual).or(first);
    match name.filter(|name| has(name)) {
        Some(name) => Ok(name.to_owned()),
        None => {
            let names = map.names.join(", ");
            Err(Usage(format!(
                "expected --plane with one of {names}, found {name:?}"
            ))
            .into())
        }
    }
}

fn draw(layer: &Layer, seen: &Seen, scale: u8) -> Picture {
    let mut picture = Picture::new(layer, usize::from(scale));
    for track in &seen.tracks {
        picture.path(track, TRACK, 1.5);
    }
    for at_m in seen.places.iter().flatten() {
        picture.ring(*at_m, PLACE, 14.0);
    }
    let [west_m, south_m] = layer.origin_m.map(|it| it + 2.0);
    picture.path(&[[west_m, south_m], [west_m + 10.0, south_m]], BAR, 4.0);
    picture
}
