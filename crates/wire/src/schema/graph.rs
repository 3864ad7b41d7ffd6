//! Which types contain which.
//!
//! A fingerprint is a sum over all ways down from a type that do not pass an ancestor twice. Followed literally that
//! is exponential in hostile input, and a long chain of types would overflow the stack. So: components of types that
//! contain each other are found without recursion, each type outside such a component is worked out once, and a
//! component gets a budget.

use super::{Dim, Member, Type, TypeDef, TypeKind};
use crate::MAX_DEPTH;
use crate::fingerprint::close;
use alloc::vec;
use alloc::vec::Vec;

/// Steps to spend on the ways through types that contain each other. A dozen such types in full mesh would take more.
const MAX_STEPS: usize = 1_000_000;
/// Types that contain each other in one knot. Bounds the recursion over them.
const MAX_KNOT: usize = 64;

pub(super) struct Graph {
    /// For each type, the types of its members, in order, with repetitions.
    inner: Vec<Vec<usize>>,
    /// Types that contain each other share a component; components are in order, contained before containing.
    component: Vec<usize>,
    components: Vec<Vec<usize>>,
}

impl Graph {
    pub(super) fn new(defs: &[TypeDef]) -> Self {
        let inner: Vec<Vec<usize>> = defs
            .iter()
            .map(|def| named_members(def).collect())
            .collect();
        let components = strong_components(&inner);
        let mut component = vec![0; inner.len()];
        for (i, types) in components.iter().enumerate() {
            for &ty in types {
                set(&mut component, ty, i);
            }
        }
        Self {
            inner,
            component,
            components,
        }
    }

    pub(super) fn is_recursive(&self, ty: usize) -> bool {
        self.knot(ty).len() > 1 || self.inner(ty).contains(&ty)
    }

    /// A type below which others are nested too deep, if there is one.
    pub(super) fn too_deep(&self) -> Option<usize> {
        let mut depths = vec![0_usize; self.components.len()];
        for (i, types) in self.components.iter().enumerate() {
            let below = types
                .iter()
                .flat_map(|&ty| self.inner(ty))
                .map(|&inner| self.component_of(inner));
            let depth = 1 + below
                .filter(|&c| c != i)
                .map(|c| get(&depths, c))
                .max()
                .unwrap_or(0);
            if depth > MAX_DEPTH {
                return types.first().copied();
            }
            set(&mut depths, i, depth);
        }
        None
    }

    /// The smallest encoding of each type, by relaxation within each component: variable arrays may be empty.
    pub(super) fn min_sizes(&self, defs: &[TypeDef]) -> Vec<usize> {
        let mut sizes = vec![usize::MAX; defs.len()];
        for types in &self.components {
            for _ in 0..types.len() {
                let mut has_changed = false;
                for &ty in types {
                    let size = defs.get(ty).map_or(0, |def| min_size(def, &sizes));
                    has_changed |= size != get(&sizes, ty);
                    set(&mut sizes, ty, size);
                }
                if !has_changed {
                    break;
                }
            }
        }
        sizes
    }

    /// The fingerprint of each type; `None` where a type is defined elsewhere.
    ///
    /// # Errors
    /// A type in a knot too large to work out.
    pub(super) fn fingerprints(
        &self,
        defs: &[TypeDef],
        bases: &[u64],
    ) -> Result<Vec<Option<u64>>, usize> {
        let mut known: Vec<Option<u64>> = vec![None; defs.len()];
        let mut steps = MAX_STEPS;
        for (i, types) in self.components.iter().enumerate() {
            if types.len() > MAX_KNOT {
                return Err(types.first().copied().unwrap_or_default());
            }
            for &ty in types {
                let fingerprint = match defs.get(ty).map(|def| &def.kind) {
                    Some(TypeKind::Enum(_)) => Some(get(bases, ty)),
                    Some(TypeKind::Struct(_)) => {
                        let mut walk = Walk {
                            graph: self,
                            bases,
                            known: &known,
                            component: i,
                            steps: &mut steps,
                        };
                        walk.hash(ty, &mut Vec::new()).ok_or(ty)?
                    }
                    Some(TypeKind::External) | None => None,
                };
                set(&mut known, ty, fingerprint);
            }
        }
        Ok(known)
    }

    fn inner(&self, ty: usize) -> &[usize] {
        self.inner.get(ty).map_or(&[], Vec::as_slice)
    }

    fn component_of(&self, ty: usize) -> usize {
        get(&self.component, ty)
    }

    fn knot(&self, ty: usize) -> &[usize] {
        self.components
            .get(self.component_of(ty))
            .map_or(&[], Vec::as_slice)
    }
}

/// The reference's recursion, within one component.
struct Walk<'g> {
    graph: &'g Graph,
    bases: &'g [u64],
    known: &'g [Option<u64>],
    component: usize,
    steps: &'g mut usize,
}

impl Walk<'_> {
    /// `None` when out of steps, `Some(None)` when it contains a type that is defined elsewhere.
    fn hash(&mut self, ty: usize, ancestors: &mut Vec<usize>) -> Option<Option<u64>> {
        if ancestors.contains(&ty) {
            return Some(Some(0));
        }
        ancestors.push(ty);
        let mut sum = Some(0_u64);
        let graph = self.graph;
        for &inner in graph.inner(ty) {
            *self.steps = self.steps.checked_sub(1)?;
            let hash = if graph.component_of(inner) == self.component {
                self.hash(inner, ancestors)?
            } else {
                self.known.get(inner).copied().flatten()
            };
            sum = sum.zip(hash).map(|(sum, hash)| sum.wrapping_add(hash));
        }
        ancestors.pop();
        Some(sum.map(|sum| close(get(self.bases, ty), sum)))
    }
}

fn named_members(def: &TypeDef) -> impl Iterator<Item = usize> {
    let members: &[Member] = match &def.kind {
        TypeKind::Struct(body) => &body.members,
        TypeKind::Enum(_) | TypeKind::External => &[],
    };
    members.iter().filter_map(|member| match member.ty {
        Type::Named(id) => Some(id.0 as usize),
        Type::Primitive(_) => None,
    })
}

fn min_size(def: &TypeDef, sizes: &[usize]) -> usize {
    let body = match &def.kind {
        TypeKind::Struct(body) => body,
        TypeKind::Enum(_) => return 4,
        TypeKind::External => return 0,
    };
    body.members.iter().fold(0, |total: usize, member| {
        let element = match member.ty {
            Type::Primitive(primitive) => primitive.min_size(),
            Type::Named(id) => get(sizes, id.0 as usize),
        };
        let all = member.dims.iter().try_fold(element, |size, dim| match dim {
            Dim::Fixed { size: n, .. } => Some(size.saturating_mul(*n)),
            Dim::Variable { .. } => None,
        });
        total.saturating_add(all.unwrap_or(0))
    })
}

/// Tarjan's algorithm with a stack of its own.
fn strong_components(edges: &[Vec<usize>]) -> Vec<Vec<usize>> {
    const UNSEEN: usize = usize::MAX;
    let n = edges.len();
    let (mut index, mut low, mut is_open) = (vec![UNSEEN; n], vec![0; n], vec![false; n]);
    let (mut open, mut components, mut n_seen) = (Vec::new(), Vec::new(), 0);
    for root in 0..n {
        let mut calls = vec![(root, 0_usize)];
        while let Some((node, next_edge)) = calls.pop() {
            if next_edge == 0 {
                if get(&index, node) != UNSEEN {
                    continue;
                }
                set(&mut index, node, n_seen);
                set(&mut low, node, n_seen);
                n_seen += 1;
                open.push(node);
                set(&mut is_open, node, true);
            } else if let Some(&child) = edges.get(node).and_then(|e| e.get(next_edge - 1))
                && get(&is_open, child)
            {
                let lowest = get(&low, node).min(get(&low, child));
                set(&mut low, node, lowest);
            }
            if let Some(&child) = edges.get(node).and_then(|e| e.get(next_edge)) {
                calls.push((node, next_edge + 1));
                if get(&index, child) == UNSEEN {
                    calls.push((child, 0));
                }
            } else if get(&low, node) == get(&index, node) {
                let start = open
                    .iter()
                    .rposition(|&other| other == node)
                    .unwrap_or_default();
                let component = open.split_off(start);
                component
                    .iter()
                    .for_each(|&member| set(&mut is_open, member, false));
                components.push(component);
            }
        }
    }
    components
}

/// Places in these tables come from the tables' own lengths.
fn get<T: Copy + Default>(table: &[T], place: usize) -> T {
    table.get(place).copied().unwrap_or_default()
}

fn set<T>(table: &mut [T], place: usize, value: T) {
    if let Some(slot) = table.get_mut(place) {
        *slot = value;
    }
}
