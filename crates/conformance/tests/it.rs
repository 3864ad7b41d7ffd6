//! The suite over the transports of `bowline-bus`, and over one that is not among them: that of `examples/transport`.

// The example depends on `bowline` alone, which has the bus under this name.
extern crate self as bowline;
use bowline_bus as bus;

#[path = "../../../examples/transport/src/mailbox.rs"]
mod mailbox;

use bowline_bus::{Bus, Capability, Hub, Scheme, Schemes};
use bowline_conformance::{Subject, check_row, check_transport};
use bowline_testing::network;

#[test]
fn every_row_documents_its_transport() {
    for row in Schemes::built_in().iter() {
        check_row(row);
    }
}

/// What does not receive what it sends has tests of its own: `crates/bus/tests/it/file.rs`.
#[test]
fn every_transport_keeps_every_promise() {
    let schemes = Schemes::built_in();
    for row in schemes.iter().filter(|row| !row.has(Capability::Log)) {
        eprintln!("{}", row.name);
        network::alone(|| check_transport(|name| subject(row, name)));
    }
}

/// Buses that meet as a row's capabilities promise.
fn subject(row: &Scheme, name: &str) -> Subject {
    let by_url = |url: String| Subject::new(move || Bus::open(&url).expect("the transport opens"));
    if row.has(Capability::NeedsHub) {
        let hub = Hub::bind("127.0.0.1:0").expect("a hub starts");
        return by_url(hub.url()).keeping(hub);
    }
    let subject = by_url(row.example.replace("NAME", name));
    match row.has(Capability::SharedMemory) {
        true => subject.with_large(64 << 20),
        false => subject,
    }
}

#[test]
fn transport_of_another_crate_keeps_every_promise() {
    check_row(&mailbox::SCHEME);
    let schemes = Schemes::built_in().with(&mailbox::SCHEME).unwrap();
    check_transport(|name| {
        let (schemes, url) = (schemes.clone(), format!("mailbox://{name}"));
        Subject::new(move || Bus::open_among(&schemes, &url).unwrap())
    });
}

#[test]
fn installed_transport_is_known_to_all_that_opens_buses() {
    Schemes::built_in()
        .with(&mailbox::SCHEME)
        .unwrap()
        .install()
        .unwrap();
    let bus = Bus::open("mailbox://installed?batch=1ms").unwrap();
    assert!(!bus.has(Capability::InProcess));
    bowline_bus::check_url("mailbox://home").unwrap();
    let error = bowline_bus::check_url("smoke://").unwrap_err().to_string();
    assert!(error.contains("mailbox, memq"), "{error}");
    let again = Schemes::built_in().install().unwrap_err().to_string();
    assert!(again.contains("install it once"), "{again}");
}
