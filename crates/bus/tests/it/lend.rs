//! Messages that are encoded where a transport wants them.

use bowline_bus::diagnosis::examine_by_check;
use bowline_bus::transport::{Lending, Outgoing, ReceiveError, SendError, Transport};
use bowline_bus::{BadUrl, Bus, Inlet, Scheme, Schemes, Url, Wait};
use bowline_msgs::SchemaRequest;
use bowline_wire::Message as _;
use std::sync::{Arc, Mutex};

/// What was written into the memory of the transport.
static WRITTEN: Mutex<Vec<(String, Vec<u8>)>> = Mutex::new(Vec::new());

static SCHEME: Scheme = Scheme {
    name: "lender",
    summary: "takes messages into its own memory only",
    example: "lender://",
    options: &[],
    capabilities: &[],
    check,
    open: |_| Ok(Arc::new(Lender)),
    examine: examine_by_check,
    checks: &[],
};

fn check(url: &Url) -> Result<(), BadUrl> {
    url.options().finish()
}

#[derive(Debug)]
struct Lender;

impl Transport for Lender {
    fn send(&self, _: &[Outgoing<'_>]) -> Result<(), SendError> {
        let what = "a transport that lends its memory";
        Err(SendError::ReceiveOnly { what })
    }

    fn receive(&self, _: &mut Inlet, wait: &Wait<'_>) -> Result<(), ReceiveError> {
        wait.idle()
    }

    fn lending(&self) -> Option<&dyn Lending> {
        Some(self)
    }
}

impl Lending for Lender {
    fn send_written(
        &self,
        channel: &str,
        size: usize,
        write: &mut dyn FnMut(&mut [u8]) -> bool,
    ) -> Result<(), SendError> {
        let mut memory = vec![0; size];
        assert!(write(&mut memory));
        let mut written = WRITTEN.lock().unwrap();
        written.push((channel.to_owned(), memory));
        Ok(())
    }
}

#[test]
fn typed_message_is_encoded_in_memory_that_the_transport_lends() {
    let schemes = Schemes::built_in().with(&SCHEME).unwrap();
    let bus = Bus::open_among(&schemes, "lender://?announce=off").unwrap();
    let message = SchemaRequest { fingerprint: 7 };
    bus.publish("X", &message).unwrap();
    let expected = ("X".to_owned(), message.encode().unwrap());
    assert_eq!(*WRITTEN.lock().unwrap(), [expected]);
    assert_eq!(bus.counts().published, 1);
    assert!(bus.publish("", &message).is_err(), "a channel has a name");
}
