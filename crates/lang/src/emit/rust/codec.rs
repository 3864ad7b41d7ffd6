//! Reading and writing a struct.

use super::super::code::Code;
use super::super::walk::{Site, Walker, walk};
use super::names::{Names, field, fresh, local};
use super::structs::{Flavour, StructCode};
use super::{hex, is_large};
use bowline_wire::schema::{Dim, Member, Primitive, Type};

impl StructCode<'_> {
    pub(super) fn print_message(&self, code: &mut Code) {
        let fingerprint = self
            .types
            .fingerprint(self.id)
            .map_or(0, |fingerprint| fingerprint.0);
        code.gap();
        code.open(format!("impl wire::Message for {} {{", self.ty("'_")));
        code.line(format!(
            "const NAME: &'static str = {:?};",
            self.def.full_name()
        ));
        code.line(format!(
            "const FINGERPRINT: wire::Fingerprint = wire::Fingerprint({});",
            hex(fingerprint)
        ));
        code.line(format!(
            "const SCHEMA: &'static [u8] = {};",
            Names::path_to_schema(self.types, self.id)
        ));
        if self.body.members.iter().any(is_stamp) {
            code.gap();
            code.line("#[inline]");
            code.open("fn utime(&self) -> Option<i64> {");
            code.line("Some(self.utime)");
            code.close("}");
        }
        code.close("}");
    }

    pub(super) fn print_encode(&self, code: &mut Code) {
        let is_recursive = self.types.is_recursive(self.id);
        let fixed_size = self.fixed_size();
        let has_other = self
            .body
            .members
            .iter()
            .any(|member| self.fixed_member_size(member).is_none());
        let meter = if fixed_size > 0 || has_other || is_recursive {
            "meter"
        } else {
            "_meter"
        };
        code.gap();
        code.open(format!("impl wire::Encode for {} {{", self.ty("'_")));
        code.line("#[inline]");
        code.open(format!(
            "fn measure(&self, {meter}: &mut wire::Meter) -> Result<(), wire::EncodeError> {{"
        ));
        if is_recursive {
            code.line("meter.enter()?;");
        }
        if fixed_size > 0 {
            code.line(format!("meter.add({fixed_size});"));
        }
        walk(self.types, self.body, &mut Lengths { code });
        for member in &self.body.members {
            if self.fixed_member_size(member).is_none() {
                let name = field(&member.name);
                code.line(format!(
                    "wire::Encode::measure(&self.{name}, meter).in_field({:?})?;",
                    member.name
                ));
            }
        }
        if is_recursive {
            code.line("meter.leave();");
        }
        code.line("Ok(())");
        code.close("}");
        code.gap();
        let writer = if self.body.members.is_empty() {
            "_writer"
        } else {
            "writer"
        };
        code.line("#[inline]");
        code.open(format!(
            "fn write(&self, {writer}: &mut wire::Writer<'_>) {{"
        ));
        for member in &self.body.members {
            code.line(format!(
                "wire::Encode::write(&self.{}, writer);",
                field(&member.name)
            ));
        }
        code.close("}");
        code.close("}");
    }

    /// What the members take that always take the same.
    fn fixed_size(&self) -> usize {
        self.body
            .members
            .iter()
            .filter_map(|member| self.fixed_member_size(member))
            .fold(0, usize::saturating_add)
    }

    fn fixed_member_size(&self, member: &Member) -> Option<usize> {
        let Type::Primitive(primitive) = member.ty else {
            return None;
        };
        member
            .dims
            .iter()
            .try_fold(primitive.fixed_size()?, |size, dim| match dim {
                Dim::Fixed { size: n, .. } => Some(size.saturating_mul(*n)),
                Dim::Variable { .. } => None,
            })
    }

    pub(super) fn print_decode(&self, code: &mut Code) {
        let is_recursive = self.types.is_recursive(self.id);
        let reader = fresh("reader", self.body);
        let unused = if self.body.members.is_empty() && !is_recursive {
            "_"
        } else {
            ""
        };
        code.gap();
        code.open(format!(
            "impl<'a> wire::Decode<'a> for {} {{",
            self.ty("'a")
        ));
        code.line(format!(
            "const MIN_SIZE: usize = {};",
            self.types.min_size(self.id)
        ));
        code.gap();
        self.allow_names(code);
        // In a list, a small struct is read straight into its place; as a call it would be copied there.
        code.line(if self.is_small() {
            "#[inline(always)]"
        } else {
            "#[inline]"
        });
        code.open(format!(
            "fn read({unused}{reader}: &mut wire::Reader<'a>) -> Result<Self, wire::DecodeError> {{"
        ));
        if is_recursive {
            code.line(format!("{reader}.enter()?;"));
        }
        for member in &self.body.members {
            let (name, ty) = (local(&member.name), self.member_type(member, 0));
            let read = self.read(member, 0, &reader, "");
            code.line(format!(
                "let {name}: {ty} = {read}.in_field({:?})?;",
                member.name
            ));
        }
        if is_recursive {
            code.line(format!("{reader}.leave();"));
        }
        let init = |member: &Member| match (field(&member.name), local(&member.name)) {
            (field, local) if field == local => field,
            (field, local) => format!("{field}: {local}"),
        };
        let fields: Vec<String> = self.body.members.iter().map(init).collect();
        code.line(match fields.as_slice() {
            [] => "Ok(Self {})".to_string(),
            fields => format!("Ok(Self {{ {} }})", fields.join(", ")),
        });
        code.close("}");
        if self.flavour == Flavour::Owned
            && self
                .body
                .members
                .iter()
                .any(|member| self.can_reuse(member))
        {
            self.print_read_into(code);
        }
        code.close("}");
    }

    /// Whether a struct is little enough code to be repeated wherever it is read.
    fn is_small(&self) -> bool {
        let is_plain = |member: &Member| matches!(member.ty, Type::Primitive(_));
        self.body.members.len() <= 8 && self.body.members.iter().all(is_plain)
    }

    /// Whether a member has memory that the next message can use. Where a length lies below the first dimension, it has
    /// memory but is read anew.
    fn can_reuse(&self, member: &Member) -> bool {
        let is_fixed = |dims: &[Dim]| dims.iter().all(|dim| matches!(dim, Dim::Fixed { .. }));
        let holds_memory = match member.ty {
            Type::Primitive(ty) => ty == Primitive::String,
            Type::Named(_) => true,
        };
        match member.dims.as_slice() {
            [Dim::Variable { .. }, inner @ ..] => is_fixed(inner),
            dims => is_fixed(dims) && (holds_memory || is_large(member)),
        }
    }

    fn print_read_into(&self, code: &mut Code) {
        let is_recursive = self.types.is_recursive(self.id);
        code.gap();
        code.line("#[inline]");
        code.open("fn read_into(&mut self, reader: &mut wire::Reader<'a>) -> Result<(), wire::DecodeError> {");
        if is_recursive {
            code.line("reader.enter()?;");
        }
        for member in &self.body.members {
            let name = field(&member.name);
            let has_inner_length = member
                .dims
                .iter()
                .skip(1)
                .any(|dim| matches!(dim, Dim::Variable { .. }));
            let read = match member.dims.first() {
                _ if has_inner_length => {
                    let read = self.read(member, 0, "reader", "self.");
                    format!("{read}.map(|value| self.{name} = value)")
                }
                Some(Dim::Variable { member: place }) => {
                    let length = self
                        .body
                        .members
                        .get(*place)
                        .map_or(String::new(), |length| field(&length.name));
                    format!("reader.list_into(&mut self.{name}, self.{length})")
                }
                Some(Dim::Fixed { .. }) | None => {
                    format!("wire::Decode::read_into(&mut self.{name}, reader)")
                }
            };
            code.line(format!("{read}.in_field({:?})?;", member.name));
        }
        if is_recursive {
            code.line("reader.leave();");
        }
        code.line("Ok(())");
        code.close("}");
    }

    /// The expression that reads a member below its first `depth` dimensions. The library reads what has only fixed
    /// dimensions within; a closure is needed where a length lies deeper.
    fn read(&self, member: &Member, depth: usize, reader: &str, lengths_in: &str) -> String {
        let inner = member.dims.get(depth + 1..).unwrap_or_default();
        let has_inner_length = inner.iter().any(|dim| matches!(dim, Dim::Variable { .. }));
        let length = |place: &usize| {
            let name = self
                .body
                .members
                .get(*place)
                .map_or("", |length| &length.name);
            if lengths_in.is_empty() {
                local(name)
            } else {
                format!("{lengths_in}{}", field(name))
            }
        };
        let is_bytes =
            self.flavour == Flavour::Borrowed && member.ty == Type::Primitive(Primitive::Byte);
        match member.dims.get(depth) {
            Some(Dim::Fixed { .. }) if has_inner_length => {
                let array = format!(
                    "{reader}.array(|{reader}| {})",
                    self.read(member, depth + 1, reader, lengths_in)
                );
                if depth == 0 && is_large(member) {
                    format!("{array}.map(Box::new)")
                } else {
                    array
                }
            }
            Some(Dim::Variable { member: place }) if has_inner_length => {
                let (length, inner) = (
                    length(place),
                    self.read(member, depth + 1, reader, lengths_in),
                );
                format!("{reader}.rows({length}, |{reader}| {inner})")
            }
            Some(Dim::Variable { member: place }) if is_bytes && inner.is_empty() => {
                format!("{reader}.byte_list({})", length(place))
            }
            Some(Dim::Variable { member: place }) => format!("{reader}.list({})", length(place)),
            Some(Dim::Fixed { .. }) | None => format!("wire::Decode::read({reader})"),
        }
    }
}

/// Prints the checks of arrays against their length fields.
struct Lengths<'c> {
    code: &'c mut Code,
}

impl Lengths<'_> {
    fn has_deeper_length(site: &Site<'_>) -> bool {
        let deeper = site.member.dims.get(site.depth..).unwrap_or_default();
        deeper.iter().any(|dim| matches!(dim, Dim::Variable { .. }))
    }
}

impl Walker for Lengths<'_> {
    fn takes_rows(&self, _: Type) -> bool {
        false
    }

    fn enter(&mut self, site: &Site<'_>) {
        let array = match site.depth.checked_sub(1) {
            None => format!("self.{}", field(&site.member.name)),
            Some(_) => site.indices().last().unwrap_or_default(),
        };
        if let Some(length) = site.dim().and_then(|dim| site.length_member(dim)) {
            let (name, length_name, of) = (&site.member.name, &length.name, field(&length.name));
            self.code.line(format!(
                "meter.length({length_name:?}, self.{of}, {array}.len()).in_field({name:?})?;"
            ));
        }
        if Self::has_deeper_length(&Site {
            depth: site.depth + 1,
            ..*site
        }) {
            self.code
                .open(format!("for {} in {array}.iter() {{", site.index()));
        }
    }

    fn item(&mut self, _: &Site<'_>) {}

    fn leave(&mut self, site: &Site<'_>) {
        if Self::has_deeper_length(&Site {
            depth: site.depth + 1,
            ..*site
        }) {
            self.code.close("}");
        }
    }
}

/// Whether a member is the message's own time, by LCM's custom.
fn is_stamp(member: &Member) -> bool {
    let is_number = member.ty == Type::Primitive(Primitive::Int64) && member.dims.is_empty();
    member.name == "utime" && is_number
}
