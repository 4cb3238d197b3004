//! One thread owns the connection, by io_uring; the others have handles to write to it, and no lock.

use std::net::SocketAddr;
use std::sync::{Arc, Barrier, mpsc};
use std::thread::{self, JoinHandle};
use std::time::Instant;

use arenatls_fd_owner::{Config, DriverEvent, RingDriver, WriteError, Writer};
use openssl::ssl::{Ssl, SslContext};

use super::{Load, Outcome};
use crate::contention::message::{WATCHDOG, fill};
use crate::contention::waits::{For, Notebook};
use crate::setting::SERVER_NAME;

/// All writers write all they have, and the owner reads all of its echo.
///
/// # Errors
///
/// Says why there is no ring here.
pub(super) fn run(context: &SslContext, address: SocketAddr, load: &Load) -> Result<Outcome, String> {
    let (tell, hear) = mpsc::channel();
    let (context, load_there) = (context.clone(), *load);
    let owner = thread::spawn(move || own(&context, address, &load_there, &tell));
    let Ok(writer) = hear.recv() else {
        return Err(owner.join().expect("the owner").err().unwrap_or_default());
    };
    let barrier = Arc::new(Barrier::new(load.writers + 1));
    let threads: Vec<JoinHandle<(Notebook, u64)>> = (0..load.writers)
        .map(|name| {
            let (writer, barrier, load) = (writer.clone(), Arc::clone(&barrier), *load);
            thread::spawn(move || {
                barrier.wait();
                write(writer, &load, name)
            })
        })
        .collect();
    barrier.wait();
    let begun = Instant::now();
    let (done, reader) = owner.join().expect("the owner")?;
    let (mut notebooks, mut wakes) = (Vec::new(), 0);
    for thread in threads {
        let (notebook, woken) = thread.join().expect("a writer");
        notebooks.push(notebook);
        wakes += woken;
    }
    notebooks.push(reader);
    Ok(Outcome { seconds: (done - begun).as_secs_f64(), notebooks, wakes: Some(wakes) })
}

fn write(mut writer: Writer, load: &Load, name: usize) -> (Notebook, u64) {
    let (mut notebook, mut message) = (Notebook::begin(), vec![0; load.size]);
    for number in 0..load.writes {
        fill(&mut message, name, number);
        match writer.try_write(&message) {
            Ok(()) => {}
            Err(WriteError::Full { .. }) => {
                let since = Instant::now();
                writer.write_before(&message, since + WATCHDOG).expect("the owner takes it");
                notebook.waited(For::Room, since);
            }
            Err(error) => panic!("{error}"),
        }
    }
    (notebook.end(), writer.counts().wakes)
}

/// The owner's thread: when the last byte was back, and what the thread did.
fn own(
    context: &SslContext,
    address: SocketAddr,
    load: &Load,
    tell: &mpsc::Sender<Writer>,
) -> Result<(Instant, Notebook), String> {
    let config = Config::default().connections(1).writers(65);
    let mut driver = RingDriver::new(config).map_err(|error| error.to_string())?;
    let ssl = Ssl::new(context).expect("OpenSSL has memory");
    driver.connect(address, ssl, SERVER_NAME).expect("there is a place");
    let (notebook, mut checker) = (Notebook::begin(), load.checker());
    let mut done = None;
    loop {
        while let Some(event) = driver.poll_event().expect("the ring works") {
            match event {
                DriverEvent::HandshakeComplete(id) => {
                    let writer = driver.writer(id, load.ring).expect("a writer");
                    tell.send(writer).expect("somebody waits for it");
                }
                DriverEvent::Plaintext(id) => {
                    checker.feed(&driver.plaintext(id).expect("it was told of"));
                    if checker.is_done() {
                        done = Some(Instant::now());
                        driver.close(id).expect("it is open");
                    }
                }
                DriverEvent::Failed(_, error) => panic!("{error}"),
                _ => {}
            }
        }
        if driver.connections() == 0 {
            return Ok((done.expect("all came back"), notebook.end()));
        }
        driver.turn(Some(WATCHDOG)).expect("the ring works");
    }
}
