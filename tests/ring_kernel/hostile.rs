//! Records that were changed, and alerts.

use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;
use std::time::Duration;

use arenatls::openssl::ssl::{ErrorCode, Ssl, SslContext, SslStream, SslVersion};
use arenatls_fd_owner::CloseReason;
use arenatls_rig::ring::{Server, Source, Told, pattern, reasons, small_buffers, tcp};

use crate::support::{SUITES, config, failure, kernel_has_it, pair_of_contexts, there_and_back, watched};

/// A transport that changes the last byte of what is written, or of what is read, once it is told to.
struct Tamper {
    socket: TcpStream,
    write: bool,
    read: bool,
}

impl Read for Tamper {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let n = self.socket.read(bytes)?;
        // OpenSSL asks for a header first, and then for the rest.
        if self.read && bytes.len() != 5 && n > 0 {
            bytes[n - 1] ^= 1;
        }
        Ok(n)
    }
}

impl Write for Tamper {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if !self.write {
            return self.socket.write(bytes);
        }
        let mut changed = bytes.to_vec();
        changed[bytes.len() - 1] ^= 1;
        self.socket.write(&changed)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn tampering_client(address: std::net::SocketAddr, context: &SslContext) -> SslStream<Tamper> {
    let mut ssl = Ssl::new(context).unwrap();
    ssl.set_hostname("localhost").unwrap();
    let mut stream = SslStream::new(ssl, Tamper { socket: tcp(address), write: false, read: false }).unwrap();
    stream.connect().unwrap();
    stream
}

#[test]
fn a_record_that_was_changed_is_answered_with_bad_record_mac() {
    if !kernel_has_it() {
        return;
    }
    for (version, suite) in SUITES {
        let (client_context, server_context) = pair_of_contexts(version, suite);
        let (server, _) = watched(config(true, true), server_context).unwrap();
        let mut stream = tampering_client(server.address, &client_context);
        there_and_back(&mut stream, &pattern(1, 1000));
        stream.get_mut().write = true;
        stream.write_all(b"changed on the way").unwrap();
        let error = stream.read(&mut [0; 100]).unwrap_err();
        assert!(error.to_string().contains("bad record mac"), "{suite}: {error}");
        drop(stream);
        let log = server.stop();
        assert_eq!(failure(&log), "bad record from the peer: its authentication tag does not fit", "{suite}");
        assert_eq!(reasons(&log), [CloseReason::Failed]);
    }
}

/// The kernel tells of a bad record to whoever uses the socket next, be it the sending that waits for room.
#[test]
fn what_is_on_its_way_still_arrives_before_the_alert_for_a_bad_record() {
    if !kernel_has_it() {
        return;
    }
    let (client_context, server_context) = pair_of_contexts(SslVersion::TLS1_3, SUITES[0].1);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    small_buffers(&listener, 4096);
    let config = config(true, true).memory(20_000, 1 << 20).close_timeout(Duration::from_secs(20));
    let server = Server::on(listener, config, server_context, || Source::new(3_000_000, 8)).unwrap();
    let mut stream = tampering_client(server.address, &client_context);
    // By now more is on its way than the sockets take.
    thread::sleep(Duration::from_millis(300));
    stream.get_mut().write = true;
    stream.write_all(b"changed on the way").unwrap();
    thread::sleep(Duration::from_millis(300));
    let mut got = Vec::new();
    let error = stream.read_to_end(&mut got).unwrap_err();
    assert!(error.to_string().contains("bad record mac"), "after {} bytes: {error}", got.len());
    assert!(got.len() > 900_000 && got == pattern(0, got.len()), "{} bytes", got.len());
    drop(stream);
    let log = server.stop();
    assert_eq!(failure(&log), "bad record from the peer: its authentication tag does not fit");
    assert!(!log.iter().any(|told| matches!(told, Told::SendFailed(_))), "{log:?}");
}

#[test]
fn a_record_that_is_too_long_or_of_another_version_is_refused() {
    if !kernel_has_it() {
        return;
    }
    let cases = [
        (&[23, 3, 3, 0xff, 0xff, 0][..], "alert record overflow", "and at most"),
        (&[23, 3, 1, 0, 32, 0], "alert protocol version", "version field"),
    ];
    for (bytes, alert, why) in cases {
        let (client_context, server_context) = pair_of_contexts(SslVersion::TLS1_3, SUITES[0].1);
        let (server, _) = watched(config(true, true), server_context).unwrap();
        let mut stream = tampering_client(server.address, &client_context);
        there_and_back(&mut stream, &pattern(1, 1000));
        stream.get_mut().socket.write_all(bytes).unwrap();
        let error = stream.read(&mut [0; 100]).unwrap_err();
        assert!(error.to_string().contains(alert), "{error}");
        drop(stream);
        let log = server.stop();
        assert!(failure(&log).contains(why), "{log:?}");
        assert_eq!(reasons(&log), [CloseReason::Failed]);
    }
}

#[test]
fn the_alert_of_a_peer_is_heard() {
    if !kernel_has_it() {
        return;
    }
    for (version, suite) in SUITES {
        let (client_context, server_context) = pair_of_contexts(version, suite);
        let (server, _) = watched(config(true, true), server_context).unwrap();
        let mut stream = tampering_client(server.address, &client_context);
        there_and_back(&mut stream, &pattern(1, 1000));
        stream.write_all(b"comes back changed").unwrap();
        stream.get_mut().read = true;
        let error = stream.ssl_read(&mut [0; 100]).unwrap_err();
        assert_eq!(error.code(), ErrorCode::SSL, "{error}");
        drop(stream);
        let log = server.stop();
        assert_eq!(failure(&log), "the peer sent the fatal alert bad_record_mac (20)", "{suite}");
    }
}
