//! Any file is a world or its errors, in bounded time and memory; a world can be drawn.

use bowline_sim::{Barn, World, world_to_svg};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

pub(crate) fn run(bytes: &[u8]) {
    // The world, then a file that it may name, with a NUL between them: as every format.
    let mut parts = bytes.splitn(2, |byte| *byte == 0);
    let world = parts.next().unwrap_or_default();
    let other = parts.next().unwrap_or_default();
    for name in ["w.toml", "w.sdf"] {
        let mut files: BTreeMap<PathBuf, Vec<u8>> = BTreeMap::from([(name.into(), world.to_vec())]);
        for beside in ["a.obj", "a.stl", "a.png", "m/model.sdf"] {
            files.insert(beside.into(), other.to_vec());
        }
        match World::load_from(Path::new(name), &mut files) {
            Ok(world) => assert!(world_to_svg(&world).ends_with("</svg>\n")),
            Err(error) => assert!(!error.to_string().is_empty()),
        }
    }
    if let Ok(text) = str::from_utf8(world)
        && let Ok(barn) = Barn::parse(text)
    {
        assert!(!barn.world().bodies.is_empty());
    }
}
