//! Random type trees, as .lcm text.
//!
//! In: a seed. Out: a few files whose types contain each other, in packages of their own, so that any number of trees
//! compile together. The text uses all of the language that the reference understands; what only some of its
//! generated code can do is marked in [`Traits`], and the drivers leave it out there.

mod text;

use crate::random::Random;
use bowline_lang::{Compiled, Rules, Source, compile};
use std::collections::BTreeSet;
use text::Printer;

/// Types that contain each other, and the text that defines them.
#[derive(Clone, Debug)]
pub struct Tree {
    /// What it was made from.
    pub seed: u64,
    /// The text, in files.
    pub sources: Vec<Source>,
    /// The full name of the type that contains the others.
    pub root: String,
    /// What not every generator can do.
    pub traits: Traits,
}

/// What not every generator can do.
#[derive(Clone, Debug, Default)]
pub struct Traits(BTreeSet<Trait>);

/// Something that not every generator can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Trait {
    /// A member of an enum type.
    Enum,
    /// An array of an enum type.
    EnumArray,
    /// Two types that contain each other.
    Mutual,
    /// A size in hex.
    Hex,
    /// A number in octal, which is no number in Python.
    Octal,
}

impl Traits {
    /// Whether the tree has none of these.
    #[must_use]
    pub fn lacks(&self, traits: &[Trait]) -> bool {
        traits.iter().all(|t| !self.0.contains(t))
    }
}

impl Tree {
    /// The tree of that seed.
    #[must_use]
    pub fn random(seed: u64) -> Self {
        Grower::new(seed).grow()
    }

    /// The text of all files.
    #[must_use]
    pub fn text(&self) -> String {
        self.sources
            .iter()
            .map(|source| format!("==> {} <==\n{}\n", source.name, source.text))
            .collect()
    }
}

/// Compiles trees together. Mistakes that lcm-gen accepts are allowed, since random types without members have equal
/// fingerprints.
#[must_use]
pub fn compile_all<'t>(trees: impl IntoIterator<Item = &'t Tree>) -> Compiled {
    let sources: Vec<Source> = trees
        .into_iter()
        .flat_map(|tree| tree.sources.clone())
        .collect();
    let compiled = compile(
        &sources,
        &Rules {
            lcm_compat: true,
            ..Rules::default()
        },
    );
    if !compiled.is_ok() {
        let text: String = sources
            .iter()
            .map(|source| format!("==> {} <==\n{}\n", source.name, source.text))
            .collect();
        panic!(
            "expected types that compile, found {:?}\n{text}",
            compiled.diagnostics
        );
    }
    compiled
}

/// Names that are words of no target language, nor locals of the reference's generated code.
#[rustfmt::skip]
const NAMES: &[&str] = &[
    "depth_m", "speed", "heading", "ranges", "status", "label", "utime", "Gain", "charge_ratio", "mode", "image",
    "pose", "payload", "x_east", "y_north", "camelCase", "_hidden", "tide", "UPPER", "n2o", "k9_unit", "with__two",
];
const PRIMITIVES: &[&str] = &[
    "int8_t", "int16_t", "int32_t", "int64_t", "byte", "float", "double", "string", "boolean",
];
const LENGTH_TYPES: &[&str] = &["int8_t", "int16_t", "int32_t", "int32_t", "int64_t"];

/// A type that is planned but not yet written.
struct Plan {
    package: String,
    name: String,
    is_enum: bool,
}

struct Grower {
    seed: u64,
    random: Random,
    plans: Vec<Plan>,
    is_mutual: bool,
    radix: Radix,
    traits: Traits,
}

/// How a tree writes its sizes. Most in the way that all generators take.
#[derive(Clone, Copy)]
enum Radix {
    Decimal,
    Mixed,
}

/// The statements of a struct so far.
#[derive(Default)]
struct Body {
    statements: Vec<Vec<String>>,
    names: BTreeSet<String>,
    /// Constants that can be dimensions.
    sizes: Vec<String>,
    /// Members that can be dimensions.
    lengths: Vec<String>,
}

impl Grower {
    fn new(seed: u64) -> Self {
        let mut random = Random::new(seed);
        let n_structs = *random.pick(&[1, 1, 1, 1, 1, 1, 1, 1, 2, 5]);
        let packages = [
            format!("t{seed}"),
            format!("t{seed}.inner"),
            format!("u{seed}.deep.er"),
        ];
        let mut plans: Vec<Plan> = (0..n_structs)
            .map(|place| Plan {
                package: packages[if random.one_in(3) {
                    random.below(packages.len())
                } else {
                    0
                }]
                .clone(),
                name: format!(
                    "{}{place}{}",
                    random.pick(&["node", "Thing", "a_b"]),
                    random.pick(&["_t", ""])
                ),
                is_enum: false,
            })
            .collect();
        if random.one_in(6) {
            plans.push(Plan {
                package: packages[0].clone(),
                name: "colour_t".to_string(),
                is_enum: true,
            });
        }
        let is_mutual = n_structs > 1 && random.one_in(8);
        let radix = if random.one_in(4) {
            Radix::Mixed
        } else {
            Radix::Decimal
        };
        Self {
            seed,
            random,
            plans,
            is_mutual,
            radix,
            traits: Traits::default(),
        }
    }

    fn grow(mut self) -> Tree {
        let bodies: Vec<Vec<Vec<String>>> = (0..self.plans.len())
            .map(|place| self.body(place))
            .collect();
        let root = format!("{}.{}", self.plans[0].package, self.plans[0].name);
        let sources = self.print(&bodies);
        Tree {
            seed: self.seed,
            sources,
            root,
            traits: self.traits,
        }
    }

    /// A file for each package, or one file with several packages.
    fn print(&mut self, bodies: &[Vec<Vec<String>>]) -> Vec<Source> {
        let mut packages: Vec<&str> = self.plans.iter().map(|plan| &*plan.package).collect();
        packages.sort_unstable();
        packages.dedup();
        let is_one_file = self.random.one_in(3);
        let mut sources = Vec::new();
        let mut printer = Printer::new(&mut self.random);
        for package in packages {
            printer.package(package);
            for (plan, body) in self
                .plans
                .iter()
                .zip(bodies)
                .filter(|(plan, _)| plan.package == package)
            {
                printer.block(
                    if plan.is_enum { "enum" } else { "struct" },
                    &plan.name,
                    body,
                );
            }
            if !is_one_file {
                sources.push(Source::new(format!("{package}.lcm"), printer.finish()));
            }
        }
        if is_one_file {
            sources.push(Source::new(
                format!("t{}.all.lcm", self.seed),
                printer.finish(),
            ));
        }
        sources
    }

    fn body(&mut self, place: usize) -> Vec<Vec<String>> {
        if self.plans[place].is_enum {
            return self.enum_body();
        }
        let mut body = Body::default();
        if self.random.one_in(4) {
            self.constants(&mut body);
        }
        let n_members = self.random.between(0, 4).max(self.random.below(3));
        for _ in 0..n_members {
            self.member(place, &mut body);
        }
        // The root contains the others as a rule; later ones come by themselves.
        if place + 1 < self.plans.len() {
            let next = self.type_name(place, place + 1);
            self.typed_member(next, place + 1, &mut body);
        }
        if self.random.one_in(8) {
            self.listed_member(place, place, &mut body);
        }
        if self.is_mutual && place == 1 {
            self.listed_member(place, 0, &mut body);
            self.traits.0.insert(Trait::Mutual);
        }
        body.statements
    }

    fn enum_body(&mut self) -> Vec<Vec<String>> {
        let mut values = Vec::new();
        for place in 0..self.random.between(1, 4) {
            let mut value = vec![format!("SHADE_{place}")];
            if self.random.one_in(2) {
                value.extend(["=".to_string(), format!("{}", place * 10 + 3)]);
            }
            value.push(",".to_string());
            values.push(value);
        }
        values
    }

    /// The name of a type as its member writes it: bare within the package, or in full.
    fn type_name(&mut self, from: usize, to: usize) -> String {
        let Plan { package, name, .. } = &self.plans[to];
        if self.plans[from].package == *package && !self.random.one_in(3) {
            return name.clone();
        }
        format!("{package}.{name}")
    }

    fn name(&mut self, body: &mut Body) -> String {
        let mut name = (*self.random.pick(NAMES)).to_string();
        while !body.names.insert(name.clone()) {
            name.push_str(&body.names.len().to_string());
        }
        name
    }

    fn constants(&mut self, body: &mut Body) {
        for _ in 0..self.random.between(1, 2) {
            let name = format!("MAX_{}", self.name(body).to_uppercase());
            let (ty, text) = match self.random.below(3) {
                0 => (
                    "double",
                    (*self.random.pick(&["1.5", "-2.25e3", "1e-9", "3"])).to_string(),
                ),
                1 => (
                    "int64_t",
                    (*self
                        .random
                        .pick(&["-9007199254740993", "0x7fffffffffffffff", "12"]))
                    .to_string(),
                ),
                _ => {
                    body.sizes.push(name.clone());
                    (*self.random.pick(LENGTH_TYPES), self.size_text())
                }
            };
            body.statements
                .push(words(&["const", ty, &name, "=", &text, ";"]));
        }
    }

    fn size_text(&mut self) -> String {
        let size = self.size();
        let (written, used) = match (self.radix, self.random.below(4)) {
            (Radix::Mixed, 0) => (format!("0x{size:x}"), Trait::Hex),
            (Radix::Mixed, 1) => (format!("0X{size:04X}"), Trait::Hex),
            // No generator of the reference takes both, and one has to define what is right.
            (Radix::Mixed, 2) if !self.is_mutual => (format!("0{size:o}"), Trait::Octal),
            (Radix::Decimal | Radix::Mixed, _) => return size.to_string(),
        };
        self.traits.0.insert(used);
        written
    }

    fn size(&mut self) -> usize {
        *self.random.pick(&[1, 1, 2, 2, 2, 3, 3, 4, 10])
    }

    fn member(&mut self, place: usize, body: &mut Body) {
        match self.random.below(10) {
            0..=1 => self.length(body),
            2 if place + 1 < self.plans.len() => {
                let to = self.random.between(place + 1, self.plans.len() - 1);
                let ty = self.type_name(place, to);
                self.typed_member(ty, to, body);
            }
            3 => self.twins(body),
            _ => {
                let ty = (*self.random.pick(PRIMITIVES)).to_string();
                let name = self.name(body);
                let n_dims = *self.random.pick(&[0, 0, 0, 1, 1, 2, 3]);
                let dims = self.dims(n_dims, body);
                // Beyond 32 elements Rust's arrays have no traits of their own, and beyond some size none are inline.
                let dims = if n_dims == 1 && self.random.one_in(12) {
                    words(&["[", "40", "]"])
                } else {
                    dims
                };
                let dims = if n_dims == 1 && self.random.one_in(60) {
                    words(&["[", "1100", "]"])
                } else {
                    dims
                };
                body.statements
                    .push([vec![ty, name], dims, words(&[";"])].concat());
            }
        }
    }

    fn length(&mut self, body: &mut Body) {
        let ty = *self.random.pick(LENGTH_TYPES);
        let name = format!("n_{}", self.name(body));
        body.statements.push(words(&[ty, &name, ";"]));
        body.lengths.push(name);
    }

    /// Two members in one statement.
    fn twins(&mut self, body: &mut Body) {
        let ty = *self.random.pick(PRIMITIVES);
        let (one, two) = (self.name(body), self.name(body));
        let dims = self.dims(1, body);
        body.statements
            .push([words(&[ty, &one, ",", &two]), dims, words(&[";"])].concat());
    }

    fn dims(&mut self, n: usize, body: &Body) -> Vec<String> {
        let mut dims = Vec::new();
        for _ in 0..n {
            let dim = match self.random.below(4) {
                0 | 1 if !body.lengths.is_empty() => self.random.pick(&body.lengths).clone(),
                2 if !body.sizes.is_empty() => self.random.pick(&body.sizes).clone(),
                _ => self.size_text(),
            };
            dims.extend(["[".to_string(), dim, "]".to_string()]);
        }
        dims
    }

    /// A member of a struct or enum type; few fixed elements, so that trees of trees stay small.
    fn typed_member(&mut self, ty: String, to: usize, body: &mut Body) {
        let is_enum = self.plans[to].is_enum;
        let dims = match self.random.below(4) {
            0 => words(&["[", *self.random.pick(&["1", "2", "3"]), "]"]),
            1 if !body.lengths.is_empty() => {
                words(&["[", &self.random.pick(&body.lengths).clone(), "]"])
            }
            2 if !body.lengths.is_empty() => words(&[
                "[",
                &self.random.pick(&body.lengths).clone(),
                "]",
                "[",
                "2",
                "]",
            ]),
            _ => Vec::new(),
        };
        if is_enum {
            self.traits.0.insert(if dims.is_empty() {
                Trait::Enum
            } else {
                Trait::EnumArray
            });
        }
        let name = self.name(body);
        body.statements
            .push([vec![ty, name], dims, words(&[";"])].concat());
    }

    /// A member that may be empty, which is how a type can contain itself.
    fn listed_member(&mut self, place: usize, to: usize, body: &mut Body) {
        if body.lengths.is_empty() {
            self.length(body);
        }
        let (ty, name) = (self.type_name(place, to), self.name(body));
        let length = self.random.pick(&body.lengths).clone();
        body.statements
            .push(words(&[&ty, &name, "[", &length, "]", ";"]));
    }
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(ToString::to_string).collect()
}
