//! `hostile GROUP:PORT PER_SECOND ATTACK...`: attacks the receivers of a group. See `bowline_tests::hostile`.

use bowline_tests::hostile::{attack, find};
use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [group, per_second, names @ ..] = &args[..] else {
        return Err("expected GROUP:PORT PER_SECOND ATTACK...".into());
    };
    let (group, per_second) = (group.parse()?, per_second.parse()?);
    println!("ready");
    for name in names {
        let known = find(name).ok_or_else(|| format!("expected an attack, found {name:?}"))?;
        println!("{name} {}", attack(known, group, per_second)?);
    }
    println!("done");
    Ok(())
}
