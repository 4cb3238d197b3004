//! One connection, from its first byte to its last.

use std::net::TcpStream;
use std::time::Duration;

use arenatls::{ArenaPool, Connection, Options};
use openssl::ssl::{Ssl, SslContext};

use crate::common::choices;
use crate::common::failure::Failure;
use crate::common::http;
use crate::common::link::{Link, Turn};
use crate::reply::Reply;
use crate::request::Request;
use crate::say;

/// How long the end of a connection may take.
const LINGER: Duration = Duration::from_secs(2);

/// What every connection shares.
pub(crate) struct Shared {
    pub(crate) context: SslContext,
    pub(crate) pool: ArenaPool,
    pub(crate) options: Options,
    pub(crate) timeout: Duration,
}

/// Serves one connection, and says how it went.
pub(crate) fn run(shared: &Shared, socket: TcpStream, name: &str) {
    let mut requests = 0;
    let outcome = open(shared, socket).and_then(|mut link| {
        let outcome = converse(&mut link, name, &mut requests);
        link.close(LINGER);
        outcome
    });
    match outcome {
        Ok(()) => say(&format!("{name}: closed, {requests} requests answered")),
        Err(failure) => {
            say(&format!("{name}: failed, {requests} requests answered: {failure} (to blame: {})", failure.blame()));
        }
    }
}

fn open(shared: &Shared, socket: TcpStream) -> Result<Link<'_>, Failure> {
    let ssl = Ssl::new(&shared.context).map_err(|cause| choices::refused("start a connection".into(), &cause))?;
    let connection = Connection::accept_with(ssl, shared.pool.backend()?, &shared.options)?;
    Link::new(connection, socket, shared.timeout)
}

fn converse(link: &mut Link<'_>, name: &str, requests: &mut u64) -> Result<(), Failure> {
    link.handshake()?;
    let facts = choices::facts(link.connection());
    say(&format!("{name}: {facts}"));
    http::is_agreed_on(link.connection())?;
    let mut pending = Vec::new();
    while let Some(request) = receive(link, &mut pending)? {
        *requests += 1;
        if !answer(link, request, &facts, &mut pending)? {
            break;
        }
    }
    Ok(())
}

/// Answers one request and takes its head off `pending`; false if it was the last.
fn answer(link: &mut Link<'_>, request: Request, facts: &str, pending: &mut Vec<u8>) -> Result<bool, Failure> {
    link.expect("taking the answer");
    match request {
        Request::Get { path, length, head_only, keep_alive } => {
            Reply::to_get(&path, facts, keep_alive).send(link, head_only)?;
            pending.drain(..length);
            Ok(keep_alive)
        }
        Request::Refused { code, why } => {
            Reply::refusal(code, why).send(link, false)?;
            Ok(false)
        }
        Request::Incomplete => Ok(true),
    }
}

/// The next request; `None` once the peer has ended its direction between two of them.
fn receive(link: &mut Link<'_>, pending: &mut Vec<u8>) -> Result<Option<Request>, Failure> {
    link.expect("a whole request");
    loop {
        match Request::parse(pending) {
            Request::Incomplete => {}
            request => return Ok(Some(request)),
        }
        if link.next(|bytes| pending.extend_from_slice(bytes))? == Turn::Closed {
            return if pending.is_empty() {
                Ok(None)
            } else {
                Err(Failure::Http("half a request, then the end".into()))
            };
        }
    }
}
