//! The command line of `serve`.

use std::time::Duration;

use arenatls::Options;
use lexopt::prelude::*;
use openssl::ssl::SslVersion;

use crate::common::choices::{self, KeyFiles};
use crate::common::failure::Failure;

/// What `--help` says.
pub(crate) const HELP: &str = "\
serve: HTTP/1.1 over TLS, from memory of one pool

  serve --listen ADDRESS:PORT [OPTIONS]

  --listen ADDRESS:PORT    where to listen; port 0 takes a free one, and the first line printed says which
  --cert FILE --key FILE   certificate chain and key (PEM); without them an identity for localhost is made, and the
                           file of its CA is named, for clients to trust
  --client-ca FILE         ask every client for a certificate signed by one of these (PEM)
  --alpn NAME,NAME         protocols to agree to, best first [http/1.1]
  --security-level N       OpenSSL's security level, 0 to 5 [OpenSSL's default]
  --min-version VERSION    tls1.0, tls1.1, tls1.2 or tls1.3 [tls1.2]; the two old ones need --security-level 0
  --protection WHO         engine (where OpenSSL lets it) or library [engine]
  --timeout SECONDS        how long a peer may keep us waiting [15]
  --help                   this

  GET /                    says what was negotiated
  GET /bytes/N             N bytes
";

/// What was asked for.
#[derive(Debug)]
pub(crate) struct Args {
    pub(crate) listen: String,
    pub(crate) identity: Option<KeyFiles>,
    pub(crate) client_ca: Option<String>,
    pub(crate) alpn: Vec<u8>,
    pub(crate) security_level: Option<u32>,
    pub(crate) min_version: SslVersion,
    pub(crate) options: Options,
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
                Long("cert") => cert = Some(parser.value()?.string()?),
                Long("key") => key = Some(parser.value()?.string()?),
                Long("client-ca") => args.client_ca = Some(parser.value()?.string()?),
                Long("alpn") => args.alpn = choices::alpn(&parser.value()?.string()?)?,
                Long("security-level") => args.security_level = Some(security_level(&parser.value()?.string()?)?),
                Long("min-version") => args.min_version = version(&parser.value()?.string()?)?,
                Long("protection") => args.options = choices::protection(&parser.value()?.string()?)?,
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
            identity: None,
            client_ca: None,
            alpn: b"\x08http/1.1".to_vec(),
            security_level: None,
            min_version: SslVersion::TLS1_2,
            options: Options::default(),
            timeout: choices::DEFAULT_TIMEOUT,
        }
    }
}

fn security_level(value: &str) -> Result<u32, Failure> {
    let level = value.parse().ok().filter(|level| *level <= 5);
    level.ok_or_else(|| Failure::Usage(format!("--security-level is 0 to 5, not {value:?}")))
}

fn version(value: &str) -> Result<SslVersion, Failure> {
    match value {
        "tls1.0" => Ok(SslVersion::TLS1),
        "tls1.1" => Ok(SslVersion::TLS1_1),
        "tls1.2" => Ok(SslVersion::TLS1_2),
        "tls1.3" => Ok(SslVersion::TLS1_3),
        _ => Err(Failure::Usage(format!("--min-version is tls1.0, tls1.1, tls1.2 or tls1.3, not {value:?}"))),
    }
}
