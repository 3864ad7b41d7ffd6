//! Questions to drivers, and their answers.
//!
//! A question is a type's full name and a message, each with its length as a big-endian 32-bit number before it. An
//! empty message asks for the type's fingerprint. An answer is a byte, 0 for yes and 1 for no, and then, again with its
//! length before it, what the driver made of the message: the bytes after decoding and encoding, or why not.
//!
//! Beside the questions lie the values as text, a line for each, for drivers that also build values from nothing.

use crate::dump::{Bytes, dump, hex};
use crate::random::Random;
use crate::trees::Tree;
use crate::values::{self, Nans};
use bowline_wire::Value;
use bowline_wire::schema::{TypeId, TypeKind, TypeSet};
use std::path::Path;

/// Something to ask a driver, and what the answer must be.
#[derive(Clone, Debug)]
pub struct Case {
    /// The place of its tree.
    pub tree: usize,
    /// The type.
    pub id: TypeId,
    /// What is asked.
    pub ask: Ask,
}

/// What is asked of a driver.
#[derive(Clone, Debug)]
pub enum Ask {
    /// The fingerprint of the type.
    Fingerprint,
    /// To decode and encode this.
    Message {
        /// The contents of the message.
        value: Value<'static>,
        /// The same by our dynamic codec.
        message: Vec<u8>,
    },
    /// To refuse this, the beginning of a message.
    Cut(Vec<u8>),
}

impl Case {
    /// The fingerprints of all structs of a tree.
    pub fn fingerprints<'c>(
        types: &'c TypeSet,
        tree: usize,
        seed: u64,
    ) -> impl Iterator<Item = Self> + 'c {
        let packages = [
            format!("t{seed}"),
            format!("t{seed}.inner"),
            format!("u{seed}.deep.er"),
        ];
        let of_tree = types
            .iter()
            .filter(move |(_, def)| packages.contains(&def.package));
        let structs = of_tree.filter(|(_, def)| matches!(def.kind, TypeKind::Struct(_)));
        structs.map(move |(id, _)| Self {
            tree,
            id,
            ask: Ask::Fingerprint,
        })
    }

    /// A few random messages of a tree's root, and each cut short somewhere.
    #[must_use]
    pub fn messages(types: &TypeSet, place: usize, tree: &Tree, n: usize) -> Vec<Self> {
        let id = types.by_name(&tree.root).expect("a tree defines its root");
        let mut random = Random::new(tree.seed.wrapping_mul(31));
        let mut cases = Vec::new();
        for _ in 0..n {
            let value = values::random(types, id, &mut random);
            let message = types.encode(id, &value).unwrap_or_else(|error| {
                panic!(
                    "expected to encode {}, found {error}\n{}",
                    types.to_json(id, &value),
                    tree.text()
                )
            });
            // Not nothing at all, since that asks for the fingerprint.
            let cut = message[..random.between(1, message.len() - 1)].to_vec();
            cases.push(Self {
                tree: place,
                id,
                ask: Ask::Message { value, message },
            });
            cases.push(Self {
                tree: place,
                id,
                ask: Ask::Cut(cut),
            });
        }
        cases
    }

    fn question(&self) -> &[u8] {
        match &self.ask {
            Ask::Fingerprint => &[],
            Ask::Message { message, .. } => message,
            Ask::Cut(cut) => cut,
        }
    }

    /// The bytes that a driver must answer with; none if it must refuse.
    #[must_use]
    pub fn expected(&self, types: &TypeSet) -> Option<Vec<u8>> {
        match &self.ask {
            Ask::Fingerprint => types
                .fingerprint(self.id)
                .map(|fingerprint| fingerprint.0.to_be_bytes().to_vec()),
            Ask::Message { message, .. } => Some(message.clone()),
            Ask::Cut(_) => None,
        }
    }

    /// Whether an answer is right, but for what the language may do to NaNs.
    #[must_use]
    pub fn is_answered_by(&self, types: &TypeSet, answer: &Answer, nans: Nans) -> bool {
        match (self.expected(types), answer) {
            (None, Answer::No(_)) => true,
            (Some(_), Answer::No(_)) | (None, Answer::Yes(_)) => false,
            (Some(expected), Answer::Yes(found)) => {
                let applied = |message: &[u8]| {
                    let value = types.decode_as(self.id, message).ok()?;
                    types.encode(self.id, &nans.applied(&value)).ok()
                };
                expected == *found || (nans != Nans::Kept && applied(&expected) == applied(found))
            }
        }
    }

    /// The text that a driver must dump; empty for what is no message.
    #[must_use]
    pub fn expected_dump(&self, types: &TypeSet, nans: Nans, bytes: Bytes) -> String {
        match &self.ask {
            Ask::Message { value, .. } => dump(types, self.id, &nans.applied(value), bytes),
            Ask::Fingerprint | Ask::Cut(_) => String::new(),
        }
    }

    /// All there is to know, to find the fault.
    #[must_use]
    pub fn describe(&self, types: &TypeSet, tree: &Tree) -> String {
        let (name, seed, text) = (types.def(self.id).full_name(), tree.seed, tree.text());
        let ask = match &self.ask {
            Ask::Fingerprint => "its fingerprint".to_string(),
            Ask::Message { value, .. } => format!("the value {}", types.to_json(self.id, value)),
            Ask::Cut(cut) => format!("a message cut short: {}", hex(cut)),
        };
        format!("type {name} of seed {seed}, {ask}\n{text}")
    }
}

/// The answer of a driver to one question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The bytes that it made.
    Yes(Vec<u8>),
    /// Why it made none.
    No(String),
}

/// Writes the questions and values into a folder.
pub fn write_questions(folder: &Path, types: &TypeSet, cases: &[&Case]) {
    let mut questions = Vec::new();
    let mut values = String::new();
    for case in cases {
        for block in [types.def(case.id).full_name().as_bytes(), case.question()] {
            let len = u32::try_from(block.len()).expect("random messages are small");
            questions.extend(len.to_be_bytes());
            questions.extend(block);
        }
        values.push_str(&case.expected_dump(types, Nans::Kept, Bytes::Unsigned));
        values.push('\n');
    }
    std::fs::create_dir_all(folder).expect("the target folder can be written");
    std::fs::write(folder.join("questions"), questions).expect("the target folder can be written");
    std::fs::write(folder.join("values"), values).expect("the target folder can be written");
}

/// Reads a file of answers.
#[must_use]
pub fn read_answers(path: &Path) -> Vec<Answer> {
    let bytes = std::fs::read(path)
        .unwrap_or_else(|error| panic!("no answers at {}: {error}", path.display()));
    let mut rest = bytes.as_slice();
    let mut answers = Vec::new();
    while let Some((head, tail)) = rest.split_first_chunk::<5>() {
        let [status, len @ ..] = *head;
        let (reply, after) = tail.split_at(u32::from_be_bytes(len) as usize);
        answers.push(match status {
            0 => Answer::Yes(reply.to_vec()),
            _ => Answer::No(String::from_utf8_lossy(reply).into_owned()),
        });
        rest = after;
    }
    answers
}
