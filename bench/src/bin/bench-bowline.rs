//! Our own bus as a worker. ADDRESS is a bus URL.

fn main() -> anyhow::Result<()> {
    bowline_measure::main(&bowline_measure::Bowline)
}
