//! The files of an enum: a 32-bit number of which some values have names.

use super::super::code::Code;
use super::{HEADER, Unit, header};
use bowline_wire::schema::Enum;

pub(super) fn header(unit: &Unit<'_>, body: &Enum) -> String {
    let mut code = Code::new();
    header::open(unit, &mut code, false);
    header::open_extern(&mut code);
    print_values(unit, &mut code, body);
    print_support(unit, &mut code);
    print_message_functions(unit, &mut code);
    header::close_extern(&mut code);
    code.gap();
    code.line("#endif");
    code.finish()
}

fn value_prefix(unit: &Unit<'_>) -> String {
    super::names::file_stem(unit.def).to_uppercase()
}

fn print_values(unit: &Unit<'_>, code: &mut Code, body: &Enum) {
    let (x, prefix) = (&unit.ident, value_prefix(unit));
    code.block_comment(&unit.def.doc);
    code.line(format!("enum _{x}"));
    code.open("{");
    for value in &body.values {
        code.block_comment(&value.doc);
        code.line(format!(
            "{prefix}_{} = {},",
            value.name,
            value_literal(value.value)
        ));
    }
    if body.values.is_empty() {
        code.line(format!("{prefix}_ = 0"));
    }
    code.close("};");
    code.line(format!("typedef enum _{x} {x};"));
}

fn value_literal(value: i32) -> String {
    if value == i32::MIN {
        "(-2147483647 - 1)".to_string()
    } else {
        value.to_string()
    }
}

/// What the code of other types calls.
fn print_support(unit: &Unit<'_>, code: &mut Code) {
    let (export, x) = (unit.export(), &unit.ident);
    let hash = unit
        .job
        .types
        .fingerprint(unit.id)
        .map_or(0, |fingerprint| fingerprint.0);
    code.gap();
    code.line(format!(
        "/** The name of a value; NULL if it has none. */
{export}const char *{x}_name({x} val);

static inline int64_t __{x}_get_hash(void)
{{
    return (int64_t) 0x{hash:016x}ULL;
}}

static inline int64_t __{x}_hash_recursive(const __lcm_hash_ptr *p)
{{
    (void) p;
    return __{x}_get_hash();
}}

static inline int __{x}_encode_array(void *buf, int offset, int maxlen, const {x} *p, int elements)
{{
    int element;
    if (elements < 0 || elements > maxlen / 4)
        return -1;
    for (element = 0; element < elements; element++) {{
        int32_t value = (int32_t) p[element];
        __int32_t_encode_array(buf, offset + element * 4, 4, &value, 1);
    }}
    return elements * 4;
}}

static inline int __{x}_decode_array(const void *buf, int offset, int maxlen, {x} *p, int elements)
{{
    int element;
    if (elements < 0 || elements > maxlen / 4)
        return -1;
    for (element = 0; element < elements; element++) {{
        int32_t value;
        __int32_t_decode_array(buf, offset + element * 4, 4, &value, 1);
        p[element] = ({x}) value;
    }}
    return elements * 4;
}}

static inline int __{x}_decode_array_cleanup({x} *p, int elements)
{{
    (void) p;
    (void) elements;
    return 0;
}}

static inline int __{x}_encoded_array_size(const {x} *p, int elements)
{{
    (void) p;
    return elements < 0 || elements > INT32_MAX / 4 ? -1 : elements * 4;
}}

static inline int __{x}_clone_array(const {x} *p, {x} *q, int elements)
{{
    if (elements > 0)
        memcpy(q, p, (size_t) elements * sizeof({x}));
    return 0;
}}"
    ));
}

fn print_message_functions(unit: &Unit<'_>, code: &mut Code) {
    let x = &unit.ident;
    code.gap();
    code.line(format!(
        "static inline int {x}_encode(void *buf, int offset, int maxlen, const {x} *p)
{{
    int64_t hash = __{x}_get_hash();
    if (maxlen < 12)
        return -1;
    __int64_t_encode_array(buf, offset, 8, &hash, 1);
    __{x}_encode_array(buf, offset + 8, 4, p, 1);
    return 12;
}}

static inline int {x}_decode(const void *buf, int offset, int maxlen, {x} *p)
{{
    int64_t hash;
    if (maxlen < 12)
        return -1;
    __int64_t_decode_array(buf, offset, 8, &hash, 1);
    if (hash != __{x}_get_hash())
        return -1;
    __{x}_decode_array(buf, offset + 8, 4, p, 1);
    return 12;
}}

static inline int {x}_decode_cleanup({x} *p)
{{
    (void) p;
    return 0;
}}

static inline int {x}_encoded_size(const {x} *p)
{{
    (void) p;
    return 12;
}}"
    ));
}

pub(super) fn source(unit: &Unit<'_>, body: &Enum) -> String {
    let (x, prefix) = (&unit.ident, value_prefix(unit));
    let mut code = Code::new();
    code.line(format!("/* {HEADER} */"));
    code.gap();
    unit.include_type(&mut code, unit.id);
    code.gap();
    code.open(format!("const char *{x}_name({x} val)\n{{"));
    code.open("switch ((int) val) {");
    for value in &body.values {
        code.line(format!(
            "case {prefix}_{}:\n    return \"{}\";",
            value.name, value.name
        ));
    }
    code.line("default:\n    return NULL;");
    code.close("}");
    code.close("}");
    code.finish()
}
