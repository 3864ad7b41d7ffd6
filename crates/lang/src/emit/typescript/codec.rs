//! Reading and writing the members of a struct.
//!
//! Each call of the codec takes a step, a member's name or a place in an array, so that errors can name their place.

use super::super::code::Code;
use super::super::walk::{Site, Walker, walk};
use super::{StructCode, typed_array};
use bowline_wire::schema::{Dim, Member, Primitive, Type};

pub(super) fn print_read(code: &mut Code, of: &StructCode<'_>) {
    let ident = of.ident();
    let (enter, leave) = moves(of);
    code.line("/** Reads the members from within a message. */");
    code.open(format!(
        "static read(reader: wire.Reader, at: wire.Step): {ident} {{"
    ));
    code.line(format!("reader.{enter}(at);"));
    walk(of.types, of.body, &mut Reads { code, of });
    code.line(format!("reader.{leave}();"));
    print_new(code, of);
    code.close("}");
}

/// Makes the message of the variables.
fn print_new(code: &mut Code, of: &StructCode<'_>) {
    let ident = of.ident();
    let init: Vec<String> = (0..of.body.members.len())
        .map(|place| property(of, place))
        .collect();
    if init.is_empty() {
        code.line(format!("return new {ident}();"));
    } else if init.len() <= MAX_ON_ONE_LINE {
        code.line(format!("return new {ident}({{ {} }});", init.join(", ")));
    } else {
        code.open(format!("return new {ident}({{"));
        init.iter()
            .for_each(|property| code.line(format!("{property},")));
        code.close("});");
    }
}

pub(super) fn print_write(code: &mut Code, of: &StructCode<'_>) {
    let ident = of.ident();
    let (enter, leave) = moves(of);
    code.line("/** Writes the members into a message. */");
    code.open(format!(
        "static write(writer: wire.Writer, at: wire.Step, value: {ident} | undefined): void {{"
    ));
    code.line(format!("writer.{enter}(at, value);"));
    walk(of.types, of.body, &mut Writes { code, of });
    code.line(format!("writer.{leave}();"));
    code.close("}");
}

/// As many members stand side by side in a line that can still be read.
const MAX_ON_ONE_LINE: usize = 5;

/// Only types that contain themselves need a limit to their depth.
fn moves(of: &StructCode<'_>) -> (&'static str, &'static str) {
    if of.types.is_recursive(of.id) {
        ("descend", "ascend")
    } else {
        ("enter", "leave")
    }
}

fn property(of: &StructCode<'_>, place: usize) -> String {
    let (field, local) = (of.members.field(place), of.members.local(place));
    if field == local {
        field.to_string()
    } else {
        format!("{field}: {local}")
    }
}

/// The codec's method for an element.
fn scalar_method(primitive: Primitive) -> &'static str {
    match primitive {
        Primitive::Int8 => "int8",
        Primitive::Int16 => "int16",
        Primitive::Int32 => "int32",
        Primitive::Int64 => "int64",
        Primitive::Byte => "byte",
        Primitive::Float => "float",
        Primitive::Double => "double",
        Primitive::String => "string",
        Primitive::Boolean => "boolean",
    }
}

/// The step to a place in the walk: the member's name, or the loop's variable.
fn step(site: &Site<'_>, name_index: impl Fn(&str) -> String) -> String {
    match site.indices().last() {
        None => format!("{:?}", site.member.name),
        Some(index) => name_index(&index),
    }
}

fn place_of(of: &StructCode<'_>, member: &Member) -> usize {
    of.body
        .members
        .iter()
        .position(|other| std::ptr::eq(other, member))
        .unwrap_or(0)
}

/// Prints the reading of members into variables.
struct Reads<'c, 't> {
    code: &'c mut Code,
    of: &'c StructCode<'t>,
}

impl Reads<'_, '_> {
    fn fresh(&self, name: &str) -> String {
        self.of.members.fresh(name)
    }

    fn step(&self, site: &Site<'_>) -> String {
        step(site, |index| self.fresh(index))
    }

    /// The variable that receives the array of a loop.
    fn array(&self, site: &Site<'_>) -> String {
        match site.indices().last() {
            None => self
                .of
                .members
                .local(place_of(self.of, site.member))
                .to_string(),
            Some(index) => self.fresh(&format!("items_{index}")),
        }
    }

    /// Puts what was read where it belongs.
    fn put(&mut self, site: &Site<'_>, value: &str) {
        let array = site
            .depth
            .checked_sub(1)
            .map(|depth| self.array(&Site { depth, ..*site }));
        match array {
            None => {
                let local = self
                    .of
                    .members
                    .local(place_of(self.of, site.member))
                    .to_string();
                self.code.line(format!("const {local} = {value};"));
            }
            Some(array) => self.code.line(format!("{array}.push({value});")),
        }
    }

    /// The expression for how many elements a dimension has, which also goes into it.
    fn enter_dim(&self, site: &Site<'_>) -> String {
        let at = self.step(site);
        match site.dim() {
            Some(Dim::Fixed { size, .. }) => format!("reader.fixed({at}, {size})"),
            Some(Dim::Variable { member }) => {
                let length = self.of.members.local(*member);
                match Self::row_size(site) {
                    Some(size) => format!("reader.list({at}, {length}, {size})"),
                    None => format!("reader.rows({at}, {length})"),
                }
            }
            None => "0".to_string(),
        }
    }

    /// The least that an element of a dimension takes; `None` if lengths within decide that.
    fn row_size(site: &Site<'_>) -> Option<usize> {
        let inner = site.member.dims.get(site.depth + 1..).unwrap_or_default();
        let size =
            inner.iter().try_fold(
                site.types.min_size_of(site.member.ty),
                |size, dim| match dim {
                    Dim::Fixed { size: n, .. } => Some(size.saturating_mul(*n)),
                    Dim::Variable { .. } => None,
                },
            )?;
        Some(size.min(MAX_SAFE_INTEGER))
    }

    /// Whether rows may turn out to have no bytes, so that a length could claim any number of them.
    fn has_free_rows(site: &Site<'_>) -> bool {
        matches!(site.dim(), Some(Dim::Variable { .. })) && Self::row_size(site).is_none()
    }

    /// The variable that holds where a row starts.
    fn start(&self, site: &Site<'_>) -> String {
        self.fresh(&format!("start_{}", site.index()))
    }
}

/// The largest integer that is exact in JavaScript.
const MAX_SAFE_INTEGER: usize = (1 << 53) - 1;

impl Walker for Reads<'_, '_> {
    fn takes_rows(&self, ty: Type) -> bool {
        typed_array(ty).is_some()
    }

    fn enter(&mut self, site: &Site<'_>) {
        let (array, n) = (self.array(site), self.enter_dim(site));
        let index = self.fresh(&site.index());
        let end = self.fresh(&format!("n_{}", site.index()));
        self.code.line(format!(
            "const {array}: {} = [];",
            self.of.member_type(site.member, site.depth)
        ));
        self.code.open(format!(
            "for (let {index} = 0, {end} = {n}; {index} < {end}; {index}++) {{"
        ));
        if Self::has_free_rows(site) {
            self.code
                .line(format!("const {} = reader.offset;", self.start(site)));
        }
    }

    fn item(&mut self, site: &Site<'_>) {
        let at = self.step(site);
        let value = match (site.member.ty, site.dim()) {
            (Type::Primitive(ty), None) => format!("reader.{}({at})", scalar_method(ty)),
            (Type::Primitive(ty), Some(Dim::Fixed { size, .. })) => {
                format!("reader.{}Array({at}, {size})", scalar_method(ty))
            }
            (Type::Primitive(ty), Some(Dim::Variable { member })) => {
                let (length, size) = (
                    self.of.members.local(*member),
                    Self::row_size(site).unwrap_or(1),
                );
                format!(
                    "reader.{}Array({at}, reader.count({at}, {length}, {size}))",
                    scalar_method(ty)
                )
            }
            (Type::Named(id), _) if self.of.types.as_struct(id).is_some() => {
                format!("{}.read(reader, {at})", self.of.imports.ident(id))
            }
            (Type::Named(_), _) => format!("reader.int32({at})"),
        };
        self.put(site, &value);
    }

    fn leave(&mut self, site: &Site<'_>) {
        if Self::has_free_rows(site) {
            self.code
                .line(format!("reader.endRow({});", self.start(site)));
        }
        self.code.close("}");
        self.code.line("reader.leave();");
        if site.depth > 0 {
            let row = self.array(site);
            self.put(site, &row);
        }
    }
}

/// Prints the writing of members.
struct Writes<'c, 't> {
    code: &'c mut Code,
    of: &'c StructCode<'t>,
}

impl Writes<'_, '_> {
    /// The value at a place in the walk.
    fn value(&self, site: &Site<'_>) -> String {
        match site.indices().last() {
            None => format!(
                "value.{}",
                self.of.members.field(place_of(self.of, site.member))
            ),
            Some(index) => format!("items_{index}[{index}]"),
        }
    }

    /// What an array is checked against.
    fn expected(&self, dim: &Dim) -> String {
        match dim {
            Dim::Fixed { size, .. } => size.to_string(),
            Dim::Variable { member } => {
                let name = self
                    .of
                    .body
                    .members
                    .get(*member)
                    .map_or("", |length| &length.name);
                format!("value.{}, {name:?}", self.of.members.field(*member))
            }
        }
    }
}

impl Walker for Writes<'_, '_> {
    fn takes_rows(&self, ty: Type) -> bool {
        typed_array(ty).is_some()
    }

    fn enter(&mut self, site: &Site<'_>) {
        let (at, value, index) = (step(site, str::to_string), self.value(site), site.index());
        let expected = site.dim().map(|dim| self.expected(dim)).unwrap_or_default();
        let items = format!("items_{index} = writer.list({at}, {value}, {expected})");
        self.code.open(format!(
            "for (let {index} = 0, {items}; {index} < items_{index}.length; {index}++) {{"
        ));
    }

    fn item(&mut self, site: &Site<'_>) {
        let (at, value) = (step(site, str::to_string), self.value(site));
        let line = match (site.member.ty, site.dim()) {
            (Type::Primitive(ty), None) => format!("writer.{}({at}, {value});", scalar_method(ty)),
            (Type::Primitive(ty), Some(dim)) => {
                format!(
                    "writer.{}Array({at}, {value}, {});",
                    scalar_method(ty),
                    self.expected(dim)
                )
            }
            (Type::Named(id), _) if self.of.types.as_struct(id).is_some() => {
                format!(
                    "{}.write(writer, {at}, {value});",
                    self.of.imports.ident(id)
                )
            }
            (Type::Named(_), _) => format!("writer.int32({at}, {value});"),
        };
        self.code.line(line);
    }

    fn leave(&mut self, _: &Site<'_>) {
        self.code.close("}");
        self.code.line("writer.leave();");
    }
}
