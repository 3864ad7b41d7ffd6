//! What a type should document for its readers, beyond what a compiler needs: a comment on every field, a unit on every
//! quantity.

use crate::check::Compiled;
use crate::diagnostic::Diagnostic;
use crate::source::Source;
use bowline_wire::schema::{Member, Type, TypeKind};

/// What the types leave unsaid. Warnings only.
#[must_use]
pub fn lint(compiled: &Compiled, sources: &[Source]) -> Vec<Diagnostic> {
    let mut findings = Vec::new();
    for ((_, def), span) in compiled.types.iter().zip(&compiled.spans) {
        let TypeKind::Struct(body) = &def.kind else {
            continue;
        };
        for member in &body.members {
            let Some(problem) = problem_with(member) else {
                continue;
            };
            let message = format!("{}.{}: {problem}", def.name, member.name);
            let at = find_member(sources, *span, &member.name).unwrap_or(*span);
            let help = match problem {
                Problem::NoComment => {
                    "describe it, with unit, frame and range: `double depth_m; // below the surface (m)`"
                }
                Problem::NoUnit => {
                    "name the unit in the comment, as `(m/s)`, or in the name, as `_mps`; `(ratio)` if none"
                }
            };
            findings.push(Diagnostic::warning(at, message).help(help));
        }
    }
    findings
}

#[derive(Clone, Copy)]
enum Problem {
    NoComment,
    NoUnit,
}

impl std::fmt::Display for Problem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::NoComment => "expected a comment, found none",
            Self::NoUnit => "expected a unit in its name or comment, found none",
        })
    }
}

fn problem_with(member: &Member) -> Option<Problem> {
    if member.doc.trim().is_empty() {
        return Some(Problem::NoComment);
    }
    let is_quantity =
        matches!(member.ty, Type::Primitive(ty) if ty.is_float()) || member.name.ends_with("time");
    (is_quantity && !member.has_unit()).then_some(Problem::NoUnit)
}

/// The place of a member: the first time its name stands as a word after the struct's.
fn find_member(sources: &[Source], of: crate::Span, name: &str) -> Option<crate::Span> {
    let text = sources.get(of.source)?.text.get(of.end..)?;
    let is_word = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
    let at = text.match_indices(name).map(|(at, _)| at).find(|&at| {
        let before = text.get(..at).and_then(|text| text.chars().next_back());
        let after = text
            .get(at + name.len()..)
            .and_then(|text| text.chars().next());
        !is_word(before) && !is_word(after)
    })?;
    let start = of.end + at;
    Some(crate::Span {
        source: of.source,
        start,
        end: start + name.len(),
    })
}
