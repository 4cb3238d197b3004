//! Many threads and tiny rings against an owner that sleeps whenever it may: no wake-up is lost, in either direction, and
//! what was accepted is known exactly, however it ends. `WRITER_SEED=7 cargo test -p arenatls-fd-owner writer` repeats one.

use std::io::IoSlice;
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::thread;
use std::time::{Duration, Instant};

use arenatls_engine::{Progress, Want};

use super::*;
use crate::waker::Wakeup;

const WATCHDOG: Duration = Duration::from_secs(if cfg!(miri) { 400 } else { 60 });
/// Length, writer and number of a message, before its filling.
const HEAD: usize = 7;
const FULL: Progress<usize> = Progress::Want(Want::Drain);

/// Xorshift.
struct Random(u64);

impl Random {
    fn next(&mut self, below: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % below as u64).unwrap()
    }
}

fn message(writer: u8, number: u32, length: usize) -> Vec<u8> {
    let mut bytes = u16::try_from(length).unwrap().to_le_bytes().to_vec();
    bytes.push(writer);
    bytes.extend_from_slice(&number.to_le_bytes());
    bytes.resize(length, writer ^ u8::try_from(number % 256).unwrap());
    bytes
}

/// What each writer's messages are in `stream`, checked byte for byte.
fn numbers(stream: &[u8], writers: usize) -> Vec<u32> {
    let (mut at, mut next) = (0, vec![0; writers]);
    while at < stream.len() {
        let length = usize::from(u16::from_le_bytes([stream[at], stream[at + 1]]));
        let writer = stream[at + 2];
        let number = &mut next[usize::from(writer)];
        assert!(stream[at..at + length] == message(writer, *number, length), "message {number} of {writer}");
        (*number, at) = (*number + 1, at + length);
    }
    next
}

/// One run.
#[derive(Clone, Copy)]
struct Run {
    seed: u64,
    writers: u8,
    messages: u32,
    capacity: usize,
    /// After so many bytes the owner takes no more.
    stop_after: usize,
}

/// What the owner does: the driver's moves, with a sink that takes what it likes.
struct Owner {
    desk: Desk,
    notices: Arc<Notices>,
    wakeup: Wakeup,
    random: Random,
    stream: Vec<u8>,
}

impl Owner {
    fn new(run: &Run) -> Owner {
        let wakeup = Wakeup::new().unwrap();
        let notices = Arc::new(Notices::new(1, wakeup.waker()));
        let desk = Desk::new(Arc::clone(&notices), 0, usize::from(run.writers));
        Owner { desk, notices, wakeup, random: Random(run.seed | 1), stream: Vec::new() }
    }

    /// Takes what there is, as a turn does. False if the sink was full, so that the owner must not sleep.
    fn take(&mut self) -> Drained {
        while self.notices.take().is_some() {}
        let (random, stream) = (&mut self.random, &mut self.stream);
        let write = |pieces: &[IoSlice<'_>]| {
            let all: Vec<u8> = pieces.iter().flat_map(|piece| piece.iter().copied()).collect();
            if random.next(4) == 0 {
                return Ok(FULL);
            }
            let n = if random.next(2) == 0 { all.len() } else { 1 + random.next(all.len()) };
            stream.extend_from_slice(&all[..n]);
            Ok(Progress::Done(n))
        };
        self.desk.drain(write).unwrap()
    }

    /// Until so many bytes have come; sleeps whenever it may.
    fn run(&mut self, bytes: usize) {
        while self.stream.len() < bytes {
            let blocked = matches!(self.take(), Drained::Blocked(_));
            if !blocked && self.stream.len() < bytes && self.notices.fall_asleep() {
                // Blocks until there is a byte in the pipe.
                self.wakeup.complete(1);
            }
            self.notices.wake_up();
        }
    }
}

/// Messages accepted from one writer, and their bytes.
fn write_all(mut writer: Writer, name: u8, run: Run) -> (u32, usize) {
    let (mut random, mut sum) = (Random(run.seed * 31 + u64::from(name) + 1), 0);
    for number in 0..run.messages {
        let length = HEAD + random.next(run.capacity - 4 - HEAD + 1);
        let bytes = message(name, number, length);
        let wrote = match random.next(3) {
            0 => writer.try_write(&bytes).or_else(|_| writer.write(&bytes)),
            1 => writer.write_before(&bytes, Instant::now() + WATCHDOG),
            _ => writer.write(&bytes),
        };
        match wrote {
            Ok(()) => sum += length,
            Err(WriteError::Closed(WriterEnd::SendClosed)) => return (number, sum),
            Err(error) => panic!("seed {}: {error}", run.seed),
        }
        if random.next(8) == 0 {
            thread::yield_now();
        }
    }
    (run.messages, sum)
}

fn total(run: Run) -> usize {
    (0..run.writers)
        .map(|name| {
            let mut random = Random(run.seed * 31 + u64::from(name) + 1);
            let mut sum = 0;
            for _ in 0..run.messages {
                sum += HEAD + random.next(run.capacity - 4 - HEAD + 1);
                random.next(3);
                random.next(8);
            }
            sum
        })
        .sum()
}

fn play(run: Run) {
    let (tell, hear) = channel();
    let owner = thread::spawn(move || {
        let mut owner = Owner::new(&run);
        let first = Writer::new(&owner.desk, run.capacity).unwrap();
        let mut all: Vec<Writer> = (1..run.writers).map(|_| first.try_clone().unwrap()).collect();
        all.push(first);
        let threads: Vec<_> =
            (0..).zip(all).map(|(name, writer)| thread::spawn(move || write_all(writer, name, run))).collect();
        owner.run(run.stop_after.min(total(run)));
        owner.desk.shut(WriterEnd::SendClosed);
        // What was accepted before is all taken: only notices and the sink end this.
        loop {
            match owner.take() {
                Drained::All => break,
                Drained::Busy if owner.notices.fall_asleep() => owner.wakeup.complete(1),
                _ => {}
            }
            owner.notices.wake_up();
        }
        let accepted: Vec<_> = threads.into_iter().map(|thread| thread.join().unwrap()).collect();
        let bytes: usize = accepted.iter().map(|(_, bytes)| bytes).sum();
        let counts: Vec<u32> = accepted.iter().map(|(messages, _)| *messages).collect();
        assert_eq!((numbers(&owner.stream, counts.len()), owner.stream.len()), (counts, bytes), "seed {}", run.seed);
        tell.send(()).unwrap();
    });
    if hear.recv_timeout(WATCHDOG).is_err() {
        assert!(owner.is_finished(), "seed {}: it does not end; a wake-up was lost", run.seed);
        owner.join().unwrap();
    }
}

#[test]
fn no_wake_up_and_no_message_is_lost() {
    let one = std::env::var("WRITER_SEED").ok().map(|seed| seed.parse().unwrap());
    // Miri checks every order that memory may have, and takes its time.
    let (most, messages) = if cfg!(miri) { (4, 15) } else { (41, 1500) };
    let seeds = one.map_or(1..most, |seed: u64| seed..seed + 1);
    for seed in seeds {
        let mut random = Random(seed * 7919 + 1);
        let order = 4 + random.next(6);
        let capacity = 16 + random.next(1 << order);
        let writers = u8::try_from(1 + random.next(6)).unwrap();
        let run = Run { seed, writers, messages, capacity, stop_after: usize::MAX };
        play(run);
        // The same, cut off somewhere.
        play(Run { stop_after: 1 + random.next(total(run)), ..run });
    }
}

/// A desk, and who sleeps for it.
fn desk(most: usize) -> (Desk, Wakeup) {
    let wakeup = Wakeup::new().unwrap();
    let notices = Arc::new(Notices::new(3, wakeup.waker()));
    (Desk::new(notices, 2, most), wakeup)
}

#[test]
fn a_refusal_says_what_would_do_and_changes_nothing() {
    let (mut desk, _wakeup) = desk(1);
    let mut writer = Writer::new(&desk, 20).unwrap();
    assert_eq!(writer.try_write(&[1; 17]), Err(WriteError::TooLong { length: 17, most: 16 }));
    assert_eq!(writer.write(&[1; 17]), Err(WriteError::TooLong { length: 17, most: 16 }));
    assert_eq!(writer.try_write(&[1; 8]), Ok(()));
    assert_eq!(writer.try_write(&[2; 5]), Err(WriteError::Full { room: 4 }));
    // On the thread that would have to make room.
    assert_eq!(writer.write(&[2; 5]), Err(WriteError::Full { room: 4 }));
    assert_eq!(writer.try_write(&[3; 4]), Ok(()));
    assert_eq!(writer.try_write(&[]), Ok(()));
    assert_eq!(writer.try_write(&[4]), Err(WriteError::Full { room: 0 }));
    assert_eq!((writer.unsealed(), writer.counts().messages), (12, 2));
    let mut got = Vec::new();
    let drained = desk.drain(|pieces| {
        got.extend(pieces.iter().flat_map(|piece| piece.to_vec()));
        Ok(Progress::Done(pieces.iter().map(|piece| piece.len()).sum()))
    });
    assert_eq!((drained, writer.unsealed()), (Ok(Drained::All), 0));
    assert_eq!(got, [1, 1, 1, 1, 1, 1, 1, 1, 3, 3, 3, 3]);
    assert_eq!(writer.try_write(&[5; 16]), Ok(()), "all the room is there again");
}

#[test]
fn a_place_is_free_again_once_a_dropped_writers_messages_are_taken() {
    let (mut desk, _wakeup) = desk(2);
    let mut one = Writer::new(&desk, 20).unwrap();
    let two = one.clone();
    let mut three = one.clone();
    assert_eq!(three.try_write(b"x"), Err(WriteError::TooManyWriters { most: 2 }));
    assert_eq!(one.try_clone().map(drop), Err(WriteError::TooManyWriters { most: 2 }));
    one.try_write(b"last").unwrap();
    drop(one);
    assert_eq!(three.try_write(b"x"), Err(WriteError::TooManyWriters { most: 2 }), "its ring is not empty");
    let mut got = Vec::new();
    let mut take = |desk: &mut Desk| {
        desk.drain(|pieces| {
            got.extend(pieces.iter().flat_map(|piece| piece.to_vec()));
            Ok(Progress::Done(pieces.iter().map(|piece| piece.len()).sum()))
        })
    };
    assert_eq!(take(&mut desk), Ok(Drained::All));
    three.try_write(b"joined").unwrap();
    assert_eq!(take(&mut desk), Ok(Drained::All));
    assert_eq!(got, b"lastjoined");
    drop((two, three));
}

#[test]
fn the_end_is_told_and_what_is_lost_is_counted() {
    let (mut desk, _wakeup) = desk(2);
    let notices = Arc::clone(&desk.group().notices);
    let mut writer = Writer::new(&desk, 100).unwrap();
    writer.try_write(b"some").unwrap();
    writer.try_write(b"more").unwrap();
    let mut room = 6;
    let drained = desk.drain(|_| Ok(if room > 0 { Progress::Done(std::mem::take(&mut room)) } else { FULL }));
    assert_eq!(drained, Ok(Drained::Blocked(Want::Drain)));
    assert_eq!(writer.unsealed(), 2, "amid a message");
    writer.try_write(b"lost").unwrap();
    let end = WriterEnd::Connection(CloseReason::Aborted);
    desk.shut(end);
    desk.shut(WriterEnd::SendClosed);
    assert_eq!(writer.write(b"late"), Err(WriteError::Closed(end)), "the first reason stays");
    assert_eq!((notices.lost(), writer.end()), (0, Some(end)));
    drop(desk);
    assert_eq!((notices.lost(), writer.unsealed()), (6, 6));
    assert_eq!(writer.try_clone().map(drop), Err(WriteError::Closed(end)));
    assert_eq!(writer.clone().try_write(b"late"), Err(WriteError::Closed(end)));
}

#[test]
fn a_message_on_its_way_in_is_waited_for() {
    let (mut desk, _wakeup) = desk(1);
    let mut writer = Writer::new(&desk, 100).unwrap();
    let feed = writer.feed.as_ref().unwrap();
    assert!(feed.enter());
    desk.shut(WriterEnd::SendClosed);
    assert_eq!(desk.drain(|_| Ok(FULL)), Ok(Drained::Busy));
    assert!(feed.leave(), "the driver has to be told");
    assert_eq!(desk.drain(|_| Ok(FULL)), Ok(Drained::All));
    assert!(!feed.enter(), "nobody gets in any more");
    assert_eq!(writer.try_write(b"late"), Err(WriteError::Closed(WriterEnd::SendClosed)));
}

#[test]
fn a_writer_whose_driver_is_gone_knows() {
    let (desk, wakeup) = desk(2);
    let mut writer = Writer::new(&desk, 100).unwrap();
    drop((desk, wakeup));
    assert_eq!(writer.write(b"late"), Err(WriteError::Closed(WriterEnd::Gone)));
}
