//! C's own part of the walks: memory behind pointers.
//!
//! An array with fixed dimensions only is in the struct, in one piece, and is handled as one row. Any other array is
//! pointers to pointers to rows, each row allocated by itself.

use super::super::code::Code;
use super::super::walk::Site;
use super::names::{fixed_count, ident, is_inline, number_type, safe};
use super::run::bits;
use super::walkers::{self, Dialect, indexed, is_variable, length_here, step};
use bowline_wire::schema::{Member, Primitive, Struct, Type, TypeKind, TypeSet};

/// C: the struct is `*p`.
pub(super) struct C;

/// The statements that read `*p`. `check` comes when `*p` can already be freed.
pub(super) fn read(types: &TypeSet, body: &Struct, check: &str) -> String {
    let mut code = Code::new();
    let members = body.members.iter();
    for member in members.filter(|member| owns_memory(types, member)) {
        code.line(forget("p", member));
    }
    if !check.is_empty() {
        code.line(check);
    }
    code.finish() + &walkers::read(&C, types, body)
}

impl Dialect for C {
    fn exists(&self) -> &'static str {
        "bowline_is_row"
    }

    fn takes_rows(&self, _: Type) -> bool {
        true
    }

    fn takes_whole(&self, _: Type) -> bool {
        true
    }

    fn member(&self, name: &str) -> String {
        format!("p->{}", safe(name))
    }

    fn put(&self, code: &mut Code, site: &Site<'_>) {
        let (row, n) = (row("p", site), row_length(site));
        let call = match site.member.ty {
            Type::Primitive(Primitive::String) => {
                format!("bowline_put_strings(out + pos, maxlen - pos, {row}, {n})")
            }
            Type::Primitive(primitive) => {
                let put = bits(primitive);
                format!("bowline_put{put}(out + pos, maxlen - pos, {row}, {n})")
            }
            Type::Named(id) => {
                check_row(code, site, &row);
                let (inner, n) = (ident(site.types.def(id)), count(site));
                format!("__{inner}_encode_array(buf, offset + pos, maxlen - pos, {row}, {n})")
            }
        };
        step(code, &call, "pos");
    }

    fn size(&self, code: &mut Code, site: &Site<'_>) {
        let (row, n) = (row("p", site), row_length(site));
        let call = match site.member.ty {
            Type::Primitive(Primitive::String) => format!("bowline_strings_size({row}, {n})"),
            Type::Primitive(primitive) => {
                format!("bowline_row_size({row}, {n}, {})", bits(primitive) / 8)
            }
            Type::Named(id) => {
                check_row(code, site, &row);
                let (inner, n) = (ident(site.types.def(id)), count(site));
                format!("__{inner}_encoded_array_size({row}, {n})")
            }
        };
        step(code, &call, "size");
    }

    fn allocate(&self, code: &mut Code, site: &Site<'_>) {
        let (at, n) = (place("p", site), length_here(self, site));
        let n_deeper = site.member.dims.len() - site.depth - 1;
        let element = element_type(site.types, site.member.ty);
        let ty = if n_deeper == 0 {
            element.clone()
        } else {
            pointer_to(&element, n_deeper)
        };
        // Memory that will hold pointers starts empty, so that it can be freed at any time.
        let memory = if ty.ends_with('*') {
            format!("calloc((size_t) {n}, sizeof({ty}))")
        } else {
            format!("bowline_new({n}, sizeof({ty}))")
        };
        let cast = pointer_to(&ty, 1);
        let allocate = format!("{at} = ({cast}) {memory};\nif ({at} == NULL)\n    return -1;");
        if is_variable(site) {
            code.open(format!("if ({n} > 0) {{"));
            code.line(allocate);
            code.close("}");
        } else {
            code.line(allocate);
        }
    }

    fn get(&self, code: &mut Code, site: &Site<'_>) {
        let (row, n) = (row_mut("p", site), row_length(site));
        let call = match site.member.ty {
            Type::Primitive(Primitive::String) => {
                format!("bowline_get_strings(in + pos, maxlen - pos, {row}, {n})")
            }
            Type::Primitive(primitive) => {
                let get = bits(primitive);
                format!("bowline_get{get}(in + pos, maxlen - pos, {row}, {n})")
            }
            Type::Named(id) => {
                let def = site.types.def(id);
                let (suffix, budget) = match def.kind {
                    TypeKind::Enum(_) => ("", ""),
                    TypeKind::Struct(_) | TypeKind::External => ("_within", ", budget"),
                };
                let (inner, n) = (ident(def), count(site));
                read_named(
                    code,
                    site,
                    &row,
                    &format!(
                        "__{inner}_decode_array{suffix}(buf, offset + pos, maxlen - pos, {row}, {n}{budget})"
                    ),
                );
                return;
            }
        };
        step(code, &call, "pos");
    }
}

fn read_named(code: &mut Code, site: &Site<'_>, row: &str, call: &str) {
    code.line(format!("len = {call};"));
    // The elements clean up after themselves; what they leave must not be freed again.
    code.open("if (len < 0) {");
    if is_inline(site.member) {
        let name = safe(&site.member.name);
        code.line(format!("memset(&p->{name}, 0, sizeof(p->{name}));"));
    } else {
        code.line(format!("free({row});\n{row} = NULL;"));
    }
    code.line("return -1;");
    code.close("}");
    code.line("pos += len;");
}

/// Prints the check of a row of structs before it is used. In C an empty struct takes no memory, and a row of them may
/// be null, as lcm-gen's decoder leaves it.
fn check_row(code: &mut Code, site: &Site<'_>, row: &str) {
    if is_inline(site.member) {
        return;
    }
    let row = match site.types.min_size_of(site.member.ty) {
        0 => "p",
        _ => row,
    };
    let n = row_length(site);
    code.line(format!("if (!bowline_is_row({row}, {n}))\n    return -1;"));
}

/// Whether a member has anything to free.
pub(super) fn owns_memory(types: &TypeSet, member: &Member) -> bool {
    !is_inline(member) || type_owns_memory(types, member.ty)
}

pub(super) fn type_owns_memory(types: &TypeSet, ty: Type) -> bool {
    let Type::Named(id) = ty else {
        return ty == Type::Primitive(Primitive::String);
    };
    match &types.def(id).kind {
        // Whatever contains itself does so behind a pointer.
        TypeKind::Struct(_) if types.is_recursive(id) => true,
        TypeKind::Struct(body) => body.members.iter().any(|member| owns_memory(types, member)),
        TypeKind::Enum(_) => false,
        TypeKind::External => true,
    }
}

/// Empties a member, so that it can be freed whatever happens next.
pub(super) fn forget(base: &str, member: &Member) -> String {
    let name = safe(&member.name);
    if !is_inline(member)
        || (member.dims.is_empty() && member.ty == Type::Primitive(Primitive::String))
    {
        format!("{base}->{name} = NULL;")
    } else {
        format!("memset(&{base}->{name}, 0, sizeof({base}->{name}));")
    }
}

/// The C type of one element.
pub(super) fn element_type(types: &TypeSet, ty: Type) -> String {
    match ty {
        Type::Primitive(Primitive::String) => "char *".to_string(),
        Type::Primitive(primitive) => number_type(primitive).to_string(),
        Type::Named(id) => ident(types.def(id)),
    }
}

/// A type with stars behind it.
pub(super) fn pointer_to(element: &str, n_stars: usize) -> String {
    let space = if element.ends_with('*') { "" } else { " " };
    format!("{element}{space}{}", "*".repeat(n_stars))
}

/// What is at a place of `*p` or `*q`: `p->grid[a]`.
pub(super) fn place(base: &str, site: &Site<'_>) -> String {
    indexed(&format!("{base}->{}", safe(&site.member.name)), site)
}

/// The first element of the row at a place, as a pointer.
pub(super) fn row(base: &str, site: &Site<'_>) -> String {
    let member = site.member;
    let name = safe(&member.name);
    match (is_inline(member), member.dims.len()) {
        (false, _) => place(base, site),
        (true, 0) => format!("&{base}->{name}"),
        (true, 1) => format!("{base}->{name}"),
        (true, _) => {
            let element = element_type(site.types, member.ty);
            let constant = match (base, member.ty) {
                ("p", Type::Primitive(Primitive::String)) => "char *const *".to_string(),
                ("p", _) => format!("const {}", pointer_to(&element, 1)),
                _ => pointer_to(&element, 1),
            };
            format!("({constant}) {base}->{name}")
        }
    }
}

/// The same, where the elements are to be changed.
pub(super) fn row_mut(base: &str, site: &Site<'_>) -> String {
    if is_inline(site.member) && site.member.dims.len() > 1 {
        let element = element_type(site.types, site.member.ty);
        return format!(
            "({}) {base}->{}",
            pointer_to(&element, 1),
            safe(&site.member.name)
        );
    }
    row(base, site)
}

/// How many elements that row has.
pub(super) fn row_length(site: &Site<'_>) -> String {
    match site.dim() {
        Some(_) if !is_inline(site.member) => length_here(&C, site),
        Some(_) | None => fixed_count(site.member).to_string(),
    }
}

/// The length of a row as an argument of a function that counts in `int`.
pub(super) fn count(site: &Site<'_>) -> String {
    let n = row_length(site);
    if is_variable(site) {
        format!("(int) {n}")
    } else {
        n
    }
}
