//! The `bowline` command with a transport of its own: `bowline echo -l mailbox://home` receives what others publish there.

mod mailbox;

use std::process::ExitCode;

fn main() -> ExitCode {
    bowline::App::new()
        .name("mailbox")
        .transports(&[&mailbox::SCHEME])
        .main()
}
