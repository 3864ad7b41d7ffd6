//! The type language through its public interface.

mod accepted;
mod changes;
mod diagnostics;
mod docs;
mod hostile;
mod lints;

use bowline_lang::{Compiled, Leaks, Rules, Source, compile};

/// Compiles one file strictly.
fn strict(text: &str) -> Compiled {
    compile(&[Source::new("test.lcm", text)], &Rules::default())
}

/// Compiles files in the order of a command line.
fn in_order(texts: &[&str], lcm_compat: bool) -> Compiled {
    let sources: Vec<Source> = (0..)
        .zip(texts)
        .map(|(i, text)| Source::new(format!("{i}.lcm"), *text))
        .collect();
    compile(
        &sources,
        &Rules {
            lcm_compat,
            leaks: Leaks::Reported,
            ..Rules::default()
        },
    )
}

/// The messages of all diagnostics.
fn messages(compiled: &Compiled) -> Vec<&str> {
    compiled
        .diagnostics
        .iter()
        .map(|diagnostic| diagnostic.message.as_str())
        .collect()
}

/// The fingerprint of a type that must be there.
fn fingerprint(compiled: &Compiled, name: &str) -> u64 {
    let id = compiled.types.by_name(name).expect("the type compiles");
    compiled
        .types
        .fingerprint(id)
        .expect("the type is complete")
        .0
}
