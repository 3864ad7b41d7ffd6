//! The `bowline` command.

use std::process::ExitCode;

fn main() -> ExitCode {
    bowline::main()
}
