//! From the command line to an `SslContext`.

use openssl::error::ErrorStack;
use openssl::ssl::{AlpnError, SslContext, SslContextBuilder, SslMethod, SslVersion, select_next_proto};

use crate::args::Args;
use crate::common::choices;
use crate::common::failure::Failure;
use crate::identity::{self, Identity};

/// The protocols spoken here, as a list of ALPN, best first.
const ALPN: &[u8] = b"\x08http/1.1\x08http/1.0";

/// The context of every connection, and the identity that was made for it if the command line names none.
pub(crate) fn build(args: &Args) -> Result<(SslContext, Option<Identity>), Failure> {
    let mut builder = prepare().map_err(|cause| choices::refused("set OpenSSL up".into(), &cause))?;
    let made = identity::present(args.identity.as_ref(), &mut builder)?;
    Ok((builder.build(), made))
}

fn prepare() -> Result<SslContextBuilder, ErrorStack> {
    let mut builder = SslContext::builder(SslMethod::tls_server())?;
    builder.set_min_proto_version(Some(SslVersion::TLS1_2))?;
    builder.set_alpn_select_callback(|_, theirs| select_next_proto(ALPN, theirs).ok_or(AlpnError::ALERT_FATAL));
    Ok(builder)
}
