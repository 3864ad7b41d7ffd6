use super::*;
use crate::sensor::SensorComponent;
use bowline_component::{Rig, Time};
use bowline_msgs::{Device, Range3d, Serial};
use bowline_testing::random::cases;
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::time::Duration;

/// A driver and a twin with a line between them, and a world that is never the same twice.
struct Bench {
    driver: Rig,
    twin: Rig,
    /// What was to be seen from when on, and by whom it would be recognised.
    world: BTreeMap<i64, Vec<u16>>,
    n_worlds: u16,
}

const STEP: Duration = Duration::from_millis(5);

impl Bench {
    fn new(mood: &str, seed: i64) -> Self {
        Self::of(ScannerParameters::default(), mood, seed)
    }

    fn of(parameters: ScannerParameters, mood: &str, seed: i64) -> Self {
        let twin = ScannerTwinParameters {
            n_sectors: parameters.n_sectors,
            first_deg: parameters.first_deg,
            step_deg: parameters.step_deg,
            n_more_bytes: parameters.n_more_bytes,
            mood: mood.to_owned(),
            mood_lasts: Duration::from_millis(1_500),
            seed,
            ..ScannerTwinParameters::default()
        };
        Self {
            driver: Rig::new::<SensorComponent<Scanner>>(parameters),
            twin: Rig::new::<ScannerTwin>(twin),
            world: BTreeMap::new(),
            n_worlds: 0,
        }
    }

    /// Another world: every scan has its number in it.
    fn turn(&mut self) {
        self.n_worlds += 1;
        let n = self.n_worlds;
        let distances_mm: Vec<u16> = (0..91)
            .map(|sector: u16| match sector % 7 {
                0 => 5_000,
                1 => 0,
                _ => 200 + (n.wrapping_mul(31) + sector * 37) % 3_700,
            })
            .collect();
        let points = distances_mm.iter().enumerate().filter(|(_, mm)| **mm > 0);
        let points = points.map(|(sector, mm)| {
            let (sin, cos) = (-81.0 + 1.8 * sector as f32).to_radians().sin_cos();
            match *mm {
                5_000 => [cos, sin, 0.0, f32::INFINITY],
                mm => {
                    let range_m = f32::from(mm) / 1_000.0;
                    [cos * range_m, sin * range_m, 0.0, range_m]
                }
            }
        });
        let range = Range3d {
            utime: self.twin.now().utime(),
            points: points.collect(),
            ..Range3d::default()
        };
        self.twin.send("ranges", range.with_lengths());
        self.world.insert(self.twin.now().utime(), distances_mm);
    }

    /// Lets time pass on both ends.
    fn run(&mut self, duration: Duration) -> Vec<Range3d> {
        let mut scans = Vec::new();
        let n_steps = duration.as_millis() / STEP.as_millis();
        for step in 0..n_steps {
            if step % 20 == 0 {
                self.turn();
            }
            for piece in self.driver.take::<Serial>("line_out") {
                self.twin.send("line_in", piece);
            }
            self.twin.advance(STEP);
            self.driver.advance(STEP);
            for piece in self.twin.take::<Serial>("line_out") {
                self.driver.send("line_in", piece);
            }
            scans.extend(self.driver.take::<Range3d>("reading"));
        }
        for scan in &scans {
            self.check(scan);
        }
        scans
    }

    /// That a scan is what was to be seen when it was asked for.
    fn check(&self, scan: &Range3d) {
        // The question takes a step to the device; the world may turn in between.
        let asked = Time::from_utime(scan.utime);
        let seen = [asked - STEP, asked, asked + STEP, asked + STEP * 2].map(|at| {
            let (_, seen) = self
                .world
                .range(..=at.utime())
                .next_back()
                .expect("there is a world");
            seen
        });
        let distances = |seen: &[u16]| -> Vec<f32> {
            let there = seen.iter().filter(|mm| **mm > 0);
            there
                .map(|mm| {
                    if *mm == 5_000 {
                        f32::INFINITY
                    } else {
                        f32::from(*mm) / 1_000.0
                    }
                })
                .collect()
        };
        let found: Vec<f32> = scan.points.iter().map(|point| point[3]).collect();
        assert!(
            seen.iter().any(|seen| distances(seen) == found),
            "a scan at {asked:?} out of sight: {found:?}"
        );
    }

    fn device(&mut self) -> Device {
        self.run(SECOND);
        self.driver
            .take::<Device>("device")
            .pop()
            .expect("it is published every second")
    }
}

const SECOND: Duration = Duration::from_secs(1);

#[test]
fn the_frames_of_the_sibling_are_ours() {
    // As Player's driver for the PBS-03JN sends them.
    let who = [0x02, 0x48, 0x26, 0x44, 0x58, 0x34, 0x30, 0x03];
    let scan = [0x02, 0x48, 0x46, 0x46, 0x28, 0x38, 0x40, 0x03];
    assert_eq!(encode(&[0xa0, 0x69]), who);
    assert_eq!(encode(&[0xa2, 0x69]), scan);
    assert_eq!(decode(&who[..7]), Ok(vec![0xa0, 0x69]));
    assert_eq!(decode(&scan[..7]), Ok(vec![0xa2, 0x69]));
}

/// Frames of a PBS-03JN, as Player's driver for it exchanges them (Player, `server/drivers/laser/pbs_driver.cc`): requests
/// as it sends them, `SendAcqLinkCode` and `sendDistAcq`; replies as its `decodePBS` and `ConvertToM` take them apart. They
/// were written down from that description by another program than ours, with the code 12 34 56 78 9A BC DE F0.
mod player {
    pub(super) const WHO: &[u8] = &[0x02, 0x48, 0x26, 0x44, 0x58, 0x34, 0x30, 0x03];
    pub(super) const CODE: &[u8] = b"\x02H&D2-%9XFKS>\\&G\\\x03";
    /// `sendAuthCode`: A0 5A 01 and the checksum of the code.
    pub(super) const ENTER: &[u8] = b"\x02H%H!1]'*=0\x03";
    pub(super) const IS_IN: &[u8] = b"\x02H%H!V3 \x03";
    pub(super) const IS_OUT: &[u8] = b"\x02H%H 4\"$\x03";
    pub(super) const SCAN: &[u8] = &[0x02, 0x48, 0x46, 0x46, 0x28, 0x38, 0x40, 0x03];
    /// 121 distances from 1000 mm on, each 10 mm longer, and two more bytes.
    pub(super) const FROM_1000: &[u8] = b"\x02HFGH _(#_ ,&!! $&@0D!\"X$. 1\"!$P$5@1@!&H$= 1^!(@$D@2<!*8$L 2Z!,0$S@38!.($[ 3V!  %\"@44!1X%* 4R!3P%1@50!5H%9 5N!7@%@@6,!98%H 6J!;0%O@7(!=(%W 7F!? %^@4$!@X&& 8B!BP&-@9 !DH&5 9>!F@&<@9\\!H8&D ::!J0&K@:X!L(&S ;6!N &Z@;T!OX&\" <2!QP')@<P!SH'1 =.!U@'8@=L!W8'@ >*!Y0'G@>H![('O ?&!] 'V@?D!^X'^ <\"\" P(%@@@\"\"H(- @^\"$@(4@A<\"&8(< AZ\"(0(C@B8\"   3#,\x03";
    /// The same from 1500 mm on.
    pub(super) const FROM_1500: &[u8] = b"\x02HFG<!>8%\\ 7Z!00&#@88!B(&+ 8V!D &2@94!EX&: 9R!GP&A@:0!IH&I :N!K@&P@;,!M8&X ;J!O0&_@8(!Q('' <F!S '.@=$!TX'6 =B!VP'=@> !XH'E >>!Z@'L@>\\!\\8'T ?:!^0'[@?X!P((# @6\"\" (*@@T\"#X(2 A2\"%P(9@AP\"'H(A B.\")@(H@BL\"+8(P C*\"-0(W@CH\"/((_ @&\"1 )&@DD\"2X). E\"\"4P)5@E@\"6H)= E^\"8@)D@F<\":8)L FZ\"<0)S@G8\">()[ GV\"0 *\"@H4\"AX** HR\"CP*1@I0\"EH*9 IN\"G@*@@J,\"@  Y%L\x03";
}

/// Gives a driver a reply, and returns what it sends next.
fn replied(driver: &mut Rig, reply: &[u8]) -> Vec<u8> {
    let serial = Serial {
        utime: driver.now().utime(),
        bytes: reply.to_vec(),
        ..Serial::default()
    };
    driver.send("line_in", serial.with_lengths());
    sent(driver)
}

/// What a driver sends within a period of asking.
fn sent(driver: &mut Rig) -> Vec<u8> {
    driver.advance(Duration::from_millis(190));
    let pieces = driver.take::<Serial>("line_out").into_iter();
    pieces.flat_map(|piece| piece.bytes).collect()
}

fn sibling() -> Rig {
    Rig::new::<SensorComponent<Scanner>>(ScannerParameters {
        n_sectors: 121,
        first_deg: -105.88,
        step_deg: 1.75,
        n_more_bytes: 2,
        ..ScannerParameters::default()
    })
}

#[test]
fn driver_given_the_replies_of_a_pbs_03jn_asks_and_reads_as_player_does() {
    let mut driver = sibling();
    assert_eq!(sent(&mut driver), player::WHO);
    assert_eq!(replied(&mut driver, player::CODE), player::ENTER);
    assert_eq!(replied(&mut driver, player::IS_IN), player::SCAN);
    // The first scan after a start only counts once another has followed.
    assert_eq!(replied(&mut driver, player::FROM_1000), player::SCAN);
    assert_eq!(driver.take::<Range3d>("reading"), []);
    assert_eq!(replied(&mut driver, player::FROM_1500), player::SCAN);
    let readings = driver.take::<Range3d>("reading");
    let [reading] = readings.as_slice() else {
        panic!("expected one scan, found {readings:?}");
    };
    assert_eq!(reading.points.len(), 121);
    for (nth, point) in (0..121_u16).zip(&reading.points) {
        let expected_m = f32::from(1_500 + 10 * nth) / 1_000.0;
        assert!((point[3] - expected_m).abs() < 1e-4, "{nth}: {point:?}");
    }
}

#[test]
fn driver_refused_by_a_pbs_03jn_asks_for_another_code() {
    let mut driver = sibling();
    assert_eq!(sent(&mut driver), player::WHO);
    assert_eq!(replied(&mut driver, player::CODE), player::ENTER);
    assert_eq!(replied(&mut driver, player::IS_OUT), player::WHO);
}

#[test]
fn checksum_is_the_published_one() {
    // CRC-16/KERMIT of the catalogue of parametrised CRC algorithms: polynomial 1021h, reflected, from 0.
    assert_eq!(frame::crc(b"123456789"), 0x2189);
}

#[test]
fn healthy_scanner_publishes_at_its_rate() {
    let mut bench = Bench::new("well", 1);
    let scans = bench.run(10 * SECOND);
    assert!(
        (48..=55).contains(&scans.len()),
        "5.5 a second, found {}",
        scans.len()
    );
    let points = &scans[0].points;
    assert_eq!(
        points.len(),
        78,
        "13 sectors of 91 saw nothing that can be measured"
    );
    let bearing_deg = points[0][1].atan2(points[0][0]).to_degrees();
    assert!((bearing_deg + 81.0).abs() < 1e-3, "{bearing_deg}");
    let device = bench.device();
    assert_eq!(
        (device.n_restarts, device.n_refused, device.n_timeouts),
        (0, 0, 0)
    );
}

#[test]
fn the_sibling_needs_other_parameters_and_nothing_else() {
    let parameters = ScannerParameters {
        n_sectors: 121,
        first_deg: -105.88,
        step_deg: 1.75,
        n_more_bytes: 2,
        ..ScannerParameters::default()
    };
    let mut driver = Rig::new::<SensorComponent<Scanner>>(parameters);
    let mut twin = Rig::new::<ScannerTwin>(ScannerTwinParameters {
        n_sectors: 121,
        first_deg: -105.88,
        step_deg: 1.75,
        n_more_bytes: 2,
        ..ScannerTwinParameters::default()
    });
    let mut n_scans = 0;
    for n in 0..400_u16 {
        let range_m = 1.0 + f32::from(n) / 1_000.0;
        let points = (0..121_u16).map(|sector| {
            let (sin, cos) = (-105.88 + 1.75 * f32::from(sector)).to_radians().sin_cos();
            [cos * range_m, sin * range_m, 0.0, range_m]
        });
        let range = Range3d {
            points: points.collect(),
            ..Range3d::default()
        };
        twin.send("ranges", range.with_lengths());
        for piece in driver.take::<Serial>("line_out") {
            twin.send("line_in", piece);
        }
        twin.advance(STEP);
        driver.advance(STEP);
        for piece in twin.take::<Serial>("line_out") {
            driver.send("line_in", piece);
        }
        for scan in driver.take::<Range3d>("reading") {
            assert_eq!(scan.points.len(), 121);
            n_scans += 1;
        }
    }
    assert!(n_scans >= 8, "{n_scans} in 2 s");
}

#[test]
fn whatever_is_wrong_with_the_device_the_stream_resumes_by_itself_and_nothing_false_is_in_it() {
    type Count = fn(&Device) -> i64;
    let cases: [(&str, bool, Count); 8] = [
        ("unplugged", true, |device| device.n_timeouts),
        ("stuck", true, |device| device.n_refused),
        ("garbage", false, |device| device.n_garbage_bytes),
        ("half", true, |device| device.n_malformed),
        ("checksum", false, |device| device.n_bad_checksum),
        ("count", true, |device| device.n_refused),
        ("far", true, |device| device.n_refused),
        ("forgetful", true, |device| device.n_timeouts),
    ];
    for (mood, is_mute, count) in cases {
        let mut bench = Bench::new("well", 7);
        assert!(!bench.run(3 * SECOND).is_empty(), "{mood}: well at first");
        // What was on its way comes.
        bench.set_mood(mood);
        bench.run(SECOND / 2);
        let while_bad = bench.run(6 * SECOND);
        if is_mute {
            assert_eq!(while_bad.len(), 0, "{mood}: nothing can be believed");
        }
        bench.set_mood("well");
        bench.run(3 * SECOND);
        let after = bench.run(4 * SECOND);
        assert!(
            after.len() >= 20,
            "{mood}: back by itself, {} scans in 4 s",
            after.len()
        );
        let device = bench.device();
        assert!(count(&device) > 0, "{mood} is counted: {device:?}");
        if is_mute {
            assert!(device.n_restarts > 0, "{mood}: started anew");
        }
    }
}

impl Bench {
    fn set_mood(&mut self, mood: &str) {
        let request = bowline_msgs::ParametersRequest {
            names: vec!["mood".to_owned()],
            values: vec![format!("{mood:?}")],
            ..bowline_msgs::ParametersRequest::default()
        };
        let request = request.with_lengths();
        self.twin.call("parameters", &request);
        let answers = self.twin.answers::<bowline_msgs::Parameters>("parameters");
        assert!(matches!(&answers[..], [Ok(_)]), "{answers:?}");
    }
}

#[test]
fn repeated_scan_is_never_published_after_a_lost_first_one() {
    let mut driver = Rig::new::<SensorComponent<Scanner>>(ScannerParameters::default());
    let answer = |rig: &mut Rig, payload: &[u8]| {
        let serial = Serial {
            utime: 1,
            bytes: encode(payload),
            ..Serial::default()
        };
        rig.send("line_in", serial.with_lengths());
    };
    let scan = |mm: u16| -> Vec<u8> {
        [0xa2, 0x69]
            .into_iter()
            .chain([mm; 91].into_iter().flat_map(u16::to_le_bytes))
            .collect()
    };
    answer(&mut driver, &[0xa0, 0x69, 1, 2, 3, 4, 5, 6, 7, 8]);
    answer(&mut driver, &[0xa0, 0x5a, 1]);
    // Just after it has asked.
    let ask = Duration::from_millis(182);
    let mut n_published = Vec::new();
    // It asks as soon as it is in, and then at its rate.
    for (nth, mm) in [1_000, 1_000, 1_001, 1_002, 1_002, 1_003]
        .into_iter()
        .enumerate()
    {
        if nth > 0 {
            driver.advance(ask);
        }
        answer(&mut driver, &scan(mm));
        n_published.push(driver.take::<Range3d>("reading").len());
    }
    assert_eq!(
        n_published,
        [0, 0, 1, 1, 0, 1],
        "not the first, and no repetition"
    );
    // An answer without a request is none.
    answer(&mut driver, &scan(2_000));
    assert_eq!(driver.take::<Range3d>("reading").len(), 0);
    // Nor is one that comes too late.
    driver.advance(ask);
    driver.take::<Serial>("line_out");
    driver.advance(Duration::from_millis(260));
    answer(&mut driver, &scan(2_001));
    assert_eq!(driver.take::<Range3d>("reading").len(), 0);
}

#[test]
fn parameters_that_make_no_scanner_are_refused() {
    use crate::sensor::Sensor as _;
    for parameters in [
        ScannerParameters {
            step_deg: 0.0,
            ..ScannerParameters::default()
        },
        ScannerParameters {
            max_range_m: 6.0,
            ..ScannerParameters::default()
        },
        ScannerParameters {
            min_range_m: 4.0,
            ..ScannerParameters::default()
        },
    ] {
        assert!(Scanner::new(parameters).is_err());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(24)))]

    /// A device of many moods: whatever it does, what is published was there to be seen, and in good times it is seen.
    #[test]
    fn nothing_false_is_published_whatever_a_moody_device_does(seed in any::<i64>()) {
        let mut bench = Bench::new("moody", seed);
        let scans = bench.run(30 * SECOND);
        prop_assert!(scans.len() >= 20, "{} scans", scans.len());
        prop_assert!(scans.is_sorted_by_key(|scan| scan.utime));
    }

    #[test]
    fn frames_are_read_as_they_were_written_and_every_flipped_bit_is_found(
        payload in prop::collection::vec(any::<u8>(), 2..200), at in any::<prop::sample::Index>(), bit in 0..8_u8,
    ) {
        let mut frame = encode(&payload);
        frame.pop();
        prop_assert_eq!(decode(&frame), Ok(payload.clone()));
        let at = 1 + at.index(frame.len() - 1);
        frame[at] ^= 1 << bit;
        prop_assert!(decode(&frame).is_err());
        for len in 0..frame.len() {
            prop_assert!(decode(&encode(&payload)[..len]) != Ok(payload.clone()));
        }
    }
}
