//! Any schema off a bus and any message of it decode or get an error; what decodes survives JSON and encoding.

use bowline_wire::schema::{Docs, TypeId, TypeSet};
use bowline_wire::{FieldPath, Items, MAX_FREE_ELEMENTS, MAX_VALUES_A_BYTE, Value};

pub(crate) fn run(bytes: &[u8]) {
    // Two length bytes, a schema, a message without its fingerprint.
    let Some(([high, low], rest)) = bytes.split_first_chunk() else {
        return;
    };
    let Some((schema, body)) =
        rest.split_at_checked(usize::from(u16::from_be_bytes([*high, *low])))
    else {
        return;
    };
    let Ok(types) = TypeSet::from_bytes(schema) else {
        return;
    };
    assert_eq!(
        TypeSet::from_bytes(&types.to_bytes(Docs::Keep)).expect("what was written can be read"),
        types
    );
    if types.is_empty() {
        return;
    }
    let root = TypeId(0);
    let Some(fingerprint) = types.fingerprint(root) else {
        return;
    };
    let mut message = fingerprint.0.to_be_bytes().to_vec();
    message.extend_from_slice(body);
    let value = match types.decode_as(root, &message) {
        Ok(value) => value,
        Err(error) => {
            assert!(error.offset() <= message.len(), "{error}");
            return;
        }
    };
    let limit = MAX_FREE_ELEMENTS + MAX_VALUES_A_BYTE * message.len();
    let n_values = count(&value);
    assert!(
        n_values <= limit,
        "{n_values} values of {} bytes",
        message.len()
    );
    // A boolean is any byte on the wire but 0 or 1 when encoded again.
    let once = types
        .encode(root, &value)
        .expect("what was decoded can be encoded");
    assert_eq!(once.len(), message.len());
    let again = types
        .decode_as(root, &once)
        .expect("what was encoded can be decoded");
    assert_eq!(
        types
            .encode(root, &again)
            .expect("what was decoded can be encoded"),
        once
    );

    let json = types.to_json(root, &value);
    let read = types
        .from_json(root, json.as_bytes())
        .unwrap_or_else(|error| panic!("{error}: {json}"));
    assert_eq!(types.to_json(root, &read), json);
    assert_eq!(
        types
            .encode(root, &read)
            .expect("what JSON holds can be encoded")
            .len(),
        once.len()
    );
    let path = FieldPath::parse("a[0].b").expect("a path");
    if let Ok(selector) = types.select(root, &path) {
        let _field = selector.pick(&value);
    }
}

/// How many values there are, numbers in rows of numbers aside: those stay the bytes that they are.
fn count(value: &Value<'_>) -> usize {
    let all = |values: &[Value<'_>]| values.iter().map(count).sum::<usize>();
    1 + match value {
        Value::Struct(members) => all(members),
        Value::Array(array) => match array.items() {
            Items::Numbers { .. } => 0,
            Items::Values(values) | Items::Structs { members: values, .. } => all(values),
        },
        Value::Int8(_)
        | Value::Int16(_)
        | Value::Int32(_)
        | Value::Enum(_)
        | Value::Int64(_)
        | Value::Byte(_)
        | Value::Float(_)
        | Value::Double(_)
        | Value::Boolean(_)
        | Value::Text(_) => 0,
    }
}
