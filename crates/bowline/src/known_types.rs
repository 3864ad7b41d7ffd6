//! Where types are looked up: one argument for all verbs.
//!
//! What `--types` names, otherwise the project's own folder; then what a log or a bus describes; then Bowline's own.

use crate::{input, output};
use bowline_log::{Catalog, Reader, Schemas};
use clap::Args;
use std::path::{Path, PathBuf};

/// What a project calls the folder with its types.
const FOLDERS: [&str; 2] = ["types", "lcmtypes"];

#[derive(Args, Debug)]
pub(crate) struct Types {
    /// Where types are: .lcm files, or folders of them. Without it, commands that only display take the nearest folder types or
    /// lcmtypes with .lcm files, here or above, up to the root of the repository. Types that a log or a bus describes
    /// need none
    #[arg(long, value_name = "DIR")]
    types: Vec<PathBuf>,
}

impl Types {
    /// The types that were given: as many as can be understood.
    pub(crate) fn given(&self) -> anyhow::Result<Schemas> {
        let mut schemas = Schemas::default();
        if !self.types.is_empty() {
            let (sources, compiled) = input::load_types(&self.types)?;
            if !compiled.is_ok() {
                output::diagnostics(&compiled.diagnostics, &sources);
            }
            schemas.add(&compiled.types);
        }
        Ok(schemas)
    }

    /// Those or the project's, and our own, before anything was received or read. Only for display: what is written must not
    /// depend on the current folder.
    pub(crate) fn catalog(&self) -> anyhow::Result<Catalog> {
        let mut schemas = self.given()?;
        if self.types.is_empty() {
            for folder in project_folders() {
                add_project(&folder, &mut schemas);
            }
        }
        Ok(Catalog::new(schemas, bowline_msgs::SCHEMA))
    }

    /// Those, what a log describes, and our own.
    pub(crate) fn catalog_with(&self, log: &Reader) -> anyhow::Result<Catalog> {
        let mut catalog = self.catalog()?;
        catalog.learn_from(log);
        Ok(catalog)
    }
}

/// These were not given explicitly, so their errors are notes and no reason to stop.
fn add_project(folder: &Path, schemas: &mut Schemas) {
    match input::load_types(&[folder.to_owned()]) {
        Ok((_, compiled)) => {
            schemas.add(&compiled.types);
            if !compiled.is_ok() {
                let folder = crate::verbs::doctor::quote(&folder.display().to_string());
                output::note(&format!(
                    "some types in {folder} cannot be understood and are left out; `bowline types check {folder}` reports why"
                ));
            }
        }
        Err(error) => output::note(&format!(
            "the types in {} are left out: {}",
            folder.display(),
            output::with_causes(&error)
        )),
    }
}

/// The nearest folders with types, here or above, in the repository that this is in.
fn project_folders() -> Vec<PathBuf> {
    let Ok(here) = std::env::current_dir() else {
        return Vec::new();
    };
    for folder in here.ancestors() {
        let found: Vec<PathBuf> = FOLDERS
            .iter()
            .map(|name| folder.join(name))
            .filter(|folder| input::has_types(folder))
            .collect();
        if !found.is_empty() {
            return found;
        }
        // A repository, or a worktree of one, where it is a file.
        if folder.join(".git").exists() {
            break;
        }
    }
    Vec::new()
}
