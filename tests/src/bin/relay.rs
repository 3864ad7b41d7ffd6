//! `relay DEVICE DEVICE SEED FAULTS_THERE FAULTS_BACK`: a bad network between two devices. See `bowline_tests::relay`.

use bowline_tests::relay::decide::{Decider, Faults};
use bowline_tests::relay::run::run;
use std::error::Error;
use std::io::{BufWriter, stdout};

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [one, other, seed, there, back] = &args[..] else {
        return Err("expected DEVICE DEVICE SEED FAULTS_THERE FAULTS_BACK".into());
    };
    let decider = Decider::new(
        seed.parse()?,
        Faults::from_text(there)?,
        Faults::from_text(back)?,
    );
    run([one, other], decider, BufWriter::new(stdout()))?;
    Ok(())
}
