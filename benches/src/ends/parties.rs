//! Who takes part: an authority, and a server it vouches for, both with keys of one kind.

use openssl::asn1::Asn1Time;
use openssl::bn::BigNum;
use openssl::ec::{EcGroup, EcKey};
use openssl::error::ErrorStack;
use openssl::hash::MessageDigest;
use openssl::nid::Nid;
use openssl::pkey::{PKey, Private};
use openssl::rsa::Rsa;
use openssl::x509::extension::{BasicConstraints, ExtendedKeyUsage, KeyUsage, SubjectAlternativeName};
use openssl::x509::{X509, X509Builder, X509Name};

use super::Certificate;
use crate::setting::SERVER_NAME;

/// An authority, and a server for [`SERVER_NAME`]. (The test rig's have P-256 keys only.)
#[derive(Debug)]
pub struct Parties {
    pub(super) root: X509,
    pub(super) leaf: X509,
    pub(super) key: PKey<Private>,
}

impl Parties {
    /// Makes keys and certificates.
    ///
    /// # Panics
    ///
    /// If OpenSSL cannot make them.
    #[must_use]
    pub fn new(kind: Certificate) -> Parties {
        make(kind).expect("OpenSSL makes keys and certificates")
    }
}

impl Parties {
    /// The authority's certificate, the server's, and its key (PKCS#8), as DER: for another process.
    ///
    /// # Panics
    ///
    /// If OpenSSL cannot write them.
    #[must_use]
    pub fn to_der(&self) -> [Vec<u8>; 3] {
        let [root, leaf] = [&self.root, &self.leaf].map(|it| it.to_der().expect("a certificate is made of bytes"));
        [root, leaf, self.key.private_key_to_pkcs8().expect("a key is made of bytes")]
    }

    /// The parties of another process.
    ///
    /// # Errors
    ///
    /// If these bytes are not those of [`to_der`](Parties::to_der).
    pub fn from_der([root, leaf, key]: [&[u8]; 3]) -> Result<Parties, ErrorStack> {
        Ok(Parties {
            root: X509::from_der(root)?,
            leaf: X509::from_der(leaf)?,
            key: PKey::private_key_from_pkcs8(key)?,
        })
    }
}

fn make(kind: Certificate) -> Result<Parties, ErrorStack> {
    let (root_key, key) = (key(kind)?, key(kind)?);
    let mut root = blank("bench authority", "bench authority", 1, &root_key)?;
    root.append_extension(BasicConstraints::new().critical().ca().build()?)?;
    root.append_extension(KeyUsage::new().critical().key_cert_sign().build()?)?;
    root.sign(&root_key, MessageDigest::sha256())?;
    let root = root.build();
    let mut leaf = blank(SERVER_NAME, "bench authority", 2, &key)?;
    let names = SubjectAlternativeName::new().dns(SERVER_NAME).build(&leaf.x509v3_context(Some(&root), None))?;
    leaf.append_extension(names)?;
    leaf.append_extension(KeyUsage::new().critical().digital_signature().build()?)?;
    leaf.append_extension(ExtendedKeyUsage::new().server_auth().build()?)?;
    leaf.sign(&root_key, MessageDigest::sha256())?;
    Ok(Parties { root, leaf: leaf.build(), key })
}

fn key(kind: Certificate) -> Result<PKey<Private>, ErrorStack> {
    match kind {
        Certificate::P256 => {
            let group = EcGroup::from_curve_name(Nid::X9_62_PRIME256V1)?;
            PKey::from_ec_key(EcKey::generate(&group)?)
        }
        Certificate::Rsa2048 => PKey::from_rsa(Rsa::generate(2048)?),
    }
}

/// A certificate, valid for a month, that wants extensions and a signature.
fn blank(subject: &str, issuer: &str, serial: u32, key: &PKey<Private>) -> Result<X509Builder, ErrorStack> {
    let mut builder = X509::builder()?;
    builder.set_version(2)?;
    let serial = BigNum::from_u32(serial)?.to_asn1_integer()?;
    builder.set_serial_number(&serial)?;
    let name = name(subject)?;
    builder.set_subject_name(&name)?;
    let name = self::name(issuer)?;
    builder.set_issuer_name(&name)?;
    let (from, to) = (Asn1Time::days_from_now(0)?, Asn1Time::days_from_now(30)?);
    builder.set_not_before(&from)?;
    builder.set_not_after(&to)?;
    builder.set_pubkey(key)?;
    Ok(builder)
}

fn name(common: &str) -> Result<X509Name, ErrorStack> {
    let mut name = X509Name::builder()?;
    name.append_entry_by_nid(Nid::COMMONNAME, common)?;
    Ok(name.build())
}
