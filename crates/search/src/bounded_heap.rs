//! The first few of many, without keeping the rest.

use std::collections::BinaryHeap;

/// Keeps the smallest values that it is shown.
#[derive(Debug)]
pub struct BoundedHeap<T> {
    most: usize,
    heap: BinaryHeap<T>,
    seen: u64,
}

impl<T: Ord> BoundedHeap<T> {
    /// Keeps so many at most.
    pub fn new(most: u64) -> Self {
        let most = usize::try_from(most).unwrap_or(usize::MAX);
        Self { most, heap: BinaryHeap::new(), seen: 0 }
    }

    /// Shows it a value.
    pub fn push(&mut self, value: T) {
        self.seen += 1;
        self.heap.push(value);
        if self.heap.len() > self.most {
            self.heap.pop();
        }
    }

    /// The kept ones of all, in order, and how many were shown.
    pub fn merge(parts: Vec<Self>) -> (Vec<T>, u64) {
        let seen = parts.iter().map(|part| part.seen).sum();
        let most = parts.first().map_or(0, |part| part.most);
        let mut all: Vec<T> = parts.into_iter().flat_map(|part| part.heap).collect();
        all.sort_unstable();
        all.truncate(most);
        (all, seen)
    }
}
