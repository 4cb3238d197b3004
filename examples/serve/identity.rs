//! An identity of our own, for trying things out on this machine.

use std::fs::{self, DirBuilder};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

use openssl::pkey::PKey;
use openssl::ssl::SslContextBuilder;
use openssl::x509::X509;
use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, KeyUsagePurpose};

use crate::common::choices::{self, KeyFiles};
use crate::common::failure::Failure;

/// What the identity is valid for.
const NAMES: [&str; 3] = ["localhost", "127.0.0.1", "::1"];

/// A fresh CA, and a certificate signed by it.
pub(crate) struct Identity {
    ca_pem: String,
    certificate_der: Vec<u8>,
    key_der: Vec<u8>,
}

/// Presents to peers the identity in `files`; without them one that is made, and given back.
pub(crate) fn present(files: Option<&KeyFiles>, builder: &mut SslContextBuilder) -> Result<Option<Identity>, Failure> {
    if let Some(files) = files {
        return files.present(builder).map(|()| None);
    }
    let made = Identity::make()?;
    made.present(builder)?;
    Ok(Some(made))
}

impl Identity {
    /// Makes both. Neither key is written anywhere.
    fn make() -> Result<Identity, Failure> {
        make().map_err(|cause| Failure::Local { doing: "make an identity".into(), cause: cause.into() })
    }

    fn present(&self, builder: &mut SslContextBuilder) -> Result<(), Failure> {
        let certificate = X509::from_der(&self.certificate_der).and_then(|cert| builder.set_certificate(&cert));
        let key = PKey::private_key_from_der(&self.key_der).and_then(|key| builder.set_private_key(&key));
        certificate.and(key).map_err(|cause| choices::refused("use the identity just made".into(), &cause))
    }

    /// Writes the CA's certificate into a directory of its own, and says where.
    pub(crate) fn write_ca(&self) -> Result<PathBuf, Failure> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos());
        let folder = std::env::temp_dir().join(format!("arenatls-serve-{}-{now}", std::process::id()));
        let file = folder.join("ca.pem");
        // `create` fails if the name is taken, so nobody else can have prepared it.
        let written = DirBuilder::new().mode(0o700).create(&folder).and_then(|()| fs::write(&file, &self.ca_pem));
        let doing = || format!("write the CA's certificate to {}", file.display());
        written.map_err(|cause| Failure::Local { doing: doing(), cause: cause.into() })?;
        Ok(file)
    }
}

fn make() -> Result<Identity, rcgen::Error> {
    let mut ca = CertificateParams::default();
    ca.distinguished_name.push(DnType::CommonName, "arenatls serve, a CA for this run");
    ca.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    ca.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    let ca_key = KeyPair::generate()?;
    let ca_pem = ca.self_signed(&ca_key)?.pem();

    let mut leaf = CertificateParams::new(NAMES.map(String::from))?;
    leaf.distinguished_name.push(DnType::CommonName, NAMES[0]);
    leaf.use_authority_key_identifier_extension = true;
    let key = KeyPair::generate()?;
    let certificate = leaf.signed_by(&key, &Issuer::new(ca, ca_key))?;
    Ok(Identity { ca_pem, certificate_der: certificate.der().to_vec(), key_der: key.serialize_der() })
}
