//! What Body and Assembly files may have: a schema for editors, and a reference for people.
//!
//! What geometry understands itself is in `model.xsd` beside this file; elements that others give meaning come from the
//! tables of their kinds.

use super::markup::escaped;
use crate::element::{Attribute, Bounds, ElementKind, ElementRole, Value};
use std::fmt::Write as _;

const TEMPLATE: &str = include_str!("model.xsd");

/// The schema of Body and Assembly files, as XSD 1.0, with these kinds of elements in bodies.
#[must_use]
pub fn to_schema(kinds: &[&ElementKind]) -> String {
    let types: String = kinds.iter().map(|kind| complex_type(kind)).collect();
    let elements = kinds.iter().map(|kind| {
        let word = kind.word;
        format!("        <xs:element name=\"{word}\" type=\"{word}\"/>\n")
    });
    let elements: String = elements.collect();
    let (mut names, mut frames) = (String::new(), String::new());
    for (role, what) in [
        (ElementRole::Sensor, "sensor"),
        (ElementRole::Device, "device"),
    ] {
        let words = kinds.iter().filter(|kind| kind.role == role);
        let words: Vec<&str> = words.map(|kind| kind.word).collect();
        if words.is_empty() {
            continue;
        }
        let path = words.join("|");
        names += &format!(
            "    <xs:unique name=\"{what}Names\">\n      <xs:selector xpath=\"{path}\"/><xs:field xpath=\"@name\"/>\n    </xs:unique>\n"
        );
        frames += &format!(
            "    <xs:keyref name=\"{what}Frame\" refer=\"frameKey\">\n      <xs:selector xpath=\"{path}\"/><xs:field xpath=\"@frame\"/>\n    </xs:keyref>\n"
        );
    }
    let mut text = TEMPLATE.to_owned();
    for (mark, with) in [
        ("  <!-- KINDS -->\n", types),
        ("        <!-- ELEMENTS -->\n", elements),
        ("    <!-- NAMES -->\n", names),
        ("    <!-- FRAMES -->\n", frames),
    ] {
        text = text.replace(mark, &with);
    }
    text
}

fn complex_type(kind: &ElementKind) -> String {
    let mut text = format!(
        "  <xs:complexType name=\"{}\">\n    <xs:annotation><xs:documentation>{}</xs:documentation></xs:annotation>\n",
        kind.word,
        escaped(kind.doc)
    );
    for name in kind.role.identity() {
        text += &format!("    <xs:attribute name=\"{name}\" type=\"name\" use=\"required\"/>\n");
    }
    for attribute in kind.all() {
        text += &of_attribute(attribute);
    }
    text += "  </xs:complexType>\n\n";
    text
}

fn of_attribute(attribute: &Attribute) -> String {
    let required = if attribute.is_required {
        " use=\"required\""
    } else {
        ""
    };
    let restriction = match attribute.value {
        Value::Text => "<xs:restriction base=\"xs:string\"/>".to_owned(),
        Value::Number(bounds) => range("xs:double", bounds),
        Value::Count(most) => format!(
            "<xs:restriction base=\"count\"><xs:maxInclusive value=\"{most}\"/></xs:restriction>"
        ),
        Value::Word(words) => {
            let words = words.iter();
            let words = words.map(|word| format!("<xs:enumeration value=\"{}\"/>", escaped(word)));
            let words: String = words.collect();
            format!("<xs:restriction base=\"xs:string\">{words}</xs:restriction>")
        }
        Value::Numbers(n, bounds) => {
            let list = format!(
                "<xs:list><xs:simpleType>{}</xs:simpleType></xs:list>",
                range("xs:double", bounds)
            );
            format!(
                "<xs:restriction><xs:simpleType>{list}</xs:simpleType><xs:length value=\"{n}\"/></xs:restriction>"
            )
        }
    };
    format!(
        "    <xs:attribute name=\"{}\"{required}>\n      <xs:annotation><xs:documentation>{}</xs:documentation></xs:annotation>\n      <xs:simpleType>{restriction}</xs:simpleType>\n    </xs:attribute>\n",
        attribute.name,
        escaped(attribute.doc)
    )
}

fn range(base: &str, bounds: Bounds) -> String {
    let [least, most] = bounds.ends;
    let side = if bounds.is_open {
        "minExclusive"
    } else {
        "minInclusive"
    };
    format!(
        "<xs:restriction base=\"{base}\"><xs:{side} value=\"{least:?}\"/><xs:maxInclusive value=\"{most:?}\"/></xs:restriction>"
    )
}

/// A reference of kinds of elements for people, as Markdown: a section for each.
#[must_use]
pub fn to_reference(kinds: &[&ElementKind]) -> String {
    let mut text = String::new();
    for kind in kinds {
        // Writing to a text cannot fail.
        let written = writeln!(text, "## `<{}>`\n\n{}\n", kind.word, kind.doc);
        debug_assert!(written.is_ok(), "texts take everything");
        if kind.attributes.is_empty() {
            continue;
        }
        text += "| attribute | value | |\n| --- | --- | --- |\n";
        for attribute in kind.attributes {
            let need = if attribute.is_required {
                ", required"
            } else {
                ""
            };
            text += &format!(
                "| `{}` | {}{need} | {} |\n",
                attribute.name,
                in_words(attribute.value),
                attribute.doc
            );
        }
        text.push('\n');
    }
    text
}

fn in_words(value: Value) -> String {
    match value {
        Value::Number(bounds) => bounds.words.to_owned(),
        Value::Numbers(n, bounds) => format!("{n} numbers, each {}", bounds.words),
        Value::Count(u32::MAX) => "a whole number of at least 1".to_owned(),
        Value::Count(most) => format!("a whole number from 1 to {most}"),
        Value::Word(words) => {
            let words: Vec<String> = words.iter().map(|word| format!("`{word}`")).collect();
            words.join(" or ")
        }
        Value::Text => "a text".to_owned(),
    }
}
