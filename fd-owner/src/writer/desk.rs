//! All writers of one connection: where they join, and the end at which the driver takes what they bring.

use std::io::IoSlice;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use arenatls_engine::{Error, Progress, Want};

use super::lane::{Feed, Handed, Lane, lane};
use super::notices::Notices;
use super::{WriteError, WriterEnd};

/// What the writers of one connection share.
#[derive(Debug)]
pub(super) struct Group {
    pub(super) notices: Arc<Notices>,
    pub(super) index: u32,
    /// Why nothing more is taken; set once.
    end: OnceLock<WriterEnd>,
    most: usize,
    /// Somebody joins.
    news: AtomicBool,
    members: Mutex<Members>,
}

#[derive(Debug, Default)]
struct Members {
    /// Rings there are, those included that their writers have left and that are not empty yet.
    count: usize,
    joining: Vec<Lane>,
}

impl Group {
    /// A ring of `capacity` bytes for one more writer.
    pub(super) fn join(&self, capacity: usize) -> Result<Feed, WriteError> {
        let mut members = self.members();
        if let Some(end) = self.end() {
            return Err(WriteError::Closed(end));
        }
        if members.count == self.most {
            return Err(WriteError::TooManyWriters { most: self.most });
        }
        let (feed, lane) = lane(capacity);
        members.count += 1;
        members.joining.push(lane);
        self.news.store(true, Ordering::Release);
        Ok(feed)
    }

    pub(super) fn end(&self) -> Option<WriterEnd> {
        self.end.get().copied()
    }

    fn members(&self) -> MutexGuard<'_, Members> {
        self.members.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What is left after the driver took all it could.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Drained {
    /// Nothing.
    All,
    /// A message is on its way into a ring; a notice will follow it.
    Busy,
    /// Something that needs this first.
    Blocked(Want),
}

/// The driver's end of a [`Group`]. Dropping it ends the group.
#[derive(Debug)]
pub(crate) struct Desk {
    group: Arc<Group>,
    lanes: Vec<Lane>,
    /// Whose turn it is.
    next: usize,
}

impl Desk {
    /// For the connection in place `index`, and at most `most` writers.
    pub(crate) fn new(notices: Arc<Notices>, index: u32, most: usize) -> Desk {
        let (end, news, members) = (OnceLock::new(), AtomicBool::new(false), Mutex::default());
        let group = Arc::new(Group { notices, index, end, most, news, members });
        Desk { group, lanes: Vec::new(), next: 0 }
    }

    pub(super) fn group(&self) -> &Arc<Group> {
        &self.group
    }

    /// Gives `write` what writers brought, one writer after the other, until there is nothing or it takes nothing.
    ///
    /// # Errors
    ///
    /// Those of `write`.
    pub(crate) fn drain(
        &mut self,
        mut write: impl FnMut(&[IoSlice<'_>]) -> Result<Progress<usize>, Error>,
    ) -> Result<Drained, Error> {
        self.admit();
        let (mut idle, mut busy) = (0, false);
        while idle < self.lanes.len() {
            let lane = &mut self.lanes[self.next];
            // Before the look into the lane: who is gone, or shut out and not busy, has put in all it will.
            let (gone, amid) = (lane.is_gone(), lane.is_busy());
            match lane.hand_over(&mut write)? {
                Handed::Nothing if gone => self.part(),
                Handed::Nothing => {
                    idle += 1;
                    busy |= amid;
                    self.step();
                }
                Handed::Bytes => {
                    idle = 0;
                    if !self.lanes[self.next].is_amid() {
                        self.step();
                    }
                }
                Handed::Want(want) => return Ok(Drained::Blocked(want)),
            }
        }
        Ok(if busy { Drained::Busy } else { Drained::All })
    }

    /// Whether writers have brought something that was not taken.
    pub(crate) fn has_some(&mut self) -> bool {
        self.admit();
        self.lanes.iter_mut().any(|lane| lane.unsealed() > 0)
    }

    /// Remembers how much writers have brought until now.
    pub(crate) fn mark(&mut self) {
        self.admit();
        self.lanes.iter_mut().for_each(Lane::mark);
    }

    /// As [`drain`](Self::drain), of what was there at the last mark. True if nothing is left of that, and no message is
    /// in the middle.
    ///
    /// # Errors
    ///
    /// Those of `write`.
    pub(crate) fn drain_marked(
        &mut self,
        mut write: impl FnMut(&[IoSlice<'_>]) -> Result<Progress<usize>, Error>,
    ) -> Result<bool, Error> {
        let mut idle = 0;
        while idle < self.lanes.len() {
            let lane = &mut self.lanes[self.next];
            match lane.hand_over_marked(&mut write)? {
                Handed::Nothing => {
                    idle += 1;
                    self.step();
                }
                Handed::Bytes => {
                    idle = 0;
                    if !lane.is_amid() {
                        self.step();
                    }
                }
                Handed::Want(_) => return Ok(false),
            }
        }
        Ok(true)
    }

    /// Takes nothing more from writers: they learn why, those that wait are woken. What they have had accepted stays.
    pub(crate) fn shut(&mut self, end: WriterEnd) {
        let mut members = self.group.members();
        // Under the lock, so that nobody joins any more. The first reason stays.
        let _ = self.group.end.set(end);
        self.lanes.append(&mut members.joining);
        drop(members);
        for lane in &self.lanes {
            lane.shut();
        }
    }

    fn admit(&mut self) {
        if self.group.news.swap(false, Ordering::Acquire) {
            self.lanes.append(&mut self.group.members().joining);
        }
    }

    fn step(&mut self) {
        self.next = (self.next + 1) % self.lanes.len().max(1);
    }

    /// Lets go of the lane whose turn it is.
    fn part(&mut self) {
        drop(self.lanes.remove(self.next));
        if self.next == self.lanes.len() {
            self.next = 0;
        }
        self.group.members().count -= 1;
    }
}

impl Drop for Desk {
    fn drop(&mut self) {
        self.shut(WriterEnd::Gone);
        let lost: u64 = self.lanes.iter_mut().map(Lane::unsealed).sum();
        self.group.notices.lost.fetch_add(lost, Ordering::Relaxed);
    }
}
