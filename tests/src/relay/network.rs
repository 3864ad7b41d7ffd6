//! Two hosts with a relay between them.

use super::decide::Faults;
use super::{Entry, Event, Way};
use crate::built::own_program;
use crate::netns::{Namespace, Port};
use crate::process::Process;

/// Two hosts, and what is bad about the network between them.
#[derive(Debug)]
pub struct BadNetwork {
    /// The host where ways begin that go [`Way::There`]. Its address is 10.7.0.1.
    pub here: Namespace,
    /// The other host. Its address is 10.7.0.2.
    pub there: Namespace,
    relay: Process,
    /// What the devices of the relay belong to.
    _between: Namespace,
    entries: Vec<Entry>,
}

impl BadNetwork {
    /// Makes it.
    #[must_use]
    pub fn new(seed: u64, there: Faults, back: Faults) -> Self {
        let [a, between, b] = [(); 3].map(|()| Namespace::without_multicast());
        let hosts = [(&a, "left", "10.7.0.1/24"), (&b, "right", "10.7.0.2/24")];
        for (namespace, device, address) in hosts {
            let host = Port {
                namespace,
                device: "net0",
                address: Some(address),
            };
            let relay = Port {
                namespace: &between,
                device,
                address: None,
            };
            Namespace::link([host, relay]);
        }
        let mut command = between.command(own_program("relay"));
        command.args(["left", "right", &seed.to_string()]);
        command.args([there, back].map(|faults| faults.to_string()));
        Self {
            here: a,
            there: b,
            relay: Process::start_ready("relay", &mut command),
            _between: between,
            entries: Vec::new(),
        }
    }

    /// Waits until so many datagrams came from a side, in all. Copies that are passed on do not count.
    pub fn wait_for(&mut self, way: Way, n_datagrams: usize) {
        let counts = |entry: &&Entry| entry.way == way && matches!(entry.event, Event::Came(_));
        let mut n = self.entries.iter().filter(counts).count();
        while n < n_datagrams {
            let entry = Entry::from_line(&self.relay.line());
            n += usize::from(counts(&&entry));
            self.entries.push(entry);
        }
    }

    /// Ends the relay, which passes on what still waits, and returns the hosts, cut off from each other, and the whole
    /// record.
    #[must_use]
    pub fn end(self) -> ([Namespace; 2], Vec<Entry>) {
        let mut lines = self.relay.finish();
        assert_eq!(lines.pop().as_deref(), Some("done"));
        let mut entries = self.entries;
        entries.extend(lines.iter().map(|line| Entry::from_line(line)));
        ([self.here, self.there], entries)
    }
}
