//! The generated decoders take any bytes, and agree with the dynamic decoder about what is a message.

use bowline_lang::{Rules, Source, compile};
use bowline_msgs::TYPES;
use bowline_wire::schema::{Primitive, Type, TypeId, TypeSet};
use bowline_wire::{DecodeFault, RecodeError};
use std::sync::LazyLock;

static SCHEMA: LazyLock<TypeSet> = LazyLock::new(|| {
    let mut files: Vec<_> = std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../types"))
        .expect("types/ is there")
        .map(|entry| entry.expect("types/ can be read").path())
        .collect();
    files.sort();
    let read = |path: &std::path::PathBuf| {
        Source::from_bytes("", &std::fs::read(path).expect("a type can be read"))
    };
    let compiled = compile(
        &files.iter().map(read).collect::<Vec<_>>(),
        &Rules::default(),
    );
    assert!(compiled.is_ok());
    compiled.types
});

pub(crate) fn run(bytes: &[u8]) {
    // The first byte picks the type, so that the fuzzer need not guess fingerprints.
    let Some((pick, body)) = bytes.split_first() else {
        return;
    };
    let entry = &TYPES[usize::from(*pick) % TYPES.len()];
    let mut message = entry.fingerprint.0.to_be_bytes().to_vec();
    message.extend_from_slice(body);

    let dynamic = SCHEMA.decode(&message);
    let typed = (entry.recode)(&message);
    let is_text_fault = matches!(&typed, Err(RecodeError::Decode(error)) if matches!(error.fault(), DecodeFault::NotUtf8 { .. }));
    if is_text_fault {
        return;
    }
    match (&dynamic, &typed) {
        (Ok((id, value)), Ok(recoded)) => {
            let again = SCHEMA
                .encode(*id, value)
                .expect("what was decoded can be encoded");
            assert_eq!(*recoded, again, "a message is the same when encoded again");
            // A boolean is any byte but 0, and encoded again as 1; all else is encoded as it was.
            if has_boolean(*id) {
                let is_alike =
                    |(found, said): (&u8, &u8)| found == said || *said == 1 && *found > 1;
                assert_eq!(again.len(), message.len());
                assert!(
                    message.iter().zip(&again).all(is_alike),
                    "{message:?} became {again:?}"
                );
            } else {
                assert_eq!(again, message);
            }
        }
        (Err(a), Err(RecodeError::Decode(b))) => assert_eq!(a.to_string(), b.to_string()),
        _ => panic!("{dynamic:?} but {typed:?}"),
    }
    if let Some(recode_borrowed) = entry.recode_borrowed {
        let borrowed = recode_borrowed(&message).map_err(|error| error.to_string());
        assert_eq!(borrowed, typed.map_err(|error| error.to_string()));
    }
}

fn has_boolean(id: TypeId) -> bool {
    let boolean = Type::Primitive(Primitive::Boolean);
    let types = SCHEMA.closure(id);
    let mut structs = types.iter().filter_map(|(id, _)| types.as_struct(id));
    structs.any(|body| body.members.iter().any(|member| member.ty == boolean))
}
