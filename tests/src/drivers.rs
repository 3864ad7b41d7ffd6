//! Programs that answer questions with generated code.
//!
//! A [`Language`] defines how its code is built and run; a [`Dialect`] is a language with one maker of the code, the
//! reference or us; a [`Run`] is what decodes and what encodes. A new language is one file here, one row in [`DIALECTS`]
//! and one in [`RUNS`].

mod c;
mod cpp;
mod java;
mod python;
mod rust;
mod typescript;

use crate::cases::{Ask, Case, write_questions};
use crate::dump::Bytes;
use crate::peers::{Peers, run};
use crate::trees::{Trait, Tree, compile_all};
use crate::values::Nans;
use bowline_lang::emit::{LANGUAGES, Settings, emit};
use bowline_wire::schema::{TypeKind, TypeSet};
use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::{Path, PathBuf};
use std::process::Command;

/// How the code of a language is built and run.
#[derive(Debug)]
pub struct Language {
    /// Our flag for it.
    name: &'static str,
    /// The reference's flags for it, that put all files into a folder.
    lcm_gen: fn(&Path) -> Vec<String>,
    /// Our switches that are to be on.
    switches: &'static [&'static str],
    /// Builds the code into something that runs.
    build: fn(&Build<'_>),
    /// The command that answers the questions in the last folder.
    command: fn(&Build<'_>, &Build<'_>, &Path) -> Command,
    /// How it sees a byte.
    pub bytes: Bytes,
    /// Which files it writes besides the answers.
    pub extras: &'static [Extra],
}

/// What a driver does besides answering.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extra {
    /// Writes what it decoded as text.
    Dumps,
    /// Builds values from text, and encodes them.
    Builds,
}

/// Who made the code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Maker {
    /// lcm-gen.
    Reference,
    /// Bowline.
    Ours,
}

/// A language, and who made the code.
#[derive(Debug)]
pub struct Dialect {
    /// The language.
    pub language: &'static Language,
    /// Who made the code.
    pub maker: Maker,
    /// What decoding does to NaNs.
    pub decoded: Nans,
    /// What decoding and encoding does to NaNs.
    pub encoded: Nans,
    /// What does not compile.
    cannot_build: &'static [Trait],
    /// What compiles, but does not decode or encode what is right.
    cannot_carry: &'static [Trait],
}

/// lcm-gen's C headers include each other in a circle when two types contain each other. The reference's array of an enum is counted as one element.
const C_REFERENCE: Dialect = Dialect {
    language: &c::C,
    maker: Maker::Reference,
    decoded: Nans::Kept,
    encoded: Nans::Kept,
    cannot_build: &[Trait::Mutual],
    cannot_carry: &[Trait::EnumArray],
};
const C_OURS: Dialect = Dialect {
    maker: Maker::Ours,
    cannot_build: &[],
    cannot_carry: &[],
    ..C_REFERENCE
};
/// The reference knows no enums in C++ and writes code that does not compile, so that only ours is here.
const CPP_OURS: Dialect = Dialect {
    language: &cpp::CPP,
    ..C_OURS
};
/// Java's streams write every NaN as the usual one.
const JAVA_REFERENCE: Dialect = Dialect {
    language: &java::JAVA,
    maker: Maker::Reference,
    decoded: Nans::Kept,
    encoded: Nans::Unified,
    cannot_build: &[],
    cannot_carry: &[],
};
const JAVA_OURS: Dialect = Dialect {
    maker: Maker::Ours,
    ..JAVA_REFERENCE
};
/// lcm-gen copies octal numbers into Python, where they are a syntax error, and hex ones into `struct`'s formats, where
/// `x` means something else. It calls an enum's constructor without its argument.
const PYTHON_REFERENCE: Dialect = Dialect {
    language: &python::PYTHON,
    maker: Maker::Reference,
    decoded: Nans::FloatsQuieted,
    encoded: Nans::FloatsQuieted,
    cannot_build: &[Trait::Octal],
    cannot_carry: &[Trait::Enum, Trait::EnumArray, Trait::Hex],
};
const PYTHON_OURS: Dialect = Dialect {
    maker: Maker::Ours,
    cannot_build: &[],
    cannot_carry: &[],
    ..PYTHON_REFERENCE
};
const RUST_OURS: Dialect = Dialect {
    language: &rust::RUST,
    maker: Maker::Ours,
    decoded: Nans::Kept,
    encoded: Nans::Kept,
    cannot_build: &[],
    cannot_carry: &[],
};

/// JavaScript's numbers are doubles, but its arrays can be of floats: some NaNs are quieted and some are not.
const TYPESCRIPT_OURS: Dialect = Dialect {
    language: &typescript::TYPESCRIPT,
    decoded: Nans::FloatsQuieted,
    encoded: Nans::FloatsQuieted,
    ..RUST_OURS
};

/// All of them, those that take the longest to build first.
pub const DIALECTS: &[&Dialect] = &[
    &RUST_OURS,
    &CPP_OURS,
    &TYPESCRIPT_OURS,
    &JAVA_REFERENCE,
    &JAVA_OURS,
    &C_REFERENCE,
    &C_OURS,
    &PYTHON_REFERENCE,
    &PYTHON_OURS,
];

/// Which code decodes and which encodes.
#[derive(Debug)]
pub struct Run {
    /// What it is called when it fails.
    pub name: &'static str,
    /// What decodes.
    pub decoder: &'static Dialect,
    /// What encodes.
    pub encoder: &'static Dialect,
}

/// All runs.
pub const RUNS: &[Run] = &[
    Run {
        name: "C of the reference",
        decoder: &C_REFERENCE,
        encoder: &C_REFERENCE,
    },
    Run {
        name: "our C",
        decoder: &C_OURS,
        encoder: &C_OURS,
    },
    Run {
        name: "the reference's C decodes, ours encodes",
        decoder: &C_REFERENCE,
        encoder: &C_OURS,
    },
    Run {
        name: "our C decodes, the reference's encodes",
        decoder: &C_OURS,
        encoder: &C_REFERENCE,
    },
    Run {
        name: "our C++",
        decoder: &CPP_OURS,
        encoder: &CPP_OURS,
    },
    Run {
        name: "Java of the reference",
        decoder: &JAVA_REFERENCE,
        encoder: &JAVA_REFERENCE,
    },
    Run {
        name: "our Java",
        decoder: &JAVA_OURS,
        encoder: &JAVA_OURS,
    },
    Run {
        name: "Python of the reference",
        decoder: &PYTHON_REFERENCE,
        encoder: &PYTHON_REFERENCE,
    },
    Run {
        name: "our Python",
        decoder: &PYTHON_OURS,
        encoder: &PYTHON_OURS,
    },
    Run {
        name: "our Rust",
        decoder: &RUST_OURS,
        encoder: &RUST_OURS,
    },
    Run {
        name: "our TypeScript",
        decoder: &TYPESCRIPT_OURS,
        encoder: &TYPESCRIPT_OURS,
    },
];

/// Where the fingerprints of the reference come from: the quick one, and another for what that cannot do.
pub const FINGERPRINTS: [Run; 2] = [
    Run {
        name: "Python of the reference",
        decoder: &PYTHON_REFERENCE,
        encoder: &PYTHON_REFERENCE,
    },
    Run {
        name: "C of the reference",
        decoder: &C_REFERENCE,
        encoder: &C_REFERENCE,
    },
];

impl Dialect {
    /// Whether the code of a tree compiles.
    #[must_use]
    pub fn builds(&self, tree: &Tree) -> bool {
        tree.traits.lacks(self.cannot_build)
    }

    /// Whether messages of a tree come through.
    fn carries(&self, tree: &Tree) -> bool {
        tree.traits.lacks(self.cannot_carry)
    }

    /// Generates and builds the code of the trees that it can do, below a folder.
    pub fn build(&self, peers: &Peers, folder: &Path, trees: &[&Tree]) {
        let build = self.place(peers, folder);
        let sources: Vec<_> = trees.iter().flat_map(|tree| &tree.sources).collect();
        let lcm = build.folder.join("lcm");
        let types = compile_all(trees.iter().copied()).types;
        let mut paths = Vec::new();
        empty_folder(&lcm);
        for source in sources {
            let path = lcm.join(&source.name);
            std::fs::write(&path, &source.text).expect("the target folder can be written");
            paths.push(path);
        }
        match self.maker {
            Maker::Reference => {
                empty_folder(&build.code());
                let flags = (self.language.lcm_gen)(&build.code());
                run(Command::new(peers.lcm_gen()).args(flags).args(paths));
            }
            Maker::Ours => build.emit(&types),
        }
        (self.language.build)(&Build {
            content: Some(Content {
                types: &types,
                trees,
            }),
            ..build
        });
    }

    fn place<'b>(&'b self, peers: &'b Peers, folder: &Path) -> Build<'b> {
        let maker = match self.maker {
            Maker::Reference => "reference",
            Maker::Ours => "ours",
        };
        Build {
            peers,
            dialect: self,
            folder: folder.join(format!("{}-{maker}", self.language.name)),
            content: None,
        }
    }
}

impl Run {
    /// Whether it has an answer. Hostile bytes are only for ours: the reference does not claim to survive them.
    #[must_use]
    pub fn can(&self, tree: &Tree, ask: &Ask) -> bool {
        let sides = [self.decoder, self.encoder];
        let is_built = sides.iter().all(|dialect| dialect.builds(tree));
        is_built
            && match ask {
                Ask::Fingerprint => true,
                Ask::Message { .. } => sides.iter().all(|dialect| dialect.carries(tree)),
                Ask::Cut(_) => self.decoder.maker == Maker::Ours,
            }
    }

    /// Asks, and returns the folder with the answers.
    #[must_use]
    pub fn ask(&self, peers: &Peers, folder: &Path, types: &TypeSet, cases: &[&Case]) -> PathBuf {
        let place = folder.join(self.name.replace([' ', ',', '\''], "-"));
        write_questions(&place, types, cases);
        let (decoder, encoder) = (
            self.decoder.place(peers, folder),
            self.encoder.place(peers, folder),
        );
        run(&mut (self.encoder.language.command)(
            &decoder, &encoder, &place,
        ));
        place
    }
}

/// The code of a dialect, in its folder.
struct Build<'b> {
    peers: &'b Peers,
    dialect: &'b Dialect,
    folder: PathBuf,
    content: Option<Content<'b>>,
}

/// What is built.
#[derive(Clone, Copy)]
struct Content<'b> {
    types: &'b TypeSet,
    trees: &'b [&'b Tree],
}

impl Build<'_> {
    /// Where the generated code is.
    fn code(&self) -> PathBuf {
        self.folder.join("code")
    }

    /// The full names of the structs that are built, and whether each is the root of a tree: only of those are there
    /// messages, and compilers have less to do if the code of the others is not needed.
    fn structs(&self) -> Vec<(String, bool)> {
        let Content { types, trees } = self.content.expect("known while building");
        let roots: BTreeSet<&str> = trees.iter().map(|tree| &*tree.root).collect();
        let structs = types
            .iter()
            .filter(|(_, def)| matches!(def.kind, TypeKind::Struct(_)));
        structs
            .map(|(_, def)| def.full_name())
            .map(|name| (name.clone(), roots.contains(&*name)))
            .collect()
    }

    /// Builds, unless the very same was built before: `recipe` is the text of the commands, and is part of what is the same.
    /// The types come from seeds, so that from one day to the next they are.
    fn unless_built(&self, recipe: &str, build: impl FnOnce()) {
        let mut hasher = DefaultHasher::new();
        recipe.hash(&mut hasher);
        let drivers = driver_source("");
        for path in files_below(&self.code())
            .into_iter()
            .chain(files_below(&drivers))
        {
            let bytes = std::fs::read(&path).expect("just found");
            (path, bytes).hash(&mut hasher);
        }
        let (stamp, path) = (
            format!("{:016x}\n", hasher.finish()),
            self.folder.join("built"),
        );
        if std::fs::read_to_string(&path).is_ok_and(|old| old == stamp) {
            return;
        }
        if path.exists() {
            std::fs::remove_file(&path).expect("the target folder can be written");
        }
        build();
        std::fs::write(path, stamp).expect("the target folder can be written");
    }

    /// Writes our code, leaving alone what is there already, so that what builds in steps need not start over.
    fn emit(&self, types: &TypeSet) {
        let name = self.dialect.language.name;
        let language = LANGUAGES.iter().find(|language| language.name == name);
        let language =
            language.unwrap_or_else(|| panic!("expected an emitter of {name}, found none"));
        let mut settings = Settings::default();
        for dir in language.dirs {
            settings.set(dir, self.code().to_string_lossy());
        }
        for switch in self.dialect.language.switches {
            settings.set(switch, "on");
        }
        let files = emit(language, types, &settings).unwrap_or_else(|error| panic!("{error}"));
        let kept: Vec<&PathBuf> = files.iter().map(|file| &file.path).collect();
        for old in files_below(&self.code())
            .into_iter()
            .filter(|old| !kept.contains(&old))
        {
            std::fs::remove_file(old).expect("the target folder can be written");
        }
        for file in &files {
            write_if_changed(&file.path, &file.text);
        }
    }
}

fn empty_folder(folder: &Path) {
    if folder.exists() {
        std::fs::remove_dir_all(folder).expect("the target folder can be written");
    }
    std::fs::create_dir_all(folder).expect("the target folder can be written");
}

fn write_if_changed(path: &Path, text: &str) {
    if std::fs::read(path).is_ok_and(|old| old == text.as_bytes()) {
        return;
    }
    let folder = path.parent().expect("a file is in a folder");
    std::fs::create_dir_all(folder).expect("the target folder can be written");
    std::fs::write(path, text).expect("the target folder can be written");
}

/// All files below a folder, sorted; none if there is no such folder.
fn files_below(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(folder) else {
        return Vec::new();
    };
    let mut files = Vec::new();
    for entry in entries.filter_map(Result::ok) {
        let path = entry.path();
        if path.is_dir() {
            files.extend(files_below(&path));
        } else {
            files.push(path);
        }
    }
    files.sort();
    files
}

/// The path of a program's source beside this crate.
fn driver_source(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("drivers")
        .join(name)
}
