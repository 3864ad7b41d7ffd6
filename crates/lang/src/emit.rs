//! Types to source code.
//!
//! In: a [`TypeSet`] and the settings of a command line. Out: files, not yet written. Every emitter reads the same
//! intermediate form and only prints; the walk over a struct's members and dimensions is in `walk.rs`, once.
//!
//! A language is one file here and one row in [`LANGUAGES`]. Its command-line flags are part of the row. A program adds rows of
//! its own; [`code`] and [`walk`](mod@walk) are what ours are written with.

mod c;
pub mod code;
mod cpp;
mod guard;
mod java;
mod keywords;
mod names;
mod python;
mod rust;
mod typescript;
pub mod walk;

pub use rust::{WIRE as RUST_WIRE, modules as rust_modules};

use bowline_wire::schema::{TypeDef, TypeId, TypeKind, TypeSet};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::{Path, PathBuf};

/// All target languages, sorted by name. Add yours here; nothing else needs to change.
pub const LANGUAGES: &[Language] = &[
    c::LANGUAGE,
    cpp::LANGUAGE,
    java::LANGUAGE,
    python::LANGUAGE,
    rust::LANGUAGE,
    typescript::LANGUAGE,
];

/// Settings that more than one language reads, with lcm-gen's names.
pub const COMMON_SETTINGS: &[Setting] = &[Setting {
    name: "use-quotes-for-includes",
    kind: SettingKind::Switch,
    help: "C and C++: include the library's headers with quotes instead of angle brackets",
}];

/// A target language.
#[derive(Clone, Copy, Debug)]
pub struct Language {
    /// Its flag: `rust` for `--rust`.
    pub name: &'static str,
    /// lcm-gen's one-letter flag, if it has one.
    pub short: Option<char>,
    /// One line of help.
    pub summary: &'static str,
    /// The settings for where files go; `--rust DIR` sets them all.
    pub dirs: &'static [&'static str],
    /// Its settings, with lcm-gen's names where it has them.
    pub settings: &'static [Setting],
    /// Prints the types.
    pub emit: fn(&Job<'_>) -> Result<Vec<OutputFile>, EmitError>,
}

/// A flag of a language.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    /// The flag's name, without dashes.
    pub name: &'static str,
    /// What it takes.
    pub kind: SettingKind,
    /// One line of help.
    pub help: &'static str,
}

/// What a setting takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SettingKind {
    /// A text, with this default.
    Text(&'static str),
    /// Nothing: it is there or not.
    Switch,
}

/// The settings of one run, by name. A switch that is on has some text.
#[derive(Clone, Debug, Default)]
pub struct Settings(BTreeMap<String, String>);

impl Settings {
    /// Sets one.
    pub fn set(&mut self, name: &str, value: impl Into<String>) {
        self.0.insert(name.to_string(), value.into());
    }

    /// What was set, if anything.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }
}

/// What an emitter is to print.
#[derive(Debug)]
pub struct Job<'j> {
    /// The types, those that are only named included.
    pub types: &'j TypeSet,
    language: &'j Language,
    settings: &'j Settings,
}

impl<'j> Job<'j> {
    /// The types to print, in order.
    pub fn defined(&self) -> impl Iterator<Item = (TypeId, &'j TypeDef)> {
        self.types
            .iter()
            .filter(|(_, def)| def.kind != TypeKind::External)
    }

    /// A text setting, or its default.
    #[must_use]
    pub fn text(&self, name: &str) -> &'j str {
        self.settings.get(name).unwrap_or_else(|| {
            let row = self
                .language
                .settings
                .iter()
                .find(|setting| setting.name == name);
            match row.map(|setting| setting.kind) {
                Some(SettingKind::Text(default)) => default,
                Some(SettingKind::Switch) | None => "",
            }
        })
    }

    /// A file below the folder that a setting names.
    #[must_use]
    pub fn path(&self, setting: &str, file: impl AsRef<Path>) -> PathBuf {
        Path::new(self.text(setting)).join(file)
    }

    /// Whether a switch is on.
    #[must_use]
    pub fn is_on(&self, name: &str) -> bool {
        self.settings.get(name).is_some()
    }

    /// Refuses types that are only named, for languages that need to know all of a type at once.
    ///
    /// # Errors
    /// When there are such types.
    pub fn expect_all_defined(&self) -> Result<(), EmitError> {
        match self
            .types
            .iter()
            .find(|(_, def)| def.kind == TypeKind::External)
        {
            Some((_, def)) => Err(EmitError::Undefined {
                language: self.language.name,
                name: def.full_name(),
            }),
            None => Ok(()),
        }
    }
}

/// A file to be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutputFile {
    /// Where.
    pub path: PathBuf,
    /// What.
    pub text: String,
}

/// Prints types in one language.
///
/// # Errors
/// When a type is only named and the language needs all of it, or two types would be one file.
pub fn emit(
    language: &Language,
    types: &TypeSet,
    settings: &Settings,
) -> Result<Vec<OutputFile>, EmitError> {
    let files = (language.emit)(&Job {
        types,
        language,
        settings,
    })?;
    let mut paths = BTreeSet::new();
    match files.iter().find(|file| !paths.insert(&file.path)) {
        Some(twice) => Err(EmitError::OneFile {
            language: language.name,
            path: twice.path.clone(),
        }),
        None => Ok(files),
    }
}

/// Types that a language cannot express.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EmitError {
    /// A type is only named.
    Undefined {
        /// The language.
        language: &'static str,
        /// The type's full name.
        name: String,
    },
    /// Two types would be written to one file.
    OneFile {
        /// The language.
        language: &'static str,
        /// The file.
        path: PathBuf,
    },
    /// A setting has a value that it cannot have.
    Setting {
        /// The setting.
        setting: &'static str,
        /// What it may be.
        expected: &'static str,
        /// What it is.
        found: String,
    },
}

impl fmt::Display for EmitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Undefined { language, name } => write!(
                f,
                "expected every type to be defined, found none for {name}: {language} code needs the whole type, so \
                 compile the file that defines it together with the others"
            ),
            Self::OneFile { language, path } => write!(
                f,
                "expected a file for each type, found two that are {} in {language}: rename one, or its package",
                path.display()
            ),
            Self::Setting {
                setting,
                expected,
                found,
            } => write!(f, "--{setting}: expected {expected}, found {found:?}"),
        }
    }
}

impl std::error::Error for EmitError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn languages_are_sorted_and_their_flags_unique() {
        assert!(LANGUAGES.is_sorted_by(|a, b| a.name < b.name));
        let mut flags: Vec<&str> = LANGUAGES.iter().map(|language| language.name).collect();
        let settings = LANGUAGES
            .iter()
            .flat_map(|language| language.settings)
            .chain(COMMON_SETTINGS);
        flags.extend(settings.map(|setting| setting.name));
        let n_flags = flags.len();
        flags.sort_unstable();
        flags.dedup();
        assert_eq!(flags.len(), n_flags);
    }

    #[test]
    fn every_folder_of_a_language_is_one_of_its_settings() {
        for language in LANGUAGES {
            for dir in language.dirs {
                assert!(
                    language.settings.iter().any(|setting| setting.name == *dir),
                    "{}: {dir}",
                    language.name
                );
            }
        }
    }
}
