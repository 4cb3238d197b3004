//! The server's identity.

use arenatls::openssl::pkey::PKey;
use arenatls::openssl::ssl::{SslContext, SslFiletype, SslMethod, SslVersion};
use arenatls::openssl::x509::X509;

use crate::Failure;

/// The context of every connection: the identity in the files, or one made on the spot.
pub(crate) fn build(files: &(Option<String>, Option<String>)) -> Result<SslContext, Failure> {
    let mut builder = SslContext::builder(SslMethod::tls_server())?;
    builder.set_min_proto_version(Some(SslVersion::TLS1_2))?;
    match files {
        (Some(chain), Some(key)) => {
            builder.set_certificate_chain_file(chain)?;
            builder.set_private_key_file(key, SslFiletype::PEM)?;
        }
        (None, None) => {
            let made = rcgen::generate_simple_self_signed(["localhost".to_owned(), "127.0.0.1".to_owned()])?;
            let certificate = X509::from_der(made.cert.der())?;
            let key = PKey::private_key_from_der(&made.signing_key.serialize_der())?;
            builder.set_certificate(&certificate)?;
            builder.set_private_key(&key)?;
        }
        _ => return Err("--cert and --key go together".into()),
    }
    builder.check_private_key()?;
    Ok(builder.build())
}
