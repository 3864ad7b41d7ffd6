//! Names, literals and the order of includes, for C and C++.

use super::super::Job;
use super::super::keywords::escape;
use bowline_wire::schema::{
    Constant, Dim, Member, Number, Primitive, Type, TypeDef, TypeId, TypeKind, TypeSet,
};
use std::collections::BTreeSet;

/// What no C compiler takes as a name, GNU's `asm` and `typeof` included.
const C_KEYWORDS: &[&str] = &[
    "_Bool",
    "_Complex",
    "_Imaginary",
    "asm",
    "auto",
    "break",
    "case",
    "char",
    "const",
    "continue",
    "default",
    "do",
    "double",
    "else",
    "enum",
    "extern",
    "float",
    "for",
    "goto",
    "if",
    "inline",
    "int",
    "long",
    "register",
    "restrict",
    "return",
    "short",
    "signed",
    "sizeof",
    "static",
    "struct",
    "switch",
    "typedef",
    "typeof",
    "union",
    "unsigned",
    "void",
    "volatile",
    "while",
];

/// What no C++ compiler takes as a name although C does, in any version up to C++20.
const CPP_KEYWORDS: &[&str] = &[
    "alignas",
    "alignof",
    "and",
    "and_eq",
    "bitand",
    "bitor",
    "bool",
    "catch",
    "char16_t",
    "char32_t",
    "char8_t",
    "class",
    "co_await",
    "co_return",
    "co_yield",
    "compl",
    "concept",
    "const_cast",
    "consteval",
    "constexpr",
    "constinit",
    "decltype",
    "delete",
    "dynamic_cast",
    "explicit",
    "export",
    "false",
    "friend",
    "mutable",
    "namespace",
    "new",
    "noexcept",
    "not",
    "not_eq",
    "nullptr",
    "operator",
    "or",
    "or_eq",
    "private",
    "protected",
    "public",
    "reinterpret_cast",
    "requires",
    "static_assert",
    "static_cast",
    "template",
    "this",
    "thread_local",
    "throw",
    "true",
    "try",
    "typeid",
    "typename",
    "using",
    "virtual",
    "wchar_t",
    "xor",
    "xor_eq",
];

/// A name that both C and C++ take.
pub(in super::super) fn safe(name: &str) -> String {
    escape(&escape(name, C_KEYWORDS), CPP_KEYWORDS)
}

/// Whether C has a name as it is and C++ does not.
pub(super) fn is_cpp_keyword(name: &str) -> bool {
    CPP_KEYWORDS.binary_search(&name).is_ok()
}

/// The name of a type's files, without the ending.
pub(super) fn file_stem(def: &TypeDef) -> String {
    def.full_name().replace('.', "_")
}

/// The C name of a type.
pub(super) fn ident(def: &TypeDef) -> String {
    safe(&file_stem(def))
}

/// The line that includes a header of the LCM library.
pub(in super::super) fn library_include(job: &Job<'_>, file: &str) -> String {
    if job.is_on("use-quotes-for-includes") {
        format!("#include \"lcm/{file}\"")
    } else {
        format!("#include <lcm/{file}>")
    }
}

/// The type of one element of a primitive, as C and C++ share it.
pub(in super::super) fn number_type(primitive: Primitive) -> &'static str {
    match primitive {
        Primitive::Byte => "uint8_t",
        Primitive::Boolean => "int8_t",
        Primitive::Int8
        | Primitive::Int16
        | Primitive::Int32
        | Primitive::Int64
        | Primitive::Float
        | Primitive::Double
        | Primitive::String => primitive.name(),
    }
}

/// Whether all of a member is in the struct itself, not behind pointers or in vectors.
pub(in super::super) fn is_inline(member: &Member) -> bool {
    member
        .dims
        .iter()
        .all(|dim| matches!(dim, Dim::Fixed { .. }))
}

/// How many elements the fixed dimensions make together.
pub(in super::super) fn fixed_count(member: &Member) -> usize {
    member.dims.iter().fold(1, |n, dim| match dim {
        Dim::Fixed { size, .. } => n.saturating_mul(*size),
        Dim::Variable { .. } => n,
    })
}

/// The smallest encoding of an element, as far as lengths are checked against it. A type that is defined elsewhere is
/// taken to have at least a byte.
pub(in super::super) fn min_size(types: &TypeSet, ty: Type) -> usize {
    match ty {
        Type::Named(id) if types.def(id).kind == TypeKind::External => 1,
        Type::Named(_) | Type::Primitive(_) => types.min_size_of(ty),
    }
}

/// A member's type as the type language writes it, for a comment.
pub(in super::super) fn lcm_type(types: &TypeSet, members: &[Member], member: &Member) -> String {
    let mut text = types.type_name(member.ty);
    for dim in &member.dims {
        let size = match dim {
            Dim::Fixed { text, .. } => text.as_str(),
            Dim::Variable { member } => members.get(*member).map_or("", |length| &length.name),
        };
        text += &format!("[{size}]");
    }
    text
}

/// A member's comment, with its LCM type where C and C++ do not show it.
pub(in super::super) fn member_doc(types: &TypeSet, members: &[Member], member: &Member) -> String {
    let is_shown = member.dims.is_empty() && member.ty != Type::Primitive(Primitive::Boolean);
    let mut doc = member.doc.clone();
    if !is_shown {
        let gap = if doc.is_empty() { "" } else { "\n\n" };
        doc += &format!("{gap}LCM type: {}", lcm_type(types, members, member));
    }
    doc
}

/// A constant's value as an expression of C and C++.
pub(in super::super) fn literal(constant: &Constant) -> String {
    let suffix = if constant.ty == Primitive::Int64 {
        "LL"
    } else {
        ""
    };
    match constant.value {
        Number::Integer(_) if constant.text.starts_with("0x") => {
            format!("{}{suffix}", constant.text)
        }
        // There are no negative literals, and the smallest number's opposite does not fit its type.
        Number::Integer(value) if value == i64::MIN || value == i64::from(i32::MIN) => {
            format!("({}{suffix} - 1)", value + 1)
        }
        Number::Integer(value) if value < 0 => format!("({value}{suffix})"),
        Number::Integer(value) => format!("{value}{suffix}"),
        Number::Float(value) if value.is_nan() => "NAN".to_string(),
        Number::Float(f64::INFINITY) => "INFINITY".to_string(),
        Number::Float(f64::NEG_INFINITY) => "(-INFINITY)".to_string(),
        Number::Float(value) if value.is_sign_negative() => format!("({value:?})"),
        Number::Float(value) => format!("{value:?}"),
    }
}

/// Whether a constant needs a macro of `math.h`.
pub(in super::super) fn needs_math(constants: &[Constant]) -> bool {
    constants
        .iter()
        .any(|constant| matches!(constant.value, Number::Float(value) if !value.is_finite()))
}

/// The other types that a type contains and that contain it, sorted.
pub(in super::super) fn peers(types: &TypeSet, id: TypeId) -> BTreeSet<TypeId> {
    if !types.is_recursive(id) {
        return BTreeSet::new();
    }
    let inside = reachable(types, id);
    inside
        .into_iter()
        .filter(|&peer| peer != id && reachable(types, peer).contains(&id))
        .collect()
}

fn reachable(types: &TypeSet, from: TypeId) -> BTreeSet<TypeId> {
    let mut found = BTreeSet::new();
    let mut open = vec![from];
    while let Some(id) = open.pop() {
        let inner = named_types(types, id)
            .into_iter()
            .filter(|&inner| found.insert(inner));
        open.extend(inner.collect::<Vec<_>>());
    }
    found
}

/// The named types of a struct's members, each once, in order.
pub(in super::super) fn named_types(types: &TypeSet, id: TypeId) -> Vec<TypeId> {
    let mut named = Vec::new();
    for member in types.as_struct(id).map_or(&[][..], |body| &body.members) {
        if let Type::Named(inner) = member.ty
            && !named.contains(&inner)
        {
            named.push(inner);
        }
    }
    named
}

/// Which headers a type's header includes.
pub(in super::super) struct Includes {
    /// Before the type: those that it needs in full.
    pub(in super::super) before: Vec<TypeId>,
    /// After the type: those that contain it in turn.
    pub(in super::super) after: Vec<TypeId>,
}

impl Includes {
    pub(in super::super) fn of(types: &TypeSet, id: TypeId) -> Self {
        let peers = peers(types, id);
        let body = types.as_struct(id);
        let is_by_value = |inner: TypeId| {
            let mut members = body.into_iter().flat_map(|body| &body.members);
            members.any(|member| member.ty == Type::Named(inner) && is_inline(member))
        };
        let named = named_types(types, id)
            .into_iter()
            .filter(|&inner| inner != id);
        let before = named
            .filter(|inner| !peers.contains(inner) || is_by_value(*inner))
            .collect();
        Self {
            before,
            after: peers.into_iter().collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keywords_are_sorted_and_in_one_table_only() {
        assert!(C_KEYWORDS.is_sorted());
        assert!(CPP_KEYWORDS.is_sorted());
        assert!(C_KEYWORDS.iter().all(|word| !is_cpp_keyword(word)));
    }

    #[test]
    fn the_smallest_integer_is_no_literal() {
        let constant = Constant {
            name: "LOW".into(),
            doc: String::new(),
            ty: Primitive::Int64,
            text: "-9223372036854775808".into(),
            value: Number::Integer(i64::MIN),
        };
        assert_eq!(literal(&constant), "(-9223372036854775807LL - 1)");
    }

    #[test]
    fn a_header_comes_before_a_type_that_holds_it_and_after_one_that_points_to_it() {
        let text = "struct a { b one; int8_t x; } struct b { int8_t n; a many[n]; int8_t y; }";
        let types = crate::compile(
            &[crate::Source::new("ab.lcm", text)],
            &crate::Rules::default(),
        )
        .types;
        let (a, b) = (types.by_name("a").unwrap(), types.by_name("b").unwrap());
        assert_eq!(Includes::of(&types, a).before, [b]);
        assert_eq!(Includes::of(&types, b).before, []);
        assert_eq!(Includes::of(&types, b).after, [a]);
    }
}
