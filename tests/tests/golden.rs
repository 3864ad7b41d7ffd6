//! Messages recorded from the reference: what it encodes, we encode, byte for byte, and the other way round.

use bowline_lang::{Rules, Source, compile};
use bowline_msgs::TYPES;
use bowline_tests::cases::{Ask, Case, read_answers};
use bowline_tests::drivers::{Maker, RUNS};
use bowline_tests::peers::Peers;
use bowline_tests::report::{Job, in_two_threads};
use bowline_tests::trees::{Traits, Tree};
use bowline_wire::schema::TypeSet;
use std::fs;
use std::path::Path;

pub(crate) struct Golden {
    pub(crate) name: String,
    fingerprint: String,
    pub(crate) json: String,
    pub(crate) bytes: Vec<u8>,
}

pub(crate) fn golden() -> Vec<Golden> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("golden/messages.toml");
    let text = fs::read_to_string(path).expect("golden messages are committed");
    let table: toml::Table = text.parse().expect("golden messages are TOML");
    let rows = table["message"].as_array().expect("a list of messages");
    let read = |row: &toml::Value| {
        let text = |key: &str| row[key].as_str().expect("text").to_string();
        Golden {
            name: text("type"),
            fingerprint: text("fingerprint"),
            json: text("value"),
            bytes: unhex(&text("bytes")),
        }
    };
    rows.iter().map(read).collect()
}

fn unhex(text: &str) -> Vec<u8> {
    let digits = text.as_bytes().chunks_exact(2);
    let byte = |pair: &[u8]| {
        u8::from_str_radix(std::str::from_utf8(pair).expect("hex is ASCII"), 16).expect("hex")
    };
    digits.map(byte).collect()
}

fn sources() -> Vec<Source> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut sources = Vec::new();
    for folder in [root.join("golden"), root.join("../types")] {
        for entry in fs::read_dir(folder).expect("the folder is there") {
            let path = entry.expect("the folder can be read").path();
            if path.extension().is_some_and(|extension| extension == "lcm") {
                let name = path.file_name().expect("a file has a name");
                sources.push(Source::from_bytes(
                    name.to_string_lossy(),
                    &fs::read(&path).expect("a type can be read"),
                ));
            }
        }
    }
    sources
}

fn types() -> TypeSet {
    let compiled = compile(&sources(), &Rules::default());
    assert!(compiled.is_ok(), "{:?}", compiled.diagnostics);
    compiled.types
}

#[test]
fn golden_messages_are_decoded_and_encoded_again() {
    let types = types();
    for Golden {
        name,
        fingerprint,
        json,
        bytes,
    } in golden()
    {
        let id = types.by_name(&name).unwrap();
        assert_eq!(
            types.fingerprint(id).unwrap().to_string(),
            fingerprint,
            "{name}"
        );
        let (found, value) = types
            .decode(&bytes)
            .unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(found, id, "{name}");
        assert_eq!(types.to_json(id, &value), json, "{name}");
        let read = types
            .from_json(id, json.as_bytes())
            .unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(types.encode(id, &read).unwrap(), bytes, "{name}");
    }
}

#[test]
fn golden_messages_of_our_types_pass_through_generated_code() {
    let golden = golden();
    for entry in TYPES {
        let messages: Vec<&Golden> = golden
            .iter()
            .filter(|golden| golden.name == entry.name)
            .collect();
        assert!(
            !messages.is_empty(),
            "no golden message of {}: add one to record.py",
            entry.name
        );
        for message in messages {
            assert_eq!(
                (entry.recode)(&message.bytes).unwrap(),
                message.bytes,
                "{}",
                entry.name
            );
        }
    }
}

#[test]
fn golden_messages_pass_through_the_code_of_every_language() {
    let peers = Peers::find();
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("golden");
    let types = types();
    let mut trees: Vec<Tree> = Vec::new();
    let mut cases = Vec::new();
    for Golden { name, bytes, .. } in golden() {
        let id = types.by_name(&name).unwrap();
        let value = types.decode_as(id, &bytes).unwrap().into_owned();
        let message = bytes.clone();
        let ask = Ask::Message { value, message };
        let tree = trees.len();
        cases.push(Case { tree, id, ask });
        // All types are in one set; the first tree brings the text, and each names the type that has messages.
        let sources = if tree == 0 { sources() } else { Vec::new() };
        trees.push(Tree {
            seed: 0,
            sources,
            root: name,
            traits: Traits::default(),
        });
    }
    let (trees, cases): (Vec<&Tree>, Vec<&Case>) = (trees.iter().collect(), cases.iter().collect());
    let ours = RUNS.iter().filter(|run| {
        let makers = [run.decoder.maker, run.encoder.maker];
        makers == [Maker::Ours; 2]
    });
    let jobs = ours.map(|run| -> Job<'_> {
        Box::new(|| {
            run.encoder.build(&peers, &folder, &trees);
            let answers = run.ask(&peers, &folder, &types, &cases).join("answers");
            let answers = read_answers(&answers);
            assert_eq!(answers.len(), cases.len(), "answers of {}", run.name);
            for (case, answer) in cases.iter().zip(&answers) {
                let is_right = case.is_answered_by(&types, answer, run.encoder.encoded);
                let what = case.describe(&types, trees[case.tree]);
                assert!(is_right, "{}: {what}\nfound {answer:?}", run.name);
            }
        })
    });
    in_two_threads(jobs.collect());
}
