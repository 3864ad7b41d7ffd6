//! The three walks over a struct's members: write, measure and read.
//!
//! Numbers in the class itself are moved in runs, rows of numbers at once, strings and classes one by one.

use super::super::c::names::{fixed_count, is_inline, min_size};
use super::super::c::run::{Run, bits};
use super::super::code::Code;
use super::super::walk::{Site, Walker, walk};
use super::names::field;
use bowline_wire::schema::{Dim, Member, Primitive, Struct, Type, TypeSet};

/// The statements that write the members.
pub(super) fn write(types: &TypeSet, body: &Struct) -> String {
    let mut writer = Write {
        code: Code::new(),
        run: Run::default(),
    };
    walk(types, body, &mut writer);
    writer.flush();
    writer.code.finish()
}

/// The statements that add the size of the members to `size`.
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

/// The statements that read the members.
pub(super) fn read(types: &TypeSet, body: &Struct) -> String {
    let mut reader = Read {
        code: Code::new(),
        run: Run::default(),
    };
    walk(types, body, &mut reader);
    reader.flush();
    reader.code.finish()
}

/// A method's parameters; those that its statements do not use have no name.
pub(super) fn parameters(statements: &str, cursor: &str, parameters: &[&str]) -> String {
    let has_cursor = statements.contains(&format!("{cursor} + pos"));
    let words = || statements.split(|c: char| !(c.is_alphanumeric() || c == '_'));
    let named = parameters.iter().map(|parameter| {
        let at = parameter.rfind([' ', '*']).map_or(0, |at| at + 1);
        let (ty, name) = parameter.split_at(at);
        let is_used =
            words().any(|word| word == name) || has_cursor && matches!(name, "buf" | "offset");
        if is_used {
            (*parameter).to_string()
        } else {
            ty.trim_end().to_string()
        }
    });
    named.collect::<Vec<_>>().join(", ")
}

/// A method's body: a cursor if the statements use one, and what else they need.
pub(super) fn print_body(code: &mut Code, statements: &str, cursor: &str) {
    let (ty, name) = cursor.rsplit_once('*').unwrap_or((cursor, ""));
    if statements.contains(&format!("{name} + pos")) {
        code.line(format!("{cursor} = static_cast<{ty}*>(buf) + offset;"));
    }
    if statements.contains("len = ") {
        code.line("int len;");
    }
    code.line(format!("int pos = 0;\n{statements}return pos;"));
}

fn is_number(ty: Type) -> bool {
    matches!(ty, Type::Primitive(primitive) if primitive != Primitive::String)
}

fn place(site: &Site<'_>) -> String {
    let indices: String = site.indices().map(|index| format!("[{index}]")).collect();
    format!("this->{}{indices}", field(&site.member.name))
}

fn length(site: &Site<'_>, dim: &Dim) -> String {
    match dim {
        Dim::Fixed { size, .. } => size.to_string(),
        Dim::Variable { .. } => {
            let name = site
                .length_member(dim)
                .map_or(String::new(), |length| field(&length.name));
            format!("this->{name}")
        }
    }
}

/// The length of the dimension at a place.
fn length_here(site: &Site<'_>) -> String {
    site.dim().map_or("1".to_string(), |dim| length(site, dim))
}

fn open_loop(code: &mut Code, site: &Site<'_>) {
    let (i, n) = (site.index(), length_here(site));
    code.open(format!("for (int {i} = 0; {i} < {n}; {i}++) {{"));
}

/// Prints that a vector must have its elements, and the loop over them.
fn enter_existing(code: &mut Code, site: &Site<'_>) {
    if !is_inline(site.member) {
        code.line(format!(
            "if (!bowline_has({}, {}))\n    return -1;",
            place(site),
            length_here(site)
        ));
    }
    open_loop(code, site);
}

/// A call whose result is negative on failure and otherwise goes to `sum`.
fn step(code: &mut Code, call: &str, sum: &str) {
    code.line(format!(
        "len = {call};\nif (len < 0)\n    return -1;\n{sum} += len;"
    ));
}

fn is_in_run(member: &Member) -> bool {
    is_inline(member) && is_number(member.ty)
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
    fn takes_rows(&self, ty: Type) -> bool {
        is_number(ty)
    }

    fn takes_whole(&self, member: &Member) -> bool {
        is_inline(member) && is_number(member.ty)
    }

    fn enter(&mut self, site: &Site<'_>) {
        self.flush();
        enter_existing(&mut self.code, site);
    }

    fn item(&mut self, site: &Site<'_>) {
        let at = place(site);
        if is_in_run(site.member) {
            self.run.push(&at, site.member, true);
            return;
        }
        self.flush();
        let call = match site.member.ty {
            Type::Primitive(Primitive::String) => {
                format!("bowline_put_string(out + pos, maxlen - pos, {at})")
            }
            Type::Primitive(primitive) => {
                let (n, put) = (length_here(site), bits(primitive));
                format!("bowline_put{put}(out + pos, maxlen - pos, bowline_data({at}, {n}), {n})")
            }
            Type::Named(_) => format!("{at}._encodeNoHash(buf, offset + pos, maxlen - pos)"),
        };
        step(&mut self.code, &call, "pos");
    }

    fn leave(&mut self, _: &Site<'_>) {
        self.code.close("}");
    }
}

struct Measure {
    code: Code,
    /// What the numbers in the class take.
    fixed: usize,
}

impl Walker for Measure {
    fn takes_rows(&self, ty: Type) -> bool {
        is_number(ty)
    }

    fn takes_whole(&self, member: &Member) -> bool {
        is_inline(member) && is_number(member.ty)
    }

    fn enter(&mut self, site: &Site<'_>) {
        enter_existing(&mut self.code, site);
    }

    fn item(&mut self, site: &Site<'_>) {
        let at = place(site);
        match site.member.ty {
            Type::Primitive(Primitive::String) => {
                self.code
                    .line(format!("size += static_cast<int64_t>({at}.size()) + 5;"));
            }
            Type::Primitive(primitive) if is_inline(site.member) => {
                self.fixed += fixed_count(site.member) * (bits(primitive) / 8);
            }
            Type::Primitive(primitive) => {
                let (n, size) = (length_here(site), bits(primitive) / 8);
                step(
                    &mut self.code,
                    &format!("bowline_row_size(bowline_data({at}, {n}), {n}, {size})"),
                    "size",
                );
            }
            Type::Named(_) => step(
                &mut self.code,
                &format!("{at}._getEncodedSizeNoHash()"),
                "size",
            ),
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

    /// Checks a dimension against the bytes that are left, and makes the vector that long.
    fn resize(&mut self, site: &Site<'_>) {
        let (at, n, min) = (place(site), length_here(site), Self::min_row_size(site));
        if matches!(site.dim(), Some(Dim::Variable { .. })) {
            self.code.line(format!(
                "if (!bowline_fits(maxlen - pos, {n}, {min}, budget))\n    return -1;"
            ));
        } else {
            self.code.line(format!(
                "if (bowline_times({n}, {min}) > maxlen - pos)\n    return -1;"
            ));
        }
        self.code
            .line(format!("{at}.resize(static_cast<size_t>({n}));"));
    }

    /// The least that one element of a dimension takes, by the lengths below it.
    fn min_row_size(site: &Site<'_>) -> String {
        let min = min_size(site.types, site.member.ty).to_string();
        let deeper = site.member.dims.get(site.depth + 1..).unwrap_or_default();
        deeper.iter().rev().fold(min, |min, dim| {
            format!("bowline_times({}, {min})", length(site, dim))
        })
    }
}

impl Walker for Read {
    fn takes_rows(&self, ty: Type) -> bool {
        is_number(ty)
    }

    fn takes_whole(&self, member: &Member) -> bool {
        is_inline(member) && is_number(member.ty)
    }

    fn enter(&mut self, site: &Site<'_>) {
        self.flush();
        if !is_inline(site.member) {
            self.resize(site);
        }
        open_loop(&mut self.code, site);
    }

    fn item(&mut self, site: &Site<'_>) {
        let at = place(site);
        if is_in_run(site.member) {
            self.run.push(&at, site.member, false);
            return;
        }
        self.flush();
        let call = match site.member.ty {
            Type::Primitive(Primitive::String) => {
                format!("bowline_get_string(in + pos, maxlen - pos, {at})")
            }
            Type::Primitive(primitive) => {
                self.resize(site);
                let (n, get) = (length_here(site), bits(primitive));
                format!("bowline_get{get}(in + pos, maxlen - pos, bowline_data({at}, {n}), {n})")
            }
            Type::Named(_) => {
                format!("bowline_decode({at}, buf, offset + pos, maxlen - pos, budget)")
            }
        };
        step(&mut self.code, &call, "pos");
    }

    fn leave(&mut self, _: &Site<'_>) {
        self.code.close("}");
    }
}
