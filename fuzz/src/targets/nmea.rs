//! Any bytes on an NMEA line, in pieces of any size: nothing panics, what is read is within its limits, and it makes no
//! difference how the bytes are spread.

use bowline_component::Time;
use bowline_drivers::nmea::{Nmea, NmeaParameters, NmeaReading};
use bowline_drivers::{Line, Sensor as _};

pub(crate) fn run(data: &[u8]) {
    let Some((piece, bytes)) = data.split_first() else {
        return;
    };
    let now = Time::from_utime(1_579_032_000_000_000);
    let read = |piece: usize| -> (Vec<NmeaReading>, String) {
        let mut driver = Nmea::new(NmeaParameters::default()).expect("defaults are fine");
        let pieces = bytes.chunks(piece.max(1));
        let readings = pieces
            .flat_map(|piece| driver.poll(now, &mut Line::new(piece)))
            .collect();
        let counts = format!("{:?}", driver.counts());
        (readings, counts)
    };
    let (readings, counts) = read(bytes.len());
    let (again, counts_again) = read(usize::from(*piece));
    assert_eq!(format!("{readings:?}"), format!("{again:?}"));
    assert_eq!(counts, counts_again);
    for reading in readings {
        match reading {
            NmeaReading::Fix(fix) => {
                assert!(fix.lat_deg.abs() <= 90.0 && fix.lon_deg.abs() <= 180.0);
                assert!(
                    fix.alt_m.is_finite() && fix.horizontal_sd_m >= 0.0 && fix.vertical_sd_m >= 0.0
                );
                assert!((fix.utime - now.utime()).abs() <= 2_000_000);
            }
            NmeaReading::Rmc(rmc) => {
                assert!(rmc.lat.abs() <= 90.0 && (0.0..=1_000.0).contains(&rmc.sog))
            }
            NmeaReading::Heading(heading) => {
                assert!(heading.heading_rad.abs() <= std::f64::consts::PI)
            }
            NmeaReading::Depth(depth) => {
                assert!(depth.depth_m.is_nan() || (0.0..=12_000.0).contains(&depth.depth_m))
            }
        }
    }
}
