//! C++'s own part of the walks: vectors, strings and classes.
//!
//! Rows of numbers are moved at once, strings and classes one by one.

use super::super::c::run::bits;
use super::super::c::walkers::{Dialect, is_number, length_here, place, step};
use super::super::code::Code;
use super::super::walk::Site;
use super::names::field;
use bowline_wire::schema::{Primitive, Type};

/// C++: the class is `*this`.
pub(super) struct Cpp;

impl Dialect for Cpp {
    fn exists(&self) -> &'static str {
        "bowline_has"
    }

    fn takes_rows(&self, ty: Type) -> bool {
        is_number(ty)
    }

    fn takes_whole(&self, ty: Type) -> bool {
        is_number(ty)
    }

    fn member(&self, name: &str) -> String {
        format!("this->{}", field(name))
    }

    fn put(&self, code: &mut Code, site: &Site<'_>) {
        let at = place(self, site);
        let call = match site.member.ty {
            Type::Primitive(Primitive::String) => {
                format!("bowline_put_string(out + pos, maxlen - pos, {at})")
            }
            Type::Primitive(primitive) => {
                let (n, put) = (length_here(self, site), bits(primitive));
                format!("bowline_put{put}(out + pos, maxlen - pos, bowline_data({at}, {n}), {n})")
            }
            Type::Named(_) => format!("{at}._encodeNoHash(buf, offset + pos, maxlen - pos)"),
        };
        step(code, &call, "pos");
    }

    fn size(&self, code: &mut Code, site: &Site<'_>) {
        let at = place(self, site);
        let call = match site.member.ty {
            Type::Primitive(Primitive::String) => {
                code.line(format!("size += static_cast<int64_t>({at}.size()) + 5;"));
                return;
            }
            Type::Primitive(primitive) => {
                let (n, size) = (length_here(self, site), bits(primitive) / 8);
                format!("bowline_row_size(bowline_data({at}, {n}), {n}, {size})")
            }
            Type::Named(_) => format!("{at}._getEncodedSizeNoHash()"),
        };
        step(code, &call, "size");
    }

    fn allocate(&self, code: &mut Code, site: &Site<'_>) {
        let (at, n) = (place(self, site), length_here(self, site));
        code.line(format!("{at}.resize(static_cast<size_t>({n}));"));
    }

    fn get(&self, code: &mut Code, site: &Site<'_>) {
        let at = place(self, site);
        let call = match site.member.ty {
            Type::Primitive(Primitive::String) => {
                format!("bowline_get_string(in + pos, maxlen - pos, {at})")
            }
            Type::Primitive(primitive) => {
                let (n, get) = (length_here(self, site), bits(primitive));
                format!("bowline_get{get}(in + pos, maxlen - pos, bowline_data({at}, {n}), {n})")
            }
            Type::Named(_) => {
                format!("bowline_decode({at}, buf, offset + pos, maxlen - pos, budget)")
            }
        };
        step(code, &call, "pos");
    }
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
