//! Who has to be looked at.

use std::collections::VecDeque;

/// Indices in order, each at most once, in memory taken once.
#[derive(Debug)]
pub(crate) struct Todo {
    queue: VecDeque<u32>,
    member: Vec<bool>,
}

impl Todo {
    pub(crate) fn new(owners: usize) -> Todo {
        Todo { queue: VecDeque::with_capacity(owners), member: vec![false; owners] }
    }

    /// Adds `index` at the end, if it is not in there.
    pub(crate) fn add(&mut self, index: u32) {
        if !std::mem::replace(&mut self.member[index as usize], true) {
            self.queue.push_back(index);
        }
    }

    pub(crate) fn first(&self) -> Option<u32> {
        self.queue.front().copied()
    }

    pub(crate) fn take(&mut self) -> Option<u32> {
        let index = self.queue.pop_front()?;
        self.member[index as usize] = false;
        Some(index)
    }

    /// All of them, in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        self.queue.iter().copied()
    }

    pub(crate) fn len(&self) -> usize {
        self.queue.len()
    }
}
