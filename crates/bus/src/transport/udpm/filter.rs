//! A program for the kernel that leaves out datagrams of channels without a subscriber.
//!
//! The classic packet-filter machine sees a datagram from its UDP header on:
//!
//! ```text
//!  0        8      12       16
//!  ├────────┼──────┼────────┼─────────────────
//!  │ UDP    │ LC02 │ seq no │ channel, NUL, payload
//! ```
//!
//! Only whole short messages are judged by their channel. Fragments pass, since only the first has a channel and the
//! reassembler must see it to let go of the others; but our own are left out as long as we want none of them back. What
//! is malformed passes, to be counted.

use crate::pattern::{Outline, Pattern, Template};
use crate::sys::Instruction;
use std::net::Ipv4Addr;

const SOURCE_PORT_AT: u32 = 0;
/// In the IP header, which the machine finds at addresses of its own.
const SOURCE_ADDRESS_AT: u32 = 0xfff0_0000 + 12;
const MAGIC_AT: u32 = 8;
const CHANNEL_AT: u32 = 16;
const SHORT_MAGIC: u32 = 0x4c43_3032;
const FRAGMENT_MAGIC: u32 = 0x4c43_3033;
const PASS: u32 = u32::MAX;
const DROP: u32 = 0;
/// Each pattern costs the kernel time for each datagram.
const MAX_PATTERNS: usize = 16;

/// Where a sender's datagrams come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Source {
    pub(super) address: Ipv4Addr,
    pub(super) port: u16,
}

/// What a program judges; the rest passes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Judged {
    /// What any host sends, but for fragments.
    All,
    /// What comes from there, but for fragments.
    Short(Source),
    /// What comes from there; none of its fragments pass.
    ShortAndFragments(Source),
}

/// The program for these patterns, or none when they are too many or too clever for it.
pub(super) fn program(patterns: &[Pattern], judged: Judged) -> Option<Vec<Instruction>> {
    if patterns.is_empty() || patterns.len() > MAX_PATTERNS {
        return None;
    }
    let mut program = Vec::new();
    if let Judged::Short(source) | Judged::ShortAndFragments(source) = judged {
        let Source { address, port } = source;
        program.extend([
            load_half(SOURCE_PORT_AT),
            jump_if_equal(port.into(), 1, 0),
            give(PASS),
            load_word(SOURCE_ADDRESS_AT),
            jump_if_equal(address.to_bits(), 1, 0),
            give(PASS),
        ]);
    }
    program.extend([
        load_length(),
        // Too short for a channel: passes, to be counted as malformed.
        jump_if_at_least(CHANNEL_AT + 1, 1, 0),
        give(PASS),
        load_word(MAGIC_AT),
    ]);
    if matches!(judged, Judged::ShortAndFragments(_)) {
        program.extend([jump_if_equal(FRAGMENT_MAGIC, 0, 1), give(DROP)]);
    }
    program.extend([jump_if_equal(SHORT_MAGIC, 1, 0), give(PASS)]);
    for pattern in patterns {
        let (template, ends) = match pattern.outline()? {
            Outline::Exact(name) => (name, true),
            Outline::Prefix(prefix) => (prefix, false),
        };
        program.extend(pass_if(template, ends)?);
    }
    program.push(give(DROP));
    Some(program)
}

/// Passes a datagram whose channel starts with the template, and ends there if it `ends`; falls through otherwise.
fn pass_if(template: &Template, ends: bool) -> Option<Vec<Instruction>> {
    let terminator = ends.then_some((template.len(), 0));
    let bytes = template.fixed().chain(terminator);
    // Loading beyond the end of a datagram would drop it, so its length comes first.
    let needed = CHANNEL_AT + u32::try_from(template.len()).ok()? + u32::from(ends);
    let mut block = vec![load_length(), jump_if_at_least(needed, 0, FALL_THROUGH)];
    for (place, byte) in bytes {
        block.push(load_byte(CHANNEL_AT + u32::try_from(place).ok()?));
        block.push(jump_if_equal(byte.into(), 0, FALL_THROUGH));
    }
    block.push(give(PASS));
    let length = block.len();
    for (at, instruction) in block.iter_mut().enumerate() {
        if instruction.jump_false == FALL_THROUGH {
            instruction.jump_false = u8::try_from(length - at - 1)
                .ok()
                .filter(|jump| *jump < FALL_THROUGH)?;
        }
    }
    Some(block)
}

/// Stands for "to the end of the block" until that is known.
const FALL_THROUGH: u8 = u8::MAX;

fn load_length() -> Instruction {
    plain(libc::BPF_LD | libc::BPF_W | libc::BPF_LEN, 0)
}

fn load_word(at: u32) -> Instruction {
    plain(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, at)
}

fn load_half(at: u32) -> Instruction {
    plain(libc::BPF_LD | libc::BPF_H | libc::BPF_ABS, at)
}

fn load_byte(at: u32) -> Instruction {
    plain(libc::BPF_LD | libc::BPF_B | libc::BPF_ABS, at)
}

fn give(verdict: u32) -> Instruction {
    plain(libc::BPF_RET | libc::BPF_K, verdict)
}

fn plain(code: u32, operand: u32) -> Instruction {
    Instruction {
        code,
        jump_true: 0,
        jump_false: 0,
        operand,
    }
}

fn jump_if_equal(value: u32, jump_true: u8, jump_false: u8) -> Instruction {
    jump(libc::BPF_JEQ, value, jump_true, jump_false)
}

fn jump_if_at_least(value: u32, jump_true: u8, jump_false: u8) -> Instruction {
    jump(libc::BPF_JGE, value, jump_true, jump_false)
}

fn jump(test: u32, value: u32, jump_true: u8, jump_false: u8) -> Instruction {
    Instruction {
        code: libc::BPF_JMP | test | libc::BPF_K,
        jump_true,
        jump_false,
        operand: value,
    }
}
