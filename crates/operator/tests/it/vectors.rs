//! The client, held to the vectors that the page is held to.

use crate::bench::{Bench, members};
use serde_json::{Map, Value, json};
use std::path::PathBuf;

pub(crate) fn path(name: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("vectors");
    folder.join(format!("{name}.json"))
}

pub(crate) fn file(name: &str) -> Value {
    let text = std::fs::read_to_string(path(name)).unwrap();
    serde_json::from_str(&text).unwrap()
}

#[test]
fn client_does_what_the_vectors_specify() {
    for name in ["specified", "explored"] {
        let file = file(name);
        let vectors = file["vectors"].as_array().unwrap();
        assert!(vectors.len() > 20, "{name} has only {}", vectors.len());
        for vector in vectors {
            let mut bench = Bench::new(&file);
            for (at, step) in vector["steps"].as_array().unwrap().iter().enumerate() {
                let place = format!("{name}, {}, step {at}: {step}", vector["name"]);
                check(&mut bench, step, &place);
            }
        }
    }
}

fn check(bench: &mut Bench, step: &Value, place: &str) {
    let sent: Vec<Value> = bench.happen(step).iter().map(members).collect();
    let none = json!([]);
    if step.get("run").is_some() {
        let expected = step.get("sends").cloned().unwrap_or_else(|| json!({}));
        assert_eq!(counts(&sent), expected, "{place}");
        if let Some(expected) = step.get("values") {
            assert_eq!(as_floats(&values(&sent)), as_floats(expected), "{place}");
        } else {
            assert!(values(&sent) == none || !sent.is_empty(), "{place}");
        }
    } else {
        let expected = step.get("sends").unwrap_or(&none).as_array().unwrap();
        let names = |it: &Value| it.get("command").unwrap_or(it).clone();
        let found: Vec<Value> = sent.iter().map(names).collect();
        let named: Vec<Value> = expected.iter().map(names).collect();
        assert_eq!(found, named, "{place}");
        for (found, expected) in sent.iter().zip(expected) {
            is_like(found, expected, place);
        }
    }
    if let Some(expected) = step.get("is") {
        is_like(&bench.standing(), expected, place);
    }
}

/// Whether each member that is expected is there.
fn is_like(found: &Value, expected: &Value, place: &str) {
    for (name, expected) in expected.as_object().into_iter().flatten() {
        let found = as_floats(&found[name]);
        assert_eq!(found, as_floats(expected), "{name}: {place}");
    }
}

/// Numbers are the same whether or not they are written with a point.
fn as_floats(value: &Value) -> Value {
    match value {
        Value::Number(it) => json!(it.as_f64()),
        Value::Array(items) => items.iter().map(as_floats).collect(),
        Value::Null | Value::Bool(_) | Value::String(_) | Value::Object(_) => value.clone(),
    }
}

pub(crate) fn counts(sent: &[Value]) -> Value {
    let mut counts = Map::new();
    for it in sent {
        let name = it["command"].as_str().unwrap().to_owned();
        let count = counts.entry(name).or_insert_with(|| json!(0));
        *count = json!(count.as_u64().unwrap() + 1);
    }
    counts.into()
}

/// The set-points in order, without repetition.
pub(crate) fn values(sent: &[Value]) -> Value {
    let mut all: Vec<Value> = Vec::new();
    for value in sent.iter().filter_map(|it| it.get("values")) {
        if !all.contains(value) {
            all.push(value.clone());
        }
    }
    all.into()
}
