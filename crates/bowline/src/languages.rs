//! The languages of `gen`, whose flags are on one command line.

use crate::table::{NameClashError, Row, Table};
use bowline_lang::emit::{COMMON_SETTINGS, LANGUAGES, Language, Setting};

impl Row for Language {
    const NOUN: &'static str = "language";

    fn name(&self) -> &'static str {
        self.name
    }

    fn summary(&self) -> &'static str {
        self.summary
    }
}

/// The flags of `gen` beside those of languages.
pub(crate) const OWN_FLAGS: [Flag; 3] = [
    Flag {
        name: "lcm-compat",
        help: "Turn mistakes that lcm-gen accepts into warnings",
    },
    Flag {
        name: "package-prefix",
        help: "Put this package in front of every package",
    },
    Flag {
        name: "lazy",
        help: "Accepted for lcm-gen's sake: unchanged files are never rewritten",
    },
];

/// A flag with its help.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Flag {
    pub(crate) name: &'static str,
    pub(crate) help: &'static str,
}

impl Row for Flag {
    const NOUN: &'static str = "flag of gen";

    fn name(&self) -> &'static str {
        self.name
    }

    fn summary(&self) -> &'static str {
        self.help
    }
}

/// Checks that no two languages have a flag of the same name.
pub(crate) fn check_flags(languages: &Table<Language>) -> Result<(), NameClashError> {
    let of_settings = |settings: &'static [Setting]| {
        settings.iter().map(|setting| Flag {
            name: setting.name,
            help: setting.help,
        })
    };
    let of_language = |language: &Language| {
        let flag = Flag {
            name: language.name,
            help: language.summary,
        };
        std::iter::once(flag).chain(of_settings(language.settings))
    };
    let common = OWN_FLAGS.into_iter().chain(of_settings(COMMON_SETTINGS));
    let mut flags = Table::new(common.chain(LANGUAGES.iter().flat_map(of_language)));
    let is_ours = |language: &&Language| LANGUAGES.iter().any(|ours| ours.name == language.name);
    let added = languages.rows().iter().filter(|it| !is_ours(it));
    flags.add(added.flat_map(of_language));
    flags.check()
}
