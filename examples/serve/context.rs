//! From the command line to an `SslContext`.

use openssl::error::ErrorStack;
use openssl::ssl::{AlpnError, SslContext, SslContextBuilder, SslMethod, SslVerifyMode, select_next_proto};
use openssl::x509::X509Name;

use crate::args::Args;
use crate::common::choices;
use crate::common::failure::Failure;
use crate::identity::{self, Identity};

/// The context of every connection, and the identity that was made for it if the command line names none.
pub(crate) fn build(args: &Args) -> Result<(SslContext, Option<Identity>), Failure> {
    let mut builder = prepare(args).map_err(|cause| choices::refused("set OpenSSL up".into(), &cause))?;
    let made = identity::present(args.identity.as_ref(), &mut builder)?;
    if let Some(file) = &args.client_ca {
        let required = require_certificate(&mut builder, file);
        required.map_err(|cause| choices::refused(format!("trust the CAs in {file}"), &cause))?;
    }
    Ok((builder.build(), made))
}

fn prepare(args: &Args) -> Result<SslContextBuilder, ErrorStack> {
    let mut builder = SslContext::builder(SslMethod::tls_server())?;
    // First, because it decides which certificates OpenSSL takes.
    if let Some(level) = args.security_level {
        builder.set_security_level(level);
    }
    builder.set_min_proto_version(Some(args.min_version))?;
    builder.set_num_tickets(2)?;
    // Without a name of their own, sessions with a client certificate could not be resumed.
    builder.set_session_id_context(b"arenatls serve")?;
    // The protocol chosen is named by a slice of this list, which lives as long as the process: one list a run.
    let ours: &[u8] = args.alpn.clone().leak();
    builder.set_alpn_select_callback(move |_, theirs| select_next_proto(ours, theirs).ok_or(AlpnError::ALERT_FATAL));
    Ok(builder)
}

fn require_certificate(builder: &mut SslContextBuilder, file: &str) -> Result<(), ErrorStack> {
    builder.set_ca_file(file)?;
    builder.set_client_ca_list(X509Name::load_client_ca_file(file)?);
    builder.set_verify(SslVerifyMode::PEER | SslVerifyMode::FAIL_IF_NO_PEER_CERT);
    Ok(())
}
