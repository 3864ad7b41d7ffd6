//! The .h file of a struct.

use super::super::code::Code;
use super::dialect::element_type;
use super::names::{
    Includes, is_cpp_keyword, is_inline, literal, member_doc, needs_math, peers, safe,
};
use super::support::BUDGET;
use super::{HEADER, Unit, info};
use bowline_wire::schema::{Dim, Member, Struct, Type};

pub(super) fn print(unit: &Unit<'_>, body: &Struct) -> String {
    let includes = Includes::of(unit.job.types, unit.id);
    let mut code = Code::new();
    open(unit, &mut code, needs_math(&body.constants));
    for id in &includes.before {
        unit.include_type(&mut code, *id);
    }
    code.gap();
    code.line(BUDGET);
    open_extern(&mut code);
    print_constants(unit, &mut code, body);
    print_struct(unit, &mut code, body);
    print_message_functions(unit, &mut code);
    if unit.has_pubsub() {
        print_pubsub(unit, &mut code);
    }
    if unit.job.is_on("c-typeinfo") {
        info::prototypes(unit, &mut code);
    }
    print_support(unit, &mut code);
    close_extern(&mut code);
    code.gap();
    for id in &includes.after {
        unit.include_type(&mut code, *id);
    }
    code.gap();
    code.line("#endif");
    code.finish()
}

/// The top of a header, with the includes that every one has.
pub(super) fn open(unit: &Unit<'_>, code: &mut Code, needs_math: bool) {
    let guard = guard(unit);
    code.line(format!("/* {HEADER} */"));
    code.gap();
    code.line(format!("#ifndef {guard}\n#define {guard}"));
    code.gap();
    if needs_math {
        code.line("#include <math.h>");
    }
    code.line("#include <stdint.h>\n#include <stdlib.h>");
    unit.include_library(code, "lcm_coretypes.h");
    if unit.has_pubsub() {
        unit.include_library(code, "lcm.h");
    }
    match unit.job.text("c-export-include") {
        "" => {}
        file => code.line(format!("#include \"{file}\"")),
    }
}

pub(super) fn open_extern(code: &mut Code) {
    code.gap();
    code.line("#ifdef __cplusplus\nextern \"C\" {\n#endif");
    code.gap();
}

pub(super) fn close_extern(code: &mut Code) {
    code.gap();
    code.line("#ifdef __cplusplus\n}\n#endif");
}

fn guard(unit: &Unit<'_>) -> String {
    format!("_{}_h", super::names::file_stem(unit.def))
}

fn print_constants(unit: &Unit<'_>, code: &mut Code, body: &Struct) {
    let prefix = super::names::file_stem(unit.def).to_uppercase();
    for constant in &body.constants {
        code.block_comment(&constant.doc);
        code.line(format!(
            "#define {prefix}_{} {}",
            constant.name,
            literal(constant)
        ));
    }
}

fn print_struct(unit: &Unit<'_>, code: &mut Code, body: &Struct) {
    let ident = &unit.ident;
    code.gap();
    code.block_comment(&unit.def.doc);
    code.line(format!("typedef struct _{ident} {ident};"));
    code.line(format!("struct _{ident}"));
    code.open("{");
    for member in &body.members {
        code.block_comment(&member_doc(unit.job.types, &body.members, member));
        if is_cpp_keyword(&member.name) {
            let (name, cpp_name) = (
                declaration(unit, member, &member.name),
                declaration(unit, member, &safe(&member.name)),
            );
            code.line(format!(
                "#ifdef __cplusplus\n{cpp_name}\n#else\n{name}\n#endif"
            ));
        } else {
            code.line(declaration(unit, member, &safe(&member.name)));
        }
    }
    code.close("};");
}

fn declaration(unit: &Unit<'_>, member: &Member, name: &str) -> String {
    let types = unit.job.types;
    let element = match member.ty {
        // Its header comes after this struct, because it needs this one.
        Type::Named(id) if !is_inline(member) && peers(types, unit.id).contains(&id) => {
            format!("struct _{}", super::names::ident(types.def(id)))
        }
        Type::Named(_) | Type::Primitive(_) => element_type(types, member.ty),
    };
    let space = if element.ends_with('*') { "" } else { " " };
    if !is_inline(member) {
        return format!("{element}{space}{}{name};", "*".repeat(member.dims.len()));
    }
    let dims: String = member
        .dims
        .iter()
        .map(|dim| match dim {
            Dim::Fixed { size, .. } => format!("[{size}]"),
            Dim::Variable { .. } => String::new(),
        })
        .collect();
    format!("{element}{space}{name}{dims};")
}

fn print_message_functions(unit: &Unit<'_>, code: &mut Code) {
    let (export, x) = (unit.export(), &unit.ident);
    code.gap();
    code.line(format!(
        "/** Makes a deep copy, for {x}_destroy() to free. NULL if memory runs out. */
{export}{x} *{x}_copy(const {x} *to_copy);

/** Frees what {x}_copy() made. */
{export}void {x}_destroy({x} *to_destroy);

/**
 * Writes a message to maxlen bytes at buf + offset.
 * Returns its size; negative if it does not fit, or if an array or string is missing.
 */
{export}int {x}_encode(void *buf, int offset, int maxlen, const {x} *p);

/**
 * Reads a message from maxlen bytes at buf + offset; {x}_decode_cleanup() frees what is in it.
 * Returns its size; negative if the bytes are not such a message, and then msg is all zero.
 */
{export}int {x}_decode(const void *buf, int offset, int maxlen, {x} *msg);

/** Frees what {x}_decode() put into p, but not p itself. */
{export}int {x}_decode_cleanup({x} *p);

/** The size that {x}_encode() needs; negative if an array or string is missing. */
{export}int {x}_encoded_size(const {x} *p);"
    ));
}

fn print_pubsub(unit: &Unit<'_>, code: &mut Code) {
    let (export, x) = (unit.export(), &unit.ident);
    code.gap();
    code.line(format!(
        "/** A subscription, for {x}_unsubscribe() to end. */
typedef struct _{x}_subscription_t {x}_subscription_t;

/** Is called with every message; msg is gone when it returns. */
typedef void (*{x}_handler_t)(
    const lcm_recv_buf_t *rbuf, const char *channel, const {x} *msg, void *userdata);

/** Sends a message. Returns 0, or a negative number if it could not be sent. */
{export}int {x}_publish(lcm_t *lcm, const char *channel, const {x} *msg);

/** Has handler called for every message on a channel, with userdata. NULL if that is not possible. */
{export}{x}_subscription_t *{x}_subscribe(
    lcm_t *lcm, const char *channel, {x}_handler_t handler, void *userdata);

/** Ends a subscription and frees it. Returns 0, or a negative number if lcm does not know it. */
{export}int {x}_unsubscribe(lcm_t *lcm, {x}_subscription_t *hid);

/** Sets how many messages wait for the handler before new ones are dropped. */
{export}int {x}_subscription_set_queue_capacity({x}_subscription_t *subs, int num_messages);"
    ));
}

/// What the code of other types calls.
fn print_support(unit: &Unit<'_>, code: &mut Code) {
    let (export, x) = (unit.export(), &unit.ident);
    code.gap();
    code.line(format!(
        "/* For generated code only. */
{export}int64_t __{x}_get_hash(void);
{export}uint64_t __{x}_hash_recursive(const __lcm_hash_ptr *p);
{export}int __{x}_encode_array(void *buf, int offset, int maxlen, const {x} *p, int elements);
{export}int __{x}_decode_array(const void *buf, int offset, int maxlen, {x} *p, int elements);
{export}int __{x}_decode_array_within(
    const void *buf, int offset, int maxlen, {x} *p, int elements, bowline_budget_t *budget);
#define __{x}_decode_array_within __{x}_decode_array_within
{export}int __{x}_decode_array_cleanup({x} *p, int elements);
{export}int __{x}_encoded_array_size(const {x} *p, int elements);
{export}int __{x}_clone_array(const {x} *p, {x} *q, int elements);"
    ));
}
