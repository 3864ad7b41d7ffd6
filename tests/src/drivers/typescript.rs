//! TypeScript: compiled to JavaScript with every check on, and run by node.

use super::{Build, Language, driver_source, empty_folder};
use crate::dump::Bytes;
use crate::peers::run;
use std::process::Command;

pub(super) const TYPESCRIPT: Language = Language {
    name: "typescript",
    lcm_gen: |_| panic!("the reference has no TypeScript"),
    switches: &[],
    build: |build| build.unless_built(include_str!("typescript.rs"), || self::build(build)),
    command: |_, encoder, folder| {
        let mut node = Command::new("node");
        node.arg(driver_source("driver.mjs"))
            .arg(encoder.folder.join("compiled"))
            .arg(folder);
        node
    },
    bytes: Bytes::Unsigned,
    extras: &[],
};

const SETTINGS: &str = r#"{
    "compilerOptions": {
        "target": "es2020", "module": "es2020", "moduleResolution": "bundler", "lib": ["es2020", "dom"], "types": [],
        "strict": true, "noUnusedLocals": true, "noUnusedParameters": true, "noImplicitReturns": true,
        "noUncheckedIndexedAccess": true, "exactOptionalPropertyTypes": true, "noImplicitOverride": true,
        "isolatedModules": true, "skipLibCheck": true, "rootDir": "code", "outDir": "compiled"
    },
    "include": ["code"]
}
"#;

fn build(build: &Build<'_>) {
    empty_folder(&build.folder.join("compiled"));
    std::fs::write(build.folder.join("tsconfig.json"), SETTINGS)
        .expect("the target folder can be written");
    let package = build.folder.join("compiled/package.json");
    std::fs::write(package, "{\"type\": \"module\"}\n").expect("the target folder can be written");
    run(Command::new(build.peers.tsc()).arg("-p").arg(&build.folder));
}
