use super::twin;
use super::*;
use crate::counts::{Condition, Counts};
use crate::line::{Line, Splitter};
use crate::sensor::{Sensor as _, SensorComponent};
use bowline_component::{Rig, Time};
use bowline_msgs::{Device, GpsFix, GpsRmc, Heading, Serial, Sounding};
use proptest::prelude::*;
use std::f64::consts::PI;
use std::time::Duration;

/// The sentences of a receiver on the research vessel Ronald H. Brown at 19:59:59 on 14 January 2020 (ATOMIC, NOAA PSL).
const SHIP: &str = "\
$GPHDT,74.20,T*34\r
$GPGGA,195959.00,1541.31258893,N,05130.51204125,W,2,06,1.5,9.2,M,-37.6,M,4.0,0138*7E\r
$GPGLL,1541.31258893,N,05130.51204125,W,195959.00,A,D*7B\r
$GPVTG,147.44,T,164.31,M,0.26,N,0.49,K,D*2C\r
$GPZDA,195959.00,14,01,2020,00,00*6A\r
$GPRMC,195959.00,A,1541.31258893,N,05130.51204125,W,0.26,147.44,140120,16.9,W,D*0B\r
$GPGSA,M,3,14,16,26,27,29,31,,,,,,,2.7,1.5,2.3*34\r
$GPGSV,3,1,12,03,09,280,,04,11,322,,08,11,209,35,14,68,160,42*70\r
$GPGST,195959.00,0.30,0.36,0.26,283.74,0.26,0.36,0.68*68\r
";

/// Sentences of a Humminbird plotter, as gpsd's tests have them, and of the usual handbooks.
const OTHERS: &str = "\
$INDPT,2.2,0.0*47\r
$INRMC,194101,A,4426.1130,N,07140.5596,W,5.2,77.3,160906,15.8,W*60\r
$INGGA,194104,4426.1138,N,07140.5536,W,2,10,0.9,267.9,M,,,,*13\r
$INMTW,17.9,C*1B\r
$GPGGA,123519,4807.038,N,01131.000,E,1,08,0.9,545.4,M,46.9,M,,*47\r
$GPRMC,123519,A,4807.038,N,01131.000,E,022.4,084.4,230394,003.1,W*6A\r
";

/// 14 January 2020, 20:00:00 UTC.
const EVENING: Time = Time::from_utime(1_579_032_000_000_000);

fn driver() -> Nmea {
    Nmea::new(NmeaParameters::default()).expect("defaults are fine")
}

fn read(driver: &mut Nmea, now: Time, text: &[u8]) -> Vec<NmeaReading> {
    driver.poll(now, &mut Line::new(text))
}

fn fixes(readings: &[NmeaReading]) -> Vec<&GpsFix> {
    let fixes = readings.iter().filter_map(|reading| match reading {
        NmeaReading::Fix(fix) => Some(fix),
        NmeaReading::Rmc(_) | NmeaReading::Heading(_) | NmeaReading::Depth(_) => None,
    });
    fixes.collect()
}

fn close(one: f64, other: f64, tolerance: f64) -> bool {
    (one - other).abs() <= tolerance
}

#[test]
fn sentences_recorded_on_a_ship_are_parsed() {
    let mut driver = driver();
    let readings = read(&mut driver, EVENING, SHIP.as_bytes());
    let [
        NmeaReading::Heading(heading),
        NmeaReading::Fix(fix),
        NmeaReading::Rmc(rmc),
    ] = &readings[..]
    else {
        panic!("expected a heading, a fix and a speed, found {readings:?}");
    };
    assert!(close(
        heading.heading_rad,
        (90.0_f64 - 74.20).to_radians(),
        1e-12
    ));
    assert_eq!(
        fix.utime,
        EVENING.utime() - 1_000_000,
        "when it was measured, not when it came"
    );
    assert!(close(fix.lat_deg, 15.688_543_148, 1e-9), "{}", fix.lat_deg);
    assert!(close(fix.lon_deg, -51.508_534_021, 1e-9), "{}", fix.lon_deg);
    assert!(close(fix.alt_m, 9.2 - 37.6, 1e-9));
    assert!(close(
        fix.horizontal_sd_m,
        3.0 * 0.4 * 1.5 / 2_f64.sqrt(),
        1e-9
    ));
    assert_eq!((rmc.utime, rmc.sog), (fix.utime, 0.26));
    // The deviations that it reports count from then on.
    let next = GpsFix {
        utime: EVENING.utime(),
        ..GpsFix::default()
    };
    let again = read(&mut driver, EVENING, twin::gga("GP", &next).as_bytes());
    let fix = fixes(&again)
        .first()
        .map(|fix| (fix.horizontal_sd_m, fix.vertical_sd_m));
    assert_eq!(fix, Some((0.36, 0.68)));
    let counts = driver.counts();
    assert_eq!((counts.n_good, counts.n_ignored), (7, 3));
    assert_eq!(
        (counts.n_refused, counts.n_bad_checksum, counts.n_malformed),
        (0, 0, 0)
    );
}

#[test]
fn what_gpsd_makes_of_a_plotters_sentences_is_what_we_make_of_them() {
    let at = EVENING - Duration::from_secs(1_139);
    let readings = read(&mut driver(), at, OTHERS.as_bytes());
    // gpsd: "lat":44.435216667,"lon":-71.675993333,"speed":2.675
    let rmc = readings.iter().find_map(|reading| {
        let NmeaReading::Rmc(rmc) = reading else {
            return None;
        };
        Some(rmc)
    });
    let rmc = rmc.expect("it has one");
    assert!(close(rmc.lat, 44.435_216_667, 1e-9) && close(rmc.lon, -71.675_993_333, 1e-9));
    assert!(close(rmc.sog * 0.514_444, 2.675, 1e-3));
    assert_eq!(rmc.utime, at.utime(), "19:41:01");
    let fixes = fixes(&readings);
    assert!(
        fixes[0].vertical_sd_m > 29.0,
        "it did not send where the geoid is"
    );
    assert!(
        close(fixes[1].lat_deg, 48.1173, 1e-9) && close(fixes[1].lon_deg, 11.516_666_667, 1e-9)
    );
    assert!(close(fixes[1].alt_m, 545.4 + 46.9, 1e-9));
    assert_eq!(
        fixes[1].utime,
        at.utime() - 100_000,
        "its clock is off by hours: arrival counts, less what the way takes"
    );
    let depths = readings
        .iter()
        .filter(|it| matches!(it, NmeaReading::Depth(depth) if close(depth.depth_m, 2.2, 1e-9)));
    assert_eq!(depths.count(), 1);
}

#[test]
fn midnight_between_measurement_and_arrival_costs_nothing() {
    const DAY_US: i64 = 86_400_000_000;
    let midnight = EVENING.utime() - EVENING.utime().rem_euclid(DAY_US);
    for (measured, arrived) in [
        (-400_000, 300_000),
        (-100_000, -50_000),
        (200_000, -200_000),
    ] {
        let fix = GpsFix {
            utime: midnight + measured,
            ..GpsFix::default()
        };
        let text = twin::gga("GP", &fix);
        let readings = read(
            &mut driver(),
            Time::from_utime(midnight + arrived),
            text.as_bytes(),
        );
        let [NmeaReading::Fix(read)] = &readings[..] else {
            panic!("expected a fix, found {readings:?}");
        };
        assert_eq!(
            read.utime, fix.utime,
            "measured {measured}, arrived {arrived}"
        );
    }
}

#[test]
fn a_receiver_that_repeats_its_last_fix_is_believed_once_and_again_when_it_goes_on() {
    let fix = |seconds: i64| GpsFix {
        utime: EVENING.utime() + seconds * 1_000_000,
        ..GpsFix::default()
    };
    let rmc = |seconds: i64| GpsRmc {
        utime: fix(seconds).utime,
        ..GpsRmc::default()
    };
    let said = |seconds: i64| {
        // Two receivers on one line have the same times.
        [
            twin::gga("GP", &fix(seconds)),
            twin::gga("GN", &fix(seconds)),
            twin::rmc("GP", &rmc(seconds)),
        ]
        .concat()
    };
    let mut driver = driver();
    for second in 0..15 {
        let now = EVENING + Duration::from_secs(second);
        let readings = read(&mut driver, now, said(0).as_bytes());
        let n_expected = if second == 0 { 3 } else { 0 };
        assert_eq!(readings.len(), n_expected, "second {second}: {readings:?}");
    }
    let now = EVENING + Duration::from_secs(15);
    assert_ne!(driver.condition(now), Condition::Working);
    assert_eq!(driver.counts().n_refused, 14 * 3);
    assert!(driver.counts().last_error().contains("the one before"));
    let readings = read(&mut driver, now, said(15).as_bytes());
    assert_eq!(readings.len(), 3, "it goes on");
    // Also with a clock of its own that runs, however wrong it is: then arrival counts.
    for seconds in 5_000..5_003 {
        let readings = read(&mut driver, now, said(seconds).as_bytes());
        assert_eq!(readings.len(), 3, "{readings:?}");
    }
}

#[test]
fn midnight_and_a_receiver_without_a_clock_are_no_repetition() {
    const DAY_US: i64 = 86_400_000_000;
    let midnight = EVENING.utime() - EVENING.utime().rem_euclid(DAY_US);
    let mut driver = driver();
    for seconds in -3..3 {
        let utime = midnight + seconds * 1_000_000;
        let fix = GpsFix {
            utime,
            ..GpsFix::default()
        };
        let text = twin::gga("GP", &fix);
        let readings = read(&mut driver, Time::from_utime(utime), text.as_bytes());
        assert_eq!(fixes(&readings).len(), 1, "{seconds} s from midnight");
    }
    // A sentence without a time is no fix, and its error is the missing time, not a repetition.
    let fields = ",1541.3,N,05130.5,W,1,06,1.5,9.2,M,-37.6,M,,";
    let fields: Vec<String> = fields.split(',').map(str::to_owned).collect();
    for _ in 0..2 {
        let text = write("GP", "GGA", &fields);
        assert_eq!(read(&mut driver, EVENING, text.as_bytes()), []);
        assert!(
            driver
                .counts()
                .last_error()
                .contains("a place, as there is a fix")
        );
    }
}

#[test]
fn a_sentence_that_cannot_be_believed_gives_nothing_but_a_count() {
    let body = |text: &str| {
        let (address, fields) = text.split_once(',').expect("it has fields");
        let (talker, kind) = address.split_at(2);
        write(
            talker,
            kind,
            &fields.split(',').map(str::to_owned).collect::<Vec<_>>(),
        )
    };
    let cases = [
        "GPGGA,195959.00,,,,,0,00,99.99,,M,,M,,",
        "GPGGA,195959.00,1541.3,N,05130.5,W,0,06,1.5,9.2,M,-37.6,M,,",
        "GPGGA,195959.00,1541.3,N,05130.5,W,8,06,1.5,9.2,M,-37.6,M,,",
        "GPGGA,195959.00,9141.3,N,05130.5,W,1,06,1.5,9.2,M,-37.6,M,,",
        "GPGGA,195959.00,1561.3,N,05130.5,W,1,06,1.5,9.2,M,-37.6,M,,",
        "GPGGA,195959.00,1541.3,X,05130.5,W,1,06,1.5,9.2,M,-37.6,M,,",
        "GPGGA,195959.00,1541.3,N,18130.5,W,1,06,1.5,9.2,M,-37.6,M,,",
        "GPGGA,245959.00,1541.3,N,05130.5,W,1,06,1.5,9.2,M,-37.6,M,,",
        "GPGGA,195959.00,1541.3,N,05130.5,W,1,06,1.5,92000,M,-37.6,M,,",
        "GPGGA,195959.00,1541.3,N,05130.5,W,1,06,nan,9.2,M,-37.6,M,,",
        "GPGGA,195959.00,1541.3,N,05130.5,W,1,06,1.5,1e3,M,-37.6,M,,",
        "GPGGA,195959.00,,,,,1,06,1.5,9.2,M,-37.6,M,,",
        "GPRMC,195959.00,V,1541.3,N,05130.5,W,0.26,147.44,140120,16.9,W,N",
        "GPRMC,195959.00,A,1541.3,N,05130.5,W,0.26,147.44,140120,16.9,W,E",
        "GPRMC,195959.00,A,1541.3,N,05130.5,W,0.26,147.44,321320,16.9,W,A",
        "GPRMC,195959.00,A,1541.3,N,05130.5,W,-1.0,147.44,140120,16.9,W,A",
        "GPHDT,360.1,T",
        "GPHDT,,T",
        "GPHDT,12.0,M",
        "SDDPT,-1.0,0.0",
        "SDDBT,10.0,f,8.0,M,1.7,F",
    ];
    for case in cases {
        let mut driver = driver();
        let readings = read(&mut driver, EVENING, body(case).as_bytes());
        assert_eq!(readings, [], "{case}");
        let counts = driver.counts();
        assert_eq!((counts.n_refused, counts.n_good), (1, 0), "{case}");
        assert!(!counts.last_error().is_empty(), "{case}");
    }
}

#[test]
fn headings_and_depths_of_all_sorts_are_read() {
    let heading = |text: &str| {
        let sentence = text.split(',').map(str::to_owned).collect::<Vec<_>>();
        let (talker, kind) = sentence[0].split_at(2);
        let text = write(talker, kind, &sentence[1..]);
        match &read(&mut driver(), EVENING, text.as_bytes())[..] {
            [NmeaReading::Heading(heading)] => heading.heading_rad.to_degrees(),
            [NmeaReading::Depth(depth)] => depth.depth_m,
            other => panic!("{text}: {other:?}"),
        }
    };
    for (text, expected) in [
        ("HEHDT,90.0,T", 0.0),
        ("HCHDM,0.0,M", 90.0),
        ("HCHDG,350.0,20.0,E,5.0,W", 80.0),
        ("HCHDG,10.0,20.0,W,,", 100.0),
        ("HCHDG,180.0,,,,", -90.0),
        ("SDDPT,12.5,-0.3,100", 12.5),
        ("SDDBT,32.8,f,10.0,M,5.5,F", 10.0),
        ("SDDBT,32.8,f,,M,,F", 32.8 * 0.3048),
    ] {
        assert!(
            close(heading(text), expected, 1e-9),
            "{text}: {}",
            heading(text)
        );
    }
    assert!(
        heading("SDDPT,,0.0").is_nan(),
        "no echo is published as such"
    );
}

/// What a sentence was read as, and nothing of when.
fn told(text: &[u8]) -> Vec<NmeaReading> {
    read(&mut driver(), EVENING, text)
}

/// A field that is no number is not equal to itself.
fn words(readings: &[NmeaReading]) -> String {
    format!("{readings:?}")
}

#[test]
fn every_truncation_and_every_flipped_bit_is_refused_or_changes_nothing() {
    let sentences = SHIP
        .split_inclusive('\n')
        .chain(OTHERS.split_inclusive('\n'));
    let mut n_refused = 0;
    for sentence in sentences {
        let expected = words(&told(sentence.as_bytes()));
        for len in 0..sentence.len() {
            let cut = &sentence.as_bytes()[..len];
            // The end of the line may be one letter or two.
            let is_whole = len + 2 >= sentence.len();
            let found = words(&told(&[cut, b"\r\n"].concat()));
            assert!(
                found == "[]" || is_whole && found == expected,
                "{sentence} cut at {len}: {found}"
            );
        }
        for bit in 0..sentence.len() * 8 {
            let mut bytes = sentence.as_bytes().to_vec();
            bytes[bit / 8] ^= 1 << (bit % 8);
            let found = words(&told(&bytes));
            assert!(
                found == "[]" || found == expected,
                "{sentence} bit {bit}: {found}"
            );
            n_refused += usize::from(found == "[]");
        }
    }
    assert!(n_refused > 5_000, "most of them are refused: {n_refused}");
}

#[test]
fn garbage_between_sentences_costs_no_sentence_and_is_counted() {
    let mut driver = driver();
    let text = SHIP.replace('\n', "\n\u{0}\u{7f}~~");
    let mut readings = Vec::new();
    for piece in text.as_bytes().chunks(7) {
        readings.extend(read(&mut driver, EVENING, piece));
    }
    assert_eq!(readings.len(), 3);
    let counts = driver.counts();
    assert_eq!((counts.n_garbage_bytes, counts.n_malformed), (36, 0));
}

fn rigged(text: &str) -> Rig {
    let mut rig = Rig::new::<SensorComponent<Nmea>>(NmeaParameters::default());
    let serial = Serial {
        utime: 1,
        bytes: text.as_bytes().to_vec(),
        ..Serial::default()
    };
    rig.send("line_in", serial.with_lengths());
    rig
}

#[test]
fn device_reports_its_health_and_its_silence() {
    let mut rig = rigged(SHIP);
    assert_eq!(rig.take::<GpsFix>("fix").len(), 1);
    assert_eq!(rig.take::<GpsRmc>("rmc").len(), 1);
    assert_eq!(rig.take::<Heading>("heading").len(), 1);
    rig.advance(Duration::from_secs(10));
    let states: Vec<i8> = rig
        .take::<Device>("device")
        .iter()
        .map(|it| it.state)
        .collect();
    assert_eq!(states[..2], [Device::STARTING, Device::WORKING]);
    assert_eq!(states.last(), Some(&Device::SILENT));
}

#[test]
fn twin_reaches_the_driver_unchanged_at_the_lines_rate() {
    let mut twin = Rig::new::<NmeaTwin>(NmeaTwinParameters {
        baud: 4_800,
        ..NmeaTwinParameters::default()
    });
    let mut driver = Rig::new::<SensorComponent<Nmea>>(NmeaParameters::default());
    let mut sent = Vec::new();
    for second in 0..5_u32 {
        let utime = twin.now().utime();
        let fix = GpsFix {
            utime,
            lat_deg: -12.5 + f64::from(second) * 1e-5,
            lon_deg: 179.999_999_9,
            alt_m: -1.25,
            horizontal_sd_m: 0.5,
            vertical_sd_m: 0.75,
            ..GpsFix::default()
        };
        twin.send("fix", fix.clone());
        twin.send(
            "depth",
            Sounding {
                utime,
                depth_m: 7.5,
                ..Sounding::default()
            },
        );
        sent.push(fix);
        for _ in 0..100 {
            twin.advance(Duration::from_millis(10));
            driver.advance(Duration::from_millis(10));
            let pieces = twin.take::<Serial>("line_out");
            let n_bytes: usize = pieces.iter().map(|piece| piece.bytes.len()).sum();
            assert!(
                n_bytes <= 10,
                "480 bytes a second, found {n_bytes} in 10 ms"
            );
            for piece in pieces {
                driver.send("line_in", piece);
            }
        }
    }
    let heard = driver.take::<GpsFix>("fix");
    assert_eq!(heard.len(), sent.len());
    for (heard, sent) in heard.iter().zip(&sent) {
        assert_eq!(heard.utime, sent.utime);
        assert!(
            close(heard.lat_deg, sent.lat_deg, 1e-8) && close(heard.lon_deg, sent.lon_deg, 1e-8)
        );
        assert_eq!(
            (heard.alt_m, heard.horizontal_sd_m, heard.vertical_sd_m),
            (-1.25, 0.5, 0.75)
        );
    }
    assert_eq!(driver.take::<Sounding>("depth").len(), 5);
}

proptest! {
    #[test]
    fn what_is_written_is_read_within_rounding(
        seconds in 0_i64..4_000_000_000, lat_deg in -90.0_f64..=90.0, lon_deg in -180.0_f64..=180.0,
        alt_m in -500.0_f64..9_000.0, sog in 0.0_f64..900.0, heading_rad in -PI..=PI, depth_m in 0.0_f64..11_000.0,
        sd_m in 0.001_f64..1_000.0,
    ) {
        let utime = seconds * 1_000_000;
        let fix = GpsFix { utime, lat_deg, lon_deg, alt_m, horizontal_sd_m: sd_m, vertical_sd_m: sd_m, ..GpsFix::default() };
        let rmc = GpsRmc { utime, lat: lat_deg, lon: lon_deg, sog };
        let text = [
            twin::gst("GP", &fix), twin::gga("GN", &fix), twin::rmc("GP", &rmc),
            twin::hdg(&Heading { heading_rad, ..Heading::default() }),
            twin::dpt(&Sounding { depth_m, ..Sounding::default() }),
        ].concat();
        let readings = read(&mut driver(), Time::from_utime(utime), text.as_bytes());
        let [NmeaReading::Fix(fix), NmeaReading::Rmc(rmc), NmeaReading::Heading(heading), NmeaReading::Depth(depth)] = &readings[..] else {
            panic!("{text}: {readings:?}");
        };
        prop_assert_eq!((fix.utime, rmc.utime), (utime, utime));
        for (lat, lon) in [(fix.lat_deg, fix.lon_deg), (rmc.lat, rmc.lon)] {
            prop_assert!(close(lat, lat_deg, 1e-9) && close(lon, lon_deg, 1e-9));
        }
        prop_assert!(close(fix.alt_m, alt_m, 6e-4) && close(fix.horizontal_sd_m, sd_m, 6e-4));
        prop_assert!(close(rmc.sog, sog, 6e-4) && close(depth.depth_m, depth_m, 6e-4));
        let turned = (heading.heading_rad - heading_rad).rem_euclid(2.0 * PI);
        prop_assert!(turned.min(2.0 * PI - turned) <= 0.006_f64.to_radians());
    }

    #[test]
    fn no_bytes_make_it_panic_or_hold_more_than_a_sentence(bytes in prop::collection::vec(any::<u8>(), 0..2_000)) {
        let (mut splitter, mut counts) = (Splitter::new(SHAPE), Counts::default());
        for frame in splitter.split(&bytes, &mut counts) {
            prop_assert!(frame.len() <= MAX_SENTENCE + 1);
            if let Ok(sentence) = Sentence::parse(&frame) {
                drop(Report::read(&sentence));
            }
        }
        read(&mut driver(), EVENING, &bytes);
    }
}
