//! Java: a folder of classes for each maker, and one program that loads them by name.

use super::{Build, Extra, Language, Maker, driver_source, empty_folder, files_below};
use crate::dump::Bytes;
use crate::peers::run;
use std::process::Command;

pub(super) const JAVA: Language = Language {
    name: "java",
    lcm_gen: |code| {
        ["-j", "--jpath", &code.to_string_lossy()]
            .map(str::to_string)
            .to_vec()
    },
    switches: &[],
    build: |build| build.unless_built(include_str!("java.rs"), || self::build(build)),
    command,
    bytes: Bytes::Signed,
    extras: &[Extra::Dumps],
};

fn build(build: &Build<'_>) {
    let classes = build.folder.join("classes");
    empty_folder(&classes);
    let list: String = files_below(&build.code())
        .iter()
        .map(|path| format!("{}\n", path.display()))
        .collect();
    let list_path = build.folder.join("sources");
    std::fs::write(&list_path, list).expect("the target folder can be written");
    // Most of the time goes to starting, so that the quick compiler of the machine is the quicker one.
    let mut javac = Command::new("javac");
    javac.args([
        "-J-XX:TieredStopAtLevel=1",
        "-J-XX:+UseSerialGC",
        "-proc:none",
        "-nowarn",
        "-encoding",
        "UTF-8",
        "-cp",
    ]);
    javac.arg(build.peers.jar()).arg("-d").arg(&classes);
    run(javac
        .arg(driver_source("Driver.java"))
        .arg(format!("@{}", list_path.display())));
}

fn command(_: &Build<'_>, build: &Build<'_>, folder: &std::path::Path) -> Command {
    let classes = build.folder.join("classes");
    let charset = match build.dialect.maker {
        Maker::Reference => "ISO-8859-1",
        Maker::Ours => "UTF-8",
    };
    let mut path = classes.clone().into_os_string();
    path.push(":");
    path.push(build.peers.jar());
    let mut java = Command::new("java");
    java.args(["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-cp"])
        .arg(path);
    java.arg("Driver").arg(classes).arg(charset).arg(folder);
    java
}
