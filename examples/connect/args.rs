//! The command line of `connect`.

use std::time::Duration;

use arenatls::Options;
use lexopt::prelude::*;

use crate::common::choices::{self, KeyFiles};
use crate::common::failure::Failure;
use crate::url::Url;

/// What `--help` says.
pub(crate) const HELP: &str = "\
connect: fetches one page by HTTP/1.1 over TLS, and says what that took

  connect https://HOST[:PORT][/PATH] [OPTIONS]

  --ca FILE                trust the CAs in this file (PEM) [those of the system]
  --cert FILE --key FILE   certificate chain and key (PEM), for servers that ask for one
  --resume                 then fetch it once more, on a second connection that resumes the first one's session
  --repeat N               fetch it N times, on one connection where the server lets it live [1]
  --alpn NAME,NAME         protocols to offer [http/1.1]
  --protection WHO         engine (where OpenSSL lets it) or library [engine]
  --timeout SECONDS        how long the server may keep us waiting [15]
  --help                   this

The bodies go to standard output; what was negotiated, and the times, to standard error. The exit code is 0 only if the
server was verified and every answer came whole (and, with --resume, the session was resumed); 1 if not; 2 if the
command line is wrong.
";

/// What was asked for.
#[derive(Debug)]
pub(crate) struct Args {
    pub(crate) url: Url,
    pub(crate) ca: Option<String>,
    pub(crate) identity: Option<KeyFiles>,
    pub(crate) resume: bool,
    pub(crate) repeat: u32,
    pub(crate) alpn: Vec<u8>,
    pub(crate) options: Options,
    pub(crate) timeout: Duration,
}

impl Args {
    /// `None` where help was asked for.
    pub(crate) fn parse(mut parser: lexopt::Parser) -> Result<Option<Args>, Failure> {
        let (mut url, mut cert, mut key) = (None, None, None);
        let mut args = Args::unset();
        while let Some(arg) = parser.next()? {
            match arg {
                Value(value) if url.is_none() => url = Some(Url::parse(&value.string()?)?),
                Long("ca") => args.ca = Some(parser.value()?.string()?),
                Long("cert") => cert = Some(parser.value()?.string()?),
                Long("key") => key = Some(parser.value()?.string()?),
                Long("resume") => args.resume = true,
                Long("repeat") => args.repeat = repeat(&parser.value()?.string()?)?,
                Long("alpn") => args.alpn = choices::alpn(&parser.value()?.string()?)?,
                Long("protection") => args.options = choices::protection(&parser.value()?.string()?)?,
                Long("timeout") => args.timeout = choices::timeout(&parser.value()?.string()?)?,
                Short('h') | Long("help") => return Ok(None),
                other => return Err(other.unexpected().into()),
            }
        }
        args.url = url.ok_or_else(|| Failure::Usage("an address is missing, say https://localhost:4433/".into()))?;
        args.identity = KeyFiles::new(cert, key)?;
        Ok(Some(args))
    }

    fn unset() -> Args {
        Args {
            url: Url::default(),
            ca: None,
            identity: None,
            resume: false,
            repeat: 1,
            alpn: b"\x08http/1.1".to_vec(),
            options: Options::default(),
            timeout: choices::DEFAULT_TIMEOUT,
        }
    }
}

fn repeat(value: &str) -> Result<u32, Failure> {
    let times = value.parse().ok().filter(|times| *times > 0);
    times.ok_or_else(|| Failure::Usage(format!("--repeat is a number above 0, not {value:?}")))
}
