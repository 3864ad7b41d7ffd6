//! From a borrowing type back to the owned one.

use super::super::code::Code;
use super::is_large;
use super::names::{Names, field};
use bowline_wire::schema::{Dim, Primitive, Struct, Type, TypeId};

pub(super) fn print_into_owned(code: &mut Code, names: &Names, id: TypeId, body: &Struct) {
    let (owned, borrowed) = (names.ident(id), names.borrowed_ident(id));
    code.gap();
    code.open(format!("impl wire::IntoOwned for {borrowed}<'_> {{"));
    code.line(format!("type Owned = {owned};"));
    code.gap();
    code.open(format!("fn into_owned(self) -> {owned} {{"));
    code.open(format!("{owned} {{"));
    for member in &body.members {
        let name = field(&member.name);
        let borrows = match member.ty {
            Type::Primitive(Primitive::String) => true,
            Type::Primitive(Primitive::Byte) => !member.dims.is_empty(),
            Type::Primitive(_) => false,
            Type::Named(inner) => names.is_borrowable(inner),
        };
        code.line(match member.dims.as_slice() {
            _ if !borrows => format!("{name}: self.{name},"),
            [Dim::Fixed { .. }]
                if is_large(member) && member.ty == Type::Primitive(Primitive::Byte) =>
            {
                format!("{name}: wire::boxed_bytes(self.{name}),")
            }
            _ => format!("{name}: wire::IntoOwned::into_owned(self.{name}),"),
        });
    }
    code.close("}");
    code.close("}");
    code.close("}");
}
