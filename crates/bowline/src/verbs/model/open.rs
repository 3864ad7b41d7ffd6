//! Which model is meant, and opening it.

use super::rounded;
use crate::App;
use crate::input::Usage;
use crate::output;
use anyhow::Context as _;
use bowline_geometry::{
    Disk, Files as _, Format, JointId, JointKind, Mistake, Mistakes, Model, format_of, load,
};
use clap::Args;
use std::path::{Path, PathBuf};

#[derive(Args, Debug)]
pub(crate) struct Source {
    /// The model: an Assembly file, URDF or SDF. Without it, the one Assembly file in or below models/ that is meant
    #[arg(short, long, value_name = "FILE")]
    model: Option<PathBuf>,
}

/// A model, and what was left out of it.
pub(super) struct Opened {
    pub(super) model: Model,
    pub(super) notes: Vec<Mistake>,
}

/// Where models are looked for.
const FOLDER: &str = "models";

impl Source {
    /// Opens the model. `None` when it has errors, which were reported then.
    pub(super) fn open(&self, app: &App) -> anyhow::Result<Option<Opened>> {
        self.open_one(app, None)
    }

    /// The same, where the model has what is asked for, so that others in the folder are not meant.
    pub(super) fn open_one(
        &self,
        app: &App,
        is_meant: Option<&dyn Fn(&Model) -> bool>,
    ) -> anyhow::Result<Option<Opened>> {
        let path = match &self.model {
            Some(path) => path.clone(),
            None => the_only_one(is_meant)?,
        };
        let made = load(&path, &mut Disk).and_then(|loaded| {
            let model = Model::new(loaded.assembly)?;
            app.catalog().check(model.assembly())?;
            Ok((model, loaded.notes))
        });
        match made {
            Ok((model, notes)) => {
                for note in &notes {
                    output::note(&format!("note: {note}"));
                }
                Ok(Some(Opened { model, notes }))
            }
            Err(mistakes) => {
                tell(&mistakes);
                Ok(None)
            }
        }
    }
}

fn tell(mistakes: &Mistakes) {
    for line in mistakes.to_string().lines() {
        output::error(line);
    }
}

/// The Assembly file in or below `models/`, if there is one and no other; or one that is meant and no other that is.
fn the_only_one(is_meant: Option<&dyn Fn(&Model) -> bool>) -> anyhow::Result<PathBuf> {
    let mut found = Vec::new();
    if Path::new(FOLDER).is_dir() {
        collect(Path::new(FOLDER), &mut found)
            .with_context(|| format!("cannot read the folder {FOLDER}"))?;
    }
    if let Some(is_meant) = is_meant.filter(|_| found.len() > 1) {
        let meant = found.iter().filter(|path| {
            let made = load(path, &mut Disk).and_then(|loaded| Model::new(loaded.assembly));
            made.is_ok_and(|model| is_meant(&model))
        });
        let meant: Vec<PathBuf> = meant.cloned().collect();
        if meant.len() == 1 {
            found = meant;
        }
    }
    match found.as_slice() {
        [only] => {
            output::note(&format!("model: {}", only.display()));
            Ok(only.clone())
        }
        [] => Err(Usage(format!(
            "expected --model FILE, or an Assembly file in {FOLDER}/, found neither"
        ))
        .into()),
        many => {
            let many: Vec<String> = many.iter().map(|path| path.display().to_string()).collect();
            Err(Usage(format!(
                "expected --model FILE, because {FOLDER}/ has several: {}",
                many.join(", ")
            ))
            .into())
        }
    }
}

fn collect(folder: &Path, found: &mut Vec<PathBuf>) -> std::io::Result<()> {
    let mut entries: Vec<_> = std::fs::read_dir(folder)?.collect::<Result<_, _>>()?;
    entries.sort_by_key(std::fs::DirEntry::file_name);
    for entry in entries {
        let path = entry.path();
        // A link to a folder may lead in circles.
        if entry.file_type()?.is_dir() {
            collect(&path, found)?;
        } else if path.extension().is_some_and(|it| it == "xml")
            && format_of(&Disk.read(&path)?) == Some(Format::Assembly)
        {
            found.push(path);
        }
    }
    Ok(())
}

/// Reads `NAME=VALUE`, where the value may be in degrees.
pub(super) fn joint(text: &str) -> Result<(String, f64), String> {
    let expected = || {
        format!(
            "expected a joint's name and value, such as Pan=0.5, Pan=30deg or Mast=1.2, found {text:?}"
        )
    };
    let (name, value) = text.split_once('=').ok_or_else(expected)?;
    let (number, unit) = match value.strip_suffix("deg") {
        Some(number) => (number, 1.0_f64.to_radians()),
        None => (value, 1.0),
    };
    let number: f64 = number.trim().parse().map_err(|_no_number| expected())?;
    let is_fine = number.is_finite() && !name.is_empty();
    is_fine
        .then(|| (name.to_owned(), number * unit))
        .ok_or_else(expected)
}

/// Sets joints to their values.
pub(super) fn set_joints(model: &mut Model, joints: &[(String, f64)]) -> anyhow::Result<()> {
    for (name, value) in joints {
        let id = model.joint(name).map_err(usage)?;
        check_limits(model, id, *value)?;
        model.set(id, *value, 0).map_err(usage)?;
    }
    Ok(())
}

/// What a joint cannot do is not drawn: on the robot it would be counted, here it is a typing error.
fn check_limits(model: &Model, id: JointId, value: f64) -> anyhow::Result<()> {
    let found = model.joints().find(|joint| joint.id == id);
    let Some((name, joint)) = found.map(|joint| (joint.name, joint.joint)) else {
        return Ok(());
    };
    let Some([least, most]) = joint
        .limits
        .filter(|[least, most]| !(*least..=*most).contains(&value))
    else {
        return Ok(());
    };
    let in_words = |value: f64| match joint.kind {
        JointKind::Revolute => format!("{} deg", rounded(value.to_degrees())),
        JointKind::Prismatic => format!("{} m", rounded(value)),
    };
    Err(usage(format!(
        "joint {name:?} goes from {} to {}, found {}",
        in_words(least),
        in_words(most),
        in_words(value)
    )))
}

/// What was asked for is not there.
pub(super) fn usage(error: impl std::fmt::Display) -> anyhow::Error {
    Usage(error.to_string()).into()
}
