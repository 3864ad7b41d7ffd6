//! Log files exchanged both ways with LCM's tools and with MCAP's own library, whole and damaged.

use bowline_log::{
    Catalog, Compression, Copied, CopyPlan, DamageKind, Exporter, IndexUse, LeftBehind, LogEvent,
    McapOptions, OwnedEvent, Reader, Recovery, Renames, Schemas, TableFormat, TimeRange, Writer,
    WriterOptions, copy, recover,
};
use bowline_log::{ChannelFilter, Selection};
use bowline_msgs::{Image, Path as PathMessage, Pose, Waypoint};
use bowline_tests::netns::Namespace;
use bowline_tests::peers::{Peers, bowline, run, workspace};
use bowline_wire::Message as _;
use std::fs::{self, File};
use std::io::{Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::process::Command;

const COMPRESSIONS: [Compression; 3] = [Compression::None, Compression::Lz4, Compression::Zstd];

fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    if folder.exists() {
        fs::remove_dir_all(&folder).expect("the last run's folder can go");
    }
    fs::create_dir_all(&folder).expect("a folder");
    folder
}

/// Runs a Python program to its end, and returns what it printed.
fn python(program: &str, args: &[&Path]) -> String {
    let mut command = Command::new(Peers::find().python());
    command.args(["-c", program]).args(args);
    output_of(&mut command)
}

fn output_of(command: &mut Command) -> String {
    let output = command.output().expect("it runs");
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).expect("text")
}

/// Events as the readers below print them.
fn shown(events: &[OwnedEvent]) -> String {
    let hex = |bytes: &[u8]| bytes.iter().map(|b| format!("{b:02x}")).collect::<String>();
    let line = |event: &OwnedEvent| {
        let OwnedEvent {
            number,
            utime,
            channel,
            ..
        } = event;
        format!("{number} {utime} {channel} {}\n", hex(&event.payload))
    };
    events.iter().map(line).collect()
}

/// Events of several channels and sizes, some of them empty, with times that go back once.
fn events(n_events: usize) -> Vec<OwnedEvent> {
    let event = |i: usize| {
        let number = i64::try_from(i).expect("small");
        let back = if i > n_events / 2 { 700_000 } else { 0 };
        OwnedEvent {
            number,
            utime: 1_700_000_000_000_000 + number * 10_000 - back,
            nanos: 0,
            channel: ["pose", "sonar.depth", "é", "CAMERA_1"][i % 4].to_owned(),
            payload: (0..i * i % 97)
                .map(|at| u8::try_from((i * 7 + at * 13) % 251).expect("small"))
                .collect(),
        }
    };
    (0..n_events).map(event).collect()
}

fn write(path: &Path, options: WriterOptions, events: &[OwnedEvent]) {
    let mut writer = Writer::create(path, options).expect("a log");
    for (i, event) in events.iter().enumerate() {
        writer.write(event.as_event()).expect("an event");
        if i % 20 == 19 {
            writer.flush().expect("room");
        }
    }
    writer.finish().expect("room");
}

fn compressed(compression: Compression) -> WriterOptions {
    WriterOptions {
        mcap: McapOptions {
            compression,
            ..McapOptions::default()
        },
        ..WriterOptions::default()
    }
}

fn read_with(mut log: Reader) -> (Vec<OwnedEvent>, bool) {
    let mut events = Vec::new();
    while let Some(event) = log.next_event().expect("it can be read") {
        events.push(LogEvent::to_owned(event));
    }
    (events, log.damages().is_empty())
}

fn read(path: &Path) -> (Vec<OwnedEvent>, bool) {
    read_with(Reader::open(path).expect("a log"))
}

const SHOW_LCM: &str = "
import lcm, sys
for e in lcm.EventLog(sys.argv[1]):
    print(e.eventnum, e.timestamp, e.channel, e.data.hex())
";

const WRITE_LCM: &str = "
import lcm, sys
log = lcm.EventLog(sys.argv[1], 'w', overwrite=True)
for i in range(300):
    log.write_event(1700000000000000 + i * 10000, ['POSE', 'IMAGE', 'pose.fine'][i % 3], bytes([i % 256]) * (i * i % 90))
log.close()
";

fn java(log: &Path) -> String {
    let peers = Peers::find();
    let mut java = Command::new("java");
    java.args(["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-cp"])
        .arg(peers.jar());
    java.arg(workspace().join("tests/peers/LogReader.java"))
        .arg(log);
    output_of(&mut java)
}

#[test]
fn a_log_of_ours_is_read_by_lcm_in_python_java_and_by_its_filter() {
    let folder = folder("logtools-ours");
    let (ours, theirs) = (folder.join("ours"), folder.join("theirs"));
    let written = events(200);
    write(&ours, WriterOptions::default(), &written);
    assert_eq!(python(SHOW_LCM, &[&ours]), shown(&written));
    let filter = Peers::find().python().with_file_name("lcm-logfilter");
    run(Command::new(filter)
        .args(["-c", "."])
        .args([&ours, &theirs]));
    assert_eq!(read(&theirs), (written.clone(), true));
    // LCM's Java reader takes an empty message for damage.
    let full: Vec<OwnedEvent> = written
        .into_iter()
        .filter(|event| !event.payload.is_empty())
        .collect();
    write(&ours, WriterOptions::default(), &full);
    let renumbered = read(&ours).0;
    assert_eq!(java(&ours), shown(&renumbered));
}

#[test]
fn our_filter_writes_what_lcm_logfilter_writes() {
    let folder = folder("logtools-filter");
    let at = |name: &str| folder.join(name);
    python(WRITE_LCM, &[&at("from")]);
    let filter = Peers::find().python().with_file_name("lcm-logfilter");
    for (args, is_inverted) in [
        (["-c", "pose", "-s", "0", "-e", "100"], false),
        (["-c", "POSE|I", "-s", "0.5", "-e", "1.25"], false),
        (["-c", "^POSE$", "-s", "0", "-e", "2"], true),
    ] {
        let mut command = Command::new(&filter);
        command.args(args).args(is_inverted.then_some("-i"));
        run(command.args([at("from"), at("theirs")]));
        let mut log = Reader::open(at("from")).expect("a log");
        let channels = ChannelFilter::new(&args[1..2]).expect("a pattern");
        let plan = CopyPlan {
            selection: Selection {
                channels: if is_inverted {
                    channels.inverted()
                } else {
                    channels
                },
                times: TimeRange::in_log(
                    &mut log,
                    args[3].parse().as_ref().ok(),
                    args[5].parse().as_ref().ok(),
                )
                .expect("a range"),
            },
            ..CopyPlan::default()
        };
        let mut writer = Writer::create(at("ours"), WriterOptions::default()).expect("a log");
        copy(&mut log, &mut writer, &plan, &mut |_, _| {}).expect("a copy");
        writer.finish().expect("room");
        assert!(!read(&at("ours")).0.is_empty(), "{args:?}");
        assert!(
            fs::read(at("ours")).expect("ours") == fs::read(at("theirs")).expect("theirs"),
            "{args:?}"
        );
    }
}

#[test]
fn what_we_recover_is_read_to_its_end_by_lcm() {
    let folder = folder("logtools-recover");
    let (bad, good) = (folder.join("bad"), folder.join("good"));
    python(WRITE_LCM, &[&bad]);
    let mut bytes = fs::read(&bad).expect("a log");
    // A sync word in the middle, and the end.
    let sync = [0xED, 0xA1, 0xDA, 0x01];
    let at = (bytes.len() / 2..)
        .find(|at| bytes[*at..].starts_with(&sync))
        .expect("an event");
    bytes[at] ^= 1;
    bytes.truncate(bytes.len() - 7);
    fs::write(&bad, bytes).expect("room");
    let theirs_before = python(SHOW_LCM, &[&bad]).lines().count();
    let mut log = Reader::open(&bad).expect("a log");
    let mut writer = Writer::create(&good, WriterOptions::default()).expect("a log");
    let recovered = recover(&mut log, &mut writer, &mut |_, _| {}).expect("recovered");
    assert_eq!(recovered.recovery(), Recovery::Lossy);
    assert_eq!(recovered.copied.n_written, 298);
    assert_eq!(python(SHOW_LCM, &[&good]).lines().count(), 298);
    assert!(
        theirs_before < 200,
        "its reader stops at damage: {theirs_before}"
    );
}

/// Events of 16 MiB, which are more than 4 GiB together.
const N_HOLES: i64 = 260;

#[test]
fn a_log_over_4_gib_is_sought_in_and_read_by_both() {
    let folder = folder("logtools-large");
    let path = folder.join("large");
    // Payloads of zeros that the disk does not hold: holes, jumped over when written and when sought in.
    let mut file = File::create(&path).expect("a file");
    for number in 0..=N_HOLES {
        let n_payload = if number < N_HOLES { 16 << 20 } else { 4 };
        let (utime, mut header) = (number * 1_000_000, Vec::new());
        bowline_wire::eventlog::write_header(number, utime, "hole", n_payload, &mut header)
            .expect("a header");
        file.write_all(&header).expect("room");
        let n_payload = i64::try_from(n_payload).expect("small");
        file.seek(SeekFrom::Current(n_payload)).expect("a place");
    }
    let size = file.stream_position().expect("a place");
    file.set_len(size).expect("room");
    drop(file);
    assert!(size > 4 << 30);
    let mut log = Reader::open(&path).expect("a log");
    log.seek_to((N_HOLES - 2) * 1_000_000).expect("a place");
    let (position, _) = log.progress().expect("a place");
    assert!(position > 4 << 30, "{position}");
    for number in N_HOLES - 2..=N_HOLES {
        let event = log.next_event().expect("it can be read").expect("an event");
        let n_payload = if number < N_HOLES { 16 << 20 } else { 4 };
        assert_eq!((event.number, event.payload.len()), (number, n_payload));
    }
    assert!(log.next_event().expect("it can be read").is_none());
    let program = "
import lcm, sys
log = lcm.EventLog(sys.argv[1])
log.seek((4 << 30) + 1)
# Not as an iterator: that begins at the beginning.
for e in iter(log.read_next_event, None):
    print(e.eventnum, len(e.data))
";
    let theirs = python(program, &[&path]);
    assert!(theirs.ends_with("259 16777216\n260 4\n"), "{theirs}");
    fs::remove_dir_all(folder).expect("it can go");
}

const SHOW_MCAP: &str = "
import sys
from mcap.reader import make_reader
with open(sys.argv[1], 'rb') as f:
    for schema, channel, message in make_reader(f, validate_crcs=True).iter_messages(log_time_order=False):
        print(message.sequence, message.log_time // 1000, channel.topic, message.data.hex())
";

/// Reads records one after another, as far as there are any.
const STREAM_MCAP: &str = "
import sys
from mcap.stream_reader import StreamReader
from mcap.records import Channel, Message
topics = {}
with open(sys.argv[1], 'rb') as f:
    records = StreamReader(f, validate_crcs=True).records
    while True:
        try:
            record = next(records)
        except Exception:  # the end, or whatever its decompressors say to half a chunk
            break
        if isinstance(record, Channel):
            topics[record.id] = record.topic
        if isinstance(record, Message):
            print(record.sequence, record.log_time // 1000, topics[record.channel_id], record.data.hex())
";

#[test]
fn mcap_of_ours_is_read_by_its_own_library_finished_and_cut_off() {
    let folder = folder("logtools-mcap-ours");
    for (at, compression) in COMPRESSIONS.into_iter().enumerate() {
        let path = folder.join(format!("{at}.mcap"));
        let written = events(100);
        write(&path, compressed(compression), &written);
        assert_eq!(
            python(SHOW_MCAP, &[&path]),
            shown(&written),
            "{compression:?}"
        );
        let bytes = fs::read(&path).expect("a log");
        fs::write(&path, &bytes[..bytes.len() / 2]).expect("room");
        let theirs = python(STREAM_MCAP, &[&path]);
        let ours = read(&path).0;
        assert!(
            !ours.is_empty() && shown(&ours).starts_with(&theirs),
            "{compression:?}"
        );
        let good = folder.join(format!("{at}.good.mcap"));
        let mut log = Reader::open(&path).expect("a log");
        let mut writer = Writer::create(&good, compressed(compression)).expect("a log");
        recover(&mut log, &mut writer, &mut |_, _| {}).expect("recovered");
        assert_eq!(python(SHOW_MCAP, &[&good]), shown(&ours), "{compression:?}");
    }
}

/// Writes a file: its path, then the compression, then whether in chunks.
const WRITE_MCAP: &str = "
import sys
from mcap.writer import CompressionType, Writer
with open(sys.argv[1], 'wb') as f:
    writer = Writer(f, compression=CompressionType[sys.argv[2]], use_chunking=sys.argv[3] == 'chunks', chunk_size=1000)
    writer.start()
    schema = writer.register_schema('theirs', 'jsonschema', b'{}')
    channels = [writer.register_channel('theirs.%d' % i, 'json', schema) for i in range(3)]
    for i in range(200):
        writer.add_message(channels[i % 3], (1700000000000000 + i) * 1000, bytes([i]) * (i % 60), (1700000000000000 + i) * 1000, i)
    writer.finish()
";

#[test]
fn mcap_of_its_own_library_is_read_with_every_compression_chunked_and_not_whole_and_damaged() {
    let folder = folder("logtools-mcap-theirs");
    for (compression, shape) in [
        ("NONE", "chunks"),
        ("LZ4", "chunks"),
        ("ZSTD", "chunks"),
        ("NONE", "plain"),
    ] {
        let path = folder.join(format!("{compression}.{shape}.mcap"));
        let args = [&*path, Path::new(compression), Path::new(shape)];
        python(WRITE_MCAP, &args);
        let (found, is_intact) = read(&path);
        assert!(is_intact, "{path:?}");
        assert_eq!(found.len(), 200, "{path:?}");
        assert_eq!(shown(&found), python(SHOW_MCAP, &[&path]), "{path:?}");
        let bytes = fs::read(&path).expect("a file");
        fs::write(&path, &bytes[..bytes.len() / 2]).expect("room");
        let cut = read(&path).0;
        assert!(
            cut.len() > 40 && found.starts_with(&cut),
            "{path:?}: {}",
            cut.len()
        );
        // A flipped bit costs a chunk, unless unverified events are wanted.
        let flip = |at: usize| {
            let mut flipped = bytes.clone();
            flipped[at] ^= 1;
            fs::write(&path, flipped).expect("room");
            read(&path).0
        };
        let mut places = (bytes.len() / 3..).step_by(7).take(200);
        let vouched = places.find_map(|at| Some(flip(at)).filter(|found| found.len() < 200));
        let vouched = vouched.unwrap_or_else(|| found.clone());
        let mut log = Reader::open(&path).expect("a log");
        log.accept_unverified();
        let believed = read_with(log).0;
        if shape == "chunks" {
            let n = vouched.len();
            assert!((1..200).contains(&n), "{path:?}: {n} are left");
            assert!(
                vouched.iter().all(|event| found.contains(event)),
                "{path:?}"
            );
        }
        assert!(believed.len() >= vouched.len(), "{path:?}");
        if compression == "NONE" {
            assert!(believed.len() >= 198, "{path:?}: {}", believed.len());
        }
    }
}

/// Writes what other robots write: three kinds of schemas, words about channels, times of publishing, attachments and
/// metadata. Its path, then whether in chunks, then whether it has the places of attachments and metadata.
const WRITE_FOREIGN: &str = "
import sys
from mcap.writer import CompressionType, IndexType, Writer
indexes = IndexType.ALL if sys.argv[3] == 'listed' else IndexType.CHUNK | IndexType.MESSAGE
with open(sys.argv[1], 'wb') as f:
    writer = Writer(f, chunk_size=500, index_types=indexes, use_chunking=sys.argv[2] == 'chunks')
    writer.start(profile='ros2', library='theirs')
    writer.add_metadata('vehicle', {'name': 'Otter', 'hull': '7'})
    imu = writer.register_schema('sensor_msgs/msg/Imu', 'ros2msg', b'float64 x\\nfloat64 y\\n')
    fix = writer.register_schema('foxglove.LocationFix', 'protobuf', bytes(range(256)) * 10)
    note = writer.register_schema('Note', 'jsonschema', b'{\"type\": \"object\"}')
    channels = [
        writer.register_channel('/imu', 'cdr', imu, {'offered_qos_profiles': '- history: 3'}),
        writer.register_channel('/fix', 'protobuf', fix),
        writer.register_channel('/note', 'json', note),
        writer.register_channel('/raw', 'x-own', 0),
    ]
    for i in range(200):
        time = (1700000000000000 + i * 10000) * 1000 + i
        writer.add_message(channels[i % 4], time, bytes([i]) * (i % 60), time - 777 * i, 5000 + i)
        if i == 100:
            writer.add_attachment(1, 2, 'calibration.yaml', 'text/yaml', b'k: 1')
    writer.add_attachment(3, 4, 'photo', 'image/png', bytes(range(251)) * 12000)
    writer.add_metadata('end', {})
    writer.finish()
";

/// Shows all of it.
const SHOW_FOREIGN: &str = "
import sys, zlib
from mcap.records import Attachment, Channel, Header, Message, Metadata, Schema
from mcap.stream_reader import StreamReader
schemas, channels, rest = {0: None}, {}, []
with open(sys.argv[1], 'rb') as f:
    for it in StreamReader(f, validate_crcs=True).records:
        if isinstance(it, Header):
            print('profile', it.profile)
        if isinstance(it, Schema):
            schemas[it.id] = (it.name, it.encoding, len(it.data), zlib.crc32(it.data))
        if isinstance(it, Channel):
            channels[it.id] = it
        if isinstance(it, Message):
            channel = channels[it.channel_id]
            print(it.sequence, it.log_time, it.publish_time, it.data.hex(), channel.topic,
                  channel.message_encoding, channel.metadata, schemas[channel.schema_id])
        if isinstance(it, Metadata):
            rest.append(('metadata', it.name, sorted(it.metadata.items())))
        if isinstance(it, Attachment):
            rest.append(('attachment', it.name, it.media_type, it.log_time, it.create_time, len(it.data), zlib.crc32(it.data)))
for it in rest:
    print(*it)
";

/// The number of a message, in a line that shows one.
fn sequence(line: &str) -> Option<u64> {
    line.split(' ').next()?.parse().ok()
}

fn assert_same(ours: &str, theirs: &str) {
    for (ours, theirs) in ours.lines().zip(theirs.lines()) {
        assert_eq!(ours, theirs);
    }
    assert_eq!(ours.lines().count(), theirs.lines().count());
}

/// Copies a log as our tools do.
fn copied(from: &Path, to: &Path, plan: &CopyPlan) -> (Copied, bool) {
    let mut log = Reader::open(from).expect("a log");
    let options = WriterOptions {
        mcap: log.mcap_options().expect("it can be read"),
        ..WriterOptions::default()
    };
    let mut writer = Writer::create(to, options).expect("a log");
    let copied = copy(&mut log, &mut writer, plan, &mut |_, _| {}).expect("a copy");
    writer.finish().expect("room");
    (copied, log.damages().is_empty())
}

#[test]
fn records_of_other_mcap_writers_are_copied_unchanged() {
    let folder = folder("logtools-mcap-foreign");
    let at = |name: &str| folder.join(name);
    let shapes = ["chunks", "plain"].map(|shape| ["listed", "unlisted"].map(|kind| (shape, kind)));
    for (shape, kind) in shapes.into_iter().flatten() {
        let args = [&*at("from.mcap"), Path::new(shape), Path::new(kind)];
        python(WRITE_FOREIGN, &args);
        let theirs = python(SHOW_FOREIGN, &[&at("from.mcap")]);
        let (all, is_intact) = copied(&at("from.mcap"), &at("to.mcap"), &CopyPlan::default());
        assert!(
            is_intact && all.left.is_nothing(),
            "{shape} {kind}: {all:?}"
        );
        assert_eq!(
            (all.n_attachments, all.n_metadata),
            (2, 2),
            "{shape} {kind}"
        );
        let ours = python(SHOW_FOREIGN, &[&at("to.mcap")]);
        assert_same(&ours, &theirs);
        // Some of it, with an index, so that most is skipped; under another name.
        drop(Reader::open_with(at("to.mcap"), IndexUse::Make, &mut |_, _| {}).expect("a log"));
        let plan = CopyPlan {
            selection: Selection {
                channels: ChannelFilter::new(&["imu", "raw"]).expect("patterns"),
                times: TimeRange {
                    from_utime: 1_700_000_001_000_000,
                    to_utime: 1_700_000_001_500_000,
                },
            },
            renames: Renames::from_iter(["/(.*)=/their/$1".parse().expect("a renaming")]),
            ..CopyPlan::default()
        };
        copied(&at("to.mcap"), &at("some.mcap"), &plan);
        let ours = python(SHOW_FOREIGN, &[&at("some.mcap")]);
        let is_chosen = |line: &&str| {
            let is_chosen = |it| (5_100..=5_150).contains(&it) && matches!(it % 4, 0 | 3);
            sequence(line).is_none_or(is_chosen)
        };
        let chosen = theirs.lines().filter(is_chosen).collect::<Vec<_>>();
        assert_same(&ours, &chosen.join("\n").replace(" /", " /their/"));
        // An LCM log has room for the messages only.
        let (some, _) = copied(&at("from.mcap"), &at("to.log"), &CopyPlan::default());
        assert_eq!(some.n_written, 200);
        let left = LeftBehind {
            n_schemas: 3,
            n_publish_times: 199,
            n_attachments: 2,
            n_metadata: 2,
            n_damaged: 0,
        };
        assert_eq!(some.left, left, "{shape} {kind}");
    }
}

#[test]
fn intact_records_of_other_mcap_writers_are_recovered_whole() {
    let folder = folder("logtools-mcap-foreign-damaged");
    let at = |name: &str| folder.join(name);
    let args = [&*at("from.mcap"), Path::new("chunks"), Path::new("listed")];
    python(WRITE_FOREIGN, &args);
    let theirs = python(SHOW_FOREIGN, &[&at("from.mcap")]);
    let bytes = fs::read(at("from.mcap")).expect("a file");
    let recovered = |bytes: &[u8]| {
        fs::write(at("bad.mcap"), bytes).expect("room");
        let (copied, _) = copied(&at("bad.mcap"), &at("good.mcap"), &CopyPlan::default());
        (copied, python(SHOW_FOREIGN, &[&at("good.mcap")]))
    };
    let photo = bytes.windows(5).position(|it| it == b"photo").expect("it");
    // The end is not there, nor is what was to be attached last.
    let (cut, shown) = recovered(&bytes[..photo + 1_000]);
    let is_before = |line: &&str| {
        sequence(line).is_none_or(|it| it < 5_000 + cut.n_written)
            && !line.starts_with("attachment photo")
            && !line.starts_with("metadata end")
    };
    let expected: Vec<&str> = theirs.lines().filter(is_before).collect();
    assert!(cut.n_written > 150 && cut.n_attachments == 1, "{cut:?}");
    assert_same(&shown, &expected.join("\n"));
    // A picture with another bit.
    let mut flipped = bytes.clone();
    flipped[photo + 100_000] ^= 1;
    let (flipped, _) = recovered(&flipped);
    assert_eq!((flipped.n_written, flipped.n_attachments), (200, 1));
    assert_eq!(flipped.left.n_damaged, 1);
    let mut log = Reader::open(at("bad.mcap")).expect("a log");
    while log.next_event().expect("it can be read").is_some() {}
    let kinds: Vec<_> = log.damages().listed().iter().map(|it| &it.kind).collect();
    assert_eq!(kinds, [&DamageKind::Attachment]);
}

#[test]
fn tables_are_read_by_duckdb_and_by_pythons_csv() {
    let folder = folder("logtools-tables");
    let catalog = Catalog::new(Schemas::default(), bowline_msgs::SCHEMA);
    for format in [TableFormat::Csv, TableFormat::Parquet] {
        let mut exporter = Exporter::new(&folder, format).expect("a folder");
        for number in 0..1_000_i64 {
            for event in messages(number) {
                exporter.add(&event.as_event(), &catalog).expect("room");
            }
        }
        let (tables, left) = exporter.finish().expect("room");
        assert_eq!((tables.len(), left.is_lossy()), (3, false));
    }
    let csv = "
import csv, sys
rows = list(csv.DictReader(open(sys.argv[1] + '/vehicle.path.csv', newline='')))
print(len(rows), rows[999]['waypoints.id'], rows[999]['log_utime'], rows[999]['waypoints.position[1]'])
rows = list(csv.DictReader(open(sys.argv[1] + '/camera.csv', newline='')))
print(rows[3]['data'])
";
    assert_eq!(
        python(csv, &[&folder]),
        "1000 [\"dock, \\\"north\\\"\",\"999\"] 1700000000999000 [0.25,0.25]\nAwMD\n"
    );
    let parquet = "
import duckdb, sys
at = lambda name: \"read_parquet('%s/%s.parquet')\" % (sys.argv[1], name)
show = lambda query: print(*duckdb.sql(query).fetchall()[0])
show('select count(*), sum(\"state[3]\"), min(epoch_us(log_utime)), max(log_number) from ' + at('vehicle.pose'))
show('select \"waypoints.id\", \"waypoints.position[1]\", num_waypoints from ' + at('vehicle.path') + ' where log_number = 999')
show('select \"waypoints.id\" from ' + at('vehicle.path') + ' where log_number = 0')
show('select data, typeof(width) from ' + at('camera') + ' where log_number = 3')
show('select decode(value) from parquet_kv_metadata(\\'%s/vehicle.pose.parquet\\') where decode(key) = \\'bowline.doc.utime\\'' % sys.argv[1])
";
    assert_eq!(
        python(parquet, &[&folder]),
        "1000 499500.0 1700000000000000 999\n\
         ['dock, \"north\"', '999'] [0.25, 0.25] 2\n\
         []\n\
         b'\\x03\\x03\\x03' INTEGER\n\
         when the state held, microseconds since the epoch\n"
    );
}

/// A message of each kind of column.
fn messages(number: i64) -> [OwnedEvent; 3] {
    let event = |channel: &str, payload| OwnedEvent {
        number,
        utime: 1_700_000_000_000_000 + number * 1_000,
        nanos: 0,
        channel: channel.to_owned(),
        payload,
    };
    let mut pose = Pose::default();
    pose.state[3] = f64::from(i32::try_from(number).expect("small"));
    let names = ["dock, \"north\"".to_owned(), number.to_string()];
    let waypoints = names.into_iter().map(|id| Waypoint {
        id,
        position: [1.5, 0.25],
    });
    let path = PathMessage {
        waypoints: waypoints.take(if number == 0 { 0 } else { 2 }).collect(),
        ..PathMessage::default()
    };
    let image = Image {
        data: vec![
            u8::try_from(number % 256).expect("a byte");
            usize::try_from(number % 7).expect("small")
        ],
        ..Image::default()
    };
    [
        event("vehicle.pose", pose.encode().expect("a message")),
        event(
            "vehicle.path",
            path.with_lengths().encode().expect("a message"),
        ),
        event("camera", image.with_lengths().encode().expect("a message")),
    ]
}

/// Puts a log on a disk of 1 MiB that is full then, has a program read it there, and lists what is there afterwards.
const READ_ON_FULL_DISK: &str = r#"
disk="$1"; log="$2"; shift 2
mount -t tmpfs -o size=1m tmpfs "$disk" && cp "$log" "$disk/log" || exit 3
cat /dev/zero > "$disk/filler" 2> /dev/null && exit 4
TMPDIR="$disk" "$@" "$disk/log" || exit 5
ls "$disk"
"#;

#[test]
fn log_on_a_full_disk_is_read_although_no_index_can_be_written() {
    let (folder, place) = (folder("logtools-full"), Namespace::new());
    let disk = folder.join("disk");
    fs::create_dir_all(&disk).expect("a folder");
    for name in ["log", "log.mcap"] {
        let log = folder.join(name);
        write(&log, compressed(Compression::None), &events(2_000));
        let mut command = place.command("unshare");
        command.args(["--mount", "sh", "-c", READ_ON_FULL_DISK, "sh"]);
        command.args([&disk, &log]).arg(bowline());
        let shown = output_of(command.args(["log", "info"]));
        assert!(shown.contains("2000") || shown.contains("2,000"), "{shown}");
        assert!(shown.ends_with("filler\nlog\n"), "{shown}");
    }
}
