//! Damage is found and named, and costs the events that it touches and no others.

use crate::support::{KINDS, events, open, options, read, rest, write};
use bowline_format::{Compression, DamageKind, Damages, IndexUse, OwnedEvent, Reader};
use std::fs;
use std::path::Path;

/// Whether one list is another without some.
fn is_part_of(part: &[OwnedEvent], whole: &[OwnedEvent]) -> bool {
    let mut rest = whole.iter();
    part.iter().all(|event| rest.any(|other| other == event))
}

#[test]
fn a_log_that_is_cut_off_anywhere_has_all_whole_events_before_the_cut() {
    let folder = tempfile::tempdir().unwrap();
    for (at, (extension, compression)) in KINDS.iter().enumerate() {
        let path = folder.path().join(format!("{at}.{extension}"));
        let written = events(18);
        write(&path, options(*compression), &written, 4);
        let bytes = fs::read(&path).unwrap();
        let mut n_before = 0;
        for cut in 0..bytes.len() {
            fs::write(&path, &bytes[..cut]).unwrap();
            for index in [IndexUse::IfThere, IndexUse::Ignore] {
                let (found, damages) = read(&path, index);
                assert!(written.starts_with(&found), "{path:?} cut at {cut}");
                assert!(
                    found.len() >= n_before,
                    "{path:?} cut at {cut}: {} after {n_before}",
                    found.len()
                );
                n_before = found.len();
                let knows = *extension == "log" && index == IndexUse::IfThere;
                if knows {
                    let n_missing: u64 = damages.iter().map(|damage| damage.kind.n_lost()).sum();
                    assert_eq!(
                        found.len() as u64 + n_missing,
                        18,
                        "{path:?} cut at {cut}: {damages:?}"
                    );
                }
            }
        }
        // MCAP ends with a directory.
        let n_expected = if *extension == "log" { 17 } else { 18 };
        assert_eq!(n_before, n_expected, "{path:?}");
    }
}

#[test]
fn truncated_log_reports_the_rest_and_its_index_the_loss() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.log");
    write(&path, options(Compression::None), &events(500), 1);
    let bytes = fs::read(&path).unwrap();
    fs::write(&path, &bytes[..bytes.len() / 2]).unwrap();
    for _ in 0..2 {
        let mut reader = open(&path, IndexUse::Make);
        let n_left = reader.summary().map_or(0, |summary| summary.n_events);
        assert_eq!(rest(&mut reader).len() as u64, n_left);
        assert_eq!(reader.damages().n_lost(), 500 - n_left);
    }
}

/// Flips a bit of every byte, and hands what is then read to `check`.
fn flip_everywhere(path: &Path, mut check: impl FnMut(usize, Vec<OwnedEvent>, Vec<DamageKind>)) {
    let bytes = fs::read(path).unwrap();
    for at in 0..bytes.len() {
        let mut flipped = bytes.clone();
        flipped[at] ^= 1 << (at % 8);
        fs::write(path, flipped).unwrap();
        let (found, damages) = read(path, IndexUse::IfThere);
        check(
            at,
            found,
            damages.into_iter().map(|damage| damage.kind).collect(),
        );
    }
    fs::write(path, bytes).unwrap();
}

#[test]
fn with_an_index_a_flipped_bit_costs_its_event_and_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.log");
    let written = events(60);
    write(&path, options(Compression::None), &written, 1);
    flip_everywhere(&path, |at, found, damages| {
        let [DamageKind::Changed { number }] = damages[..] else {
            panic!("byte {at}: {damages:?}");
        };
        let mut expected = written.clone();
        expected.remove(usize::try_from(number).unwrap());
        assert!(found == expected, "byte {at}");
    });
}

#[test]
fn in_mcap_a_flipped_bit_is_named_and_costs_at_most_its_event_where_nothing_is_compressed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.mcap");
    let written = events(30);
    write(&path, options(Compression::None), &written, 6);
    flip_everywhere(&path, |at, found, damages| {
        assert!(!damages.is_empty(), "byte {at} is not named");
        assert!(is_part_of(&found, &written), "byte {at}");
        assert!(
            found.len() >= 29,
            "byte {at}: {} of 30, {damages:?}",
            found.len()
        );
    });
}

#[test]
fn in_compressed_mcap_a_flipped_bit_is_named_and_costs_at_most_its_chunk() {
    let folder = tempfile::tempdir().unwrap();
    for (name, compression) in [("z.mcap", Compression::Zstd), ("l.mcap", Compression::Lz4)] {
        let path = folder.path().join(name);
        let written = events(30);
        write(&path, options(compression), &written, 6);
        flip_everywhere(&path, |at, found, damages| {
            assert!(!damages.is_empty(), "{name}, byte {at} is not named");
            assert!(is_part_of(&found, &written), "{name}, byte {at}");
            assert!(
                found.len() >= 24,
                "{name}, byte {at}: {} of 30, {damages:?}",
                found.len()
            );
        });
    }
}

#[test]
fn a_flipped_bit_in_an_index_costs_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.log");
    let written = events(60);
    write(&path, options(Compression::None), &written, 1);
    let index = folder.path().join("a.log.index");
    let bytes = fs::read(&index).unwrap();
    for at in 0..bytes.len() {
        let mut flipped = bytes.clone();
        flipped[at] ^= 1 << (at % 8);
        fs::write(&index, flipped).unwrap();
        let (found, damages) = read(&path, IndexUse::IfThere);
        assert!(found == written, "byte {at}: {damages:?}");
    }
}

#[test]
fn totals_are_right_where_more_places_are_damaged_than_are_listed() {
    const N_DAMAGED: usize = 2_500;
    let folder = tempfile::tempdir().unwrap();
    // What each event has, and what it costs to damage that: a sync word, or a byte of a message with a checksum.
    let cases: [(&str, &[u8], u64); 2] =
        [("log", &[0xED, 0xA1, 0xDA, 0x01], 0), ("mcap", b"mark", 1)];
    for (extension, needle, n_lost_each) in cases {
        let path = folder.path().join(format!("a.{extension}"));
        let mut written = events(2 * N_DAMAGED);
        for event in &mut written {
            event.payload = b"a mark in a message".to_vec();
        }
        write(&path, options(Compression::None), &written, 1);
        fs::remove_file(Reader::index_path(&path)).unwrap();
        let mut bytes = fs::read(&path).unwrap();
        let places = bytes.windows(needle.len()).enumerate();
        let places = places.filter(|(_, window)| *window == needle);
        let places: Vec<usize> = places.map(|(at, _)| at).step_by(2).collect();
        assert_eq!(places.len(), N_DAMAGED, "{extension}");
        for at in places {
            bytes[at] ^= 1;
        }
        fs::write(&path, bytes).unwrap();
        // Without an index, with one that is made now, and with one that is there.
        for index in [IndexUse::Ignore, IndexUse::Make, IndexUse::IfThere] {
            let mut log = open(&path, index);
            let known = log.known_damages().cloned();
            assert_eq!(rest(&mut log).len(), N_DAMAGED, "{extension} {index:?}");
            let found = log.damages().clone();
            assert_eq!(known.is_some(), index != IndexUse::Ignore);
            for damages in known.iter().chain([&found]) {
                let totals = (damages.n_places(), damages.n_lost(), damages.is_lossy());
                let n_damaged = N_DAMAGED as u64;
                let expected = (n_damaged, n_damaged * n_lost_each, true);
                assert_eq!(totals, expected, "{extension} {index:?}");
                assert_eq!(damages.listed().len(), Damages::MAX_LISTED);
                let n_listed: u64 = damages.listed().iter().map(|damage| damage.len).sum();
                assert!(damages.n_bytes() > 2 * n_listed, "{extension} {index:?}");
            }
        }
    }
}
