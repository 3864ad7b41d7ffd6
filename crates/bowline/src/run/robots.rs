//! Robot files, as verbs take them.

use crate::kinds::KINDS;
use crate::{input, output};
use bowline_bus::default_url;
use bowline_log::{Catalog, Schemas};
use bowline_node::robot::{Loader, Robot, Source, load as load_robot};
use std::path::{Path, PathBuf};

/// Reads a robot file and checks it; warnings are shown.
pub(crate) fn load(path: &Path) -> anyhow::Result<Robot> {
    let search_path = search_path();
    let loader = Loader {
        kinds: KINDS,
        types: &types,
        search_path: &search_path,
    };
    let loaded = load_robot(path, &loader)?;
    for warning in &loaded.warnings {
        output::note(&warning.to_string());
    }
    Ok(loaded.robot)
}

/// The bus of a robot: what the command line says, then its file, then the environment.
pub(crate) fn url(robot: &Robot, given: Option<&str>) -> String {
    let of_file = robot.bus().map(ToString::to_string);
    given.map(str::to_owned).or(of_file).unwrap_or_else(default_url)
}

/// `live`, `sim` or `log`.
pub(crate) fn source_kind(text: &str) -> Result<Source, String> {
    match text {
        "live" => Ok(Source::Live),
        "sim" => Ok(Source::Sim),
        "log" => Ok(Source::Log),
        other => Err(format!("expected live, sim or log, found {other:?}")),
    }
}

fn types(paths: &[PathBuf]) -> Result<Catalog, String> {
    let mut schemas = Schemas::default();
    if !paths.is_empty() {
        let (sources, compiled) = input::load_types(paths).map_err(|error| output::with_causes(&error))?;
        if !compiled.is_ok() {
            output::diagnostics(&compiled.diagnostics, &sources);
            return Err("some types cannot be understood".to_owned());
        }
        schemas.add(&compiled.types);
    }
    Ok(Catalog::new(schemas))
}

#[expect(clippy::disallowed_methods, reason = "commands are found as a shell finds them")]
fn search_path() -> Vec<PathBuf> {
    let path = std::env::var("PATH").unwrap_or_default();
    std::env::split_paths(&path).collect()
}
