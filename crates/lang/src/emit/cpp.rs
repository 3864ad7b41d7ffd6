//! C++, a drop-in for lcm-gen's: one header per type, no library beyond `lcm_coretypes.h`.
//!
//! Members, their types and the methods are lcm-gen's. What differs: no bytes make a decoder throw, crash or allocate
//! much; a vector that is shorter than its length field is not read beyond its end; types may contain each other; enums
//! are there.

mod dialect;
mod enums;
mod names;
mod support;

use super::c::names::{Includes, is_inline, literal, member_doc, named_types, needs_math};
use super::c::{HEADER, names as c_names, walkers};
use super::code::Code;
use super::{EmitError, Job, Language, OutputFile, Setting, SettingKind};
use bowline_wire::schema::{
    Constant, Dim, Member, Number, Primitive, Struct, Type, TypeDef, TypeId, TypeKind,
};
use bowline_wire::{MAX_DEPTH, MAX_FREE_ELEMENTS};
use dialect::Cpp;
use names::{field, macro_stem, namespaces, path, type_name};

pub(super) const LANGUAGE: Language = Language {
    name: "cpp",
    short: Some('x'),
    summary: "C++: a .hpp file per type, as lcm-gen's",
    dirs: &["cpp-hpath"],
    settings: &[
        Setting {
            name: "cpp-std",
            kind: SettingKind::Text("c++98"),
            help: "the oldest C++ that the files must compile as: c++98 or c++11",
        },
        Setting {
            name: "cpp-hpath",
            kind: SettingKind::Text("."),
            help: "where .hpp files go, in a folder per package",
        },
        Setting {
            name: "cpp-include",
            kind: SettingKind::Text(""),
            help: "the folder that #include lines of generated headers name",
        },
    ],
    emit,
};

fn emit(job: &Job<'_>) -> Result<Vec<OutputFile>, EmitError> {
    let mut files = Vec::new();
    for (id, def) in job.defined() {
        let unit = Unit {
            job,
            id,
            def,
            class: c_names::safe(&def.name),
        };
        let text = match &def.kind {
            TypeKind::Struct(body) => unit.print(body),
            TypeKind::Enum(body) => enums::print(&unit, body),
            TypeKind::External => continue,
        };
        files.push(OutputFile {
            path: job.path("cpp-hpath", path(def)),
            text,
        });
    }
    Ok(files)
}

/// One type's file.
struct Unit<'j> {
    job: &'j Job<'j>,
    id: TypeId,
    def: &'j TypeDef,
    /// The name of the class, without its namespace.
    class: String,
}

impl Unit<'_> {
    fn print(&self, body: &Struct) -> String {
        let types = self.job.types;
        let includes = Includes::of(types, self.id);
        let mut code = Code::new();
        self.print_top(&mut code, needs_math(&body.constants));
        for id in &includes.before {
            self.include(&mut code, *id);
        }
        code.gap();
        code.line(support::block());
        self.declare_peers(&mut code, &includes);
        code.gap();
        self.open_namespaces(&mut code, self.def);
        self.print_class(&mut code, body);
        self.close_namespaces(&mut code, self.def);
        self.open_definitions(&mut code, &includes);
        // Members may have any name, those of parameters and loop variables included; all are named with `this`.
        code.line("#if defined(__GNUC__)\n#pragma GCC diagnostic push\n#pragma GCC diagnostic ignored \"-Wshadow\"\n#endif");
        code.gap();
        self.open_namespaces(&mut code, self.def);
        self.print_methods(&mut code, body);
        self.close_namespaces(&mut code, self.def);
        code.gap();
        code.line("#if defined(__GNUC__)\n#pragma GCC diagnostic pop\n#endif\n\n#endif");
        code.finish()
    }

    fn print_top(&self, code: &mut Code, needs_math: bool) {
        let guard = format!("__{}_hpp__", macro_stem(self.def));
        code.line(format!("/* {HEADER} */"));
        code.gap();
        code.line(format!("#ifndef {guard}\n#define {guard}"));
        code.gap();
        if needs_math {
            code.line("#include <math.h>");
        }
        code.line("#include <stddef.h>\n#include <stdint.h>\n#include <string.h>\n#include <string>\n#include <vector>");
        code.line(c_names::library_include(self.job, "lcm_coretypes.h"));
    }

    fn include(&self, code: &mut Code, id: TypeId) {
        let folder = self.job.text("cpp-include");
        let slash = if folder.is_empty() || folder.ends_with('/') {
            ""
        } else {
            "/"
        };
        code.line(format!(
            "#include \"{folder}{slash}{}\"",
            path(self.job.types.def(id))
        ));
    }

    /// Announces the types whose headers come only after this class, because they need it.
    fn declare_peers(&self, code: &mut Code, includes: &Includes) {
        for id in named_types(self.job.types, self.id) {
            if includes.after.contains(&id) && !includes.before.contains(&id) {
                let def = self.job.types.def(id);
                code.gap();
                self.open_namespaces(code, def);
                code.line(format!("class {};", c_names::safe(&def.name)));
                self.close_namespaces(code, def);
            }
        }
    }

    fn open_namespaces(&self, code: &mut Code, def: &TypeDef) {
        for namespace in namespaces(def) {
            code.line(format!("namespace {namespace} {{"));
        }
    }

    fn close_namespaces(&self, code: &mut Code, def: &TypeDef) {
        for _ in namespaces(def) {
            code.line("}");
        }
    }

    /// Methods need the classes of all members in full. Where types contain each other, whichever header comes last
    /// brings the methods of all of them.
    fn open_definitions(&self, code: &mut Code, includes: &Includes) {
        code.gap();
        if includes.after.is_empty() {
            return;
        }
        let own = macro_stem(self.def);
        code.line(format!("#define __{own}_hpp_class__"));
        for id in &includes.after {
            self.include(code, *id);
        }
        code.line("#endif");
        code.gap();
        let peers = includes
            .after
            .iter()
            .map(|id| macro_stem(self.job.types.def(*id)));
        let classes: Vec<String> = peers
            .chain([own.clone()])
            .map(|stem| format!("defined(__{stem}_hpp_class__)"))
            .collect();
        let ready = classes.join(" && ");
        code.line(format!(
            "#if {ready} && !defined(__{own}_hpp_methods__)\n#define __{own}_hpp_methods__"
        ));
        code.gap();
    }

    fn print_class(&self, code: &mut Code, body: &Struct) {
        code.gap();
        code.block_comment(&self.def.doc);
        code.line(format!("class {}\n{{", self.class));
        if !body.members.is_empty() {
            code.open("public:");
            for member in &body.members {
                code.block_comment(&member_doc(self.job.types, &body.members, member));
                code.line(self.declaration(member));
            }
            code.close("");
        }
        if !body.constants.is_empty() {
            code.open("public:");
            for constant in &body.constants {
                code.block_comment(&constant.doc);
                self.print_constant(code, constant);
            }
            code.close("");
        }
        self.print_prototypes(code);
        code.line("};");
        code.gap();
    }

    fn declaration(&self, member: &Member) -> String {
        let element = type_name(self.job.types, member.ty);
        let name = field(&member.name);
        if !is_inline(member) {
            let open = "std::vector< ".repeat(member.dims.len());
            let close = " >".repeat(member.dims.len());
            return format!("{open}{element}{close} {name};");
        }
        let dims: String = member
            .dims
            .iter()
            .map(|dim| match dim {
                Dim::Fixed { size, .. } => format!("[{size}]"),
                Dim::Variable { .. } => String::new(),
            })
            .collect();
        format!("{element} {name}{dims};")
    }

    fn print_constant(&self, code: &mut Code, constant: &Constant) {
        let (name, value) = (field(&constant.name), literal(constant));
        let ty = constant.ty.name();
        let is_new = matches!(constant.value, Number::Float(value) if !value.is_finite());
        if constant.ty == Primitive::Int32 {
            code.line(format!("enum {{ {name} = {value} }};"));
        } else if is_new {
            // C++98 has no constant expression for infinity.
            code.line(format!(
                "#if __cplusplus >= 201103L\nstatic constexpr {ty} {name} = {value};\n#endif"
            ));
        } else if self.job.text("cpp-std") == "c++98" {
            code.line(format!("static BOWLINE_CONSTEXPR {ty} {name} = {value};"));
        } else {
            code.line(format!("static constexpr {ty} {name} = {value};"));
        }
    }

    fn print_prototypes(&self, code: &mut Code) {
        code.open("public:");
        code.line(
            "/**
 * Writes the message to maxlen bytes at buf + offset.
 * Returns its size; negative if it does not fit, or if a vector is shorter than its length field.
 */
inline int encode(void *buf, int offset, int maxlen) const;

/** The size that encode() needs; 0 if it cannot be encoded. */
inline int getEncodedSize() const;

/**
 * Reads the message from maxlen bytes at buf + offset.
 * Returns its size; negative if the bytes are not such a message.
 */
inline int decode(const void *buf, int offset, int maxlen);

/** The fingerprint of the type. */
inline static int64_t getHash();

/** The name of the type, without its package. */
inline static const char *getTypeName();

// For generated code only.
inline int _encodeNoHash(void *buf, int offset, int maxlen) const;
inline int _getEncodedSizeNoHash() const;
inline int _decodeNoHash(const void *buf, int offset, int maxlen);
inline int _decodeWithin(const void *buf, int offset, int maxlen, bowline_budget_t *budget);
inline static uint64_t _computeHash(const __lcm_hash_ptr *p);",
        );
        code.close("");
    }

    fn print_methods(&self, code: &mut Code, body: &Struct) {
        self.print_public_methods(code);
        self.print_hash(code, body);
        self.print_codec(code, body);
    }

    /// What every class has, enums included.
    fn print_public_methods(&self, code: &mut Code) {
        let x = &self.class;
        code.gap();
        code.line(format!(
            "int {x}::encode(void *buf, int offset, int maxlen) const
{{
    int64_t hash = getHash();
    if (maxlen < 8)
        return -1;
    __int64_t_encode_array(buf, offset, maxlen, &hash, 1);
    int len = this->_encodeNoHash(buf, offset + 8, maxlen - 8);
    return len < 0 ? -1 : len + 8;
}}

int {x}::getEncodedSize() const
{{
    int size = this->_getEncodedSizeNoHash();
    return size < 0 ? 0 : size + 8;
}}

int {x}::decode(const void *buf, int offset, int maxlen)
{{
    int64_t hash = 0;
    if (maxlen < 8)
        return -1;
    __int64_t_decode_array(buf, offset, maxlen, &hash, 1);
    if (hash != getHash())
        return -1;
    int len = this->_decodeNoHash(buf, offset + 8, maxlen - 8);
    return len < 0 ? -1 : len + 8;
}}

const char *{x}::getTypeName()
{{
    return \"{}\";
}}

int {x}::_decodeNoHash(const void *buf, int offset, int maxlen)
{{
    bowline_budget_t budget = {{ 0, {MAX_FREE_ELEMENTS} }};
    BOWLINE_TRY {{
        return this->_decodeWithin(buf, offset, maxlen, &budget);
    }} BOWLINE_CATCH
}}",
            self.def.name
        ));
        code.gap();
    }

    fn print_hash(&self, code: &mut Code, body: &Struct) {
        let (x, types) = (&self.class, self.job.types);
        let fingerprint = types.fingerprint(self.id);
        let hash = fingerprint.map_or("_computeHash(NULL)".to_string(), |hash| {
            format!("0x{:016x}ULL", hash.0)
        });
        code.line(format!(
            "int64_t {x}::getHash()\n{{\n    return static_cast<int64_t>({hash});\n}}"
        ));
        code.gap();
        // What a type is part of does not matter unless it contains that in turn.
        if fingerprint.is_some() && !types.is_recursive(self.id) {
            code.line(format!(
                "uint64_t {x}::_computeHash(const __lcm_hash_ptr *)\n{{\n    return {hash};\n}}"
            ));
        } else {
            self.print_hash_sum(code, body);
        }
        code.gap();
    }

    fn print_hash_sum(&self, code: &mut Code, body: &Struct) {
        let (x, types) = (&self.class, self.job.types);
        code.open(format!(
            "uint64_t {x}::_computeHash(const __lcm_hash_ptr *p)\n{{"
        ));
        code.line(format!(
            "for (const __lcm_hash_ptr *outer = p; outer != NULL; outer = outer->parent)
    if (outer->v == {x}::getHash)
        return 0;
const __lcm_hash_ptr self = {{ p, {x}::getHash }};
uint64_t hash = 0x{:016x}ULL;",
            types.base_hash(self.id)
        ));
        for member in &body.members {
            if let Type::Named(_) = member.ty {
                code.line(format!(
                    "hash += {}::_computeHash(&self);",
                    type_name(types, member.ty)
                ));
            }
        }
        code.line("return (hash << 1) + (hash >> 63);");
        code.close("}");
    }

    fn print_codec(&self, code: &mut Code, body: &Struct) {
        let (x, types) = (&self.class, self.job.types);
        let statements = walkers::write(&Cpp, types, body);
        let (buf, offset, maxlen) = ("void *buf", "int offset", "int maxlen");
        let signature = dialect::parameters(&statements, "out", &[buf, offset, maxlen]);
        code.open(format!("int {x}::_encodeNoHash({signature}) const\n{{"));
        dialect::print_body(code, &statements, "uint8_t *out");
        code.close("}");
        code.gap();

        code.open(format!("int {x}::_getEncodedSizeNoHash() const\n{{"));
        let statements = walkers::measure(&Cpp, types, body);
        let len = if statements.contains("len = ") {
            "int64_t len;\n"
        } else {
            ""
        };
        code.line(format!("{len}int64_t size = 0;\n{statements}return size > INT32_MAX - 8 ? -1 : static_cast<int>(size);"));
        code.close("}");
        code.gap();

        let mut statements = walkers::read(&Cpp, types, body);
        if types.is_recursive(self.id) {
            let enter = format!("if (++budget->depth > {MAX_DEPTH})\n    return -1;\n");
            statements = enter + &statements + "budget->depth--;\n";
        }
        let signature = dialect::parameters(
            &statements,
            "in",
            &[
                "const void *buf",
                offset,
                maxlen,
                "bowline_budget_t *budget",
            ],
        );
        code.open(format!("int {x}::_decodeWithin({signature})\n{{"));
        dialect::print_body(code, &statements, "const uint8_t *in");
        code.close("}");
        code.gap();
    }
}
