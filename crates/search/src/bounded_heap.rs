//! A heap that keeps only the smallest few values.

use std::collections::BinaryHeap;

/// Keeps the smallest of the values pushed to it.
#[derive(Debug)]
pub struct BoundedHeap<T> {
    most: usize,
    heap: BinaryHeap<T>,
    seen: u64,
}

impl<T: Ord> BoundedHeap<T> {
    /// Creates a heap that keeps at most `most` values.
    pub fn new(most: u64) -> Self {
        let most = usize::try_from(most).unwrap_or(usize::MAX);
        Self { most, heap: BinaryHeap::new(), seen: 0 }
    }

    /// Adds a value.
    pub fn push(&mut self, value: T) {
        self.seen += 1;
        self.heap.push(value);
        if self.heap.len() > self.most {
            self.heap.pop();
        }
    }

    /// Merges heaps: returns the kept values in order, and how many were
    /// pushed.
    pub fn merge(parts: Vec<Self>) -> (Vec<T>, u64) {
        let seen = parts.iter().map(|part| part.seen).sum();
        let most = parts.first().map_or(0, |part| part.most);
        let mut all: Vec<T> = parts.into_iter().flat_map(|part| part.heap).collect();
        all.sort_unstable();
        all.truncate(most);
        (all, seen)
    }
}
