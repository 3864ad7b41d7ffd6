//! The committed messages: every generated type keeps the promises of the codec.

use crate::our_types;
use bowline_msgs::{Image, ImageRef, Laser, Path, TYPES, Waypoint, WaypointRef};
use bowline_tests::random::Random;
use bowline_tests::values;
use bowline_wire::schema::{Primitive, Type, TypeId, TypeSet};
use bowline_wire::{DecodeFault, EncodeFault, IntoOwned as _, Message as _};

const N_VALUES: usize = 200;

/// Messages of every generated type, with random values.
fn messages(types: &TypeSet) -> Vec<(&'static bowline_wire::TypeEntry, Vec<u8>)> {
    let mut random = Random::new(2);
    let mut messages = Vec::new();
    for entry in TYPES {
        let id = types
            .by_name(entry.name)
            .expect("a generated type is one of types/");
        for _ in 0..N_VALUES {
            let value = values::random(types, id, &mut random);
            messages.push((
                entry,
                types.encode(id, &value).expect("a random value is sound"),
            ));
        }
    }
    messages
}

#[test]
fn every_type_of_ours_is_generated() {
    let types = our_types();
    let mut defined: Vec<String> = types.iter().map(|(_, def)| def.full_name()).collect();
    defined.sort();
    let generated: Vec<&str> = TYPES.iter().map(|entry| entry.name).collect();
    assert_eq!(generated, defined);
    for entry in TYPES {
        let id = types.by_name(entry.name).unwrap();
        assert_eq!(
            Some(entry.fingerprint),
            types.fingerprint(id),
            "{}",
            entry.name
        );
    }
}

#[test]
fn every_type_encodes_to_the_same_bytes_again() {
    let types = our_types();
    for (entry, message) in messages(&types) {
        assert_eq!((entry.recode)(&message).unwrap(), message, "{}", entry.name);
        if let Some(recode_borrowed) = entry.recode_borrowed {
            assert_eq!(
                recode_borrowed(&message).unwrap(),
                message,
                "{}, borrowed",
                entry.name
            );
        }
    }
}

#[test]
fn every_truncation_is_an_error_at_a_byte_that_is_there() {
    let types = our_types();
    for (entry, message) in messages(&types).iter().step_by(20) {
        for n in 0..message.len() {
            let cut = &message[..n];
            let typed = (entry.recode)(cut).unwrap_err().to_string();
            let dynamic = types.decode(cut).map(|_| ()).unwrap_err();
            assert!(dynamic.offset() <= n);
            if n >= 8 {
                assert_eq!(
                    typed,
                    dynamic.to_string(),
                    "{} cut to {n} bytes",
                    entry.name
                );
            }
        }
    }
}

#[test]
fn generated_and_dynamic_decoders_agree_about_damaged_messages() {
    let types = our_types();
    let mut random = Random::new(3);
    for (entry, message) in messages(&types) {
        let mut damaged = message.clone();
        let at = 8 + random.below(message.len() - 8);
        damaged[at] ^= 1 << random.below(8);
        let typed = (entry.recode)(&damaged);
        let dynamic = types.decode(&damaged);
        match (&typed, &dynamic) {
            // A boolean that is neither 0 nor 1 is encoded again as 1; all else is encoded as it was.
            (Ok(recoded), Ok((id, value))) => {
                let again = types.encode(*id, value).expect("it was just decoded");
                assert_eq!(*recoded, again, "{}", entry.name);
                assert!(
                    again == damaged || has_boolean(&types, *id),
                    "{}",
                    entry.name
                );
            }
            // Dynamic values keep strings as the bytes that were sent, and go on.
            (Err(typed), _) if typed.to_string().contains("expected UTF-8") => {}
            (Err(typed), Err(dynamic)) => assert_eq!(typed.to_string(), dynamic.to_string()),
            (Err(error), Ok(_)) => {
                panic!("{}: generated code refuses a message: {error}", entry.name)
            }
            (Ok(_), Err(error)) => panic!("{}: generated code accepts what is {error}", entry.name),
        }
    }
}

#[test]
fn a_length_field_that_disagrees_with_its_array_is_never_encoded() {
    let laser = Laser {
        nranges: 3,
        ranges: vec![1.0, 2.0],
        ..Laser::default()
    };
    let error = laser.encode().unwrap_err();
    let fault = EncodeFault::LengthMismatch {
        length_field: "nranges".into(),
        length: 3,
        found: 2,
    };
    assert_eq!(*error.fault(), fault);
    assert_eq!(
        error.to_string(),
        "cannot encode bowline.laser_t: field ranges: expected 3 elements by nranges, found 2"
    );
    assert_eq!(
        laser.with_lengths().encode().unwrap().len(),
        8 + 8 + 4 + 8 + 8
    );
}

#[test]
fn borrowed_fields_are_views_of_the_message() {
    let image = Image {
        width: 2,
        height: 2,
        data: vec![1, 2, 3, 4],
        ..Image::default()
    }
    .with_lengths();
    let message = image.encode().unwrap();
    let borrowed = ImageRef::decode(&message).unwrap();
    let message_range = message.as_ptr_range();
    assert!(message_range.contains(&borrowed.data.as_ptr()));
    assert_eq!(borrowed.encode().unwrap(), message);
    assert_eq!(borrowed.into_owned(), image);
}

#[test]
fn a_value_is_used_again_without_a_trace_of_the_last_message() {
    let types = our_types();
    let mut random = Random::new(4);
    let id = types.by_name("path_t").unwrap();
    let mut path = Path::default();
    for _ in 0..N_VALUES {
        let message = types
            .encode(id, &values::random(&types, id, &mut random))
            .unwrap();
        path.decode_into(&message).unwrap();
        assert_eq!(path.encode().unwrap(), message);
    }
}

#[test]
fn a_message_fits_exactly_into_a_buffer_of_its_size() {
    let waypoint = Waypoint {
        id: "dock".into(),
        position: [1.0, 2.0],
    };
    let expected = waypoint.encode().unwrap();
    let mut buffer = [0xff; 25];
    assert_eq!(waypoint.encode_to_slice(&mut buffer).unwrap(), 25);
    assert_eq!(buffer[..], expected[..]);
    let error = waypoint.encode_to_slice(&mut buffer[..24]).unwrap_err();
    assert_eq!(
        *error.fault(),
        EncodeFault::BufferTooSmall {
            needed: 25,
            found: 24
        }
    );
    let mut scratch = vec![0xff; 100];
    assert_eq!(waypoint.encode_into(&mut scratch).unwrap(), expected);
}

#[test]
fn bytes_after_a_message_are_an_error_or_given_back() {
    let mut message = Waypoint::default().encode().unwrap();
    message.extend(b"more");
    assert_eq!(
        *Waypoint::decode(&message).unwrap_err().fault(),
        DecodeFault::Trailing { found: 4 }
    );
    assert_eq!(
        Waypoint::decode_prefix(&message).unwrap(),
        (Waypoint::default(), &b"more"[..])
    );
}

#[test]
fn text_that_is_not_utf8_is_refused_with_the_byte() {
    let dock = Waypoint {
        id: "dock".into(),
        ..Waypoint::default()
    };
    let mut message = dock.encode().unwrap();
    message[8 + 4 + 2] = 0xe9;
    let owned = Waypoint::decode(&message).unwrap_err();
    let borrowed = WaypointRef::decode(&message).unwrap_err();
    for error in [owned, borrowed] {
        assert_eq!(*error.fault(), DecodeFault::NotUtf8 { found: 0xe9 });
        assert_eq!(error.offset(), 14);
    }
}

fn has_boolean(types: &TypeSet, id: TypeId) -> bool {
    let boolean = Type::Primitive(Primitive::Boolean);
    let types = types.closure(id);
    let mut structs = types.iter().filter_map(|(id, _)| types.as_struct(id));
    structs.any(|body| body.members.iter().any(|member| member.ty == boolean))
}
