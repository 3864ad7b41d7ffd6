//! Robot files, for the verbs that take one: read, checked, and what is wrong with them shown.

use crate::input::{self, Usage};
use crate::{App, output};
use bowline_host::robot::{
    self, BadPreset, Here, LoadError, Loaded, Loader, Preset, Problem, Robot, Source, parse,
};
use bowline_log::{Catalog, Schemas};
use clap::Args;
use std::env;
use std::path::{Path, PathBuf};

/// What was found in a robot file.
pub(crate) struct Checked {
    /// `None` if anything is wrong.
    pub(crate) robot: Option<Robot>,
    pub(crate) problems: Vec<Problem>,
}

// What counts more than a robot file. (No doc comment: clap would take it for the summary of a verb.)
#[derive(Args, Debug, Default)]
pub(crate) struct Presets {
    /// A parameter, in place of the file's: of one component, or of all that have it; may be given several times
    #[arg(long = "set", value_name = "[COMPONENT.]NAME=VALUE", value_parser = preset)]
    pub(crate) presets: Vec<Preset>,
}

fn preset(text: &str) -> Result<Preset, BadPreset> {
    text.parse()
}

/// Reads a robot file and checks everything in it that can be checked without running it.
pub(crate) fn check(app: &App, path: &Path, presets: &[Preset]) -> anyhow::Result<Checked> {
    checked(load(app, path, presets, None))
}

/// Checks the text of a robot that has no file of its own; paths in it are relative to `folder`.
pub(crate) fn check_text(
    app: &App,
    text: &str,
    folder: &Path,
    presets: &[Preset],
) -> anyhow::Result<Checked> {
    let search_path = search_path();
    let loader = loader(app, &search_path, presets, None);
    checked(parse(text, &folder.join("robot.toml"), &loader))
}

/// Reads a robot file, to run a part of it `here` if it is given.
pub(crate) fn load(
    app: &App,
    path: &Path,
    presets: &[Preset],
    here: Option<Here<'_>>,
) -> Result<Loaded, LoadError> {
    let search_path = search_path();
    robot::load(path, &loader(app, &search_path, presets, here))
}

fn loader<'a>(
    app: &'a App,
    search_path: &'a [PathBuf],
    presets: &'a [Preset],
    here: Option<Here<'a>>,
) -> Loader<'a> {
    Loader {
        kinds: app.kind_table(),
        types: &types,
        search_path,
        here,
        presets,
    }
}

fn checked(loaded: Result<Loaded, LoadError>) -> anyhow::Result<Checked> {
    match loaded {
        Ok(loaded) => Ok(Checked {
            robot: Some(loaded.robot),
            problems: loaded.warnings,
        }),
        Err(LoadError::Wrong(problems)) => Ok(Checked {
            robot: None,
            problems,
        }),
        Err(
            error @ (LoadError::Read { .. }
            | LoadError::TooLarge { .. }
            | LoadError::NotText { .. }),
        ) => Err(Usage(error.to_string()).into()),
    }
}

/// Where commands are looked for: where this program is, so that robots find it, and then the PATH.
fn search_path() -> Vec<PathBuf> {
    let own = env::current_exe().ok();
    let own = own.and_then(|path| path.parent().map(Path::to_owned));
    let variable = env::var_os("PATH").unwrap_or_default();
    own.into_iter().chain(env::split_paths(&variable)).collect()
}

/// Reads a robot file and shows what is wrong with it; `None` if it cannot be used.
pub(crate) fn open(app: &App, path: &Path, presets: &[Preset]) -> anyhow::Result<Option<Robot>> {
    let checked = check(app, path, presets)?;
    output::problems(&checked.problems);
    Ok(checked.robot)
}

/// The same, to run a part of it on this machine: then the programs of that part must be there.
pub(crate) fn open_to_run(
    app: &App,
    path: &Path,
    presets: &[Preset],
    here: Here<'_>,
) -> anyhow::Result<Option<Robot>> {
    let checked = checked(load(app, path, presets, Some(here)))?;
    output::problems(&checked.problems);
    Ok(checked.robot)
}

/// The types that a robot file names, and our own.
fn types(paths: &[PathBuf]) -> Result<Catalog, String> {
    let mut schemas = Schemas::default();
    if !paths.is_empty() {
        let loaded = input::load_types(paths);
        let (_, compiled) = loaded.map_err(|error| output::with_causes(&error))?;
        if !compiled.is_ok() {
            let folders: Vec<String> = paths
                .iter()
                .map(|path| path.display().to_string())
                .collect();
            let why = compiled
                .diagnostics
                .first()
                .map_or(String::new(), ToString::to_string);
            return Err(format!(
                "{why}; `bowline types check {}` has details",
                folders.join(" ")
            ));
        }
        schemas.add(&compiled.types);
    }
    Ok(Catalog::new(schemas, bowline_msgs::SCHEMA))
}

/// Where data comes from, as people write it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum SourceArgument {
    Live,
    Sim,
    /// With the log, where one is needed.
    Log(Option<PathBuf>),
}

impl SourceArgument {
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        match (text, text.strip_prefix("log:")) {
            ("live", _) => Ok(Self::Live),
            ("sim", _) => Ok(Self::Sim),
            ("log", _) => Ok(Self::Log(None)),
            (_, Some(file)) if !file.is_empty() => Ok(Self::Log(Some(file.into()))),
            (_, _) => Err("expected live, sim or log:FILE".to_owned()),
        }
    }

    pub(crate) fn source(&self) -> Source {
        match self {
            Self::Live => Source::Live,
            Self::Sim => Source::Sim,
            Self::Log(_) => Source::Log,
        }
    }

    /// Refuses a source that the robot file has no section for.
    pub(crate) fn check(&self, robot: &Robot) -> anyhow::Result<()> {
        if robot.has_source(self.source()) {
            return Ok(());
        }
        let section = match self {
            Self::Live => "robot",
            Self::Sim => "sim",
            Self::Log(_) => "log",
        };
        let message = format!(
            "expected [{section}] in {}, found none: it lists what this source replaces",
            robot.file().display()
        );
        Err(Usage(message).into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bowline_host::graph::Graph;

    #[test]
    fn every_robot_in_the_repository_is_right() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../robots");
        let entries = std::fs::read_dir(folder).unwrap();
        let paths = entries.map(|entry| entry.unwrap().path());
        let robots: Vec<PathBuf> = paths
            .filter(|path| path.extension().is_some_and(|it| it == "toml"))
            .collect();
        assert!(!robots.is_empty());
        for path in robots {
            let checked = check(&App::new(), &path, &[]).unwrap();
            let told: Vec<String> = checked.problems.iter().map(ToString::to_string).collect();
            let robot = checked
                .robot
                .unwrap_or_else(|| panic!("{}", told.join("\n")));
            for source in [Source::Live, Source::Sim, Source::Log] {
                assert!(!Graph::of_robot(&robot, source).nodes.is_empty());
            }
        }
    }

    #[test]
    fn sources_are_written_as_they_are_parsed() {
        assert_eq!(SourceArgument::parse("live"), Ok(SourceArgument::Live));
        assert_eq!(SourceArgument::parse("sim"), Ok(SourceArgument::Sim));
        let log = SourceArgument::Log(Some("day.mcap".into()));
        assert_eq!(SourceArgument::parse("log:day.mcap"), Ok(log));
        for text in ["", "log:", "simulation", "logs:x"] {
            assert!(SourceArgument::parse(text).is_err(), "{text}");
        }
    }
}
