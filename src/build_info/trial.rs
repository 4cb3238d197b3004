//! A handshake with ourselves, to see which keys OpenSSL hands over.

use std::error::Error;

use openssl::error::ErrorStack;
use openssl::ssl::{Ssl, SslContext, SslContextBuilder, SslMethod, SslVersion};

use super::Offer;
use crate::{Arena, ArenaBackend, Budget, Capacities, Connection, Options, State};

/// What both ends agree on.
#[derive(Clone, Copy)]
pub(super) struct Terms {
    pub(super) version: SslVersion,
    pub(super) suite: &'static str,
}

/// TLS 1.3.
pub(super) const TLS13: Terms = Terms { version: SslVersion::TLS1_3, suite: "TLS_AES_128_GCM_SHA256" };
/// TLS 1.2.
pub(super) const TLS12: Terms = Terms { version: SslVersion::TLS1_2, suite: "PSK-AES128-GCM-SHA256" };

/// Rounds of polling and carrying in which a handshake of two flights has long ended.
const ROUNDS: usize = 16;

/// The directions whose keys OpenSSL hands to a client on these terms. (It treats both ends alike.)
pub(super) fn offer(terms: Terms) -> Result<Offer, Box<dyn Error>> {
    let arena = Arena::new(Budget::bytes(2 * Capacities::MINIMUM.total()));
    let backend = || ArenaBackend::new_in(&arena, Capacities::MINIMUM);
    let (client, server) = (context(SslMethod::tls_client(), terms)?, context(SslMethod::tls_server(), terms)?);
    // No name and no certificate: the key that both ends have beforehand is the proof.
    let mut client = Connection::connect_dangerous(Ssl::new(&client)?, backend()?, &Options::default())?;
    let mut server = Connection::accept(Ssl::new(&server)?, backend()?)?;
    for _ in 0..ROUNDS {
        while client.poll_event()?.is_some() {}
        while server.poll_event()?.is_some() {}
        if [client.state(), server.state()] == [State::Traffic; 2] {
            return Ok(Offer::of(client.protection()));
        }
        carry(&mut client, &mut server)?;
        carry(&mut server, &mut client)?;
    }
    Err("the handshake does not end".into())
}

/// Moves what `from` has to send to `to`, which has room for such short flights.
fn carry(from: &mut Connection<ArenaBackend<'_>>, to: &mut Connection<ArenaBackend<'_>>) -> Result<(), Box<dyn Error>> {
    let bytes = from.backend().to_send();
    let room = to.backend_mut().receive_into();
    let n = bytes.len().min(room.len());
    room[..n].copy_from_slice(&bytes[..n]);
    to.backend_mut().received(n)?;
    from.backend_mut().sent(n)?;
    Ok(())
}

fn context(method: SslMethod, terms: Terms) -> Result<SslContext, ErrorStack> {
    let mut builder = SslContext::builder(method)?;
    builder.set_min_proto_version(Some(terms.version))?;
    builder.set_max_proto_version(Some(terms.version))?;
    // Whatever the system's policy says of pre-shared keys: nothing is protected here.
    builder.set_security_level(0);
    if terms.version == SslVersion::TLS1_3 {
        builder.set_ciphersuites(terms.suite)?;
    } else {
        builder.set_cipher_list(terms.suite)?;
    }
    share_a_key(&mut builder);
    Ok(builder.build())
}

#[cfg(not(openssl_no_psk))]
fn share_a_key(builder: &mut SslContextBuilder) {
    const KEY: [u8; 32] = [1; 32];

    builder.set_psk_client_callback(|_, _, identity, key| {
        identity[..2].copy_from_slice(b"i\0");
        key[..KEY.len()].copy_from_slice(&KEY);
        Ok(KEY.len())
    });
    builder.set_psk_server_callback(|_, _, key| {
        key[..KEY.len()].copy_from_slice(&KEY);
        Ok(KEY.len())
    });
}

/// An OpenSSL without pre-shared keys: the handshake will fail, and nothing is known.
#[cfg(openssl_no_psk)]
fn share_a_key(_: &mut SslContextBuilder) {}
