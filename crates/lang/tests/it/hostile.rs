//! No text makes the compiler panic, loop or allocate without bound.

use crate::strict;
use bowline_lang::Diagnostic;
use proptest::prelude::{ProptestConfig, any, prop, proptest};
use proptest::strategy::Strategy as _;

#[test]
fn a_file_of_mistakes_gets_a_bounded_report() {
    let compiled = strict(&"?! ".repeat(100_000));
    assert_eq!(compiled.diagnostics.len(), Diagnostic::MAX);
}

#[test]
fn types_nested_without_measure_are_refused() {
    let chain: String = (0..100_000)
        .map(|i| format!("struct t{i} {{ t{} x; }}\n", i + 1))
        .collect();
    let compiled = strict(&format!("{chain} struct t100000 {{ int8_t x; }}"));
    assert!(
        compiled
            .diagnostics
            .iter()
            .any(|diagnostic| diagnostic.message.contains("deep inside each other"))
    );
}

#[test]
fn types_that_contain_each_other_without_measure_are_refused() {
    let n = 40;
    let mesh: String = (0..n)
        .map(|i| {
            let members: String = (0..n).map(|j| format!("t{j} m{i}_{j}[n];")).collect();
            format!("struct t{i} {{ int32_t n; {members} }}\n")
        })
        .collect();
    let compiled = strict(&mesh);
    assert!(
        compiled
            .diagnostics
            .iter()
            .any(|diagnostic| diagnostic.message.contains("contain each other"))
    );
}

#[test]
fn a_tower_of_pairs_is_worked_out_once_a_floor() {
    let tower: String = (0..100)
        .map(|i| format!("struct t{i} {{ t{0} a; t{0} b; }}\n", i + 1))
        .collect();
    let compiled = strict(&format!("{tower} struct t100 {{ int8_t x; }}"));
    assert!(compiled.types.by_name("t0").is_some());
}

#[test]
fn a_struct_of_many_members_takes_time_in_proportion() {
    let members: String = (0..50_000).map(|i| format!("int8_t m{i};\n")).collect();
    let compiled = strict(&format!("struct t {{ {members} }}"));
    assert_eq!(
        compiled
            .types
            .as_struct(compiled.types.by_name("t").unwrap())
            .unwrap()
            .members
            .len(),
        50_000
    );
}

/// Pieces of the language, in any order.
fn soup() -> impl proptest::strategy::Strategy<Value = String> {
    let pieces = prop::sample::select(vec![
        "struct ", "enum ", "package ", "const ", "int32_t ", "float ", "string ", "a", "b.c", "n",
        " ", "\n", "{", "}", "[", "]", ";", ",", "=", "0", "0x10", "-1", "1e5", "//", "/*", "*/",
        "é", "\"", "(", "\r\n", "\0", "\u{feff}",
    ]);
    prop::collection::vec(pieces, 0..60).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_mixture_of_tokens_compiles_or_is_reported(text in soup()) {
        let compiled = strict(&text);
        let sources = [bowline_lang::Source::new("soup.lcm", &*text)];
        for diagnostic in &compiled.diagnostics {
            assert!(diagnostic.render(&sources).contains("soup.lcm:"));
        }
    }

    #[test]
    fn any_bytes_compile_or_are_reported(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let source = bowline_lang::Source::from_bytes("bytes.lcm", &bytes);
        let _compiled = bowline_lang::compile(&[source], &bowline_lang::Rules::default());
    }
}
