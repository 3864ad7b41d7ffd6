//! liblcm as a worker: `liblcm.so` from `LD_LIBRARY_PATH`, driven through its C API.

fn main() -> anyhow::Result<()> {
    bowline_measure::main(&bowline_measure::Liblcm)
}
