//! The command line of `http`.

use std::time::Duration;

use arenatls::Options;
use lexopt::prelude::*;

use crate::common::choices::{self, KeyFiles};
use crate::common::failure::Failure;
use crate::site::Root;

/// What `--help` says.
pub(crate) const HELP: &str = "\
http: HTTP/1.1 over TLS, on sockets that rings own

  http --listen ADDRESS:PORT [OPTIONS]

  --listen ADDRESS:PORT    where to listen; port 0 takes a free one, and the first line printed says which
  --threads N              threads, each with a ring and a listening socket of its own (SO_REUSEPORT) [1]
  --connections N          connections of one thread at a time [1024]
  --cert FILE --key FILE   certificate chain and key (PEM); without them an identity for localhost is made, and the
                           file of its CA is named, for clients to trust
  --protection WHO         engine (where OpenSSL lets it) or library [engine]
  --root DIR               a directory whose files are served, too; what lies outside is not, nor links to it
  --timeout SECONDS        how long a request may take to come in, and a connection may be idle [15]
  --help                   this

  GET /                    a few bytes
  GET /bytes/N             N bytes
  GET /PATH                a file below --root
  GET /health              for those who ask whether it is well
  POST /echo               sends the body back, up to 64 KiB
";

/// What was asked for.
#[derive(Debug)]
pub(crate) struct Args {
    pub(crate) listen: String,
    pub(crate) threads: u32,
    pub(crate) connections: u32,
    pub(crate) identity: Option<KeyFiles>,
    pub(crate) options: Options,
    pub(crate) root: Option<Root>,
    pub(crate) timeout: Duration,
}

impl Args {
    /// `None` where help was asked for.
    pub(crate) fn parse(mut parser: lexopt::Parser) -> Result<Option<Args>, Failure> {
        let (mut listen, mut cert, mut key) = (None, None, None);
        let mut args = Args::unset();
        while let Some(arg) = parser.next()? {
            match arg {
                Long("listen") => listen = Some(parser.value()?.string()?),
                Long("threads") => args.threads = count("--threads", &parser.value()?.string()?, 1024)?,
                Long("connections") => args.connections = count("--connections", &parser.value()?.string()?, 1 << 20)?,
                Long("cert") => cert = Some(parser.value()?.string()?),
                Long("key") => key = Some(parser.value()?.string()?),
                Long("protection") => args.options = choices::protection(&parser.value()?.string()?)?,
                Long("root") => args.root = Some(root(&parser.value()?.string()?)?),
                Long("timeout") => args.timeout = choices::timeout(&parser.value()?.string()?)?,
                Short('h') | Long("help") => return Ok(None),
                other => return Err(other.unexpected().into()),
            }
        }
        args.listen =
            listen.ok_or_else(|| Failure::Usage("--listen is missing, say --listen 127.0.0.1:4433".into()))?;
        args.identity = KeyFiles::new(cert, key)?;
        Ok(Some(args))
    }

    fn unset() -> Args {
        Args {
            listen: String::new(),
            threads: 1,
            connections: 1024,
            identity: None,
            options: Options::default(),
            root: None,
            timeout: choices::DEFAULT_TIMEOUT,
        }
    }
}

fn root(directory: &str) -> Result<Root, Failure> {
    let doing = || format!("look into {directory}");
    Root::new(directory).map_err(|cause| Failure::Local { doing: doing(), cause: cause.into() })
}

fn count(option: &str, value: &str, most: u32) -> Result<u32, Failure> {
    let number = value.parse().ok().filter(|number| (1..=most).contains(number));
    number.ok_or_else(|| Failure::Usage(format!("{option} is a number from 1 to {most}, not {value:?}")))
}
