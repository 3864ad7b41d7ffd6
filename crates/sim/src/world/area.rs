//! Areas of the map that mean something to people.

/// A polygon on the map.
#[derive(Clone, Debug, PartialEq)]
pub struct Area {
    /// Unique in its world.
    pub name: String,
    /// What it means.
    pub kind: AreaKind,
    /// Its corners, metres.
    pub points_m: Vec<[f64; 2]>,
}

/// What an area means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AreaKind {
    /// It is to be surveyed.
    Survey,
    /// A vehicle stays within.
    Geofence,
}

impl AreaKind {
    /// All of them, with their words.
    pub(crate) const WORDS: &[(&str, Self)] =
        &[("survey", Self::Survey), ("geofence", Self::Geofence)];

    /// As files and charts have it.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Survey => "survey",
            Self::Geofence => "geofence",
        }
    }
}
