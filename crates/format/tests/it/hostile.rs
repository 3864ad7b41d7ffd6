//! Files that were made to do harm, and disks that are in the way.

use crate::support::{KINDS, events, open, options, read, rest, write};
use bowline_format::mcap::{Decoder, Needed, Window};
use bowline_format::{
    Compression, DamageKind, Damages, IndexUse, LogEvent, OwnedEvent, Reader, WriterOptions,
};
use std::fs;
use std::io::Write as _;

/// A record of MCAP.
fn record(op: u8, body: &[u8]) -> Vec<u8> {
    [&[op][..], &(body.len() as u64).to_le_bytes(), body].concat()
}

/// A chunk that declares `size` bytes when it is decompressed.
fn chunk(size: u64, compression: &str, data: &[u8]) -> Vec<u8> {
    let mut body = vec![0; 16];
    body.extend_from_slice(&size.to_le_bytes());
    body.extend_from_slice(&0_u32.to_le_bytes());
    body.extend_from_slice(&u32::try_from(compression.len()).unwrap().to_le_bytes());
    body.extend_from_slice(compression.as_bytes());
    body.extend_from_slice(&(data.len() as u64).to_le_bytes());
    body.extend_from_slice(data);
    record(0x06, &body)
}

const MAGIC: [u8; 8] = [0x89, b'M', b'C', b'A', b'P', b'0', b'\r', b'\n'];

/// So many zeros, compressed.
fn zeros(n_bytes: u64) -> Vec<u8> {
    let mut encoder = zstd::Encoder::new(Vec::new(), 1).unwrap();
    let block = vec![0; 1 << 20];
    for _ in 0..n_bytes >> 20 {
        encoder.write_all(&block).unwrap();
    }
    encoder.finish().unwrap()
}

/// The most memory that this process ever had, in KiB.
fn peak_kib() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let digits = line.unwrap().trim().trim_end_matches(" kB");
    digits.parse().unwrap()
}

#[test]
fn chunk_that_expands_beyond_any_real_one_is_named_and_takes_bounded_memory() {
    const SIZE: u64 = 4 << 30;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("bomb.mcap");
    let zeros = zeros(SIZE);
    assert!(zeros.len() < 1 << 20, "{} bytes", zeros.len());
    // One that declares how large it becomes, and one that hides it.
    for said in [SIZE, 1_000] {
        let header = record(0x01, &[0; 8]);
        let bomb = chunk(said, "zstd", &zeros);
        fs::write(&path, [&MAGIC[..], &header, &bomb].concat()).unwrap();
        let (found, damages) = read(&path, IndexUse::Make);
        assert!(found.is_empty());
        let [damage] = &damages[..] else {
            panic!("{damages:?}");
        };
        assert_eq!((damage.offset, damage.len), (25, bomb.len() as u64));
        let DamageKind::TooLarge { limit } = damage.kind else {
            panic!("{damage}");
        };
        assert!(limit < 256 << 20, "{limit}");
        fs::remove_file(Reader::index_path(&path)).unwrap();
    }
    assert!(peak_kib() < 512 << 10, "{} KiB", peak_kib());
}

#[test]
fn real_chunk_that_compresses_to_nearly_nothing_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("dark.mcap");
    // A picture of one colour.
    let mut dark = events(1);
    dark[0].payload = vec![0; 100 << 20];
    write(&path, options(Compression::Zstd), &dark, 1);
    assert!(fs::metadata(&path).unwrap().len() < 1 << 20);
    assert!(read(&path, IndexUse::Ignore) == (dark, Vec::new()));
}

#[test]
fn record_longer_than_any_message_claims_no_memory() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sparse.mcap");
    write(&path, options(Compression::None), &events(10), 5);
    let whole = fs::read(&path).unwrap();
    let n_front = whole.len() / 2;
    // A record of ours, of a kind that is none of ours, of MCAP's, each as long as the file declares.
    for op in [0xC2, 0x90, 0x05, 0x0C] {
        let mut front = whole[..n_front].to_vec();
        let len: u64 = 16 << 30;
        front.push(op);
        front.extend_from_slice(&len.to_le_bytes());
        fs::write(&path, &front).unwrap();
        let file = fs::OpenOptions::new().write(true).open(&path).unwrap();
        file.set_len(front.len() as u64 + len).unwrap();
        let mut log = open(&path, IndexUse::Ignore);
        // Looking for records in all of it would take minutes.
        let first = log.next_event().unwrap().unwrap().number;
        assert_eq!(first, 0);
        drop(log);
    }
    assert!(peak_kib() < 512 << 10, "{} KiB", peak_kib());
}

/// What a decoder finds in memory that gets `n_extra` bytes more than it asks for.
fn decode(bytes: &[u8], n_extra: usize, utime: Option<i64>) -> (Vec<OwnedEvent>, Damages) {
    let mut decoder = Decoder::new();
    let (mut at, mut end) = (0, 0);
    let mut drive =
        |decoder: &mut Decoder,
         work: &mut dyn FnMut(&mut Decoder, Window<'_>) -> Result<(), Needed>| {
            loop {
                let window = Window {
                    offset: at as u64,
                    bytes: &bytes[at..end],
                    size: bytes.len() as u64,
                };
                let Err(Needed { offset, n_bytes }) = work(decoder, window) else {
                    return;
                };
                let asked = (
                    usize::try_from(offset).unwrap(),
                    usize::try_from(n_bytes).unwrap(),
                );
                assert!(asked.1 > 0 && asked.0 + asked.1 <= bytes.len(), "{asked:?}");
                assert!(at > asked.0 || asked.0 + asked.1 > end, "it is there");
                (at, end) = (asked.0, bytes.len().min(asked.0 + asked.1 + n_extra));
            }
        };
    drive(&mut decoder, &mut |decoder, window| {
        decoder.learn_directory(window)
    });
    if let Some(utime) = utime {
        drive(&mut decoder, &mut |decoder, window| {
            decoder.seek_to(utime, window)
        });
    }
    let mut events = Vec::new();
    let mut is_over = false;
    while !is_over {
        drive(&mut decoder, &mut |decoder, window| {
            match decoder.next(window)? {
                Some(found) => events.push(LogEvent::to_owned(decoder.event(&found))),
                None => is_over = true,
            }
            Ok(())
        });
    }
    (events, decoder.damages().clone())
}

#[test]
fn decoder_finds_the_same_whatever_it_is_given_beyond_what_it_asks_for() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.mcap");
    let written = events(60);
    for (_, compression) in &KINDS[1..] {
        write(&path, options(*compression), &written, 7);
        let whole = fs::read(&path).unwrap();
        let mut flipped = whole.clone();
        flipped[whole.len() / 3] ^= 4;
        let mut cut = whole.clone();
        cut.drain(whole.len() / 2..whole.len() / 2 + 30);
        for bytes in [whole, flipped, cut] {
            fs::write(&path, &bytes).unwrap();
            let mut reader = open(&path, IndexUse::Ignore);
            let found = rest(&mut reader);
            let damages = reader.damages().clone();
            for n_extra in [0, 1, 100, bytes.len()] {
                assert_eq!(
                    decode(&bytes, n_extra, None),
                    (found.clone(), damages.clone())
                );
            }
            if damages.is_empty() {
                let middle = written[30].utime;
                assert_eq!(decode(&bytes, 0, Some(middle)).0, written[30..]);
            }
        }
    }
}

#[test]
fn index_that_is_opened_as_a_log_is_refused_and_gets_no_index() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.log");
    write(&path, WriterOptions::default(), &events(3), 1);
    let index = Reader::index_path(&path);
    let refused = Reader::open_with(&index, IndexUse::Make, &mut |_, _| {}).unwrap_err();
    assert!(refused.to_string().contains("index of a log"), "{refused}");
    assert!(!Reader::index_path(&index).exists());
}
