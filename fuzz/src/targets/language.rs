//! Any text compiles or gets diagnostics, in bounded time and memory; what compiles can be printed in every language,
//! written as a compact schema and read back.

use bowline_lang::emit::{self, LANGUAGES, Settings};
use bowline_lang::{Rules, Source, compile, diff, lint};
use bowline_wire::schema::{Docs, TypeSet};

pub(crate) fn run(bytes: &[u8]) {
    let sources = [Source::from_bytes("fuzz.lcm", bytes)];
    for lcm_compat in [false, true] {
        let compiled = compile(
            &sources,
            &Rules {
                lcm_compat,
                ..Rules::default()
            },
        );
        for diagnostic in compiled
            .diagnostics
            .iter()
            .chain(&lint(&compiled, &sources))
        {
            assert!(!diagnostic.render(&sources).is_empty());
        }
        let again = TypeSet::from_bytes(&compiled.types.to_bytes(Docs::Keep))
            .expect("what was written can be read");
        assert_eq!(again, compiled.types);
        assert!(diff(&compiled.types, &again).is_empty());
        if !compiled.is_ok() {
            continue;
        }
        for language in LANGUAGES {
            // An error is fine: some languages need every type to be defined.
            let files =
                emit::emit(language, &compiled.types, &Settings::default()).unwrap_or_default();
            assert!(
                files
                    .iter()
                    .all(|file| !file.text.is_empty() || file.path.ends_with("__init__.py"))
            );
        }
    }
}
