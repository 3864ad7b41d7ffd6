//! What there is to show: robots with everything that they are made of, so that no file is needed.

use crate::{App, output, robot_file};
use anyhow::{Context as _, bail};
use bowline_host::robot::{Preset, Robot};
use std::fs;
use std::path::{Path, PathBuf};

/// A file of the repository, with its path in it. `files/` has links to its folders, so that the crate is whole by itself.
macro_rules! file {
    ($path:literal) => {
        ($path, include_str!(concat!("../../../files/", $path)))
    };
}

/// A robot at work in simulation.
pub(super) struct Show {
    /// What its files are called.
    pub(super) name: &'static str,
    /// What it is about to do.
    pub(super) intro: &'static str,
    /// Its robot file among its files, for a person in the loop.
    pub(super) robot: &'static str,
    /// The Assembly file among its files.
    pub(super) model: &'static str,
    /// The world among its files, of which the chart is made.
    pub(super) world: &'static str,
    /// What counts more than the robot file when a person is in the loop.
    pub(super) presets: &'static [&'static str],
    files: &'static [(&'static str, &'static str)],
}

pub(super) const HARBOUR: Show = Show {
    name: "harbour",
    intro: "A vessel surveys a harbour by itself. See it, retask it, take over, hand back, stop it:",
    robot: "robots/harbour.toml",
    model: "models/upsv/upsv.xml",
    world: "worlds/harbour.toml",
    // It is given its task, and then left to the people at the page.
    presets: &[
        r#"operator.steps=["take", "clear", "wait 3s", "survey 85,28 180,28 180,64 85,64 name=basin", "release"]"#,
    ],
    files: &[
        file!("robots/harbour.toml"),
        file!("worlds/harbour.toml"),
        file!("models/upsv/upsv.xml"),
        file!("models/upsv/vessel.body.xml"),
        file!("models/upsv/thruster.body.xml"),
        file!("models/upsv/gps.body.xml"),
        file!("models/upsv/compass.body.xml"),
        file!("models/upsv/imu.body.xml"),
        file!("models/upsv/sounder.body.xml"),
        file!("models/upsv/multibeam.body.xml"),
        file!("models/upsv/spectrometer.body.xml"),
        file!("models/upsv/camera.body.xml"),
    ],
};

pub(super) const RAPTOR: Show = Show {
    name: "raptor",
    intro: "The Raptor drives to three goals, by two lasers that look down before it:",
    robot: "robots/raptor_operated.toml",
    model: "models/raptor_ugv/raptor_ugv.xml",
    world: "worlds/blocks.toml",
    presets: &[],
    files: &[
        file!("robots/raptor.toml"),
        file!("robots/raptor_operated.toml"),
        file!("worlds/blocks.toml"),
        file!("models/raptor_ugv/raptor_ugv.xml"),
        file!("models/raptor_ugv/raptor.body.xml"),
        file!("models/raptor_ugv/wheel.body.xml"),
        file!("models/raptor_ugv/lms200.body.xml"),
        file!("models/raptor_ugv/ins.body.xml"),
        file!("models/raptor_ugv/gps_antenna.body.xml"),
        file!("models/raptor_ugv/bumper.body.xml"),
    ],
};

pub(super) const IGVC: Show = Show {
    name: "igvc",
    intro: "The IGVC robot drives its course: lanes between painted lines, which its camera sees, and barrels, which its \
            laser sees:",
    robot: "robots/igvc_operated.toml",
    model: "models/igvc/igvc.xml",
    world: "worlds/igvc.toml",
    presets: &[],
    files: &[
        file!("robots/igvc.toml"),
        file!("robots/igvc_operated.toml"),
        file!("worlds/igvc.toml"),
        file!("models/igvc/igvc.xml"),
        file!("models/igvc/chassis.body.xml"),
        file!("models/igvc/wheel.body.xml"),
        file!("models/igvc/castor.body.xml"),
        file!("models/igvc/lidar.body.xml"),
        file!("models/igvc/camera.body.xml"),
        file!("models/igvc/ins.body.xml"),
    ],
};

/// A show whose files are in a folder.
pub(super) struct Unpacked {
    folder: PathBuf,
}

impl Show {
    /// Writes its files.
    pub(super) fn unpack(&self, folder: &Path) -> anyhow::Result<Unpacked> {
        for (name, text) in self.files {
            let path = folder.join(name);
            let parent = path.parent().unwrap_or(folder);
            fs::create_dir_all(parent)
                .with_context(|| format!("cannot make {}", parent.display()))?;
            fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
        }
        Ok(Unpacked {
            folder: folder.to_owned(),
        })
    }
}

impl Unpacked {
    pub(super) fn robot(&self, app: &App, file: &str, presets: &[&str]) -> anyhow::Result<Robot> {
        let presets: Result<Vec<Preset>, _> = presets.iter().map(|text| text.parse()).collect();
        let checked = robot_file::check(app, &self.folder.join(file), &presets?)?;
        let Some(robot) = checked.robot else {
            output::problems(&checked.problems);
            bail!("the robot of the demonstration is not whole");
        };
        Ok(robot)
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }
}
