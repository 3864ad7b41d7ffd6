//! Receives a message on a bus, and prints which threads the process has then besides its own: `threads URL`.

use bowline_bus::{Bus, Capability};
use std::error::Error;
use std::time::Duration;

/// How often a message is published before it is taken for lost; only guards against waiting for ever.
const MAX_ATTEMPTS: usize = 300;
/// How long one may take.
const SHORT: Duration = Duration::from_millis(100);

fn main() -> Result<(), Box<dyn Error>> {
    let url = std::env::args().nth(1).ok_or("expected a URL")?;
    let bus = Bus::open(&url)?;
    let inbox = bus.events("X")?;
    let mut is_received = false;
    for _ in 0..MAX_ATTEMPTS {
        // A log that is played has messages of its own, and takes none.
        if !bus.has(Capability::Log) {
            bus.publish_bytes("X", b"x")?;
        }
        is_received = inbox.recv_timeout(SHORT)?.is_some();
        if is_received {
            break;
        }
    }
    println!("{}", if is_received { "received" } else { "nothing" });
    // A thread that has just started has the name of the program, until it sets its own.
    let own = std::fs::read_to_string("/proc/self/comm")?;
    let mut names = other_threads()?;
    for _ in 0..MAX_ATTEMPTS {
        if !names.contains(&own) {
            break;
        }
        std::thread::park_timeout(SHORT);
        names = other_threads()?;
    }
    print!("{}", names.concat());
    Ok(())
}

/// The names of all threads but this one, each with a newline.
fn other_threads() -> std::io::Result<Vec<String>> {
    let own_id = std::process::id().to_string();
    let mut names = Vec::new();
    for thread in std::fs::read_dir("/proc/self/task")? {
        let thread = thread?;
        if thread.file_name().to_str() != Some(&own_id) {
            names.push(std::fs::read_to_string(thread.path().join("comm"))?);
        }
    }
    names.sort();
    Ok(names)
}
