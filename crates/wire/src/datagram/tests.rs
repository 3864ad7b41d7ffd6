use super::*;
use alloc::vec;
use proptest::prelude::*;

fn short(sequence: u32, channel: &str, payload: &[u8]) -> Vec<u8> {
    let mut datagram = Vec::new();
    write_short_header(sequence, channel, &mut datagram);
    datagram.extend_from_slice(payload);
    datagram
}

fn fragments(sequence: u32, channel: &str, message: &[u8], body: usize) -> Vec<Vec<u8>> {
    let cut = Cut::new(channel, message.len(), body).expect("a message that can be cut");
    let write = |index| {
        let mut datagram = Vec::new();
        cut.write_header(sequence, index, &mut datagram);
        datagram.extend_from_slice(message.get(cut.range(index)).expect("ranges lie within"));
        datagram
    };
    (0..cut.count()).map(write).collect()
}

/// A fragment's header with any numbers, and what follows it.
fn raw(size: u32, offset: u32, index: u16, count: u16, rest: &[u8]) -> Vec<u8> {
    let numbers = [
        FRAGMENT_MAGIC,
        [0; 4],
        size.to_be_bytes(),
        offset.to_be_bytes(),
    ]
    .concat();
    [
        &numbers,
        &index.to_be_bytes()[..],
        &count.to_be_bytes(),
        rest,
    ]
    .concat()
}

#[test]
fn what_is_no_datagram_is_refused_for_its_reason() {
    let long = "n".repeat(300);
    let name = |name: &[u8]| [b"LC02\0\0\0\0", name].concat();
    #[rustfmt::skip]
    let cases = [
        (vec![],                                        BadDatagram::TooShort),
        (b"LC0".to_vec(),                               BadDatagram::TooShort),
        (b"LC02\0\0\0".to_vec(),                        BadDatagram::TooShort),
        (b"LC04\0\0\0\0a\0".to_vec(),                   BadDatagram::Magic),
        (name(b""),                                     BadDatagram::ChannelUnterminated),
        (name(b"abc"),                                  BadDatagram::ChannelUnterminated),
        (name(b"\0payload"),                            BadDatagram::ChannelEmpty),
        (name(long.as_bytes()),                         BadDatagram::ChannelTooLong),
        (name(b"\xff\0"),                               BadDatagram::ChannelNotUtf8),
        (b"LC03\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0".to_vec(), BadDatagram::TooShort),
        (raw(1, 0, 0, 0, b"a\0x"),                      BadDatagram::IndexBeyondCount),
        (raw(1, 0, 2, 2, b"x"),                         BadDatagram::IndexBeyondCount),
        (raw(1, 0, 0, 1, b"a"),                         BadDatagram::ChannelUnterminated),
        (raw(1, 0, 0, 1, b"\0x"),                       BadDatagram::ChannelEmpty),
        (raw(9, 0, 0, 1, b"a\0"),                       BadDatagram::EmptyFragment),
        (raw(9, 9, 1, 2, b""),                          BadDatagram::EmptyFragment),
        (raw(0, 0, 1, 2, b""),                          BadDatagram::EmptyFragment),
        (raw(2, 0, 0, 1, b"a\0xyz"),                    BadDatagram::BeyondMessage),
        (raw(2, 2, 1, 2, b"x"),                         BadDatagram::BeyondMessage),
        (raw(0, 1, 0, 1, b"a\0"),                       BadDatagram::BeyondMessage),
        (raw(u32::MAX, u32::MAX, 1, 2, b"x"),           BadDatagram::BeyondMessage),
        (raw(8, u32::MAX - 3, 1, 2, b"12345678"),       BadDatagram::BeyondMessage),
    ];
    for (bytes, reason) in cases {
        assert_eq!(Datagram::parse(&bytes), Err(reason), "{bytes:?}");
    }
}

#[test]
fn names_of_every_length_that_any_peer_sends_are_understood() {
    for len in 1..=MAX_FOREIGN_CHANNEL_LEN {
        let name = "n".repeat(len);
        let datagram = [b"LC02\0\0\0\x07", name.as_bytes(), b"\0payload\0"].concat();
        let parsed = Datagram::parse(&datagram).unwrap();
        assert_eq!(
            parsed,
            Datagram::Short(Short {
                sequence: 7,
                channel: &name,
                payload: b"payload\0"
            })
        );
        let bare = datagram.get(..8 + len + 1).unwrap();
        assert!(
            matches!(
                Datagram::parse(bare),
                Ok(Datagram::Short(Short { payload: [], .. }))
            ),
            "{len}"
        );
    }
}

#[test]
fn a_message_without_bytes_is_one_fragment() {
    let datagrams = fragments(3, "a", b"", 100);
    let [datagram] = datagrams.as_slice() else {
        panic!("{datagrams:?}")
    };
    let expected = Fragment {
        sequence: 3,
        message_size: 0,
        offset: 0,
        index: 0,
        count: 1,
        channel: Some("a"),
        payload: b"",
    };
    assert_eq!(Datagram::parse(datagram), Ok(Datagram::Fragment(expected)));
}

#[test]
fn a_cut_that_the_format_cannot_carry_is_refused() {
    let most = usize::from(u16::MAX) * 100 - 2;
    let max = most as u64;
    assert_eq!(Cut::new("a", most, 100).unwrap().count(), u16::MAX);
    let name = "n".repeat(64);
    let cases = [
        ("", 1, 100, CutError::Channel(ChannelError::Empty)),
        (
            &name,
            1,
            100,
            CutError::Channel(ChannelError::TooLong { found: 64 }),
        ),
        ("a\0b", 1, 100, CutError::Channel(ChannelError::HasNul)),
        ("abc", 1, 4, CutError::Body { found: 4, min: 5 }),
        (
            "abc",
            1,
            MAX_FRAGMENT_BODY + 1,
            CutError::Body {
                found: 65_488,
                min: 5,
            },
        ),
        (
            "a",
            most + 1,
            100,
            CutError::TooLarge {
                found: most + 1,
                max,
            },
        ),
        #[cfg(target_pointer_width = "64")]
        (
            "a",
            1 << 32,
            MAX_FRAGMENT_BODY,
            CutError::TooLarge {
                found: 1 << 32,
                max: 65_487 * 65_535 - 2,
            },
        ),
        (
            "a",
            usize::MAX,
            100,
            CutError::TooLarge {
                found: usize::MAX,
                max,
            },
        ),
    ];
    for (channel, size, body, error) in cases {
        assert_eq!(Cut::new(channel, size, body).unwrap_err(), error, "{error}");
    }
}

#[test]
fn beyond_the_last_fragment_there_is_nothing() {
    let cut = Cut::new("a", 1_000, 100).unwrap();
    assert_eq!(cut.range(cut.count()), 1_000..1_000);
    assert_eq!(cut.range(u16::MAX), 1_000..1_000);
}

/// Asserts that whatever is understood of some bytes is consistent, and that nothing else happens.
fn check_parse(bytes: &[u8]) {
    match Datagram::parse(bytes) {
        Ok(Datagram::Short(Short {
            channel, payload, ..
        })) => {
            assert_eq!(
                SHORT_HEADER_SIZE + channel.len() + 1 + payload.len(),
                bytes.len()
            );
        }
        Ok(Datagram::Fragment(fragment)) => {
            let Fragment {
                message_size,
                offset,
                index,
                count,
                channel,
                payload,
                ..
            } = fragment;
            assert!(index < count);
            assert_eq!(channel.is_some(), index == 0);
            assert!(offset as usize + payload.len() <= message_size as usize);
            assert_eq!(payload.is_empty(), message_size == 0);
        }
        Err(_) => {}
    }
}

#[test]
fn every_truncation_and_bit_flip_is_understood_or_refused() {
    let message = [0x5a; 150];
    let mut datagrams = fragments(1, "robot.pose", &message, 60);
    datagrams.push(short(1, "robot.pose", &message));
    for datagram in datagrams {
        for len in 0..datagram.len() {
            check_parse(datagram.get(..len).unwrap());
        }
        for bit in 0..datagram.len() * 8 {
            let mut flipped = datagram.clone();
            *flipped.get_mut(bit / 8).unwrap() ^= 1 << (bit % 8);
            check_parse(&flipped);
        }
    }
}

proptest! {
    #[test]
    fn any_bytes_are_understood_or_refused(tail in proptest::collection::vec(any::<u8>(), 0..400), kind in 0..3) {
        let magic: &[u8] = match kind { 0 => b"LC02", 1 => b"LC03", _ => b"" };
        check_parse(&[magic, &tail].concat());
    }

    #[test]
    fn short_message_decodes_to_its_fields(
        sequence: u32,
        channel in "[^\0]{1,15}",
        payload in proptest::collection::vec(any::<u8>(), 0..100),
    ) {
        let datagram = short(sequence, &channel, &payload);
        let expected = Datagram::Short(Short { sequence, channel: &channel, payload: &payload });
        prop_assert_eq!(Datagram::parse(&datagram), Ok(expected));
    }

    #[test]
    fn fragments_cover_a_message_once_and_in_order(
        channel in "[a-z.]{1,63}",
        message in proptest::collection::vec(any::<u8>(), 0..2_000),
        body in 65usize..700,
    ) {
        let datagrams = fragments(9, &channel, &message, body);
        let (mut whole, last) = (Vec::new(), datagrams.len() - 1);
        for (at, datagram) in datagrams.iter().enumerate() {
            let Ok(Datagram::Fragment(fragment)) = Datagram::parse(datagram) else { panic!("{datagram:?}") };
            prop_assert_eq!(usize::from(fragment.index), at);
            prop_assert_eq!(usize::from(fragment.count), datagrams.len());
            prop_assert_eq!(fragment.offset as usize, whole.len());
            prop_assert_eq!(fragment.channel, (at == 0).then_some(channel.as_str()));
            prop_assert!(datagram.len() == FRAGMENT_HEADER_SIZE + body || at == last, "only the last may be shorter");
            whole.extend_from_slice(fragment.payload);
        }
        prop_assert_eq!(whole, message);
    }
}
