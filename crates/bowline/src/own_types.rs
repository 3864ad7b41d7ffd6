//! Bowline's own message types, for tools that meet them where nobody described them.

use bowline_lang::{Rules, Source, compile};
use bowline_log::Schemas;

macro_rules! table {
    ($($name:literal),* $(,)?) => {
        &[$(($name, include_str!(concat!("../../../types/", $name, ".lcm")))),*]
    };
}

/// Every file of `types/`.
const TYPES: &[(&str, &str)] = table![
    "bookmark_t",
    "channel_port_map_update_t",
    "channel_to_port_t",
    "gps_rmc_t",
    "image_t",
    "laser_t",
    "path_t",
    "pose_t",
    "schema_t",
    "waypoint_t",
];

/// All of them.
pub(crate) fn schemas() -> Schemas {
    let sources = TYPES.iter();
    let sources = sources.map(|(name, text)| Source::from_bytes(*name, text.as_bytes()));
    let compiled = compile(&sources.collect::<Vec<_>>(), &Rules::default());
    let mut schemas = Schemas::default();
    schemas.add(&compiled.types);
    schemas
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
    use std::fs;

    #[test]
    fn every_file_of_types_is_in_the_table_and_understood() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../types");
        let files = fs::read_dir(folder).unwrap();
        let names = files.map(|file| file.unwrap().file_name().into_string().unwrap());
        let names: BTreeSet<String> = names.collect();
        let known = TYPES.iter().map(|(name, _)| format!("{name}.lcm"));
        assert_eq!(known.collect::<BTreeSet<_>>(), names);
        let known = schemas();
        for entry in bowline_msgs::TYPES {
            let name = known.name(entry.fingerprint);
            assert_eq!(name.as_deref(), Some(entry.name));
        }
    }
}
