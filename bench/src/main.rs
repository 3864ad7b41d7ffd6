//! Side-by-side figures against the peers, in one run on one machine.
//!
//! Prints tables; asserts nothing. `make bench` sets up the peers and runs this.

mod compile;
mod machine;
mod marshal;
mod peers;

fn main() -> anyhow::Result<()> {
    println!("{}\n", machine::describe());
    let work = peers::work_folder()?;
    marshal::run(&work)?;
    compile::run(&work)
}
