//! Any files are a model or get mistakes with places, in bounded time and memory; what is a model can be asked, drawn
//! and exported, and the export is a model of the same frames.

use bowline_geometry::{Model, load, to_sdf, to_svg, to_tree};
use bowline_sim::Catalog;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

pub(crate) fn run(bytes: &[u8]) {
    // The first file, then those that it may use, with a NUL between them: a.xml, b.xml, c.xml.
    let names = ["a.xml", "b.xml", "c.xml"].map(PathBuf::from);
    let parts = bytes.split(|byte| *byte == 0).map(<[u8]>::to_vec);
    let mut files: BTreeMap<PathBuf, Vec<u8>> = names.into_iter().zip(parts).collect();
    let made = load(Path::new("a.xml"), &mut files).and_then(|loaded| Model::new(loaded.assembly));
    let mut model = match made {
        Ok(model) => model,
        Err(mistakes) => {
            assert!(!mistakes.list().is_empty() && !mistakes.to_string().is_empty());
            return;
        }
    };
    if let Err(mistakes) = Catalog::default().check(model.assembly()) {
        assert!(!mistakes.list().is_empty());
    }
    model.set_untold_to_rest(0);
    let frames: Vec<_> = model.frames().collect();
    for (&a, &b) in frames.iter().zip(frames.iter().rev()).take(100) {
        let is_connected = model.path(a, b).is_ok();
        assert_eq!(model.transform(a, b).is_ok(), is_connected);
        assert_eq!(model.transform_at(a, b, 0).is_ok(), is_connected);
        assert_eq!(model.covariance(a, b).is_ok(), is_connected);
    }
    assert!(!to_tree(&model).is_empty() && !to_svg(&model).is_empty());
    let (text, _) = to_sdf(&model);
    let mut files = BTreeMap::from([(PathBuf::from("a.xml"), text.into_bytes())]);
    // Names that SDF keeps for itself, and numbers that grew too large on the way, are refused; nothing panics.
    if let Ok(loaded) = load(Path::new("a.xml"), &mut files)
        && let Ok(again) = Model::new(loaded.assembly)
    {
        assert_eq!(again.frames().count(), model.frames().count());
    }
}
