//! Our connection against stock OpenSSL: every record that either seals, the other opens.

use std::ffi::c_int;

use arenatls::{Connection, Options};
use arenatls_rig::contexts::{self, Terms};
use arenatls_rig::mode::{authority, identity, usual_pool};
use arenatls_rig::pair::{feed_all, take_output};
use arenatls_rig::stock::Stock;
use foreign_types::ForeignTypeRef as _;
use openssl::ssl::{ErrorCode, Ssl, SslVersion};

mod peer;

use peer::{Conversation, Peer, converse};

unsafe extern "C" {
    // openssl/ssl.h
    fn SSL_key_update(ssl: *mut openssl_sys::SSL, kind: c_int) -> c_int;
}

// openssl/ssl.h
const SSL_KEY_UPDATE_NOT_REQUESTED: c_int = 0;
const SSL_KEY_UPDATE_REQUESTED: c_int = 1;

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

    fn update_keys(&mut self, ask: bool) {
        let kind = if ask { SSL_KEY_UPDATE_REQUESTED } else { SSL_KEY_UPDATE_NOT_REQUESTED };
        // SAFETY: the reference keeps the `SSL` alive, and no call on it is under way.
        let ok = unsafe { SSL_key_update(self.ssl().as_ptr(), kind) };
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

#[test]
fn keys_asked_for_are_updated_at_once() {
    for options in [Options::default(), Options::default().library_protection()] {
        for start in [we_connect, we_accept] {
            let mut both = start(SslVersion::TLS1_3, "TLS_AES_128_GCM_SHA256", options);
            both.theirs.update_keys(true);
            let request = Peer::take(&mut both.theirs);
            assert_eq!(feed_all(&mut both.ours, &request), Ok(Vec::new()));
            // Nothing was written, and nothing has to be: a KeyUpdate is 5 + 5 + 1 + 16 bytes.
            assert_eq!(take_output(&mut both.ours).len(), 27, "{options:?}");
        }
    }
}
