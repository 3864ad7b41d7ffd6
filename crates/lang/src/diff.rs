//! What changed between two sets of types, and who must be rebuilt.

use bowline_wire::Fingerprint;
use bowline_wire::schema::{
    Constant, Dim, EnumValue, Member, Struct, Type, TypeDef, TypeId, TypeKind, TypeSet,
};
use std::collections::BTreeSet;
use std::fmt;

/// What happened to one type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TypeChange {
    /// The full name.
    pub name: String,
    /// What happened.
    pub change: Change,
    /// The fingerprint before, if there was one.
    pub old: Option<Fingerprint>,
    /// The fingerprint after, if there is one.
    pub new: Option<Fingerprint>,
    /// What is different, one line each. Empty if only a type within it changed.
    pub details: Vec<String>,
    /// Types that contain it and so change their fingerprint with it.
    pub rebuild: Vec<String>,
}

/// What happened to a type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// It is new.
    Added,
    /// It is gone.
    Removed,
    /// It is different.
    Changed,
}

impl TypeChange {
    /// Whether old and new programs can no longer understand each other, or worse, think that they do.
    #[must_use]
    pub fn is_breaking(&self) -> bool {
        self.change != Change::Added && (self.old != self.new || self.is_misread())
    }

    /// Whether old and new programs take the same bytes for different things: the fingerprint does not cover an enum's
    /// values.
    #[must_use]
    pub fn is_misread(&self) -> bool {
        let is_value = |detail: &String| {
            detail.starts_with("value changed") || detail.starts_with("value removed")
        };
        self.old == self.new && self.details.iter().any(is_value)
    }
}

/// What changed from one set of types to another, sorted by name.
#[must_use]
pub fn diff(old: &TypeSet, new: &TypeSet) -> Vec<TypeChange> {
    let names: BTreeSet<String> = [old, new]
        .into_iter()
        .flat_map(|types| types.iter().map(|(_, def)| def.full_name()))
        .collect();
    names
        .into_iter()
        .filter_map(|name| diff_type(&name, old, new))
        .collect()
}

fn diff_type(name: &str, old: &TypeSet, new: &TypeSet) -> Option<TypeChange> {
    let find = |types: &TypeSet| {
        types
            .iter()
            .find(|(_, def)| def.full_name() == name)
            .map(|(id, _)| id)
    };
    let (before, after) = (find(old), find(new));
    let fingerprint_of =
        |types: &TypeSet, id: Option<TypeId>| id.and_then(|id| types.fingerprint(id));
    let (change, details) = match (before, after) {
        (None, None) => return None,
        (None, Some(_)) => (Change::Added, Vec::new()),
        (Some(_), None) => (Change::Removed, Vec::new()),
        (Some(before), Some(after)) => {
            let details = diff_defs(&Side::new(old, before), &Side::new(new, after));
            (Change::Changed, details)
        }
    };
    let (old_print, new_print) = (fingerprint_of(old, before), fingerprint_of(new, after));
    if change == Change::Changed && details.is_empty() && old_print == new_print {
        return None;
    }
    let rebuild = if old_print == new_print {
        Vec::new()
    } else {
        containers(old, before)
    };
    Some(TypeChange {
        name: name.to_string(),
        change,
        old: old_print,
        new: new_print,
        details,
        rebuild,
    })
}

/// The types that contain `id`, directly or not.
fn containers(types: &TypeSet, id: Option<TypeId>) -> Vec<String> {
    let Some(id) = id else { return Vec::new() };
    let mut found = BTreeSet::from([id]);
    loop {
        let more: BTreeSet<TypeId> = types
            .iter()
            .filter(|(outer, _)| !found.contains(outer))
            .filter(|(outer, _)| {
                let members = types
                    .as_struct(*outer)
                    .map_or(&[][..], |body| &body.members);
                members
                    .iter()
                    .any(|member| matches!(member.ty, Type::Named(inner) if found.contains(&inner)))
            })
            .map(|(outer, _)| outer)
            .collect();
        if more.is_empty() {
            break;
        }
        found.extend(more);
    }
    found.remove(&id);
    let mut names: Vec<String> = found
        .into_iter()
        .map(|id| types.def(id).full_name())
        .collect();
    names.sort();
    names
}

struct Side<'t> {
    types: &'t TypeSet,
    def: &'t TypeDef,
}

impl<'t> Side<'t> {
    fn new(types: &'t TypeSet, id: TypeId) -> Self {
        Self {
            types,
            def: types.def(id),
        }
    }

    fn member(&self, body: &Struct, member: &Member) -> String {
        let dims: String = member
            .dims
            .iter()
            .map(|dim| match dim {
                Dim::Fixed { text, .. } => format!("[{text}]"),
                Dim::Variable { member } => {
                    format!(
                        "[{}]",
                        body.members.get(*member).map_or("?", |length| &length.name)
                    )
                }
            })
            .collect();
        format!("{} {}{dims}", self.types.type_name(member.ty), member.name)
    }
}

fn diff_defs(old: &Side<'_>, new: &Side<'_>) -> Vec<String> {
    let mut details = Vec::new();
    match (&old.def.kind, &new.def.kind) {
        (TypeKind::Struct(before), TypeKind::Struct(after)) => {
            let list = |side: &Side<'_>, body: &Struct| -> Vec<(String, String)> {
                body.members
                    .iter()
                    .map(|member| (member.name.clone(), side.member(body, member)))
                    .collect()
            };
            diff_lists("field", &list(old, before), &list(new, after), &mut details);
            diff_lists(
                "constant",
                &constants(&before.constants),
                &constants(&after.constants),
                &mut details,
            );
        }
        (TypeKind::Enum(before), TypeKind::Enum(after)) => {
            diff_lists(
                "value",
                &values(&before.values),
                &values(&after.values),
                &mut details,
            );
        }
        (TypeKind::External, TypeKind::External) => {}
        (TypeKind::Struct(_) | TypeKind::Enum(_) | TypeKind::External, _) => {
            details.push("is another kind of type".to_string());
        }
    }
    details
}

fn constants(constants: &[Constant]) -> Vec<(String, String)> {
    constants
        .iter()
        .map(|c| (c.name.clone(), format!("{} {} = {}", c.ty, c.name, c.text)))
        .collect()
}

fn values(values: &[EnumValue]) -> Vec<(String, String)> {
    values
        .iter()
        .map(|value| {
            (
                value.name.clone(),
                format!("{} = {}", value.name, value.value),
            )
        })
        .collect()
}

/// Compares what has a name, and the order of what stayed.
fn diff_lists(
    what: &str,
    old: &[(String, String)],
    new: &[(String, String)],
    details: &mut Vec<String>,
) {
    let find = |list: &[(String, String)], name: &str| {
        list.iter().find(|(other, _)| other == name).cloned()
    };
    for (name, before) in old {
        match find(new, name) {
            None => details.push(format!("{what} removed: {before}")),
            Some((_, after)) if after != *before => {
                details.push(format!("{what} changed: {before} -> {after}"));
            }
            Some(_) => {}
        }
    }
    for (name, after) in new {
        if find(old, name).is_none() {
            details.push(format!("{what} added: {after}"));
        }
    }
    let order = |list: &[(String, String)], other: &[(String, String)]| -> Vec<String> {
        list.iter()
            .map(|(name, _)| name.clone())
            .filter(|name| find(other, name).is_some())
            .collect()
    };
    if order(old, new) != order(new, old) {
        details.push(format!(
            "{what}s are in another order: {}",
            order(new, old).join(", ")
        ));
    }
}

impl fmt::Display for TypeChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            name,
            change,
            old,
            new,
            details,
            rebuild,
        } = self;
        let word = match change {
            Change::Added => "added",
            Change::Removed => "removed",
            Change::Changed => "changed",
        };
        write!(f, "{word} {name}")?;
        match (old, new) {
            (Some(old), Some(new)) if old == new && self.is_misread() => write!(
                f,
                ": fingerprint {new} as before, so that old and new programs misread each other unnoticed: rebuild \
                 everyone who uses it"
            )?,
            (Some(old), Some(new)) if old == new => {
                write!(f, ": fingerprint {new} as before, messages stay compatible")?;
            }
            (Some(old), Some(new)) => write!(
                f,
                ": fingerprint {old} -> {new}, rebuild everyone who uses it"
            )?,
            (None, Some(new)) => write!(f, ": fingerprint {new}")?,
            (Some(old), None) => write!(f, ": fingerprint {old} is gone")?,
            (None, None) => {}
        }
        for detail in details {
            write!(f, "\n    {detail}")?;
        }
        if details.is_empty() && *change == Change::Changed {
            f.write_str("\n    a type within it changed")?;
        }
        if !rebuild.is_empty() {
            write!(f, "\n    also rebuild: {}", rebuild.join(", "))?;
        }
        Ok(())
    }
}
