//! One connection behind a mutex, for writers and a reader to share: the way of a framework whose connections are not made
//! for several threads.
//!
//! A writer takes the lock, seals its message and sends. If the socket takes no more, it lets go of the lock, waits for the
//! socket, and finishes what it began. The reader waits for the socket, takes the lock, receives and opens. Bytes are
//! checked outside of the lock.

use std::net::TcpStream;
use std::sync::Barrier;
use std::thread;
use std::time::Instant;

use super::{Load, Outcome};
use crate::contention::gate::Gate;
use crate::contention::message::{Checker, fill};
use crate::contention::ready::{Ready, wait};
use crate::contention::waits::{For, Notebook};

/// A connected TLS client over a socket that does not block.
pub(super) trait Link: Send {
    /// Seals all of `message`, or nothing: false.
    fn seal(&mut self, message: &[u8]) -> bool;

    /// Sends what is sealed. False if the socket took not all of it.
    fn send(&mut self, socket: &TcpStream) -> bool;

    /// Receives what there is, once, and appends what opens to `plaintext`.
    fn receive(&mut self, socket: &TcpStream, plaintext: &mut Vec<u8>);
}

/// All writers write all they have, and the reader reads all of its echo.
pub(super) fn run(link: impl Link, socket: &TcpStream, load: &Load) -> Outcome {
    let (gate, barrier) = (Gate::new(link), Barrier::new(load.writers + 1));
    thread::scope(|scope| {
        let (gate, barrier) = (&gate, &barrier);
        let threads: Vec<_> = (0..load.writers)
            .map(|name| {
                scope.spawn(move || {
                    barrier.wait();
                    write(gate, socket, load, name)
                })
            })
            .collect();
        barrier.wait();
        let begun = Instant::now();
        let reader = read(gate, socket, load);
        let seconds = begun.elapsed().as_secs_f64();
        let mut notebooks: Vec<_> = threads.into_iter().map(|thread| thread.join().expect("a writer")).collect();
        notebooks.push(reader);
        Outcome { seconds, notebooks, wakes: None }
    })
}

fn write(gate: &Gate<impl Link>, socket: &TcpStream, load: &Load, name: usize) -> Notebook {
    let (mut notebook, mut message) = (Notebook::begin(), vec![0; load.size]);
    for number in 0..load.writes {
        fill(&mut message, name, number);
        let mut sealed = false;
        loop {
            let mut link = gate.lock(&mut notebook);
            sealed = sealed || link.seal(&message);
            let sent = link.send(socket);
            drop(link);
            if sealed && sent {
                break;
            }
            if !sent {
                let since = Instant::now();
                wait(socket, Ready::ToWrite);
                notebook.waited(For::Room, since);
            }
        }
    }
    notebook.end()
}

fn read(gate: &Gate<impl Link>, socket: &TcpStream, load: &Load) -> Notebook {
    let (mut notebook, mut checker) = (Notebook::begin(), load.checker());
    let mut plaintext = Vec::with_capacity(1 << 16);
    while !Checker::is_done(&checker) {
        wait(socket, Ready::ToRead);
        gate.lock(&mut notebook).receive(socket, &mut plaintext);
        checker.feed(&plaintext);
        plaintext.clear();
    }
    notebook.end()
}
