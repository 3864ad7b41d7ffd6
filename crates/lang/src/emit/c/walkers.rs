//! The walks over a struct's members that write, measure and read it; [`memory`] has those that free and copy it.
//!
//! An array with fixed dimensions only is in the struct, in one piece, and is handled as one row. Any other array is
//! pointers to pointers to rows, each row allocated by itself.

mod memory;

pub(super) use memory::{copy, free};

use super::super::code::Code;
use super::super::walk::{Site, Walker, walk};
use super::names::{fixed_count, ident, is_inline, min_size, number_type, safe};
use super::run::{Run, bits};
use bowline_wire::schema::{Dim, Member, Primitive, Struct, Type, TypeKind, TypeSet};

/// The statements that write `*p`.
pub(super) fn write(types: &TypeSet, body: &Struct) -> String {
    let mut writer = Write {
        code: Code::new(),
        run: Run::default(),
    };
    walk(types, body, &mut writer);
    writer.flush();
    writer.code.finish()
}

/// The statements that add the size of `*p` to `size`.
pub(super) fn measure(types: &TypeSet, body: &Struct) -> String {
    let mut meter = Measure {
        code: Code::new(),
        fixed: 0,
    };
    walk(types, body, &mut meter);
    let fixed = if meter.fixed > 0 {
        format!("size += {};\n", meter.fixed)
    } else {
        String::new()
    };
    fixed + &meter.code.finish()
}

/// The statements that read `*p`. `check` comes when `*p` can already be freed.
pub(super) fn read(types: &TypeSet, body: &Struct, check: &str) -> String {
    let mut reader = Read {
        code: Code::new(),
        run: Run::default(),
    };
    for member in body
        .members
        .iter()
        .filter(|member| owns_memory(types, member))
    {
        reader.code.line(forget("p", member));
    }
    if !check.is_empty() {
        reader.code.line(check);
    }
    walk(types, body, &mut reader);
    reader.flush();
    reader.code.finish()
}

/// Whether a member has anything to free.
pub(super) fn owns_memory(types: &TypeSet, member: &Member) -> bool {
    !is_inline(member) || type_owns_memory(types, member.ty)
}

fn type_owns_memory(types: &TypeSet, ty: Type) -> bool {
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
fn forget(base: &str, member: &Member) -> String {
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
fn pointer_to(element: &str, n_stars: usize) -> String {
    let space = if element.ends_with('*') { "" } else { " " };
    format!("{element}{space}{}", "*".repeat(n_stars))
}

/// What is at a place: `p->grid[a]`.
fn place(base: &str, site: &Site<'_>) -> String {
    let indices: String = site.indices().map(|index| format!("[{index}]")).collect();
    format!("{base}->{}{indices}", safe(&site.member.name))
}

/// The length of a dimension, by the fields of `*p`.
fn length(site: &Site<'_>, dim: &Dim) -> String {
    match dim {
        Dim::Fixed { size, .. } => size.to_string(),
        Dim::Variable { .. } => {
            let name = site
                .length_member(dim)
                .map_or(String::new(), |length| safe(&length.name));
            format!("p->{name}")
        }
    }
}

/// The first element of the row at a place, as a pointer.
fn row(base: &str, site: &Site<'_>) -> String {
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
fn row_mut(base: &str, site: &Site<'_>) -> String {
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
fn row_length(site: &Site<'_>) -> String {
    match site.dim() {
        Some(dim) if !is_inline(site.member) => length(site, dim),
        Some(_) | None => fixed_count(site.member).to_string(),
    }
}

fn is_variable(site: &Site<'_>) -> bool {
    matches!(site.dim(), Some(Dim::Variable { .. }))
}

/// The open loop over a dimension.
fn open_loop(code: &mut Code, site: &Site<'_>) {
    let Some(dim) = site.dim() else { return };
    let (i, n) = (site.index(), length(site, dim));
    code.open(format!("for (int {i} = 0; {i} < {n}; {i}++) {{"));
}

/// A call whose result is negative on failure and the size otherwise.
fn step(code: &mut Code, call: &str) {
    code.line(format!(
        "len = {call};\nif (len < 0)\n    return -1;\npos += len;"
    ));
}

struct Write {
    code: Code,
    run: Run,
}

impl Write {
    fn flush(&mut self) {
        self.run.flush(&mut self.code, "out");
    }
}

impl Walker for Write {
    fn takes_rows(&self, _: Type) -> bool {
        true
    }

    fn takes_whole(&self, member: &Member) -> bool {
        is_inline(member)
    }

    fn enter(&mut self, site: &Site<'_>) {
        self.flush();
        let Some(dim) = site.dim() else { return };
        let (at, n) = (place("p", site), length(site, dim));
        self.code
            .line(format!("if (!bowline_is_row({at}, {n}))\n    return -1;"));
        open_loop(&mut self.code, site);
    }

    fn item(&mut self, site: &Site<'_>) {
        let (row, n) = (row("p", site), row_length(site));
        match site.member.ty {
            Type::Primitive(Primitive::String) => {
                self.flush();
                step(
                    &mut self.code,
                    &format!("bowline_put_strings(out + pos, maxlen - pos, {row}, {n})"),
                );
            }
            Type::Primitive(_) if is_inline(site.member) => self.run.push(
                &format!("p->{}", safe(&site.member.name)),
                site.member,
                true,
            ),
            Type::Primitive(primitive) => {
                self.flush();
                let put = bits(primitive);
                step(
                    &mut self.code,
                    &format!("bowline_put{put}(out + pos, maxlen - pos, {row}, {n})"),
                );
            }
            Type::Named(id) => {
                self.flush();
                if !is_inline(site.member) {
                    let row = checked_row(site, &row);
                    self.code
                        .line(format!("if (!bowline_is_row({row}, {n}))\n    return -1;"));
                }
                let inner = ident(site.types.def(id));
                let n = if is_variable(site) {
                    format!("(int) {n}")
                } else {
                    n
                };
                step(
                    &mut self.code,
                    &format!("__{inner}_encode_array(buf, offset + pos, maxlen - pos, {row}, {n})"),
                );
            }
        }
    }

    fn leave(&mut self, _: &Site<'_>) {
        self.code.close("}");
    }
}

struct Measure {
    code: Code,
    /// What the numbers in the struct take.
    fixed: usize,
}

impl Measure {
    fn add(&mut self, call: &str) {
        self.code.line(format!(
            "len = {call};\nif (len < 0)\n    return -1;\nsize += len;"
        ));
    }
}

impl Walker for Measure {
    fn takes_rows(&self, _: Type) -> bool {
        true
    }

    fn takes_whole(&self, member: &Member) -> bool {
        is_inline(member)
    }

    fn enter(&mut self, site: &Site<'_>) {
        let Some(dim) = site.dim() else { return };
        let (at, n) = (place("p", site), length(site, dim));
        self.code
            .line(format!("if (!bowline_is_row({at}, {n}))\n    return -1;"));
        open_loop(&mut self.code, site);
    }

    fn item(&mut self, site: &Site<'_>) {
        let (row, n) = (row("p", site), row_length(site));
        match site.member.ty {
            Type::Primitive(Primitive::String) => {
                self.add(&format!("bowline_strings_size({row}, {n})"));
            }
            Type::Primitive(primitive) if is_inline(site.member) => {
                self.fixed += fixed_count(site.member) * (bits(primitive) / 8);
            }
            Type::Primitive(primitive) => {
                self.add(&format!(
                    "bowline_row_size({row}, {n}, {})",
                    bits(primitive) / 8
                ));
            }
            Type::Named(id) => {
                if !is_inline(site.member) {
                    let row = checked_row(site, &row);
                    self.code
                        .line(format!("if (!bowline_is_row({row}, {n}))\n    return -1;"));
                }
                let inner = ident(site.types.def(id));
                let n = if is_variable(site) {
                    format!("(int) {n}")
                } else {
                    n
                };
                self.add(&format!("__{inner}_encoded_array_size({row}, {n})"));
            }
        }
    }

    fn leave(&mut self, _: &Site<'_>) {
        self.code.close("}");
    }
}

struct Read {
    code: Code,
    run: Run,
}

impl Read {
    fn flush(&mut self) {
        self.run.flush(&mut self.code, "in");
    }

    /// Checks a dimension against the bytes that are left, and allocates it.
    fn allocate(&mut self, site: &Site<'_>) {
        let Some(dim) = site.dim() else { return };
        let (at, n) = (place("p", site), length(site, dim));
        let n_deeper = site.member.dims.len() - site.depth - 1;
        let element = element_type(site.types, site.member.ty);
        let ty = if n_deeper == 0 {
            element.clone()
        } else {
            pointer_to(&element, n_deeper)
        };
        let min = Self::min_row_size(site);
        if is_variable(site) {
            self.code.line(format!(
                "if (!bowline_fits(maxlen - pos, {n}, {min}, budget))\n    return -1;"
            ));
        } else {
            self.code.line(format!(
                "if (bowline_times({n}, {min}) > maxlen - pos)\n    return -1;"
            ));
        }
        // Memory that will hold pointers starts empty, so that it can be freed at any time.
        let memory = if ty.ends_with('*') {
            format!("calloc((size_t) {n}, sizeof({ty}))")
        } else {
            format!("bowline_new({n}, sizeof({ty}))")
        };
        let cast = pointer_to(&ty, 1);
        let allocate = format!("{at} = ({cast}) {memory};\nif ({at} == NULL)\n    return -1;");
        if is_variable(site) {
            self.code.open(format!("if ({n} > 0) {{"));
            self.code.line(allocate);
            self.code.close("}");
        } else {
            self.code.line(allocate);
        }
    }

    /// The least that one element of a dimension takes, by the lengths below it.
    fn min_row_size(site: &Site<'_>) -> String {
        let min = min_size(site.types, site.member.ty).to_string();
        let deeper = site.member.dims.get(site.depth + 1..).unwrap_or_default();
        deeper.iter().rev().fold(min, |min, dim| {
            format!("bowline_times({}, {min})", length(site, dim))
        })
    }

    fn read_named(&mut self, site: &Site<'_>, inner: &str, suffix: &str) {
        let (row, n) = (row_mut("p", site), row_length(site));
        let n = if is_variable(site) {
            format!("(int) {n}")
        } else {
            n
        };
        let budget = if suffix.is_empty() { "" } else { ", budget" };
        self.code.line(format!(
            "len = __{inner}_decode_array{suffix}(buf, offset + pos, maxlen - pos, {row}, {n}{budget});"
        ));
        // The elements clean up after themselves; what they leave must not be freed again.
        self.code.open("if (len < 0) {");
        if is_inline(site.member) {
            let name = safe(&site.member.name);
            self.code
                .line(format!("memset(&p->{name}, 0, sizeof(p->{name}));"));
        } else {
            self.code.line(format!("free({row});\n{row} = NULL;"));
        }
        self.code.line("return -1;");
        self.code.close("}");
        self.code.line("pos += len;");
    }
}

impl Walker for Read {
    fn takes_rows(&self, _: Type) -> bool {
        true
    }

    fn takes_whole(&self, member: &Member) -> bool {
        is_inline(member)
    }

    fn enter(&mut self, site: &Site<'_>) {
        self.flush();
        self.allocate(site);
        open_loop(&mut self.code, site);
    }

    fn item(&mut self, site: &Site<'_>) {
        if let (Type::Primitive(primitive), true) = (site.member.ty, is_inline(site.member))
            && primitive != Primitive::String
        {
            self.run.push(
                &format!("p->{}", safe(&site.member.name)),
                site.member,
                false,
            );
            return;
        }
        self.flush();
        if !is_inline(site.member) {
            self.allocate(site);
        }
        let (row, n) = (row_mut("p", site), row_length(site));
        match site.member.ty {
            Type::Primitive(Primitive::String) => {
                step(
                    &mut self.code,
                    &format!("bowline_get_strings(in + pos, maxlen - pos, {row}, {n})"),
                );
            }
            Type::Primitive(primitive) => {
                let get = bits(primitive);
                step(
                    &mut self.code,
                    &format!("bowline_get{get}(in + pos, maxlen - pos, {row}, {n})"),
                );
            }
            Type::Named(id) => {
                let def = site.types.def(id);
                let suffix = if matches!(def.kind, TypeKind::Enum(_)) {
                    ""
                } else {
                    "_within"
                };
                self.read_named(site, &ident(def), suffix);
            }
        }
    }

    fn leave(&mut self, _: &Site<'_>) {
        self.code.close("}");
    }
}

/// The pointer to check before a row of structs is used. In C an empty struct takes no memory, and a row of them may be
/// null, as lcm-gen's decoder leaves it.
fn checked_row<'r>(site: &Site<'_>, row: &'r str) -> &'r str {
    if site.types.min_size_of(site.member.ty) == 0 {
        "p"
    } else {
        row
    }
}
