//! Opening connections: trust, identity, sessions.

use std::net::{SocketAddr, TcpStream, ToSocketAddrs as _};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use arenatls::{ArenaPool, Connection};
use openssl::error::ErrorStack;
use openssl::ssl::{
    Ssl, SslContext, SslContextBuilder, SslMethod, SslSession, SslSessionCacheMode, SslVerifyMode, SslVersion,
};

use crate::args::Args;
use crate::common::choices;
use crate::common::failure::Failure;
use crate::common::link::Link;

/// What every connection of a run shares.
pub(crate) struct Client<'a> {
    args: &'a Args,
    pool: &'a ArenaPool,
    context: SslContext,
    /// The newest session that the server gave us.
    session: Arc<Mutex<Option<SslSession>>>,
}

/// A connection and what it cost.
pub(crate) struct Opened<'a> {
    pub(crate) link: Link<'a>,
    pub(crate) address: SocketAddr,
    pub(crate) tcp: Duration,
    pub(crate) handshake: Duration,
}

impl<'a> Client<'a> {
    pub(crate) fn new(args: &'a Args, pool: &'a ArenaPool) -> Result<Client<'a>, Failure> {
        let session = Arc::new(Mutex::new(None));
        let mut builder = prepare(args).map_err(|cause| choices::refused("set OpenSSL up".into(), &cause))?;
        trust(&mut builder, args.ca.as_deref())?;
        if let Some(files) = &args.identity {
            files.present(&mut builder)?;
        }
        // In TLS 1.3 tickets come after the handshake, whenever the server likes.
        let newest = Arc::clone(&session);
        builder.set_session_cache_mode(SslSessionCacheMode::CLIENT | SslSessionCacheMode::NO_INTERNAL_STORE);
        builder.set_new_session_callback(move |_, session| {
            *newest.lock().unwrap_or_else(PoisonError::into_inner) = Some(session);
        });
        Ok(Client { args, pool, context: builder.build(), session })
    }

    /// Opens a connection and runs its handshake; `resume`: with the newest session.
    pub(crate) fn open(&self, resume: bool) -> Result<Opened<'a>, Failure> {
        let mut ssl = Ssl::new(&self.context).map_err(|cause| choices::refused("start a connection".into(), &cause))?;
        if resume {
            self.set_session(&mut ssl)?;
        }
        // A host that is no name is refused here, before anybody is asked for its address.
        let connection = Connection::connect_with(ssl, &self.args.url.host, self.pool.backend()?, &self.args.options)?;
        let started = Instant::now();
        let (socket, address) = self.dial()?;
        let (tcp, started) = (started.elapsed(), Instant::now());
        let mut link = Link::new(connection, socket, self.args.timeout)?;
        if let Err(failure) = link.handshake() {
            link.close(Duration::from_millis(500));
            return Err(failure);
        }
        Ok(Opened { link, address, tcp, handshake: started.elapsed() })
    }

    fn set_session(&self, ssl: &mut Ssl) -> Result<(), Failure> {
        let session = self.session.lock().unwrap_or_else(PoisonError::into_inner).take();
        let session = session.ok_or_else(|| Failure::Http("the server gave no session to resume".into()))?;
        // SAFETY: the session came from a connection of `self.context`, and so does `ssl`.
        let set = unsafe { ssl.set_session(&session) };
        set.map_err(|cause| choices::refused("use the session".into(), &cause))
    }

    /// The first of the host's addresses that answers.
    fn dial(&self) -> Result<(TcpStream, SocketAddr), Failure> {
        let url = &self.args.url;
        let addresses = (url.host.as_str(), url.port).to_socket_addrs();
        let addresses = addresses.map_err(|cause| Failure::Network { doing: "find the host's address", cause })?;
        let mut last = std::io::ErrorKind::AddrNotAvailable.into();
        for address in addresses {
            match TcpStream::connect_timeout(&address, self.args.timeout) {
                Ok(socket) => return Ok((socket, address)),
                Err(error) => last = error,
            }
        }
        Err(Failure::Network { doing: "connect", cause: last })
    }
}

fn prepare(args: &Args) -> Result<SslContextBuilder, ErrorStack> {
    let mut builder = SslContext::builder(SslMethod::tls_client())?;
    builder.set_min_proto_version(Some(SslVersion::TLS1_2))?;
    builder.set_verify(SslVerifyMode::PEER);
    builder.set_alpn_protos(&args.alpn)?;
    Ok(builder)
}

/// The CAs in `file`, or the system's. An OpenSSL that was built with this crate does not know where those are.
fn trust(builder: &mut SslContextBuilder, file: Option<&str>) -> Result<(), Failure> {
    if let Some(file) = file {
        let trusted = builder.set_ca_file(file);
        return trusted.map_err(|cause| choices::refused(format!("trust the CAs in {file}"), &cause));
    }
    let system = openssl_probe::probe();
    let trusted = match &system.cert_file {
        Some(file) => builder.set_ca_file(file),
        None => builder.set_default_verify_paths(),
    };
    trusted.map_err(|cause| choices::refused("trust the system's CAs".into(), &cause))
}
