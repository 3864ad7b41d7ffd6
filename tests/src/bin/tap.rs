//! `tap GROUP:PORT`: prints which datagrams come to a group, until stdin is closed. See `bowline_tests::tap`.

use std::error::Error;
use std::io::{BufWriter, stdout};

fn main() -> Result<(), Box<dyn Error>> {
    let group = std::env::args().nth(1).ok_or("expected GROUP:PORT")?;
    bowline_tests::tap::listen(group.parse()?, BufWriter::new(stdout()))?;
    Ok(())
}
