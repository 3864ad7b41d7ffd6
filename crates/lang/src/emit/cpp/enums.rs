//! Enums, which lcm-gen's C++ lacks: a class around a 32-bit number that converts to and from a plain enum.

use super::super::code::Code;
use super::{Unit, support};
use bowline_wire::schema::Enum;

pub(super) fn print(unit: &Unit<'_>, body: &Enum) -> String {
    let mut code = Code::new();
    unit.print_top(&mut code, false);
    code.gap();
    code.line(support::block());
    code.gap();
    unit.open_namespaces(&mut code, unit.def);
    print_class(unit, &mut code, body);
    unit.print_public_methods(&mut code);
    print_methods(unit, &mut code);
    unit.close_namespaces(&mut code, unit.def);
    code.gap();
    code.line("#endif");
    code.finish()
}

/// The name of a value: neither a keyword nor anything else in the class.
fn value_name(unit: &Unit<'_>, name: &str) -> String {
    let name = super::names::field(name);
    if name == unit.class || name == "Value" || name == "value" {
        format!("{name}_")
    } else {
        name
    }
}

fn print_class(unit: &Unit<'_>, code: &mut Code, body: &Enum) {
    let x = &unit.class;
    code.gap();
    code.block_comment(&unit.def.doc);
    code.line(format!("class {x}\n{{"));
    code.open("public:");
    // With its size given, the enum can hold every number that a message may have.
    code.line("#if __cplusplus >= 201103L\nenum Value : int32_t\n#else\nenum Value\n#endif");
    code.open("{");
    for (i, value) in body.values.iter().enumerate() {
        code.block_comment(&value.doc);
        let number = if value.value == i32::MIN {
            "(-2147483647 - 1)".to_string()
        } else {
            value.value.to_string()
        };
        let comma = if i + 1 < body.values.len() { "," } else { "" };
        code.line(format!(
            "{} = {number}{comma}",
            value_name(unit, &value.name)
        ));
    }
    code.close("};");
    code.gap();
    code.line("/** The number on the wire, which need not be one of those that have names. */\nint32_t value;");
    code.gap();
    code.line(format!("{x}() : value(0) {{}}"));
    code.line(format!("{x}(Value named) : value(named) {{}}"));
    code.line("operator Value() const { return static_cast<Value>(value); }");
    code.close("");
    unit.print_prototypes(code);
    code.line("};");
    code.gap();
}

fn print_methods(unit: &Unit<'_>, code: &mut Code) {
    let x = &unit.class;
    let hash = unit
        .job
        .types
        .fingerprint(unit.id)
        .map_or(0, |fingerprint| fingerprint.0);
    code.line(format!(
        "int64_t {x}::getHash()
{{
    return static_cast<int64_t>(0x{hash:016x}ULL);
}}

uint64_t {x}::_computeHash(const __lcm_hash_ptr *)
{{
    return 0x{hash:016x}ULL;
}}

int {x}::_encodeNoHash(void *buf, int offset, int maxlen) const
{{
    return maxlen < 4 ? -1 : __int32_t_encode_array(buf, offset, maxlen, &this->value, 1);
}}

int {x}::_getEncodedSizeNoHash() const
{{
    return 4;
}}

int {x}::_decodeWithin(const void *buf, int offset, int maxlen, bowline_budget_t *)
{{
    return maxlen < 4 ? -1 : __int32_t_decode_array(buf, offset, maxlen, &this->value, 1);
}}"
    ));
}
