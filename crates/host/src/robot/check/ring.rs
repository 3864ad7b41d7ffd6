//! Ways that lead back to where they began.

use std::collections::{BTreeMap, BTreeSet};

/// The shortest way from one of them over those that it leads to back to itself, which is its first.
pub(super) fn way_back<'n>(
    start: &'n str,
    next_of: &BTreeMap<&'n str, BTreeSet<&'n str>>,
) -> Option<Vec<&'n str>> {
    let mut came_from: BTreeMap<&str, &str> = BTreeMap::new();
    let mut edge = vec![start];
    while !edge.is_empty() {
        let mut next = Vec::new();
        for at in edge {
            for found in next_of.get(at).into_iter().flatten() {
                if *found == start {
                    return Some(trace(at, start, &came_from));
                }
                if !came_from.contains_key(found) {
                    came_from.insert(found, at);
                    next.push(*found);
                }
            }
        }
        edge = next;
    }
    None
}

fn trace<'n>(end: &'n str, start: &'n str, came_from: &BTreeMap<&'n str, &'n str>) -> Vec<&'n str> {
    let mut way = vec![end];
    let mut at = end;
    while let Some(before) = came_from.get(at).filter(|_| at != start) {
        way.push(before);
        at = before;
    }
    way.reverse();
    way
}
