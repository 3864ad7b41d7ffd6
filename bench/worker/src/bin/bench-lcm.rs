//! liblcm as a worker: `liblcm.so` from `LD_LIBRARY_PATH`, driven through its C API.

fn main() -> anyhow::Result<()> {
    bench_worker::main(&bench_worker::Liblcm)
}
