//! When nothing can be written, the newest is kept, an alarm is published, and every event is accounted for.

use super::{contents, live};
use bowline_log::record::{Phase, RECORDER_CHANNEL};
use bowline_msgs::Recorder as RecorderMessage;
use bowline_testing::patience::{PATIENCE, wait_until};

#[test]
fn below_the_quota_nothing_is_written_and_the_alarm_is_on_the_bus() {
    let folder = tempfile::tempdir().unwrap();
    let (bus, mut recorder, path) = live(folder.path(), |options| {
        options.disk_quota = Some(u64::MAX);
        options.max_unwritten_bytes = 256 * 100;
    });
    let alarms = bus.subscribe::<RecorderMessage>(RECORDER_CHANNEL).unwrap();
    bus.publish_bytes("X", b"first").unwrap();
    let alarm = alarms.recv_timeout(PATIENCE).unwrap().expect("an alarm");
    assert!(alarm.alarm.contains("left to others"), "{}", alarm.alarm);
    assert_eq!(alarm.file, path.display().to_string());
    for number in 0..1_000_u32 {
        bus.publish_bytes("X", &number.to_be_bytes()).unwrap();
    }
    wait_until("100 events that wait", || {
        recorder.status().queue.waiting >= 100
    });
    let status = recorder.status();
    assert_eq!(status.phase, Phase::Refused);
    assert!(status.n_write_errors > 0);
    let status = recorder.stop();
    assert_eq!(status.phase, Phase::Ended);
    let n_alarms = status.queue.queued - 1_001;
    assert_eq!(status.n_recorded, 0);
    assert_eq!(status.lost_here(), 1_001 + n_alarms, "{status:?}");
    assert!(status.is_lossy());
    assert_eq!(contents(&path), []);
    let warnings = recorder.notices_since(0);
    assert!(
        warnings.iter().any(|notice| notice.is_warning),
        "{warnings:?}"
    );
}

#[test]
fn what_no_log_can_hold_is_counted_and_named() {
    let folder = tempfile::tempdir().unwrap();
    let long = "a".repeat(63);
    let (bus, mut recorder, path) = live(folder.path(), |_| {});
    bus.publish_bytes(&long, b"fine").unwrap();
    let status = recorder.stop();
    assert_eq!((status.n_unwritable, status.n_recorded), (0, 1));
    assert_eq!(contents(&path), [(long, b"fine".to_vec())]);
}
