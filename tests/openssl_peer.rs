//! Our connection against stock OpenSSL: every record that either seals, the other opens.

use std::ffi::c_int;

use arenatls::{Connection, Options};
use arenatls_rig::contexts::{self, Terms};
use arenatls_rig::mode::{authority, identity, usual_pool};
use arenatls_rig::stock::Stock;
use foreign_types::ForeignTypeRef as _;
use openssl::ssl::{ErrorCode, Ssl, SslVersion};

mod peer;

use peer::{Conversation, Peer, converse};

unsafe extern "C" {
    // openssl/ssl.h
    fn SSL_key_update(ssl: *mut openssl_sys::SSL, kind: c_int) -> c_int;
}

/// `SSL_KEY_UPDATE_NOT_REQUESTED`.
const NOT_REQUESTED: c_int = 0;

impl Peer for Stock {
    fn handshake(&mut self) -> bool {
        Stock::handshake(self).expect("stock OpenSSL's handshake")
    }

    fn write(&mut self, data: &[u8]) {
        if !data.is_empty() {
            Stock::write(self, data);
        }
    }

    fn read(&mut self) -> (Vec<u8>, bool) {
        match Stock::read(self) {
            Ok(data) => (data, false),
            Err(error) if error.code() == ErrorCode::ZERO_RETURN => (Vec::new(), true),
            Err(error) => panic!("stock OpenSSL reads: {error}"),
        }
    }

    fn update_keys(&mut self) {
        // SAFETY: the reference keeps the `SSL` alive, and no call on it is under way.
        let ok = unsafe { SSL_key_update(self.ssl().as_ptr(), NOT_REQUESTED) };
        assert_eq!(ok, 1, "stock OpenSSL updates its keys");
        assert!(Peer::handshake(self), "a KeyUpdate waits for nothing");
    }

    fn close(&mut self) {
        // SAFETY: as above.
        let sent = unsafe { openssl_sys::SSL_shutdown(self.ssl().as_ptr()) };
        assert!(sent >= 0, "stock OpenSSL sends close_notify");
    }

    fn feed(&mut self, bytes: &[u8]) {
        Stock::feed(self, bytes);
    }

    fn take(&mut self) -> Vec<u8> {
        Stock::take(self)
    }
}

fn terms(version: SslVersion, suite: &'static str) -> Terms {
    Terms::default().version(version).suite(suite)
}

fn we_connect(version: SslVersion, suite: &'static str, options: Options) -> Conversation<Stock> {
    let terms = terms(version, suite);
    let ssl = Ssl::new(&contexts::client(authority(), &terms)).expect("an Ssl");
    let backend = usual_pool().backend().expect("memory");
    let ours = Connection::connect_with(ssl, "localhost", backend, &options).expect("a client");
    Conversation::start(ours, Stock::server(&contexts::server(identity(), &terms)))
}

fn we_accept(version: SslVersion, suite: &'static str, options: Options) -> Conversation<Stock> {
    let terms = terms(version, suite);
    let ssl = Ssl::new(&contexts::server(identity(), &terms)).expect("an Ssl");
    let backend = usual_pool().backend().expect("memory");
    let ours = Connection::accept_with(ssl, backend, &options).expect("a server");
    Conversation::start(ours, Stock::client(&contexts::client(authority(), &terms)))
}

#[test]
fn our_client_and_its_server_understand_each_other() {
    converse(we_connect);
}

#[test]
fn our_server_and_its_client_understand_each_other() {
    converse(we_accept);
}
