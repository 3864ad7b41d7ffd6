//! From what was written to what is meant: names resolved, numbers read, sizes known.
//!
//! In: parsed files. Out: a [`TypeSet`] and diagnostics. What lcm-gen refuses for a reason is an error; what it accepts
//! though it is a mistake is an error too, or a warning under [`Rules::lcm_compat`].

mod members;
mod names;

use crate::ast::{EnumItem, File, Item, StructItem, Word};
use crate::diagnostic::{Diagnostic, Severity};
use crate::parser::parse;
use crate::source::{Source, Span};
use bowline_wire::number::parse_integer;
use bowline_wire::schema::{Enum, EnumValue, TypeDef, TypeId, TypeKind, TypeSet};
use members::check_struct;
use names::{Names, split_name};
use std::collections::{BTreeMap, BTreeSet};

/// How strict to be.
#[derive(Clone, Debug, Default)]
pub struct Rules {
    /// Accept, with a warning, mistakes that lcm-gen accepts.
    pub lcm_compat: bool,
    /// What a file without a package line means after one with it.
    pub leaks: Leaks,
    /// Goes in front of every package, as lcm-gen's `--package-prefix` does.
    pub package_prefix: String,
}

/// What a file without a package line means after one with it. lcm-gen lets the package leak.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Leaks {
    /// The order of the files means nothing, as when they come from a folder: no package is no package.
    #[default]
    Impossible,
    /// The files are in the order of a command line, where lcm-gen would have let it leak: report that.
    Reported,
}

/// What came of a compilation.
#[derive(Debug)]
pub struct Compiled {
    /// The types that could be understood.
    pub types: TypeSet,
    /// Where each type is defined, or first named if it is defined nowhere.
    pub spans: Vec<Span>,
    /// What was wrong, in the order of the sources.
    pub diagnostics: Vec<Diagnostic>,
}

impl Compiled {
    /// Whether nothing stands in the way of using the types.
    #[must_use]
    pub fn is_ok(&self) -> bool {
        self.diagnostics
            .iter()
            .all(|diagnostic| diagnostic.severity < Severity::Error)
    }
}

/// Compiles sources together: each may use the types of all.
#[must_use]
pub fn compile(sources: &[Source], rules: &Rules) -> Compiled {
    let mut checker = Checker {
        rules,
        diagnostics: Vec::new(),
    };
    let mut files = Vec::with_capacity(sources.len());
    for (place, source) in sources.iter().enumerate() {
        let (file, diagnostics) = parse(source, place);
        checker.diagnostics.extend(diagnostics);
        files.push(file);
    }
    let declared = checker.declare(&files);
    let (types, spans) = checker.define(declared);
    checker.check_packages(&types, &spans);
    checker.check_endless(&types, &spans);
    checker.check_fingerprints(&types, &spans);
    let mut diagnostics = checker.diagnostics;
    diagnostics.sort_by_key(|diagnostic| (diagnostic.span.source, diagnostic.span.start));
    diagnostics.truncate(Diagnostic::MAX);
    Compiled {
        types,
        spans,
        diagnostics,
    }
}

struct Checker<'r> {
    rules: &'r Rules,
    diagnostics: Vec<Diagnostic>,
}

/// A declaration with its package worked out.
struct Declared<'f> {
    package: String,
    name: String,
    span: Span,
    body: Body<'f>,
}

enum Body<'f> {
    Struct(&'f StructItem),
    Enum(&'f EnumItem),
}

impl Checker<'_> {
    fn report(&mut self, diagnostic: Diagnostic) {
        self.diagnostics.push(diagnostic);
    }

    /// Reports something that lcm-gen accepts though it is a mistake.
    fn report_mistake(&mut self, mut diagnostic: Diagnostic) {
        if self.rules.lcm_compat {
            diagnostic.severity = Severity::Warning;
        }
        self.report(diagnostic);
    }

    /// Gives every declaration its package and drops those that are there already.
    fn declare<'f>(&mut self, files: &'f [File]) -> Vec<Declared<'f>> {
        let mut declared: Vec<Declared<'f>> = Vec::new();
        let mut leaked = String::new();
        for file in files {
            let mut package = String::new();
            let has_package = file
                .items
                .iter()
                .any(|item| matches!(item, Item::Package(_)));
            if !has_package && self.rules.leaks == Leaks::Reported && !leaked.is_empty() {
                package = self.report_leak(file, &leaked);
            }
            for item in &file.items {
                let (name, body) = match item {
                    Item::Package(name) => {
                        self.check_name(name, "package");
                        package.clone_from(&name.text);
                        leaked.clone_from(&name.text);
                        continue;
                    }
                    Item::Struct(item) => (&item.name, Body::Struct(item)),
                    Item::Enum(item) => (&item.name, Body::Enum(item)),
                };
                self.check_name(name, "type");
                let (package, short) = split_name(&name.text, &package);
                let package = names::prefixed(&self.rules.package_prefix, package);
                declared.push(Declared {
                    package,
                    name: short.to_string(),
                    span: name.span,
                    body,
                });
            }
        }
        self.drop_duplicates(declared)
    }

    fn report_leak(&mut self, file: &File, leaked: &str) -> String {
        let name = file.items.iter().find_map(|item| match item {
            Item::Package(_) => None,
            Item::Struct(item) => Some(&item.name),
            Item::Enum(item) => Some(&item.name),
        });
        let Some(name) = name else {
            return String::new();
        };
        let message = format!(
            "expected a package line in this file, found none: lcm-gen puts `{}` into `{leaked}`, the package of a file \
             before it",
            name.text
        );
        let help = format!(
            "write `package {leaked};` at the top; if it is to have none, name this file before the others"
        );
        self.report_mistake(Diagnostic::error(name.span, message).help(help));
        if self.rules.lcm_compat {
            leaked.to_string()
        } else {
            String::new()
        }
    }

    fn check_name(&mut self, name: &Word, what: &str) {
        if name
            .text
            .split('.')
            .all(|part| part.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_'))
        {
            return;
        }
        let message = format!(
            "expected a {what} name with a letter or underscore after each dot, found `{}`",
            name.text
        );
        self.report(Diagnostic::error(name.span, message));
    }

    fn drop_duplicates<'f>(&mut self, declared: Vec<Declared<'f>>) -> Vec<Declared<'f>> {
        let mut seen = BTreeSet::new();
        let mut kept = Vec::with_capacity(declared.len());
        for decl in declared {
            if seen.insert((decl.package.clone(), decl.name.clone())) {
                kept.push(decl);
                continue;
            }
            let message = format!(
                "expected each type once, found `{}` a second time",
                decl.name
            );
            let help = "give one of them another name, or another package";
            self.report(Diagnostic::error(decl.span, message).help(help));
        }
        kept
    }

    fn define(&mut self, declared: Vec<Declared<'_>>) -> (TypeSet, Vec<Span>) {
        let mut names = Names::new(
            declared
                .iter()
                .map(|decl| (&*decl.package, &*decl.name, decl.span)),
        );
        let mut defs = Vec::with_capacity(declared.len());
        for Declared {
            package,
            name,
            body,
            ..
        } in declared
        {
            let (doc, kind) = match body {
                Body::Struct(item) => {
                    let body = check_struct(self, &mut names, &package, item);
                    // Part of a type is another type, with another fingerprint: better none.
                    let kind = match body {
                        Some(body) if item.is_whole => TypeKind::Struct(body),
                        Some(_) | None => TypeKind::External,
                    };
                    (item.doc.clone(), kind)
                }
                Body::Enum(item) => (item.doc.clone(), TypeKind::Enum(self.check_enum(item))),
            };
            defs.push(TypeDef {
                package,
                name,
                doc,
                kind,
            });
        }
        let (external, spans) = names.finish();
        defs.extend(external);
        let by_name: BTreeMap<String, Span> = defs
            .iter()
            .map(TypeDef::full_name)
            .zip(spans.iter().copied())
            .collect();
        match TypeSet::new(defs) {
            Ok(types) => (types, spans),
            Err(bad) => {
                if let Some(span) = by_name.get(bad.type_name()) {
                    self.report(Diagnostic::error(*span, bad.to_string()));
                }
                (TypeSet::default(), Vec::new())
            }
        }
    }

    fn check_enum(&mut self, item: &EnumItem) -> Enum {
        let mut values: Vec<EnumValue> = Vec::new();
        let mut names = BTreeSet::new();
        let mut numbers = BTreeSet::new();
        let mut highest = 0_i32;
        for value in &item.values {
            let number = match &value.value {
                Some(word) => match self.enum_number(word) {
                    Some(number) => number,
                    None => continue,
                },
                None => highest.saturating_add(1),
            };
            highest = highest.max(number);
            if !names.insert(&value.name.text) || !numbers.insert(number) {
                let message = format!(
                    "expected names and values that differ, found `{}` = {number} again",
                    value.name.text
                );
                self.report(Diagnostic::error(value.name.span, message));
                continue;
            }
            values.push(EnumValue {
                name: value.name.text.clone(),
                doc: value.doc.clone(),
                value: number,
            });
        }
        Enum { values }
    }

    /// The number that a value is given. lcm-gen takes one of 32 bits without a sign, and means the signed one.
    fn enum_number(&mut self, word: &Word) -> Option<i32> {
        let number = parse_integer(&word.text);
        if let Some(number) = number.and_then(|number| i32::try_from(number).ok()) {
            return Some(number);
        }
        let message = format!("expected a 32-bit integer as value, found `{}`", word.text);
        let unsigned = number.and_then(|number| u32::try_from(number).ok());
        match unsigned.map(u32::cast_signed) {
            Some(signed) => {
                let help = format!("write {signed}, which is what it means");
                self.report_mistake(Diagnostic::error(word.span, message).help(help));
                self.rules.lcm_compat.then_some(signed)
            }
            None => {
                self.report(Diagnostic::error(word.span, message));
                None
            }
        }
    }

    /// Most languages have one set of names for both.
    fn check_packages(&mut self, types: &TypeSet, spans: &[Span]) {
        let mut packages = BTreeSet::new();
        for (_, def) in types.iter() {
            let dots = def.package.match_indices('.').map(|(dot, _)| dot);
            packages.extend(
                dots.chain([def.package.len()])
                    .filter_map(|end| def.package.get(..end)),
            );
        }
        for ((_, def), span) in types.iter().zip(spans) {
            let name = def.full_name();
            if packages.contains(name.as_str()) {
                let message =
                    format!("expected a name that no package has, found `{name}`, which is one");
                let help = "rename the type, as with a `_t` at the end, or the package";
                self.report_mistake(Diagnostic::error(*span, message).help(help));
            }
        }
    }

    fn check_endless(&mut self, types: &TypeSet, spans: &[Span]) {
        for ((id, def), span) in types.iter().zip(spans) {
            if types.min_size(id) < usize::MAX || !types.is_recursive(id) {
                continue;
            }
            let message = format!(
                "expected a type with an end, found `{}` within itself at every level",
                def.name
            );
            let help = "make the inner one an array whose length can be 0: `int32_t n; node_t children[n];`";
            self.report_mistake(Diagnostic::error(*span, message).help(help));
        }
    }

    fn check_fingerprints(&mut self, types: &TypeSet, spans: &[Span]) {
        let mut first: BTreeMap<_, (TypeId, &TypeDef)> = BTreeMap::new();
        for ((id, def), span) in types.iter().zip(spans) {
            let Some(fingerprint) = types.fingerprint(id) else {
                continue;
            };
            let Some((_, other)) = first.get(&fingerprint) else {
                first.insert(fingerprint, (id, def));
                continue;
            };
            let (name, other) = (def.full_name(), other.full_name());
            let message = format!(
                "expected a fingerprint of its own, found that `{name}` has {fingerprint}, and so has `{other}`: a \
                 receiver cannot distinguish their messages"
            );
            let help = "rename a field in one of them; only names and types of fields enter the fingerprint";
            self.report_mistake(Diagnostic::error(*span, message).help(help));
        }
    }
}
