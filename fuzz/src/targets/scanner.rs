//! Any bytes as frames of a scanner, and any bytes from a device that is just being asked: nothing panics, a frame that
//! is understood is the only way to write its contents, and a scan is within the device's limits.

use bowline_component::Time;
use bowline_drivers::scanner::{SHAPE, Scanner, ScannerParameters, decode, encode};
use bowline_drivers::{Counts, Line, Sensor as _, Splitter};
use std::time::Duration;

pub(crate) fn run(bytes: &[u8]) {
    let (mut splitter, mut counts) = (Splitter::new(SHAPE), Counts::default());
    for frame in splitter.split(bytes, &mut counts) {
        if let Ok(payload) = decode(&frame) {
            let mut written = encode(&payload);
            written.pop();
            assert_eq!(written, frame);
        }
    }
    // A device that lets us in and then sends this, a piece at a time.
    let mut scanner = Scanner::new(ScannerParameters::default()).expect("defaults are fine");
    let mut now = Time::from_utime(1_000_000);
    scanner.poll(now, &mut Line::new(&[]));
    scanner.poll(
        now,
        &mut Line::new(&encode(&[0xa0, 0x69, 1, 2, 3, 4, 5, 6, 7, 8])),
    );
    scanner.poll(now, &mut Line::new(&encode(&[0xa0, 0x5a, 1])));
    for piece in bytes.chunks(64) {
        now = now + Duration::from_millis(20);
        let mut line = Line::new(piece);
        for scan in scanner.poll(now, &mut line) {
            assert!(scan.points.len() <= 91);
            let is_range = |range: f32| range.is_infinite() || (0.1..=4.0).contains(&range);
            assert!(scan.points.iter().all(|point| is_range(point[3])));
        }
        let (_, wake) = line.into_parts();
        assert!(
            wake.is_some_and(|wake| wake > now),
            "it never waits for ever, and never spins"
        );
    }
}
