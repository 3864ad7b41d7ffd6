//! Where boxes and wires go: columns from left to right, as data flows.
//!
//! Boxes stand in columns, each to the right of those that it reads. A wire that passes a column has a lane there, so
//! that it never crosses a box; one that goes back, against the flow, turns round beside the columns of its ends. The
//! order within columns follows the neighbours, a few times to and fro, and so do the heights.
//!
//! Only additions and comparisons of numbers that are the same everywhere: one graph, one drawing.

use super::{EndId, Flow, Graph};
use std::collections::{BTreeMap, BTreeSet};

/// How much room things take.
#[derive(Clone, Copy, Debug)]
pub struct Size {
    /// From left to right.
    pub width: f64,
    /// From top to bottom.
    pub height: f64,
}

/// Where a box is.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Rect {
    /// Its left side.
    pub x: f64,
    /// Its top.
    pub y: f64,
    /// From left to right.
    pub width: f64,
    /// From top to bottom.
    pub height: f64,
}

/// A wire between two ends: where it starts, the lanes that it takes, and where it ends.
#[derive(Clone, Debug, PartialEq)]
pub struct Wire {
    /// The end that writes or calls.
    pub from: EndId,
    /// The end that reads or serves.
    pub to: EndId,
    /// Pairs of points: along each lane, from where it is entered to where it is left.
    pub lanes: Vec<[(f64, f64); 2]>,
    /// Where it leaves its writer.
    pub start: (f64, f64),
    /// Where it arrives.
    pub end: (f64, f64),
    /// Whether it goes against the flow.
    pub is_back: bool,
}

/// A graph with places, from the upper left corner: x to the right, y down.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Layout {
    /// Of the nodes, in their order.
    pub boxes: Vec<Rect>,
    /// From each end that writes or calls to each at the other side.
    pub wires: Vec<Wire>,
    /// Of everything, with a margin.
    pub width: f64,
    /// Of everything, with a margin.
    pub height: f64,
}

/// Around everything; wires that turn round need some of it.
const MARGIN: f64 = 48.0;
/// Between boxes of a column.
const BOX_GAP: f64 = 18.0;
/// What a wire that passes a column takes.
const LANE_HEIGHT: f64 = 10.0;
/// Between columns, and for each wire there, up to a number of them.
const COLUMN_GAP: f64 = 56.0;
const WIRE_GAP: f64 = 3.0;
const MAX_WIRES_IN_GAP: usize = 40;
/// How often order and heights are looked at again.
const N_SWEEPS: usize = 12;

/// Lays a graph out. `sizes` are of the nodes, `row` is how far below the top of its box an end is.
#[must_use]
pub fn layout(graph: &Graph, sizes: &[Size], row: &dyn Fn(EndId) -> f64) -> Layout {
    let links = links(graph);
    let columns = columns(graph.nodes.len(), &links);
    let mut plan = Plan::new(&links, &columns, sizes, row);
    plan.order();
    plan.settle();
    plan.draw(&links, &columns)
}

/// From those who write to those who read.
fn links(graph: &Graph) -> Vec<(EndId, EndId)> {
    let ends = graph.links();
    let mut links = Vec::new();
    for (node, it) in graph.nodes.iter().enumerate() {
        for (end, it) in it.ends.iter().enumerate() {
            if matches!(it.flow, Flow::Writes | Flow::Calls) {
                let from = EndId { node, end };
                links.extend(ends.peers(from).into_iter().map(|to| (from, to)));
            }
        }
    }
    links
}

/// The column of each node: to the right of all that it reads, but for wires that go back.
fn columns(n_nodes: usize, links: &[(EndId, EndId)]) -> Vec<usize> {
    let mut next: Vec<BTreeSet<usize>> = vec![BTreeSet::new(); n_nodes];
    let mut is_reader = vec![false; n_nodes];
    for (from, to) in links.iter().filter(|(from, to)| from.node != to.node) {
        if let Some(next) = next.get_mut(from.node) {
            next.insert(to.node);
        }
        if let Some(is_reader) = is_reader.get_mut(to.node) {
            *is_reader = true;
        }
    }
    let order = flow_order(&next, &is_reader);
    let mut column = vec![0_usize; n_nodes];
    for (place, node) in order.iter().enumerate() {
        let own = column.get(*node).copied().unwrap_or(0);
        for after in forward(&next, &order, place) {
            if let Some(column) = column.get_mut(after) {
                *column = (*column).max(own + 1);
            }
        }
    }
    // Sources stand beside those who read them, not far away.
    for (place, node) in order.iter().enumerate() {
        let nearest = forward(&next, &order, place)
            .filter_map(|after| column.get(after).copied())
            .min();
        if let (Some(false), Some(nearest), Some(own)) =
            (is_reader.get(*node), nearest, column.get_mut(*node))
        {
            *own = nearest.saturating_sub(1);
        }
    }
    spread_idle(&next, &is_reader, &mut column);
    column
}

/// Those that a node goes on to and that come later in the order: the others are what goes back.
fn forward<'n>(
    next: &'n [BTreeSet<usize>],
    order: &'n [usize],
    place: usize,
) -> impl Iterator<Item = usize> + 'n {
    let node = order.get(place).copied();
    let later: BTreeSet<usize> = order.iter().skip(place + 1).copied().collect();
    let after = node
        .and_then(|node| next.get(node))
        .into_iter()
        .flatten()
        .copied();
    after.filter(move |after| later.contains(after))
}

/// Nodes in an order in which most wires go forward: depth first, from those that read nothing, backwards.
fn flow_order(next: &[BTreeSet<usize>], is_reader: &[bool]) -> Vec<usize> {
    let mut is_seen = vec![false; next.len()];
    let mut finished = Vec::with_capacity(next.len());
    let sources = (0..next.len()).filter(|node| is_reader.get(*node) == Some(&false));
    for start in sources.chain(0..next.len()) {
        let mut stack = vec![(start, false)];
        while let Some((node, is_done)) = stack.pop() {
            if is_done {
                finished.push(node);
                continue;
            }
            let Some(is_seen) = is_seen.get_mut(node).filter(|is_seen| !**is_seen) else {
                continue;
            };
            *is_seen = true;
            stack.push((node, true));
            let after = next.get(node).into_iter().flatten().rev();
            stack.extend(after.map(|after| (*after, false)));
        }
    }
    finished.reverse();
    finished
}

/// Nodes without wires fill the columns evenly.
fn spread_idle(next: &[BTreeSet<usize>], is_reader: &[bool], column: &mut [usize]) {
    let n_columns = column.iter().max().map_or(1, |last| last + 1);
    let is_idle = |node: &usize| {
        next.get(*node).is_some_and(BTreeSet::is_empty) && is_reader.get(*node) == Some(&false)
    };
    let idle: Vec<usize> = (0..column.len()).filter(is_idle).collect();
    // As many columns as make a square, where there are no others.
    let wanted = (1..=idle.len()).find(|n| n * n >= idle.len()).unwrap_or(1);
    let n_columns = n_columns.max(wanted.min(MAX_IDLE_COLUMNS));
    for (place, node) in idle.iter().enumerate() {
        if let Some(column) = column.get_mut(*node) {
            *column = place % n_columns;
        }
    }
}

const MAX_IDLE_COLUMNS: usize = 6;

/// What stands in a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Item {
    Node(usize),
    /// Of all wires of one end that pass this column in one direction.
    Lane {
        of: EndId,
        is_back: bool,
    },
}

/// Where an item is joined to another, in another column.
#[derive(Clone, Copy, Debug)]
struct Joint {
    /// Below the top of the item.
    own_offset: f64,
    other: (usize, Item),
    other_offset: f64,
}

/// Columns of items, while their order and heights are looked for.
struct Plan<'p> {
    columns: Vec<Vec<Item>>,
    joints: BTreeMap<(usize, Item), Vec<Joint>>,
    top: BTreeMap<(usize, Item), f64>,
    sizes: &'p [Size],
    row: &'p dyn Fn(EndId) -> f64,
}

impl<'p> Plan<'p> {
    fn new(
        links: &[(EndId, EndId)],
        column: &[usize],
        sizes: &'p [Size],
        row: &'p dyn Fn(EndId) -> f64,
    ) -> Self {
        let n_columns = column.iter().max().map_or(0, |last| last + 1);
        let mut plan = Self {
            columns: vec![Vec::new(); n_columns],
            joints: BTreeMap::new(),
            top: BTreeMap::new(),
            sizes,
            row,
        };
        for (node, at) in column.iter().enumerate() {
            plan.put(*at, Item::Node(node));
        }
        for link in links {
            let stops = stops(*link, column);
            for (at, item) in &stops {
                plan.put(*at, *item);
            }
            for pair in stops.windows(2) {
                if let [one, two] = pair {
                    plan.join(*link, *one, *two);
                }
            }
        }
        plan.stack();
        plan
    }

    fn put(&mut self, at: usize, item: Item) {
        if let Some(items) = self.columns.get_mut(at)
            && self.top.insert((at, item), 0.0).is_none()
        {
            items.push(item);
        }
    }

    /// Only items of different columns pull at each other.
    fn join(&mut self, link: (EndId, EndId), one: (usize, Item), two: (usize, Item)) {
        if one.0 == two.0 {
            return;
        }
        let (one_offset, two_offset) = (self.offset(link, one.1), self.offset(link, two.1));
        let mut add = |from, own_offset, other, other_offset| {
            let joint = Joint {
                own_offset,
                other,
                other_offset,
            };
            self.joints.entry(from).or_default().push(joint);
        };
        add(one, one_offset, two, two_offset);
        add(two, two_offset, one, one_offset);
    }

    fn offset(&self, (from, to): (EndId, EndId), item: Item) -> f64 {
        match item {
            Item::Node(node) if node == from.node => (self.row)(from),
            Item::Node(_) => (self.row)(to),
            Item::Lane { .. } => LANE_HEIGHT / 2.0,
        }
    }

    fn height(&self, item: Item) -> f64 {
        match item {
            Item::Node(node) => self
                .sizes
                .get(node)
                .map_or(0.0, |size| size.height + BOX_GAP),
            Item::Lane { .. } => LANE_HEIGHT,
        }
    }

    /// One below the other, in their order, columns centred.
    fn stack(&mut self) {
        for at in 0..self.columns.len() {
            let items = self.columns.get(at).cloned().unwrap_or_default();
            let total: f64 = items.iter().map(|item| self.height(*item)).sum();
            let mut y = -total / 2.0;
            for item in items {
                self.top.insert((at, item), y);
                y += self.height(item);
            }
        }
    }

    /// Sorts columns by where their neighbours are, to and fro.
    fn order(&mut self) {
        for sweep in 0..N_SWEEPS {
            let is_forward = sweep % 2 == 0;
            let n_columns = self.columns.len();
            for step in 0..n_columns {
                let at = if is_forward {
                    step
                } else {
                    n_columns - 1 - step
                };
                self.sort_column(at, is_forward);
            }
            self.stack();
        }
    }

    fn sort_column(&mut self, at: usize, is_forward: bool) {
        let items = self.columns.get(at).cloned().unwrap_or_default();
        let mut keyed: Vec<(f64, Item)> = items
            .iter()
            .map(|item| {
                let side = |joint: &&Joint| (joint.other.0 < at) == is_forward;
                let pulled = self.pulled_to(at, *item, side);
                let own = self.top_of(at, *item);
                (pulled.unwrap_or(own), *item)
            })
            .collect();
        keyed.sort_by(|(one, _), (two, _)| one.total_cmp(two));
        let sorted: Vec<Item> = keyed.into_iter().map(|(_, item)| item).collect();
        let mut y = sorted.iter().map(|item| self.height(*item)).sum::<f64>() / -2.0;
        for item in &sorted {
            self.top.insert((at, *item), y);
            y += self.height(*item);
        }
        if let Some(column) = self.columns.get_mut(at) {
            *column = sorted;
        }
    }

    fn top_of(&self, at: usize, item: Item) -> f64 {
        self.top.get(&(at, item)).copied().unwrap_or(0.0)
    }

    /// Where an item would be if its wires were straight, on average.
    fn pulled_to(&self, at: usize, item: Item, wanted: impl Fn(&&Joint) -> bool) -> Option<f64> {
        let joints = self.joints.get(&(at, item))?.iter().filter(wanted);
        let wishes: Vec<f64> = joints
            .map(|joint| {
                let (other_at, other) = joint.other;
                self.top_of(other_at, other) + joint.other_offset - joint.own_offset
            })
            .collect();
        mean(&wishes)
    }

    /// Moves everything to where its wires are straightest, without changing the order.
    fn settle(&mut self) {
        for sweep in 0..N_SWEEPS {
            let n_columns = self.columns.len();
            for step in 0..n_columns {
                let at = if sweep % 2 == 0 {
                    step
                } else {
                    n_columns - 1 - step
                };
                self.settle_column(at);
            }
        }
    }

    /// The heights nearest to the wishes, with everything below what is above it: neighbours that would overlap are
    /// moved as one, by the mean of what they wish.
    fn settle_column(&mut self, at: usize) {
        let items = self.columns.get(at).cloned().unwrap_or_default();
        let mut blocks: Vec<(f64, usize)> = Vec::new();
        let mut above = 0.0;
        let mut offsets = Vec::with_capacity(items.len());
        for item in &items {
            let wish = self.pulled_to(at, *item, |_| true);
            let wish = wish.unwrap_or_else(|| self.top_of(at, *item));
            blocks.push((wish - above, 1));
            offsets.push(above);
            above += self.height(*item);
            merge(&mut blocks);
        }
        let levels = blocks
            .iter()
            .flat_map(|(level, n)| std::iter::repeat_n(*level, *n));
        for ((item, offset), level) in items.iter().zip(offsets).zip(levels.collect::<Vec<_>>()) {
            self.top.insert((at, *item), level + offset);
        }
    }

    fn draw(&self, links: &[(EndId, EndId)], column: &[usize]) -> Layout {
        let lefts = self.lefts(links, column);
        let highest = self.top.values().copied().reduce(f64::min).unwrap_or(0.0);
        let shift = MARGIN - highest;
        let place = |at: usize| lefts.get(at).copied().unwrap_or_default();
        let mut layout = Layout::default();
        for (node, at) in column.iter().enumerate() {
            let (x, width) = place(*at);
            let height = self.sizes.get(node).map_or(0.0, |size| size.height);
            let y = self.top_of(*at, Item::Node(node)) + shift;
            layout.boxes.push(Rect {
                x,
                y,
                width,
                height,
            });
        }
        for (from, to) in links {
            let point = |end: &EndId, is_right: bool| {
                let rect = layout.boxes.get(end.node).copied().unwrap_or_default();
                let x = if is_right {
                    rect.x + rect.width
                } else {
                    rect.x
                };
                (x, rect.y + (self.row)(*end))
            };
            let stops = stops((*from, *to), column);
            let is_back = stops
                .iter()
                .any(|(_, item)| matches!(item, Item::Lane { is_back: true, .. }));
            let lanes = stops
                .iter()
                .filter(|(_, item)| matches!(item, Item::Lane { .. }));
            let lanes = lanes.map(|(at, item)| {
                let (x, width) = place(*at);
                let y = self.top_of(*at, *item) + shift + LANE_HEIGHT / 2.0;
                match is_back {
                    true => [(x + width, y), (x, y)],
                    false => [(x, y), (x + width, y)],
                }
            });
            layout.wires.push(Wire {
                from: *from,
                to: *to,
                lanes: lanes.collect(),
                start: point(from, true),
                end: point(to, false),
                is_back,
            });
        }
        let right = lefts.last().map_or(0.0, |(x, width)| x + width);
        let lowest = self.columns.iter().enumerate().flat_map(|(at, items)| {
            items
                .iter()
                .map(move |item| self.top_of(at, *item) + self.height(*item))
        });
        layout.width = right + MARGIN;
        layout.height = lowest.reduce(f64::max).unwrap_or(0.0) + shift + MARGIN - BOX_GAP;
        layout
    }

    /// Left edge and width of each column.
    fn lefts(&self, links: &[(EndId, EndId)], column: &[usize]) -> Vec<(f64, f64)> {
        let mut wires_right_of = vec![0_usize; self.columns.len()];
        for link in links {
            let crossed: BTreeSet<usize> =
                stops(*link, column).into_iter().map(|(at, _)| at).collect();
            for at in crossed {
                if let Some(n) = wires_right_of.get_mut(at) {
                    *n += 1;
                }
            }
        }
        let mut x = MARGIN;
        let mut lefts = Vec::with_capacity(self.columns.len());
        for (items, n_wires) in self.columns.iter().zip(wires_right_of) {
            let width = items.iter().filter_map(|item| match item {
                Item::Node(node) => self.sizes.get(*node).map(|size| size.width),
                Item::Lane { .. } => None,
            });
            let width = width.reduce(f64::max).unwrap_or(0.0);
            lefts.push((x, width));
            let n_wires = u32::try_from(n_wires.min(MAX_WIRES_IN_GAP)).unwrap_or(0);
            x += width + COLUMN_GAP + WIRE_GAP * f64::from(n_wires);
        }
        lefts
    }
}

/// What a wire passes on its way, with the columns: its ends, and a lane in each column between them.
fn stops((from, to): (EndId, EndId), column: &[usize]) -> Vec<(usize, Item)> {
    let at = |end: EndId| column.get(end.node).copied().unwrap_or(0);
    let (first, last) = (at(from), at(to));
    let lane = |is_back| move |at: usize| (at, Item::Lane { of: from, is_back });
    let mut stops = vec![(first, Item::Node(from.node))];
    if last > first {
        stops.extend((first + 1..last).map(lane(false)));
    } else {
        stops.extend((last..=first).rev().map(lane(true)));
    }
    stops.push((last, Item::Node(to.node)));
    stops
}

/// Blocks that want to be above those before them become one with them.
fn merge(blocks: &mut Vec<(f64, usize)>) {
    while let [.., (above, n_above), (below, n_below)] = blocks[..]
        && below < above
    {
        blocks.truncate(blocks.len() - 2);
        let (one, two) = (count(n_above), count(n_below));
        let level = (above * one + below * two) / (one + two);
        blocks.push((level, n_above + n_below));
    }
}

fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / count(values.len()))
}

fn count(n: usize) -> f64 {
    f64::from(u32::try_from(n).unwrap_or(u32::MAX))
}

#[cfg(test)]
mod tests;
