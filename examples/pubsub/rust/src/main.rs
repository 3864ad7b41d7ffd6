//! Publishes a depth five times a second, and prints the depths that all programs publish.

use bowline::bus::Bus;
use std::error::Error;
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use types::sonar::Depth;

mod types {
    include!(concat!(env!("OUT_DIR"), "/types.rs"));
}

fn main() -> Result<(), Box<dyn Error>> {
    // At BOWLINE_URL or LCM_DEFAULT_URL, or else at LCM's usual group.
    let bus = Bus::open("")?;
    let depths = bus.subscribe::<Depth>("sonar.depth")?;
    thread::spawn(move || -> Result<(), Box<dyn Error + Send + Sync>> {
        loop {
            let utime = SystemTime::now().duration_since(UNIX_EPOCH)?.as_micros() as i64;
            bus.publish(
                "sonar.depth",
                &Depth {
                    utime,
                    depth_m: 0.5,
                    sensor: "rust".to_owned(),
                },
            )?;
            thread::sleep(Duration::from_millis(200));
        }
    });
    loop {
        let depth = depths.recv()?;
        println!("{} {} m", depth.sensor, depth.depth_m);
    }
}
