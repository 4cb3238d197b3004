//! How connections end whose records the kernel protects.

use std::io::Read as _;
use std::net::{TcpListener, TcpStream};
use std::thread;
use std::time::Duration;

use arenatls::Progress;
use arenatls::openssl::ssl::{ShutdownState, Ssl, SslStream};
use arenatls_fd_owner::{CloseReason, DriverEvent, RingDriver, Role};
use arenatls_rig::ring::{
    Server, Source, Told, client, contexts, driver, pattern, read_to_end, reasons, run_out, small_buffers, tcp,
};

use crate::support::{SUITES, config, kernel_has_it, pair_of_contexts, stock_server, there_and_back, watched};

#[test]
fn each_direction_ends_by_itself() {
    if !kernel_has_it() {
        return;
    }
    let (client_context, server_context) = contexts();
    let (address, thread) = stock_server(server_context);
    let mut ours = driver(config(true, true)).unwrap();
    let id = ours.connect(address, Ssl::new(&client_context).unwrap(), "localhost").unwrap();
    let (mut log, mut back) = (Vec::new(), Vec::new());
    let sent = pattern(3, 30_000);
    let mut app = |driver: &mut RingDriver, event: &DriverEvent| match *event {
        DriverEvent::HandshakeComplete(id) => {
            // Half-closed at once: what comes back is read all the same.
            let connection = driver.connection(id).unwrap();
            assert_eq!(connection.write(&sent).unwrap(), Progress::Done(sent.len()));
            assert_eq!(connection.close().unwrap(), Progress::Done(()));
        }
        DriverEvent::Plaintext(id) => back.extend_from_slice(&driver.plaintext(id).unwrap()),
        _ => {}
    };
    run_out(&mut ours, &mut app, &mut log);
    assert!(back == sent, "{} bytes came back", back.len());
    assert!(log.contains(&Told::PeerClosed(id)), "{log:?}");
    assert_eq!(reasons(&log), [CloseReason::Done]);
    thread.join().unwrap();
}

#[test]
fn a_cut_without_close_notify_is_a_truncation() {
    if !kernel_has_it() {
        return;
    }
    let (client_context, server_context) = contexts();
    let (server, _) = watched(config(true, true), server_context).unwrap();
    let mut stream = client(server.address, &client_context);
    there_and_back(&mut stream, &pattern(1, 100));
    drop(stream);
    assert_eq!(reasons(&server.stop()), [CloseReason::Truncated]);
}

/// A slow reader over small buffers: sends are cut short in the middle of records, and the last alert must not be
/// overtaken by the end of the stream.
#[test]
fn slow_readers_get_every_byte_and_a_clean_end() {
    if !kernel_has_it() {
        return;
    }
    for (version, suite) in [SUITES[0], SUITES[3]] {
        let (client_context, server_context) = pair_of_contexts(version, suite);
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        small_buffers(&listener, 4096);
        let config = config(true, true).close_timeout(Duration::from_secs(20));
        let server = Server::on(listener, config, server_context, || Source::new(400_000, 8)).unwrap();
        thread::scope(|scope| {
            for reader in 0..3_u64 {
                let (context, address) = (&client_context, server.address);
                scope.spawn(move || {
                    let socket = tcp(address);
                    small_buffers(&socket, 4096);
                    let mut ssl = Ssl::new(context).unwrap();
                    ssl.set_hostname("localhost").unwrap();
                    let mut stream = SslStream::new(ssl, socket).unwrap();
                    stream.connect().unwrap();
                    let (mut got, mut piece) = (Vec::new(), [0; 3000]);
                    loop {
                        let n = stream.read(&mut piece).unwrap();
                        if n == 0 {
                            break;
                        }
                        got.extend_from_slice(&piece[..n]);
                        thread::sleep(Duration::from_micros(300 * reader));
                    }
                    assert!(stream.get_shutdown().contains(ShutdownState::RECEIVED), "the end was not clean");
                    assert!(got == pattern(0, 400_000), "reader {reader}: {} bytes", got.len());
                });
            }
        });
        assert_eq!(reasons(&server.stop()), [CloseReason::Done; 3]);
    }
}

/// `shutdown` throws away what the `tls` layer has accepted and TCP had no room for yet, so it has to wait for that. Where
/// the peer's window is small, there is always some.
#[test]
fn the_end_of_the_stream_does_not_overtake_the_last_records() {
    if !kernel_has_it() {
        return;
    }
    for len in [16_384, 65_536, 131_072] {
        let (client_context, server_context) = contexts();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        small_buffers(&listener, 2048);
        let socket = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        small_buffers(&socket, 2048);
        let mut ours = driver(config(true, true).close_timeout(Duration::from_secs(20))).unwrap();
        ours.adopt(socket.into(), Ssl::new(&server_context).unwrap(), Role::Server).unwrap();
        let reader = thread::spawn(move || {
            let mut ssl = Ssl::new(&client_context).unwrap();
            ssl.set_hostname("localhost").unwrap();
            let mut stream = SslStream::new(ssl, listener.accept().unwrap().0).unwrap();
            stream.connect().unwrap();
            thread::sleep(Duration::from_millis(100));
            read_to_end(&mut stream)
        });
        let (mut source, mut log) = (Source::new(len, 8), Vec::new());
        run_out(&mut ours, &mut source, &mut log);
        let got = reader.join().unwrap_or_else(|_| panic!("{log:?}"));
        assert!(got == pattern(0, len));
        assert_eq!(reasons(&log), [CloseReason::Done], "{log:?}");
    }
}
