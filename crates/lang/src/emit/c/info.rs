//! The functions of `--c-typeinfo`, which describe a type's fields at run time.

use super::super::code::Code;
use super::Unit;
use super::names::safe;
use bowline_wire::schema::{Dim, Member, Struct, Type};

/// As many as `lcm_field_t` has room for.
const MAX_DIMS: usize = 50;

pub(super) fn prototypes(unit: &Unit<'_>, code: &mut Code) {
    let (export, x) = (unit.export(), &unit.ident);
    code.gap();
    code.line(format!(
        "/** The size of the struct. */
{export}size_t {x}_struct_size(void);

/** How many fields there are. */
{export}int {x}_num_fields(void);

/** Describes a field of p. Returns 0, or 1 if there is no such field. */
{export}int {x}_get_field(const {x} *p, int i, lcm_field_t *f);

/** All the functions of the type. */
{export}const lcm_type_info_t *{x}_get_type_info(void);"
    ));
}

pub(super) fn functions(unit: &Unit<'_>, code: &mut Code, body: &Struct) {
    let x = &unit.ident;
    code.line(format!(
        "size_t {x}_struct_size(void)
{{
    return sizeof({x});
}}

int {x}_num_fields(void)
{{
    return {};
}}",
        body.members.len()
    ));
    code.gap();
    print_get_field(unit, code, body);
    print_table(unit, code);
}

fn print_get_field(unit: &Unit<'_>, code: &mut Code, body: &Struct) {
    code.open(format!(
        "int {x}_get_field(const {x} *p, int i, lcm_field_t *f)\n{{",
        x = unit.ident
    ));
    if body.members.is_empty() {
        code.line("(void) p;\n(void) f;");
    }
    code.line("switch (i) {");
    for (i, member) in body.members.iter().enumerate() {
        code.open(format!("case {i}:"));
        print_field(unit, code, &body.members, member);
        code.close("");
    }
    code.open("default:");
    code.line("return 1;");
    code.close("}");
    code.close("}");
    code.gap();
}

fn print_field(unit: &Unit<'_>, code: &mut Code, members: &[Member], member: &Member) {
    let (ty, type_name) = match member.ty {
        Type::Primitive(primitive) => (primitive.name().to_uppercase(), primitive.name()),
        Type::Named(id) => (
            "USER_TYPE".to_string(),
            unit.job.types.def(id).name.as_str(),
        ),
    };
    code.line(format!("f->name = \"{}\";", member.name));
    code.line(format!("f->type = LCM_FIELD_{ty};"));
    code.line(format!("f->typestr = \"{type_name}\";"));
    code.line(format!("f->num_dim = {};", member.dims.len().min(MAX_DIMS)));
    for (i, dim) in member.dims.iter().take(MAX_DIMS).enumerate() {
        let (size, is_variable) = match dim {
            Dim::Fixed { size, .. } => (size.to_string(), 0),
            Dim::Variable { member } => {
                let name = members
                    .get(*member)
                    .map_or(String::new(), |length| safe(&length.name));
                (format!("(int32_t) p->{name}"), 1)
            }
        };
        code.line(format!(
            "f->dim_size[{i}] = {size};\nf->dim_is_variable[{i}] = {is_variable};"
        ));
    }
    code.line(format!(
        "f->data = (void *) &p->{};\nreturn 0;",
        safe(&member.name)
    ));
}

/// The table's functions take `void *`, so each is wrapped rather than cast.
fn print_table(unit: &Unit<'_>, code: &mut Code) {
    let x = &unit.ident;
    code.line(format!(
        "static int {x}_info_encode(void *buf, int offset, int maxlen, const void *p)
{{
    return {x}_encode(buf, offset, maxlen, (const {x} *) p);
}}

static int {x}_info_decode(const void *buf, int offset, int maxlen, void *p)
{{
    return {x}_decode(buf, offset, maxlen, ({x} *) p);
}}

static int {x}_info_decode_cleanup(void *p)
{{
    return {x}_decode_cleanup(({x} *) p);
}}

static int {x}_info_encoded_size(const void *p)
{{
    return {x}_encoded_size((const {x} *) p);
}}

static int {x}_info_struct_size(void)
{{
    return (int) sizeof({x});
}}

static int {x}_info_get_field(const void *p, int i, lcm_field_t *f)
{{
    return {x}_get_field((const {x} *) p, i, f);
}}

const lcm_type_info_t *{x}_get_type_info(void)
{{
    static const lcm_type_info_t info = {{
        {x}_info_encode,
        {x}_info_decode,
        {x}_info_decode_cleanup,
        {x}_info_encoded_size,
        {x}_info_struct_size,
        {x}_num_fields,
        {x}_info_get_field,
        __{x}_get_hash,
    }};
    return &info;
}}"
    ));
    code.gap();
}
