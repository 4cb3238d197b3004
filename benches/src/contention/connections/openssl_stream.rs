//! The `openssl` crate's own stream, blocking, at both ends.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::sync::{Mutex, PoisonError};

use openssl::ssl::{Ssl, SslContext, SslSession, SslStream};

use super::blocking::{self, Library};
use super::{Outcome, Plan, contexts};
use crate::setting::{Parties, SERVER_NAME, Suite};

struct Both {
    client: SslContext,
    server: SslContext,
    resume: bool,
    /// Of the first connection.
    session: Mutex<Option<SslSession>>,
}

pub(super) fn run(suite: Suite, parties: &Parties, plan: Plan) -> Result<Outcome, String> {
    let (client, server) = contexts(suite, parties);
    let both = Both { client, server, resume: plan.resume, session: Mutex::default() };
    Ok(blocking::run(&both, plan))
}

/// An `Ssl` for a client, with a session to offer, if there is one.
pub(super) fn client(context: &SslContext, session: Option<&SslSession>) -> Ssl {
    let mut ssl = Ssl::new(context).expect("OpenSSL has memory");
    if let Some(session) = session {
        // SAFETY: the session came from a connection of the same context.
        unsafe { ssl.set_session(session) }.expect("a session of this version");
    }
    ssl
}

impl Library for Both {
    fn serve(&self, socket: TcpStream) {
        let ssl = Ssl::new(&self.server).expect("OpenSSL has memory");
        let mut stream = SslStream::new(ssl, socket).expect("OpenSSL has memory");
        stream.accept().expect("the client is honest");
        let mut byte = [0];
        stream.read_exact(&mut byte).expect("a byte comes");
        stream.write_all(&byte).expect("the client reads");
        assert_eq!(stream.read(&mut byte).expect("close_notify comes"), 0);
        stream.shutdown().expect("the client still reads");
    }

    fn connect(&self, socket: TcpStream) -> (bool, Option<Vec<u8>>) {
        let session = self.session.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let mut ssl = client(&self.client, session.as_ref().filter(|_| self.resume));
        ssl.set_hostname(SERVER_NAME).expect("a host name");
        ssl.param_mut().set_host(SERVER_NAME).expect("a host name");
        let mut stream = SslStream::new(ssl, socket).expect("OpenSSL has memory");
        stream.connect().expect("the server is honest");
        stream.write_all(b"x").expect("the server reads");
        let mut byte = [0];
        stream.read_exact(&mut byte).expect("it comes back");
        assert_eq!(byte, *b"x");
        let (resumed, session) = (stream.ssl().session_reused(), stream.ssl().session().expect("a session").to_owned());
        stream.shutdown().expect("the server reads");
        assert_eq!(stream.read(&mut byte).expect("close_notify comes"), 0);
        let id = session.id().to_vec();
        self.session.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(session);
        (resumed, Some(id))
    }
}
