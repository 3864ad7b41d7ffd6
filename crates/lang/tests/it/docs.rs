//! Which comment belongs to what.

use crate::strict;
use bowline_wire::schema::TypeKind;

#[test]
fn comments_above_and_beside_belong_to_a_member() {
    let compiled = strict(
        "// Not about the struct.\n\n// About the struct,\n// in two lines.\nstruct t {\n  // Above a.\n  int8_t a; // Beside a.\n  \
         int8_t b; /* Beside b. */\n\n  // A heading, not about c.\n\n  int8_t c;\n  /**\n   * Above d.\n   *\n   * More.\n   */\n  \
         int8_t d,\n    e; ///< Beside e.\n  const int8_t K = 1; // About K.\n}\n",
    );
    let def = compiled.types.def(compiled.types.by_name("t").unwrap());
    assert_eq!(def.doc, "About the struct,\nin two lines.");
    let TypeKind::Struct(body) = &def.kind else {
        panic!()
    };
    let docs: Vec<&str> = body
        .members
        .iter()
        .map(|member| member.doc.as_str())
        .collect();
    let d = "Above d.\n\nMore.\nBeside e.";
    assert_eq!(docs, ["Above a.\nBeside a.", "Beside b.", "", d, d]);
    assert_eq!(body.constants[0].doc, "About K.");
}

#[test]
fn comments_belong_to_enum_values() {
    let compiled = strict("enum e {\n  // Stop.\n  RED,\n  GREEN, // Go.\n  BLUE = 7 // What?\n}");
    let TypeKind::Enum(body) = &compiled
        .types
        .def(compiled.types.by_name("e").unwrap())
        .kind
    else {
        panic!()
    };
    let docs: Vec<&str> = body.values.iter().map(|value| value.doc.as_str()).collect();
    assert_eq!(docs, ["Stop.", "Go.", "What?"]);
}
