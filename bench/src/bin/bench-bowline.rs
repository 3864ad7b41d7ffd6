//! Our own bus as a worker. ADDRESS is a bus URL.

fn main() -> anyhow::Result<()> {
    bench_worker::main(&bench_worker::Bowline)
}
