//! A write from another thread costs neither that thread nor the driver's a call of either allocator, whether it finds
//! room or waits for it. Alone in its binary, because of its allocator.

use std::io::{ErrorKind, Read as _};
use std::net::TcpListener;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use arenatls::{Options, Protection};
use arenatls_fd_owner::{Config, DriverEvent, Writer};
use arenatls_rig::alloc::{Count, CountingAllocator, Counts, count_openssl};
use arenatls_rig::ring::{WATCHDOG, client, contexts, driver};

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

const WRITERS: usize = 2;
const WARM_UP: usize = 400;
const COUNTED: usize = 4000;
const LENGTH: usize = 1000;
const NOTHING: Counts = Counts { rust: Count { calls: 0, live: 0 }, openssl: Count { calls: 0, live: 0 } };

/// Writers that are warm, and then those that are done.
static WARM: AtomicUsize = AtomicUsize::new(0);
static DONE: AtomicUsize = AtomicUsize::new(0);

/// What the counted writes cost this thread; and the writer, so that its ring is not given back meanwhile.
fn write(mut writer: Writer) -> (Counts, Writer) {
    let (message, mut before) = ([7; LENGTH], Counts::now());
    for number in 0..WARM_UP + COUNTED {
        writer.write(&message).unwrap();
        if number + 1 == WARM_UP {
            WARM.fetch_add(1, Ordering::SeqCst);
            // The driver counts from here on, too.
            while WARM.load(Ordering::SeqCst) <= WRITERS {
                thread::yield_now();
            }
            before = Counts::now();
        }
    }
    let cost = Counts::now().since(before);
    DONE.fetch_add(1, Ordering::SeqCst);
    (cost, writer)
}

#[test]
fn a_write_from_another_thread_allocates_nothing() {
    count_openssl();
    let (client_context, server_context) = contexts();
    let Some(mut driver) = driver(Config::default()) else { return };
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    driver.listen(listener.into(), server_context, Options::default()).unwrap();
    let reader = thread::spawn(move || {
        let (mut stream, mut got, mut piece) = (client(address, &client_context), 0, [0; 4096]);
        while got < WRITERS * (WARM_UP + COUNTED) * LENGTH {
            match stream.read(&mut piece) {
                Ok(0) => break,
                Ok(n) => got += n,
                Err(error) => assert_eq!(error.kind(), ErrorKind::Interrupted, "after {got} bytes"),
            }
        }
        got
    });
    let (mut threads, mut before, mut cost) = (Vec::new(), None, None);
    let mut reading = None;
    while cost.is_none() {
        while let Some(event) = driver.poll_event().unwrap() {
            let DriverEvent::HandshakeComplete(id) = event else { continue };
            if driver.connection(id).unwrap().protection() != (Protection::Engine, Protection::Engine) {
                eprintln!("SKIPPED: this OpenSSL keeps the keys, and allocates for records");
                return;
            }
            let writers: Vec<Writer> = (0..WRITERS).map(|_| driver.writer(id, 8192).unwrap()).collect();
            threads.extend(writers.into_iter().map(|writer| thread::spawn(|| write(writer))));
            reading = Some(id);
        }
        driver.turn(Some(std::time::Duration::from_millis(1))).unwrap();
        if before.is_none() && WARM.load(Ordering::SeqCst) == WRITERS {
            before = Some(Counts::now());
            WARM.fetch_add(1, Ordering::SeqCst);
        }
        if DONE.load(Ordering::SeqCst) == WRITERS {
            cost = before.map(|before| Counts::now().since(before));
        }
    }
    assert_eq!(cost, Some(NOTHING), "the driver's thread");
    for thread in threads {
        let (cost, writer) = thread.join().unwrap();
        assert_eq!(cost, NOTHING, "a writer's thread");
        assert!(writer.counts().parks > 0, "some writes should wait for room: {:?}", writer.counts());
    }
    driver.close(reading.unwrap()).unwrap();
    while driver.connections() > 0 && !reader.is_finished() {
        while driver.poll_event().unwrap().is_some() {}
        driver.turn(Some(WATCHDOG / 20)).unwrap();
    }
    assert_eq!(reader.join().unwrap(), WRITERS * (WARM_UP + COUNTED) * LENGTH);
}
