//! The walks over a struct's members that write, measure and read it, for C and C++.
//!
//! What both have in common is here: numbers that are in the struct itself are moved in runs, every length is checked
//! against the bytes that are left before there is memory for it, and arrays with variable dimensions are walked
//! dimension by dimension. A [`Dialect`] says how memory is written in its language.

use super::super::code::Code;
use super::super::walk::{Site, Walker, walk};
use super::names::{fixed_count, is_inline, min_size};
use super::run::{Run, bits};
use bowline_wire::schema::{Dim, Member, Primitive, Struct, Type, TypeSet};

/// What differs between C and C++.
pub(in super::super) trait Dialect {
    /// The function that says whether memory has as many elements as a length.
    fn exists(&self) -> &'static str;

    /// Whether the innermost dimension of such an array is moved by one call.
    fn takes_rows(&self, ty: Type) -> bool;

    /// Whether a member that is in the struct itself is moved in one go, whatever its dimensions.
    fn takes_whole(&self, ty: Type) -> bool;

    /// A member of the struct: `p->grid`.
    fn member(&self, name: &str) -> String;

    /// Prints what writes a place.
    fn put(&self, code: &mut Code, site: &Site<'_>);

    /// Prints what adds the size of a place to `size`.
    fn size(&self, code: &mut Code, site: &Site<'_>);

    /// Prints what makes memory for the dimension at a place, whose length is checked.
    fn allocate(&self, code: &mut Code, site: &Site<'_>);

    /// Prints what reads a place.
    fn get(&self, code: &mut Code, site: &Site<'_>);
}

/// The statements that write a struct.
pub(in super::super) fn write(dialect: &dyn Dialect, types: &TypeSet, body: &Struct) -> String {
    let mut writer = Write {
        dialect,
        code: Code::new(),
        run: Run::default(),
    };
    walk(types, body, &mut writer);
    writer.flush();
    writer.code.finish()
}

/// The statements that add the size of a struct to `size`.
pub(in super::super) fn measure(dialect: &dyn Dialect, types: &TypeSet, body: &Struct) -> String {
    let mut meter = Measure {
        dialect,
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

/// The statements that read a struct.
pub(in super::super) fn read(dialect: &dyn Dialect, types: &TypeSet, body: &Struct) -> String {
    let mut reader = Read {
        dialect,
        code: Code::new(),
        run: Run::default(),
    };
    walk(types, body, &mut reader);
    reader.flush();
    reader.code.finish()
}

/// What is at a place of a member: `p->grid[a]`.
pub(in super::super) fn indexed(member: &str, site: &Site<'_>) -> String {
    let indices: String = site.indices().map(|index| format!("[{index}]")).collect();
    format!("{member}{indices}")
}

/// What is at a place.
pub(in super::super) fn place(dialect: &dyn Dialect, site: &Site<'_>) -> String {
    indexed(&dialect.member(&site.member.name), site)
}

/// The length of a dimension, by the fields of the struct.
pub(in super::super) fn length(dialect: &dyn Dialect, site: &Site<'_>, dim: &Dim) -> String {
    match dim {
        Dim::Fixed { size, .. } => size.to_string(),
        Dim::Variable { .. } => {
            let length = site.length_member(dim);
            dialect.member(length.map_or("", |length| &length.name))
        }
    }
}

/// The length of the dimension at a place; 1 for a single element.
pub(in super::super) fn length_here(dialect: &dyn Dialect, site: &Site<'_>) -> String {
    let dim = site.dim();
    dim.map_or("1".to_string(), |dim| length(dialect, site, dim))
}

pub(in super::super) fn is_variable(site: &Site<'_>) -> bool {
    matches!(site.dim(), Some(Dim::Variable { .. }))
}

/// The open loop over a dimension.
pub(in super::super) fn open_loop(dialect: &dyn Dialect, code: &mut Code, site: &Site<'_>) {
    let (i, n) = (site.index(), length_here(dialect, site));
    code.open(format!("for (int {i} = 0; {i} < {n}; {i}++) {{"));
}

/// A call whose result is negative on failure and otherwise goes to `sum`.
pub(in super::super) fn step(code: &mut Code, call: &str, sum: &str) {
    code.line(format!(
        "len = {call};\nif (len < 0)\n    return -1;\n{sum} += len;"
    ));
}

/// Prints that a dimension must have its elements, and the loop over them.
fn enter_existing(dialect: &dyn Dialect, code: &mut Code, site: &Site<'_>) {
    if !is_inline(site.member) {
        let (at, n) = (place(dialect, site), length_here(dialect, site));
        let exists = dialect.exists();
        code.line(format!("if (!{exists}({at}, {n}))\n    return -1;"));
    }
    open_loop(dialect, code, site);
}

pub(in super::super) fn is_number(ty: Type) -> bool {
    matches!(ty, Type::Primitive(primitive) if primitive != Primitive::String)
}

fn is_in_run(member: &Member) -> bool {
    is_inline(member) && is_number(member.ty)
}

struct Write<'d> {
    dialect: &'d dyn Dialect,
    code: Code,
    run: Run,
}

impl Write<'_> {
    fn flush(&mut self) {
        self.run.flush(&mut self.code, "out");
    }
}

impl Walker for Write<'_> {
    fn takes_rows(&self, ty: Type) -> bool {
        self.dialect.takes_rows(ty)
    }

    fn takes_whole(&self, member: &Member) -> bool {
        is_inline(member) && self.dialect.takes_whole(member.ty)
    }

    fn enter(&mut self, site: &Site<'_>) {
        self.flush();
        enter_existing(self.dialect, &mut self.code, site);
    }

    fn item(&mut self, site: &Site<'_>) {
        if is_in_run(site.member) {
            let at = place(self.dialect, site);
            self.run.push(&at, site.member, true);
            return;
        }
        self.flush();
        self.dialect.put(&mut self.code, site);
    }

    fn leave(&mut self, _: &Site<'_>) {
        self.code.close("}");
    }
}

struct Measure<'d> {
    dialect: &'d dyn Dialect,
    code: Code,
    /// What the numbers in the struct take.
    fixed: usize,
}

impl Walker for Measure<'_> {
    fn takes_rows(&self, ty: Type) -> bool {
        self.dialect.takes_rows(ty)
    }

    fn takes_whole(&self, member: &Member) -> bool {
        is_inline(member) && self.dialect.takes_whole(member.ty)
    }

    fn enter(&mut self, site: &Site<'_>) {
        enter_existing(self.dialect, &mut self.code, site);
    }

    fn item(&mut self, site: &Site<'_>) {
        match site.member.ty {
            Type::Primitive(primitive) if is_in_run(site.member) => {
                self.fixed += fixed_count(site.member) * (bits(primitive) / 8);
            }
            Type::Primitive(_) | Type::Named(_) => self.dialect.size(&mut self.code, site),
        }
    }

    fn leave(&mut self, _: &Site<'_>) {
        self.code.close("}");
    }
}

struct Read<'d> {
    dialect: &'d dyn Dialect,
    code: Code,
    run: Run,
}

impl Read<'_> {
    fn flush(&mut self) {
        self.run.flush(&mut self.code, "in");
    }

    /// Checks a dimension against the bytes that are left, and allocates it.
    fn allocate(&mut self, site: &Site<'_>) {
        if is_inline(site.member) || site.dim().is_none() {
            return;
        }
        let (n, min) = (length_here(self.dialect, site), self.min_row_size(site));
        let check = if is_variable(site) {
            format!("!bowline_fits(maxlen - pos, {n}, {min}, budget)")
        } else {
            format!("bowline_times({n}, {min}) > maxlen - pos")
        };
        self.code.line(format!("if ({check})\n    return -1;"));
        self.dialect.allocate(&mut self.code, site);
    }

    /// The least that one element of a dimension takes, by the lengths below it.
    fn min_row_size(&self, site: &Site<'_>) -> String {
        let min = min_size(site.types, site.member.ty).to_string();
        let deeper = site.member.dims.get(site.depth + 1..).unwrap_or_default();
        deeper.iter().rev().fold(min, |min, dim| {
            format!("bowline_times({}, {min})", length(self.dialect, site, dim))
        })
    }
}

impl Walker for Read<'_> {
    fn takes_rows(&self, ty: Type) -> bool {
        self.dialect.takes_rows(ty)
    }

    fn takes_whole(&self, member: &Member) -> bool {
        is_inline(member) && self.dialect.takes_whole(member.ty)
    }

    fn enter(&mut self, site: &Site<'_>) {
        self.flush();
        self.allocate(site);
        open_loop(self.dialect, &mut self.code, site);
    }

    fn item(&mut self, site: &Site<'_>) {
        if is_in_run(site.member) {
            let at = place(self.dialect, site);
            self.run.push(&at, site.member, false);
            return;
        }
        self.flush();
        self.allocate(site);
        self.dialect.get(&mut self.code, site);
    }

    fn leave(&mut self, _: &Site<'_>) {
        self.code.close("}");
    }
}
