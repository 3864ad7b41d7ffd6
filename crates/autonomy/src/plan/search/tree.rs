//! The states that a search has seen: a flat arena, a table by place and heading, a queue by cost.

use crate::Place;
use crate::plan::sparse::TileHasher;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::f64::consts::TAU;
use std::hash::BuildHasherDefault;

/// Where a chain of states begins.
pub(crate) const ROOT: u32 = u32::MAX;

/// A state that was reached.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Node {
    /// As it was integrated, never snapped to a grid.
    pub(crate) state: Place,
    /// What it cost to get here, metres.
    pub(crate) cost_m: f64,
    /// What the rest costs at least, metres.
    pub(crate) rest_m: f64,
    /// The node before it, and the sample that led here.
    pub(crate) parent: u32,
    pub(crate) sample: u32,
    pub(crate) stride: Stride,
    pub(crate) is_expanded: bool,
}

/// Which samples led to a state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stride {
    Short,
    Long,
}

impl Stride {
    pub(crate) fn idx(self) -> usize {
        match self {
            Self::Short => 0,
            Self::Long => 1,
        }
    }
}

/// The resolution of places and headings.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Keys {
    pub(crate) corner_m: [f64; 2],
    pub(crate) key_m: f64,
    pub(crate) n_headings: u32,
}

impl Keys {
    /// Packed: heading, row, column.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a state within an area has few and positive cells, and there are few headings; others saturate"
    )]
    fn of(&self, state: &Place) -> u64 {
        let column = ((state.x_m - self.corner_m[0]) / self.key_m) as u32;
        let row = ((state.y_m - self.corner_m[1]) / self.key_m) as u32;
        let n_headings = f64::from(self.n_headings);
        // In the middle of the first heading is straight east.
        let turns = state.heading_rad / TAU + 0.5 / n_headings;
        let heading = ((turns - turns.floor()) * n_headings) as u64;
        heading << 56 | u64::from(row) << 28 | u64::from(column)
    }
}

/// All states of one search.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tree {
    pub(crate) nodes: Vec<Node>,
    keys: Keys,
    by_key: HashMap<u64, u32, BuildHasherDefault<TileHasher>>,
    /// Cost and rest in the upper half, as bits of an f32 (those of positive numbers are in their order); below them the
    /// node, later ones first: they are farther on.
    queue: BinaryHeap<Reverse<u64>>,
}

impl Tree {
    pub(crate) fn clear(&mut self, keys: Keys) {
        self.keys = keys;
        self.nodes.clear();
        self.by_key.clear();
        self.queue.clear();
    }

    /// The key of a state, if nothing as cheap has been there.
    pub(crate) fn improves(&self, state: &Place, cost_m: f64) -> Option<u64> {
        let key = self.keys.of(state);
        let is_better = self
            .by_key
            .get(&key)
            .is_none_or(|idx| cost_m < self.nodes[*idx as usize].cost_m - 1e-9);
        is_better.then_some(key)
    }

    /// Adds a state, to be expanded in the order of `rank_m`.
    pub(crate) fn add(&mut self, key: u64, node: Node, rank_m: f64) {
        let idx = u32::try_from(self.nodes.len()).unwrap_or(ROOT);
        self.nodes.push(node);
        self.by_key.insert(key, idx);
        let rank = super::as_f32(rank_m.max(0.0)).to_bits();
        self.queue
            .push(Reverse(u64::from(rank) << 32 | u64::from(!idx)));
    }

    pub(crate) fn add_root(&mut self, node: Node, rank_m: f64) {
        self.add(self.keys.of(&node.state), node, rank_m);
    }

    /// The next state to expand, and its rank. What was overtaken at its place is passed over.
    pub(crate) fn next(&mut self) -> Option<(u32, f64)> {
        while let Some(Reverse(entry)) = self.queue.pop() {
            let [rank, idx] = [entry >> 32, entry & u64::from(u32::MAX)]
                .map(|half| u32::try_from(half).unwrap_or_default());
            let idx = !idx;
            let node = &mut self.nodes[idx as usize];
            let is_overtaken = self.by_key.get(&self.keys.of(&node.state)) != Some(&idx);
            if node.is_expanded || is_overtaken {
                continue;
            }
            node.is_expanded = true;
            return Some((idx, f64::from(f32::from_bits(rank))));
        }
        None
    }

    /// The nodes from the root to one, that one included.
    pub(crate) fn chain(&self, idx: u32) -> Vec<&Node> {
        let mut chain = Vec::new();
        let mut at = idx;
        while let Some(node) = self.nodes.get(at as usize) {
            chain.push(node);
            at = node.parent;
        }
        chain.reverse();
        chain
    }
}
