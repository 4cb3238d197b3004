//! What a writer's handle promises, counted: a byte that another thread writes is copied once in the process, into the
//! writer's ring. Alone in its binary, because of its counters.

#![cfg(all(target_os = "linux", target_env = "gnu"))]

use std::io::Read as _;
use std::net::TcpListener;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use arenatls_benches::count;
use arenatls_benches::setting::{Parties, SERVER_NAME, Setting, Suite};
use arenatls_engine::Protection;
use arenatls_fd_owner::{Config, DriverError, DriverEvent, RingDriver, Writer};
use openssl::ssl::{Ssl, SslContext, SslStream};

arenatls_benches::count_everything!();

/// Long ones: what an unoptimised build moves besides, it moves for each message.
const MESSAGES: usize = 300;
const LENGTH: usize = 30_000;

static COUNTING: AtomicBool = AtomicBool::new(false);
static WRITTEN: AtomicBool = AtomicBool::new(false);

/// Shakes hands, and then takes ciphertext as it comes, which copies nothing in the process.
fn sink(listener: &TcpListener, context: &SslContext) {
    let (socket, _) = listener.accept().unwrap();
    let mut stream = SslStream::new(Ssl::new(context).unwrap(), socket).unwrap();
    stream.accept().unwrap();
    let mut bytes = vec![0; 65_536];
    while stream.get_mut().read(&mut bytes).is_ok_and(|n| n > 0) {}
}

fn write(mut writer: Writer) {
    let message = [7; LENGTH];
    while !COUNTING.load(Ordering::Acquire) {
        thread::yield_now();
    }
    for _ in 0..MESSAGES {
        writer.write(&message).unwrap();
    }
    while writer.unsealed() > 0 {
        thread::yield_now();
    }
    WRITTEN.store(true, Ordering::Release);
}

#[test]
fn a_byte_of_another_thread_is_copied_once() {
    count::install().unwrap();
    let mut driver = match RingDriver::new(Config::default()) {
        Err(DriverError::Unsupported(why)) => return eprintln!("SKIPPED: {why}"),
        driver => driver.unwrap(),
    };
    let parties = Parties::new();
    let setting = Setting { suite: Suite::ALL[0], parties: &parties };
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let (address, server) = (listener.local_addr().unwrap(), setting.openssl_server());
    let sink = thread::spawn(move || sink(&listener, &server));
    driver.connect(address, Ssl::new(&setting.openssl_client()).unwrap(), SERVER_NAME).unwrap();
    let mut thread = None;
    while !WRITTEN.load(Ordering::Acquire) {
        while let Some(event) = driver.poll_event().unwrap() {
            if let DriverEvent::HandshakeComplete(id) = event {
                if driver.connection(id).unwrap().protection().0 != Protection::Engine {
                    return eprintln!("SKIPPED: this OpenSSL keeps the keys, and copies");
                }
                let writer = driver.writer(id, 100_000).unwrap();
                thread = Some(thread::spawn(move || write(writer)));
                count::start();
                COUNTING.store(true, Ordering::Release);
            }
        }
        driver.turn(Some(Duration::from_millis(1))).unwrap();
    }
    let copied = count::stop().copies.bytes;
    let payload = (MESSAGES * LENGTH) as u64;
    // Unoptimised, every record moves some values about. A second copy would show all the same.
    let slack = if cfg!(debug_assertions) { payload / 2 } else { payload / 50 };
    assert!((payload..payload + slack).contains(&copied), "{copied} bytes were copied for {payload}");
    println!("{:.4} bytes are copied for a byte", copied as f64 / payload as f64);
    drop(driver);
    thread.unwrap().join().unwrap();
    sink.join().unwrap();
}
