//! The .c file of a struct.

use super::super::code::Code;
use super::dialect::{self, C, owns_memory};
use super::names::{ident, is_cpp_keyword, named_types, safe};
use super::{HEADER, Unit, info, support};
use super::{memory, walkers};
use bowline_wire::MAX_DEPTH;
use bowline_wire::MAX_FREE_ELEMENTS;
use bowline_wire::schema::{Struct, Type, TypeKind};

pub(super) fn print(unit: &Unit<'_>, body: &Struct) -> String {
    let mut functions = Code::new();
    print_hash(unit, &mut functions, body);
    print_encode(unit, &mut functions, body);
    print_measure(unit, &mut functions, body);
    print_free(unit, &mut functions, body);
    print_decode(unit, &mut functions, body);
    print_copy(unit, &mut functions, body);
    if unit.has_pubsub() {
        print_pubsub(unit, &mut functions);
    }
    if unit.job.is_on("c-typeinfo") {
        info::functions(unit, &mut functions, body);
    }
    let functions = functions.finish();

    let mut code = Code::new();
    code.line(format!("/* {HEADER} */"));
    code.gap();
    code.line("#include <string.h>");
    unit.include_type(&mut code, unit.id);
    print_names(&mut code, body);
    print_fallbacks(unit, &mut code);
    code.gap();
    code.line(support::functions_for(&functions).trim_end());
    code.gap();
    code.line(functions.trim_end());
    code.finish()
}

/// Members that only C++ cannot name have their plain names in C; the code below has one name for both.
fn print_names(code: &mut Code, body: &Struct) {
    let names: Vec<&str> = body
        .members
        .iter()
        .map(|member| member.name.as_str())
        .filter(|name| is_cpp_keyword(name))
        .collect();
    if names.is_empty() {
        return;
    }
    code.gap();
    code.line("#ifndef __cplusplus");
    for name in names {
        code.line(format!("#define {} {name}", safe(name)));
    }
    code.line("#endif");
}

/// Types whose files are lcm-gen's have no decoder that keeps to a budget.
fn print_fallbacks(unit: &Unit<'_>, code: &mut Code) {
    for id in named_types(unit.job.types, unit.id) {
        let def = unit.job.types.def(id);
        if id == unit.id || matches!(def.kind, TypeKind::Enum(_)) {
            continue;
        }
        let inner = ident(def);
        code.gap();
        code.line(format!(
            "#ifndef __{inner}_decode_array_within
#define __{inner}_decode_array_within(buf, offset, maxlen, p, elements, budget) \\
    ((void) (budget), __{inner}_decode_array(buf, offset, maxlen, p, elements))
#endif"
        ));
    }
}

fn print_hash(unit: &Unit<'_>, code: &mut Code, body: &Struct) {
    let (x, types) = (&unit.ident, unit.job.types);
    let fingerprint = types.fingerprint(unit.id);
    code.open(format!("int64_t __{x}_get_hash(void)\n{{"));
    match fingerprint {
        Some(fingerprint) => code.line(format!("return (int64_t) 0x{:016x}ULL;", fingerprint.0)),
        None => code.line(format!("return (int64_t) __{x}_hash_recursive(NULL);")),
    }
    code.close("}");
    code.gap();
    code.open(format!(
        "uint64_t __{x}_hash_recursive(const __lcm_hash_ptr *p)\n{{"
    ));
    match fingerprint {
        // What it is part of does not matter, for it contains none of that.
        Some(fingerprint) if !types.is_recursive(unit.id) => {
            code.line("(void) p;");
            code.line(format!("return 0x{:016x}ULL;", fingerprint.0));
        }
        Some(_) | None => print_hash_sum(unit, code, body),
    }
    code.close("}");
    code.gap();
}

fn print_hash_sum(unit: &Unit<'_>, code: &mut Code, body: &Struct) {
    let (x, types) = (&unit.ident, unit.job.types);
    code.line(format!(
        "uint64_t hash = 0x{:016x}ULL;
__lcm_hash_ptr self;
const __lcm_hash_ptr *outer;
for (outer = p; outer != NULL; outer = outer->parent)
    if (outer->v == __{x}_get_hash)
        return 0;
self.parent = p;
self.v = __{x}_get_hash;",
        types.base_hash(unit.id)
    ));
    for member in &body.members {
        if let Type::Named(id) = member.ty {
            code.line(format!(
                "hash += (uint64_t) __{}_hash_recursive(&self);",
                ident(types.def(id))
            ));
        }
    }
    code.line("return (hash << 1) + (hash >> 63);");
}

/// The start of a function: a cursor if the statements use one, and a nod to parameters that they do not use.
fn print_locals(code: &mut Code, statements: &str, cursor: &str, parameters: &[&str]) {
    let has_cursor = statements.contains(&format!(
        "{} + pos",
        cursor.rsplit('*').next().unwrap_or_default().trim()
    ));
    if has_cursor {
        let ty = cursor.rsplit_once(' ').map_or(cursor, |(ty, _)| ty);
        code.line(format!("{cursor} = ({ty} *) buf + offset;"));
    }
    if statements.contains("pos += len") {
        code.line("int len;");
    }
    code.line("int pos = 0;");
    for parameter in parameters {
        let is_used = statements.contains(&format!("{parameter}->"))
            || statements.contains(&format!("({parameter}, "))
            || statements.contains(&format!("{parameter})"))
            || statements.contains(&format!("{parameter} + pos"))
            || statements.contains(&format!("{parameter} - pos"));
        if !(is_used || has_cursor && matches!(*parameter, "buf" | "offset")) {
            code.line(format!("(void) {parameter};"));
        }
    }
}

fn print_encode(unit: &Unit<'_>, code: &mut Code, body: &Struct) {
    let x = &unit.ident;
    let statements = walkers::write(&C, unit.job.types, body);
    code.open(format!(
        "static int {x}_write(void *buf, int offset, int maxlen, const {x} *p)\n{{"
    ));
    print_locals(
        code,
        &statements,
        "uint8_t *out",
        &["buf", "offset", "maxlen", "p"],
    );
    code.line(statements.trim_end());
    code.line("return pos;");
    code.close("}");
    code.gap();
    code.line(format!(
        "int __{x}_encode_array(void *buf, int offset, int maxlen, const {x} *p, int elements)
{{
    int pos = 0;
    int element;
    for (element = 0; element < elements; element++) {{
        int len = {x}_write(buf, offset + pos, maxlen - pos, &p[element]);
        if (len < 0)
            return -1;
        pos += len;
    }}
    return pos;
}}

int {x}_encode(void *buf, int offset, int maxlen, const {x} *p)
{{
    int64_t hash = __{x}_get_hash();
    int len;
    if (maxlen < 8)
        return -1;
    __int64_t_encode_array(buf, offset, maxlen, &hash, 1);
    len = {x}_write(buf, offset + 8, maxlen - 8, p);
    return len < 0 ? -1 : len + 8;
}}"
    ));
    code.gap();
}

fn print_measure(unit: &Unit<'_>, code: &mut Code, body: &Struct) {
    let x = &unit.ident;
    let statements = walkers::measure(&C, unit.job.types, body);
    let len = if statements.contains("len = ") {
        "int64_t len;\n"
    } else {
        ""
    };
    let p = if statements.contains("p->") {
        ""
    } else {
        "(void) p;\n"
    };
    code.open(format!("static int64_t {x}_size(const {x} *p)\n{{"));
    code.line(format!(
        "{len}int64_t size = 0;\n{p}{statements}return size;"
    ));
    code.close("}");
    code.gap();
    code.line(format!(
        "int __{x}_encoded_array_size(const {x} *p, int elements)
{{
    int64_t size = 0;
    int element;
    for (element = 0; element < elements; element++) {{
        int64_t len = {x}_size(&p[element]);
        if (len < 0 || len > INT32_MAX - size)
            return -1;
        size += len;
    }}
    return (int) size;
}}

int {x}_encoded_size(const {x} *p)
{{
    int size = __{x}_encoded_array_size(p, 1);
    return size < 0 || size > INT32_MAX - 8 ? -1 : size + 8;
}}"
    ));
    code.gap();
}

fn print_free(unit: &Unit<'_>, code: &mut Code, body: &Struct) {
    let x = &unit.ident;
    let statements = memory::free(unit.job.types, body);
    code.open(format!(
        "int __{x}_decode_array_cleanup({x} *p, int elements)\n{{"
    ));
    if statements.is_empty() {
        code.line("(void) p;\n(void) elements;");
    } else {
        code.line("int element;");
        code.open("for (element = 0; element < elements; element++, p++) {");
        code.line(statements.trim_end());
        code.close("}");
    }
    code.line("return 0;");
    code.close("}");
    code.gap();
    code.line(format!(
        "int {x}_decode_cleanup({x} *p)
{{
    return __{x}_decode_array_cleanup(p, 1);
}}"
    ));
    code.gap();
}

fn print_decode(unit: &Unit<'_>, code: &mut Code, body: &Struct) {
    let (x, types) = (&unit.ident, unit.job.types);
    let is_recursive = types.is_recursive(unit.id);
    let statements = if is_recursive {
        let check = format!("if (++budget->depth > {MAX_DEPTH})\n    return -1;");
        dialect::read(types, body, &check) + "budget->depth--;\n"
    } else {
        dialect::read(types, body, "")
    };
    code.open(format!(
        "static int {x}_read(const void *buf, int offset, int maxlen, {x} *p, bowline_budget_t *budget)\n{{"
    ));
    print_locals(
        code,
        &statements,
        "const uint8_t *in",
        &["buf", "offset", "maxlen", "p", "budget"],
    );
    code.line(statements.trim_end());
    code.line("return pos;");
    code.close("}");
    code.gap();
    let owns_memory = body.members.iter().any(|member| owns_memory(types, member));
    let clean_up = if owns_memory {
        format!("__{x}_decode_array_cleanup(p, element + 1);\n            ")
    } else {
        String::new()
    };
    code.line(format!(
        "int __{x}_decode_array_within(
    const void *buf, int offset, int maxlen, {x} *p, int elements, bowline_budget_t *budget)
{{
    int pos = 0;
    int element;
    if (elements < 0)
        return -1;
    for (element = 0; element < elements; element++) {{
        int len = {x}_read(buf, offset + pos, maxlen - pos, &p[element], budget);
        if (len < 0) {{
            {clean_up}memset(p, 0, (size_t) elements * sizeof({x}));
            return -1;
        }}
        pos += len;
    }}
    return pos;
}}

int __{x}_decode_array(const void *buf, int offset, int maxlen, {x} *p, int elements)
{{
    bowline_budget_t budget = {{ 0, {MAX_FREE_ELEMENTS} }};
    return __{x}_decode_array_within(buf, offset, maxlen, p, elements, &budget);
}}

int {x}_decode(const void *buf, int offset, int maxlen, {x} *msg)
{{
    int64_t hash = 0;
    int len = -1;
    if (maxlen >= 8)
        __int64_t_decode_array(buf, offset, maxlen, &hash, 1);
    if (maxlen >= 8 && hash == __{x}_get_hash())
        len = __{x}_decode_array(buf, offset + 8, maxlen - 8, msg, 1);
    else
        memset(msg, 0, sizeof(*msg));
    return len < 0 ? -1 : len + 8;
}}"
    ));
    code.gap();
}

fn print_copy(unit: &Unit<'_>, code: &mut Code, body: &Struct) {
    let x = &unit.ident;
    let statements = memory::copy(unit.job.types, body);
    code.open(format!("static int {x}_fill(const {x} *p, {x} *q)\n{{"));
    code.line(format!("*q = *p;\n{statements}return 0;"));
    code.close("}");
    code.gap();
    code.line(format!(
        "int __{x}_clone_array(const {x} *p, {x} *q, int elements)
{{
    int element;
    for (element = 0; element < elements; element++) {{
        if ({x}_fill(&p[element], &q[element]) < 0) {{
            __{x}_decode_array_cleanup(q, element + 1);
            return -1;
        }}
    }}
    return 0;
}}

{x} *{x}_copy(const {x} *to_copy)
{{
    {x} *copy = ({x} *) calloc(1, sizeof({x}) + 1);
    if (copy != NULL && __{x}_clone_array(to_copy, copy, 1) < 0) {{
        free(copy);
        copy = NULL;
    }}
    return copy;
}}

void {x}_destroy({x} *to_destroy)
{{
    if (to_destroy == NULL)
        return;
    __{x}_decode_array_cleanup(to_destroy, 1);
    free(to_destroy);
}}"
    ));
    code.gap();
}

fn print_pubsub(unit: &Unit<'_>, code: &mut Code) {
    let x = &unit.ident;
    code.line(format!(
        "int {x}_publish(lcm_t *lcm, const char *channel, const {x} *msg)
{{
    int status = -1;
    int size = {x}_encoded_size(msg);
    uint8_t *buf = size < 0 ? NULL : (uint8_t *) malloc((size_t) size);
    if (buf == NULL)
        return -1;
    size = {x}_encode(buf, 0, size, msg);
    if (size >= 0)
        status = lcm_publish(lcm, channel, buf, (unsigned int) size);
    free(buf);
    return status;
}}

struct _{x}_subscription_t
{{
    {x}_handler_t handler;
    void *userdata;
    lcm_subscription_t *subscription;
}};

/* The message is not on the stack, which it may be too large for. */
static void {x}_on_message(const lcm_recv_buf_t *rbuf, const char *channel, void *userdata)
{{
    {x}_subscription_t *subs = ({x}_subscription_t *) userdata;
    {x} *msg = ({x} *) malloc(sizeof({x}) + 1);
    if (msg == NULL || {x}_decode(rbuf->data, 0, (int) rbuf->data_size, msg) < 0) {{
        fprintf(stderr, \"%s: expected a {x}, found %u bytes that are none\\n\", channel,
                (unsigned int) rbuf->data_size);
    }} else {{
        subs->handler(rbuf, channel, msg, subs->userdata);
        {x}_decode_cleanup(msg);
    }}
    free(msg);
}}

{x}_subscription_t *{x}_subscribe(
    lcm_t *lcm, const char *channel, {x}_handler_t handler, void *userdata)
{{
    {x}_subscription_t *subs = ({x}_subscription_t *) malloc(sizeof({x}_subscription_t));
    if (subs == NULL)
        return NULL;
    subs->handler = handler;
    subs->userdata = userdata;
    subs->subscription = lcm_subscribe(lcm, channel, {x}_on_message, subs);
    if (subs->subscription == NULL) {{
        free(subs);
        return NULL;
    }}
    return subs;
}}

int {x}_unsubscribe(lcm_t *lcm, {x}_subscription_t *hid)
{{
    if (lcm_unsubscribe(lcm, hid->subscription) != 0)
        return -1;
    free(hid);
    return 0;
}}

int {x}_subscription_set_queue_capacity({x}_subscription_t *subs, int num_messages)
{{
    return lcm_subscription_set_queue_capacity(subs->subscription, num_messages);
}}"
    ));
    code.gap();
}
