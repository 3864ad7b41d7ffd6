//! Datagrams of several senders, lost, repeated, exchanged and corrupted: what is delivered, and when, is what a model
//! requires that keeps a map of bytes for each message; memory stays within its limits whatever comes.

use bowline_wire::datagram::{Cut, Datagram, Fragment, Short, write_short_header};
use bowline_wire::reassembly::{Counts, DropReason, Limits, Outcome, Reassembler};
use bowline_wire::sequence::Track;
use std::collections::BTreeMap;

const N_SENDERS: u8 = 8;
const MAX_DATAGRAMS: usize = 256;
/// What one message can take that is larger than the room for all: its bytes, room for as many, and 65,535 pieces.
const MAX_MESSAGE_SIZE: u32 = 8_192;

/// Nothing has to give way: the model is exact.
const AMPLE: Limits = Limits {
    max_message_size: MAX_MESSAGE_SIZE,
    large_from: 2_048,
    small_bytes: 1 << 30,
    large_bytes: 1 << 30,
    max_partial: 1 << 20,
    idle_us: 2_000_000,
    quiet_us: 250_000,
};

/// Much has to give way: nothing wrong may be delivered, and memory is bounded.
const TIGHT: Limits = Limits {
    large_from: 1_024,
    small_bytes: 8_192,
    large_bytes: 10_000,
    max_partial: 6,
    ..AMPLE
};

pub(crate) fn run(program: &[u8]) {
    let mut program = Program(program);
    let is_ample = program.byte().is_multiple_of(2);
    let mut run = Run {
        reassembler: Reassembler::new(if is_ample { AMPLE } else { TIGHT }),
        model: is_ample.then(Model::default),
        tracks: BTreeMap::new(),
        history: BTreeMap::new(),
        sent: Vec::new(),
        now_us: 0,
    };
    while !program.0.is_empty() && run.sent.len() < MAX_DATAGRAMS {
        run.step(&mut program);
    }
}

/// The input as a list of small numbers; zeros when it has ended.
struct Program<'a>(&'a [u8]);

impl Program<'_> {
    fn byte(&mut self) -> u8 {
        let Some((first, rest)) = self.0.split_first() else {
            return 0;
        };
        self.0 = rest;
        *first
    }

    fn number(&mut self) -> usize {
        usize::from(u16::from_be_bytes([self.byte(), self.byte()]))
    }

    fn bytes(&mut self) -> Vec<u8> {
        let len = usize::from(self.byte()).min(self.0.len());
        let (bytes, rest) = self.0.split_at(len);
        self.0 = rest;
        bytes.to_vec()
    }
}

struct Run {
    reassembler: Reassembler<u8>,
    model: Option<Model>,
    tracks: BTreeMap<u8, Track>,
    /// All that ever arrived for a sender and a number.
    history: BTreeMap<(u8, u32), Vec<OwnedFragment>>,
    sent: Vec<(u8, Vec<u8>)>,
    now_us: u64,
}

#[derive(Clone)]
struct OwnedFragment {
    message_size: u32,
    offset: usize,
    channel: Option<String>,
    payload: Vec<u8>,
}

impl Run {
    fn step(&mut self, program: &mut Program<'_>) {
        match program.byte() % 12 {
            0 | 1 => self.send(program),
            2 => self.deliver(program, |_, _| {}),
            3 => self.deliver_many(program, false),
            4 => self.deliver_many(program, true),
            5 => self.deliver(program, |datagram, program| {
                let at = program.number() % datagram.len().max(1);
                if let Some(byte) = datagram.get_mut(at) {
                    *byte ^= program.byte();
                }
            }),
            6 => self.deliver(program, |datagram, program| {
                datagram.truncate(program.number())
            }),
            7 => self.overlap(program),
            8 => {
                let (sender, datagram) = (program.byte() % N_SENDERS, program.bytes());
                self.receive(sender, &datagram);
            }
            9 => self.now_us += program.number() as u64 * 10,
            10 => self.expire(program),
            _ => self.forget(program.byte() % N_SENDERS),
        }
    }

    /// Makes the datagrams of a message, to be delivered or not.
    fn send(&mut self, program: &mut Program<'_>) {
        let (sender, sequence) = (program.byte() % N_SENDERS, u32::from(program.byte() % 4));
        let (size, seed) = (program.number() % 9_000, program.byte());
        let message: Vec<u8> = (0..size)
            .map(|at| (at * 31 + at / 251).to_le_bytes()[0] ^ seed)
            .collect();
        let channel = ["a", "camera.image", "unwanted"][usize::from(seed % 3)];
        if size < 100 && program.byte().is_multiple_of(2) {
            let mut datagram = Vec::new();
            write_short_header(sequence, channel, &mut datagram);
            datagram.extend_from_slice(&message);
            let expected = Datagram::Short(Short {
                sequence,
                channel,
                payload: &message,
            });
            assert_eq!(Datagram::parse(&datagram), Ok(expected));
            return self.sent.push((sender, datagram));
        }
        let cut = Cut::new(
            channel,
            size,
            channel.len() + 2 + program.number() % 2_000 + size / 60,
        )
        .expect("a small message");
        for index in 0..cut.count() {
            let mut datagram = Vec::new();
            cut.write_header(sequence, index, &mut datagram);
            datagram.extend_from_slice(&message[cut.range(index)]);
            self.sent.push((sender, datagram));
        }
    }

    fn deliver(&mut self, program: &mut Program<'_>, change: fn(&mut Vec<u8>, &mut Program<'_>)) {
        if self.sent.is_empty() {
            return;
        }
        let (sender, mut datagram) = self.sent[program.number() % self.sent.len()].clone();
        change(&mut datagram, program);
        self.receive(sender, &datagram);
    }

    fn deliver_many(&mut self, program: &mut Program<'_>, is_backwards: bool) {
        let (start, len) = (
            program.number() % (self.sent.len() + 1),
            usize::from(program.byte() % 64),
        );
        let mut some: Vec<_> = self.sent.iter().skip(start).take(len).cloned().collect();
        if is_backwards {
            some.reverse();
        }
        for (sender, datagram) in some {
            self.receive(sender, &datagram);
        }
    }

    /// Delivers two neighbouring fragments as one that starts and ends elsewhere.
    fn overlap(&mut self, program: &mut Program<'_>) {
        let at = program.number() % self.sent.len().max(1);
        let Some([(sender, first), (other, second)]) = self.sent.get(at..at + 2) else {
            return;
        };
        let (Ok(Datagram::Fragment(a)), Ok(Datagram::Fragment(b))) =
            (Datagram::parse(first), Datagram::parse(second))
        else {
            return;
        };
        if sender != other
            || a.sequence != b.sequence
            || a.message_size != b.message_size
            || a.index + 1 != b.index
        {
            return;
        }
        let both = [a.payload, b.payload].concat();
        let from = program.number() % both.len();
        let to = from + 1 + program.number() % (both.len() - from);
        let mut datagram = b"LC03".to_vec();
        datagram.extend(a.sequence.to_be_bytes());
        datagram.extend(a.message_size.to_be_bytes());
        datagram.extend((a.offset + from as u32).to_be_bytes());
        datagram.extend(b.index.to_be_bytes());
        datagram.extend(b.count.to_be_bytes());
        datagram.extend(&both[from..to]);
        let sender = *sender;
        self.receive(sender, &datagram);
    }

    fn expire(&mut self, program: &mut Program<'_>) {
        self.now_us += program.number() as u64 * 100;
        self.reassembler.expire(self.now_us);
        if let Some(model) = &mut self.model {
            model.expire(self.now_us);
        }
    }

    fn forget(&mut self, sender: u8) {
        self.reassembler.forget(sender);
        if let Some(model) = &mut self.model {
            model.forget(sender);
        }
    }

    fn receive(&mut self, sender: u8, datagram: &[u8]) {
        let Ok(datagram) = Datagram::parse(datagram) else {
            return;
        };
        let fragment = match datagram {
            Datagram::Short(Short { sequence, .. }) => {
                let _seen = self
                    .tracks
                    .entry(sender)
                    .or_insert_with(|| Track::new(sequence))
                    .see(sequence);
                return;
            }
            Datagram::Fragment(fragment) => fragment,
        };
        let track = self
            .tracks
            .entry(sender)
            .or_insert_with(|| Track::new(fragment.sequence));
        let _seen = track.see_fragment(fragment.sequence);
        assert!(track.counts().late <= track.counts().received);

        let key = (sender, fragment.sequence);
        self.history
            .entry(key)
            .or_default()
            .push(OwnedFragment::of(&fragment));
        let outcome = self
            .reassembler
            .accept(sender, &fragment, self.now_us, &mut is_wanted);
        if let Outcome::Complete { channel, payload } = &outcome {
            check_delivered(&self.history[&key], channel, payload);
        }
        let limits = match &mut self.model {
            Some(model) => {
                assert_eq!(
                    outcome,
                    model.accept(sender, &fragment, self.now_us),
                    "{fragment:?}"
                );
                let counts = Counts {
                    bytes_held: 0,
                    ..self.reassembler.counts()
                };
                assert_eq!(counts, model.counts());
                AMPLE
            }
            None => TIGHT,
        };
        check_memory(&limits, &self.reassembler.counts());
    }
}

impl OwnedFragment {
    fn of(fragment: &Fragment<'_>) -> Self {
        Self {
            message_size: fragment.message_size,
            offset: fragment.offset as usize,
            channel: fragment.channel.map(str::to_string),
            payload: fragment.payload.to_vec(),
        }
    }
}

fn is_wanted(channel: &str) -> bool {
    channel != "unwanted"
}

/// Every byte that is delivered arrived at its place, in a fragment of a message of that size, and so did the channel.
fn check_delivered(history: &[OwnedFragment], channel: &str, payload: &[u8]) {
    let of_size: Vec<_> = history
        .iter()
        .filter(|part| part.message_size as usize == payload.len())
        .collect();
    assert!(
        of_size
            .iter()
            .any(|part| part.channel.as_deref() == Some(channel))
    );
    let mut is_sent = vec![false; payload.len()];
    for part in of_size {
        for (at, byte) in part.payload.iter().enumerate() {
            is_sent[part.offset + at] |= payload[part.offset + at] == *byte;
        }
    }
    assert!(is_sent.iter().all(|is_sent| *is_sent));
}

fn check_memory(limits: &Limits, counts: &Counts) {
    let one_message = 2 * MAX_MESSAGE_SIZE as usize + 65_535 * 96;
    // Three kinds of messages are kept: small, large, and done with. The last take a few hundred bytes each.
    let max = limits.small_bytes + limits.large_bytes.max(one_message) + limits.max_partial * 400;
    assert!(counts.bytes_held <= max, "{counts:?}");
    assert!(
        counts.partial <= limits.max_partial + limits.large_bytes / limits.large_from + 1,
        "{counts:?}"
    );
}

/// What reassembly should do, with all the memory in the world: a list of bytes for each message, filled in one by one.
#[derive(Default)]
struct Model {
    messages: BTreeMap<(u8, u32), Message>,
    counts: Counts,
}

struct Message {
    size: u32,
    count: u16,
    channel: Option<String>,
    bytes: Vec<Option<u8>>,
    /// What further fragments get, once the message is done with.
    settled: Option<Outcome>,
    touched_us: u64,
    /// Fragments that brought something new, of which there are no more than the message has.
    n_useful: u16,
}

impl Model {
    fn expire(&mut self, now_us: u64) {
        let is_idle = |message: &Message| now_us - message.touched_us >= AMPLE.idle_us;
        self.counts.idle += self
            .messages
            .values()
            .filter(|message| message.settled.is_none() && is_idle(message))
            .count() as u64;
        self.messages.retain(|_, message| !is_idle(message));
    }

    fn forget(&mut self, sender: u8) {
        let of_sender = self
            .messages
            .iter()
            .filter(|((from, _), message)| *from == sender && message.settled.is_none());
        self.counts.superseded += of_sender.count() as u64;
        self.messages.retain(|(from, _), _| *from != sender);
    }

    fn counts(&self) -> Counts {
        let partial = self
            .messages
            .values()
            .filter(|message| message.settled.is_none())
            .count();
        Counts {
            partial,
            ..self.counts
        }
    }

    fn accept(&mut self, sender: u8, fragment: &Fragment<'_>, now_us: u64) -> Outcome {
        if fragment.message_size > AMPLE.max_message_size {
            self.counts.too_large += 1;
            return Outcome::Dropped(DropReason::TooLarge);
        }
        let key = (sender, fragment.sequence);
        if let Some(message) = self.messages.get_mut(&key) {
            let is_quiet = now_us - message.touched_us >= AMPLE.quiet_us;
            message.touched_us = now_us;
            if let Some(outcome) = message.accept(fragment, is_quiet, &mut self.counts) {
                return outcome;
            }
        }
        let message = Message {
            size: fragment.message_size,
            count: fragment.count,
            channel: None,
            bytes: vec![None; fragment.message_size as usize],
            settled: None,
            touched_us: now_us,
            n_useful: 0,
        };
        self.messages.insert(key, message);
        self.messages
            .get_mut(&key)
            .and_then(|message| message.accept(fragment, false, &mut self.counts))
            .expect("nothing to contradict")
    }
}

impl Message {
    /// Nothing if the fragment belongs to another message with the same number.
    fn accept(
        &mut self,
        fragment: &Fragment<'_>,
        is_quiet: bool,
        counts: &mut Counts,
    ) -> Option<Outcome> {
        let is_alike = self.size == fragment.message_size && self.count == fragment.count;
        if let Some(settled) = &self.settled {
            let is_delivered = *settled == Outcome::Dropped(DropReason::Duplicate);
            let is_another = (is_delivered && !is_alike) || (is_quiet && fragment.index == 0);
            counts.duplicates += u64::from(is_delivered && !is_another);
            return (!is_another).then(|| settled.clone());
        }
        let has_other_channel =
            matches!((&self.channel, fragment.channel), (Some(a), Some(b)) if a != b);
        if !is_alike || has_other_channel {
            return self.contradict(is_quiet, counts);
        }
        if let (None, Some(channel)) = (&self.channel, fragment.channel) {
            self.channel = Some(channel.to_string());
            if !is_wanted(channel) {
                counts.unwanted += 1;
                self.settled = Some(Outcome::Unwanted);
                return Some(Outcome::Unwanted);
            }
        }
        let range = fragment.offset as usize..fragment.offset as usize + fragment.payload.len();
        let mut n_new = 0;
        for (known, byte) in self.bytes[range].iter_mut().zip(fragment.payload) {
            n_new += usize::from(known.is_none());
            if *known.get_or_insert(*byte) != *byte {
                return self.contradict(is_quiet, counts);
            }
        }
        if n_new > 0 {
            if self.n_useful == self.count {
                return self.contradict(is_quiet, counts);
            }
            self.n_useful += 1;
        }
        counts.duplicates += u64::from(n_new < fragment.payload.len());
        match (
            &self.channel,
            self.bytes.iter().copied().collect::<Option<Vec<u8>>>(),
        ) {
            (Some(channel), Some(payload)) => {
                counts.completed += 1;
                self.settled = Some(Outcome::Dropped(DropReason::Duplicate));
                Some(Outcome::Complete {
                    channel: channel.as_str().into(),
                    payload,
                })
            }
            _ if n_new == 0 => Some(Outcome::Dropped(DropReason::Duplicate)),
            _ => Some(Outcome::Pending),
        }
    }

    fn contradict(&mut self, is_quiet: bool, counts: &mut Counts) -> Option<Outcome> {
        if is_quiet {
            counts.superseded += 1;
            return None;
        }
        counts.conflicts += 1;
        let outcome = Outcome::Dropped(DropReason::Conflict);
        self.settled = Some(outcome.clone());
        Some(outcome)
    }
}
