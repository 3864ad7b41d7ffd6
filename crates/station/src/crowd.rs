//! How many there may be at once: together, and of each kind.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A room with so many places.
#[derive(Debug)]
pub(crate) struct Crowd<K: Ord> {
    most: usize,
    by_key: Mutex<BTreeMap<K, usize>>,
}

/// A place in it, given back when it is dropped.
#[derive(Debug)]
pub(crate) struct Place<K: Ord> {
    crowd: Arc<Crowd<K>>,
    key: K,
}

impl<K: Ord + Clone> Crowd<K> {
    pub(crate) fn new(most: usize) -> Arc<Self> {
        Arc::new(Self {
            most,
            by_key: Mutex::default(),
        })
    }

    /// One more, if there is a place left and there are not so many of the same already.
    pub(crate) fn enter(self: &Arc<Self>, key: K, most_of_key: usize) -> Option<Place<K>> {
        let mut by_key = self.lock();
        let n_all: usize = by_key.values().sum();
        let n_same = by_key.get(&key).copied().unwrap_or_default();
        if n_all >= self.most || n_same >= most_of_key {
            return None;
        }
        by_key.insert(key.clone(), n_same + 1);
        drop(by_key);
        Some(Place {
            crowd: Arc::clone(self),
            key,
        })
    }
}

impl<K: Ord> Crowd<K> {
    pub(crate) fn is_empty(&self) -> bool {
        self.lock().is_empty()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<K, usize>> {
        self.by_key.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<K: Ord> Drop for Place<K> {
    fn drop(&mut self) {
        let mut by_key = self.crowd.lock();
        if let Some(n_same) = by_key.get_mut(&self.key) {
            *n_same -= 1;
            if *n_same == 0 {
                by_key.remove(&self.key);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_host_cannot_take_all_places_and_leaving_frees_one() {
        let crowd = Crowd::new(10);
        let greedy: Vec<_> = (0..20).filter_map(|_| crowd.enter("greedy", 4)).collect();
        assert_eq!(greedy.len(), 4);
        let others: Vec<_> = (0..20)
            .filter_map(|n| crowd.enter(["a", "b"][n % 2], 4))
            .collect();
        assert_eq!(others.len(), 6);
        drop(greedy);
        assert!(crowd.enter("greedy", 4).is_some());
        drop(others);
        assert!(crowd.is_empty());
    }
}
