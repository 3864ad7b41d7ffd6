//! Which name means which type.

use crate::diagnostic::Diagnostic;
use crate::source::Span;
use bowline_wire::schema::{TypeDef, TypeId, TypeKind};
use bowline_wire::suggest::nearest;
use std::collections::BTreeMap;

/// The types that are declared, and those that are only named.
pub(super) struct Names {
    by_name: BTreeMap<String, TypeId>,
    by_short_name: BTreeMap<String, Vec<String>>,
    external: Vec<TypeDef>,
    spans: Vec<Span>,
}

impl Names {
    pub(super) fn new<'d>(declared: impl Iterator<Item = (&'d str, &'d str, Span)>) -> Self {
        let mut names = Self {
            by_name: BTreeMap::new(),
            by_short_name: BTreeMap::new(),
            external: Vec::new(),
            spans: Vec::new(),
        };
        for (package, name, span) in declared {
            let full = full_name(package, name);
            names
                .by_short_name
                .entry(name.to_string())
                .or_default()
                .push(full.clone());
            names.by_name.insert(full, names.next_id());
            names.spans.push(span);
        }
        names
    }

    fn next_id(&self) -> TypeId {
        TypeId(u32::try_from(self.spans.len()).unwrap_or(u32::MAX))
    }

    /// The type of that name as seen from `package`; an error, and a type defined elsewhere, if there is none.
    pub(super) fn resolve(
        &mut self,
        name: &str,
        package: &str,
        prefix: &str,
        span: Span,
    ) -> (TypeId, Option<Diagnostic>) {
        let (of, short) = split_name(name, "");
        let of = if of.is_empty() {
            package.to_string()
        } else {
            prefixed(prefix, of)
        };
        let full = full_name(&of, short);
        if let Some(id) = self.by_name.get(&full) {
            let is_declared = (id.0 as usize) < self.spans.len() - self.external.len();
            let diagnostic = (!is_declared).then(|| self.unknown(name, span));
            return (*id, diagnostic);
        }
        let diagnostic = self.unknown(name, span);
        let id = self.next_id();
        self.by_name.insert(full, id);
        self.external.push(TypeDef {
            package: of,
            name: short.to_string(),
            doc: String::new(),
            kind: TypeKind::External,
        });
        self.spans.push(span);
        (id, Some(diagnostic))
    }

    fn unknown(&self, name: &str, span: Span) -> Diagnostic {
        let message = format!("expected a type, found `{name}`, which no given file defines");
        let diagnostic = Diagnostic::error(span, message);
        if let Some(instead) = instead_of(name) {
            return diagnostic.help(instead);
        }
        let (_, short) = split_name(name, "");
        if let Some(elsewhere) = self.by_short_name.get(short) {
            return diagnostic.help(format!(
                "write `{}`: a type of another package needs its full name",
                elsewhere.join("` or `")
            ));
        }
        match self.nearest(short) {
            Some(nearest) => diagnostic.help(format!("did you mean `{nearest}`?")),
            None => diagnostic.help("compile the file that defines it together with this one, or use --lcm-compat as lcm-gen would"),
        }
    }

    fn nearest(&self, name: &str) -> Option<&str> {
        let types = self.by_short_name.keys().map(String::as_str);
        nearest(name, types.chain(PRIMITIVES))
    }

    /// The types that are only named, and the places of all.
    pub(super) fn finish(self) -> (Vec<TypeDef>, Vec<Span>) {
        (self.external, self.spans)
    }
}

const PRIMITIVES: [&str; 9] = [
    "int8_t", "int16_t", "int32_t", "int64_t", "byte", "float", "double", "string", "boolean",
];

/// What to write for names that other languages have.
fn instead_of(name: &str) -> Option<&'static str> {
    Some(match name {
        "uint8_t" | "uint8" | "uchar" => {
            "there are no unsigned types: write `byte` for raw data, `int16_t` for a number"
        }
        "uint16_t" | "uint16" => {
            "there are no unsigned types: write `int32_t`, which has room for every value"
        }
        "uint32_t" | "uint32" | "uint" | "unsigned" | "size_t" => {
            "there are no unsigned types: write `int64_t`, which has room for every value"
        }
        "uint64_t" | "uint64" | "ulong" => "there are no unsigned types: write `int64_t`",
        "int" | "int32" | "long" => "write `int32_t`",
        "int8" => "write `int8_t`",
        "int16" | "short" => "write `int16_t`",
        "int64" => "write `int64_t`",
        "char" => "write `byte`, `int8_t` or `string`",
        "bool" => "write `boolean`",
        "float32" | "float32_t" | "single" => "write `float`",
        "float64" | "float64_t" | "real" => "write `double`",
        "str" | "String" | "text" => "write `string`",
        _ => return None,
    })
}

/// Splits at the last dot; a name without one is of `package`.
pub(super) fn split_name<'n>(name: &'n str, package: &'n str) -> (&'n str, &'n str) {
    name.rsplit_once('.').unwrap_or((package, name))
}

pub(super) fn prefixed(prefix: &str, package: &str) -> String {
    match (prefix, package) {
        ("", package) => package.to_string(),
        (prefix, "") => prefix.to_string(),
        (prefix, package) => format!("{prefix}.{package}"),
    }
}

fn full_name(package: &str, name: &str) -> String {
    if package.is_empty() {
        name.to_string()
    } else {
        format!("{package}.{name}")
    }
}
