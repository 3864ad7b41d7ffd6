//! The walks that free and copy what a struct owns.

use super::super::code::Code;
use super::super::walk::{Site, Walker, walk};
use super::dialect::{
    C, count, element_type, forget, owns_memory, place, pointer_to, row, row_length, row_mut,
    type_owns_memory,
};
use super::names::{ident, is_inline, safe};
use super::walkers::{is_variable, length, open_loop};
use bowline_wire::schema::{Member, Primitive, Struct, Type, TypeSet};

/// The statements that free what `*p` owns.
pub(super) fn free(types: &TypeSet, body: &Struct) -> String {
    let mut walker = Free { code: Code::new() };
    walk(types, body, &mut walker);
    walker.code.finish()
}

/// The statements that make `*q`, a bitwise copy of `*p`, own a copy of what `*p` owns.
pub(super) fn copy(types: &TypeSet, body: &Struct) -> String {
    let mut walker = Copy { code: Code::new() };
    for member in body
        .members
        .iter()
        .filter(|member| owns_memory(types, member))
    {
        walker.code.line(forget("q", member));
    }
    walk(types, body, &mut walker);
    walker.code.finish()
}

struct Free {
    code: Code,
}

impl Free {
    fn free_elements(&mut self, site: &Site<'_>) {
        let (row, n) = (row_mut("p", site), row_length(site));
        match site.member.ty {
            Type::Primitive(Primitive::String) => {
                self.code.line(format!("bowline_free_strings({row}, {n});"));
            }
            Type::Named(id) => {
                let inner = ident(site.types.def(id));
                let n = count(site);
                self.code
                    .line(format!("__{inner}_decode_array_cleanup({row}, {n});"));
            }
            Type::Primitive(_) => {}
        }
    }
}

impl Walker for Free {
    fn takes_rows(&self, _: Type) -> bool {
        true
    }

    fn takes_whole(&self, member: &Member) -> bool {
        is_inline(member)
    }

    fn enter(&mut self, site: &Site<'_>) {
        self.code
            .open(format!("if ({} != NULL) {{", place("p", site)));
        open_loop(&C, &mut self.code, site);
    }

    fn item(&mut self, site: &Site<'_>) {
        let has_contents = type_owns_memory(site.types, site.member.ty);
        if is_inline(site.member) {
            if has_contents {
                self.free_elements(site);
            }
            return;
        }
        let at = place("p", site);
        if has_contents {
            self.code.open(format!("if ({at} != NULL) {{"));
            self.free_elements(site);
            self.code.close("}");
        }
        self.code.line(format!("free({at});\n{at} = NULL;"));
    }

    fn leave(&mut self, site: &Site<'_>) {
        let at = place("p", site);
        self.code.close("}");
        self.code.line(format!("free({at});\n{at} = NULL;"));
        self.code.close("}");
    }
}

struct Copy {
    code: Code,
}

impl Copy {
    fn open_if_there(&mut self, site: &Site<'_>) {
        let Some(dim) = site.dim() else { return };
        let (at, n) = (place("p", site), length(&C, site, dim));
        let has_length = if is_variable(site) {
            format!(" && {n} > 0")
        } else {
            String::new()
        };
        self.code.open(format!("if ({at} != NULL{has_length}) {{"));
    }

    fn copy_elements(&mut self, site: &Site<'_>) {
        let n = row_length(site);
        let (from, to) = (row("p", site), row_mut("q", site));
        match site.member.ty {
            Type::Primitive(Primitive::String) => {
                self.code.line(format!(
                    "if (bowline_copy_strings({from}, {to}, {n}) < 0)\n    return -1;"
                ));
            }
            Type::Named(id) => {
                let inner = ident(site.types.def(id));
                let n = count(site);
                self.code.open(format!(
                    "if (__{inner}_clone_array({from}, {to}, {n}) < 0) {{"
                ));
                if is_inline(site.member) {
                    let name = safe(&site.member.name);
                    self.code
                        .line(format!("memset(&q->{name}, 0, sizeof(q->{name}));"));
                } else {
                    self.code.line(format!("free({to});\n{to} = NULL;"));
                }
                self.code.line("return -1;");
                self.code.close("}");
            }
            Type::Primitive(_) => {}
        }
    }
}

impl Walker for Copy {
    fn takes_rows(&self, _: Type) -> bool {
        true
    }

    fn takes_whole(&self, member: &Member) -> bool {
        is_inline(member)
    }

    fn enter(&mut self, site: &Site<'_>) {
        let Some(dim) = site.dim() else { return };
        let (at, n) = (place("q", site), length(&C, site, dim));
        let n_deeper = site.member.dims.len() - site.depth - 1;
        let element = element_type(site.types, site.member.ty);
        let (ty, cast) = (
            pointer_to(&element, n_deeper),
            pointer_to(&element, n_deeper + 1),
        );
        self.open_if_there(site);
        self.code.line(format!(
            "{at} = ({cast}) calloc((size_t) {n}, sizeof({ty}));\nif ({at} == NULL)\n    return -1;"
        ));
        open_loop(&C, &mut self.code, site);
    }

    fn item(&mut self, site: &Site<'_>) {
        if is_inline(site.member) {
            if type_owns_memory(site.types, site.member.ty) {
                self.copy_elements(site);
            }
            return;
        }
        let (at, from, n) = (place("q", site), place("p", site), row_length(site));
        let ty = element_type(site.types, site.member.ty);
        let cast = pointer_to(&ty, 1);
        self.open_if_there(site);
        let memory = match site.member.ty {
            Type::Primitive(Primitive::String) => format!("calloc((size_t) {n}, sizeof({ty}))"),
            Type::Named(_) => format!("bowline_new({n}, sizeof({ty}))"),
            Type::Primitive(_) => format!("bowline_copy_row({from}, {n}, sizeof({ty}))"),
        };
        self.code.line(format!(
            "{at} = ({cast}) {memory};\nif ({at} == NULL)\n    return -1;"
        ));
        self.copy_elements(site);
        self.code.close("}");
    }

    fn leave(&mut self, _: &Site<'_>) {
        self.code.close("}");
        self.code.close("}");
    }
}
