//! Numbers that stand one after the other at fixed distances, so that one check does for all of them.

use super::super::code::Code;
use super::names::fixed_count;
use bowline_wire::schema::{Member, Primitive, Type};

/// The bits of a number, which is how it is read and written.
pub(in super::super) fn bits(primitive: Primitive) -> usize {
    primitive.fixed_size().unwrap_or(0) * 8
}

/// A run of numbers that are in the struct itself.
#[derive(Default)]
pub(in super::super) struct Run {
    size: usize,
    /// Where each stands, and what moves it, with `@` for its place in the buffer.
    moves: Vec<(usize, String)>,
}

impl Run {
    /// Adds a number, or an array of them, that is at `place`. `to_wire` gives the direction.
    pub(in super::super) fn push(&mut self, place: &str, member: &Member, to_wire: bool) {
        let Type::Primitive(primitive) = member.ty else {
            return;
        };
        let n = fixed_count(member);
        let own = format!("&{place}");
        let (to, from) = if to_wire {
            ("@", own.as_str())
        } else {
            (own.as_str(), "@")
        };
        let call = match bits(primitive) {
            8 => format!("memcpy({to}, {from}, {n});"),
            bits => format!("bowline_swap{bits}({to}, {from}, {n});"),
        };
        self.moves.push((self.size, call));
        self.size = self
            .size
            .saturating_add(n.saturating_mul(bits(primitive) / 8));
    }

    /// Prints the run, if there is one, and starts another. `buffer` is the name of the bytes.
    pub(in super::super) fn flush(&mut self, code: &mut Code, buffer: &str) {
        let Self { size, moves } = std::mem::take(self);
        if moves.is_empty() {
            return;
        }
        code.line(format!("if (maxlen - pos < {size})\n    return -1;"));
        for (offset, call) in moves {
            let at = match offset {
                0 => format!("{buffer} + pos"),
                _ => format!("{buffer} + pos + {offset}"),
            };
            code.line(call.replace('@', &at));
        }
        code.line(format!("pos += {size};"));
    }
}
