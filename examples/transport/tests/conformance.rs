//! Every promise of a transport, over this one.

#[path = "../src/mailbox.rs"]
mod mailbox;

use bowline::bus::{Bus, Schemes};
use bowline_conformance::{Subject, check_row, check_transport};

#[test]
fn mailbox_keeps_every_promise_of_a_transport() {
    check_row(&mailbox::SCHEME);
    let schemes = Schemes::built_in().with(&mailbox::SCHEME).unwrap();
    check_transport(|name| {
        let (schemes, url) = (schemes.clone(), format!("mailbox://{name}"));
        Subject::new(move || Bus::open_among(&schemes, &url).unwrap())
    });
}
