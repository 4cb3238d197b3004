//! Test identities: a certificate authority of one's own, and what it signs.

use rcgen::{
    BasicConstraints, Certificate, CertificateParams, CustomExtension, DistinguishedName, DnType,
    ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair, KeyUsagePurpose, SanType,
};

/// Names that a server identity made by [`Authority::server`] answers to.
pub const LOCAL_NAMES: [&str; 2] = ["localhost", "127.0.0.1"];

/// An object identifier nobody interprets (RFC 5612 section 2, the arc for documentation), for ballast.
const BALLAST_OID: [u64; 8] = [1, 3, 6, 1, 4, 1, 32473, 1];

/// A certificate authority with a P-256 key, self-signed.
#[derive(Debug)]
pub struct Authority {
    issuer: Issuer<'static, KeyPair>,
    certificate: Certificate,
}

impl Authority {
    /// Makes an authority whose common name is `name`.
    ///
    /// # Panics
    ///
    /// Panics if key or certificate cannot be made: a test cannot go on without.
    #[must_use]
    pub fn new(name: &str) -> Self {
        let mut params = params(&[], name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        let key = p256();
        let certificate = params.self_signed(&key).expect("an authority signs its own certificate");
        Self { issuer: Issuer::new(params, key), certificate }
    }

    /// The authority's own certificate (DER).
    #[must_use]
    pub fn der(&self) -> &[u8] {
        self.certificate.der()
    }

    /// The authority's own certificate (PEM): the file to trust.
    #[must_use]
    pub fn pem(&self) -> String {
        self.certificate.pem()
    }

    /// A server identity for [`LOCAL_NAMES`].
    #[must_use]
    pub fn server(&self) -> Identity {
        self.server_for(&LOCAL_NAMES)
    }

    /// A server identity for `names`: what parses as an IP address becomes an IP SAN, all else a DNS SAN.
    ///
    /// # Panics
    ///
    /// Panics if a name cannot stand in a certificate.
    #[must_use]
    pub fn server_for(&self, names: &[&str]) -> Identity {
        let common_name = names.first().copied().unwrap_or("nameless");
        self.issue(names, common_name, ExtendedKeyUsagePurpose::ServerAuth)
    }

    /// A client identity whose common name is `name`.
    ///
    /// # Panics
    ///
    /// Panics if the name cannot stand in a certificate.
    #[must_use]
    pub fn client(&self, name: &str) -> Identity {
        self.issue(&[], name, ExtendedKeyUsagePurpose::ClientAuth)
    }

    /// A server identity with `name` as a DNS SAN, even if it looks like an address.
    ///
    /// # Panics
    ///
    /// Panics if the name cannot stand in a certificate.
    #[must_use]
    pub fn server_for_dns(&self, name: &str) -> Identity {
        let mut params = params(&[], name);
        params.subject_alt_names = vec![SanType::DnsName(name.try_into().expect("an ASCII name"))];
        self.sign(params, ExtendedKeyUsagePurpose::ServerAuth)
    }

    fn issue(&self, names: &[&str], common_name: &str, purpose: ExtendedKeyUsagePurpose) -> Identity {
        self.sign(params(names, common_name), purpose)
    }

    fn sign(&self, mut params: CertificateParams, purpose: ExtendedKeyUsagePurpose) -> Identity {
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![purpose];
        params.use_authority_key_identifier_extension = true;
        let key = p256();
        let leaf = params.signed_by(&key, &self.issuer).expect("an authority signs what it is asked to");
        Identity { chain: vec![leaf], key }
    }
}

/// An end entity: its certificate chain, leaf first and without the root, and its P-256 key.
#[derive(Debug)]
pub struct Identity {
    chain: Vec<Certificate>,
    key: KeyPair,
}

impl Identity {
    /// The same identity with `count` further certificates of at least `bytes` bytes each in its chain, which nobody
    /// needs for verification: it makes the flight big that carries the chain.
    ///
    /// # Panics
    ///
    /// Panics if a certificate cannot be made.
    #[must_use]
    pub fn with_ballast(mut self, count: usize, bytes: usize) -> Self {
        self.chain.extend((0..count).map(|index| ballast(index, bytes)));
        self
    }

    /// The leaf certificate (DER).
    #[must_use]
    pub fn leaf_der(&self) -> &[u8] {
        self.chain[0].der()
    }

    /// The chain, leaf first (DER each).
    pub fn chain_der(&self) -> impl Iterator<Item = &[u8]> {
        self.chain.iter().map(|certificate| &**certificate.der())
    }

    /// The chain, leaf first, as one PEM file.
    #[must_use]
    pub fn chain_pem(&self) -> String {
        self.chain.iter().map(Certificate::pem).collect()
    }

    /// The private key (PKCS#8, DER).
    #[must_use]
    pub fn key_der(&self) -> &[u8] {
        self.key.serialized_der()
    }

    /// The private key (PKCS#8, PEM).
    #[must_use]
    pub fn key_pem(&self) -> String {
        self.key.serialize_pem()
    }
}

fn p256() -> KeyPair {
    KeyPair::generate_for(&rcgen::PKCS_ECDSA_P256_SHA256).expect("a P-256 key can be made")
}

fn params(names: &[&str], common_name: &str) -> CertificateParams {
    let names: Vec<String> = names.iter().map(ToString::to_string).collect();
    let mut params = CertificateParams::new(names).expect("the names are fit to stand in a certificate");
    params.distinguished_name = DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, common_name);
    params
}

fn ballast(index: usize, bytes: usize) -> Certificate {
    let mut params = params(&[], &format!("ballast {index}"));
    let filling = vec![b'.'; bytes];
    params.custom_extensions.push(CustomExtension::from_oid_content(&BALLAST_OID, filling));
    params.self_signed(&p256()).expect("a self-signed certificate can be made")
}

#[cfg(test)]
mod tests {
    use super::*;
    use openssl::x509::X509;

    #[test]
    fn an_identity_verifies_against_its_authority_and_answers_to_its_names() {
        let authority = Authority::new("rig");
        let identity = authority.server_for(&["example.test", "192.0.2.7", "2001:db8::1"]);
        let root = X509::from_pem(authority.pem().as_bytes()).unwrap();
        let leaf = X509::from_der(identity.leaf_der()).unwrap();
        assert!(leaf.verify(&root.public_key().unwrap()).unwrap());

        let names = leaf.subject_alt_names().unwrap();
        let dns: Vec<_> = names.iter().filter_map(|name| name.dnsname()).collect();
        let ips: Vec<_> = names.iter().filter_map(|name| name.ipaddress().map(<[u8]>::len)).collect();
        assert_eq!(dns, ["example.test"]);
        assert_eq!(ips, [4, 16]);
    }

    #[test]
    fn ballast_makes_the_chain_as_big_as_asked() {
        let identity = Authority::new("rig").server().with_ballast(3, 1000);
        assert_eq!(identity.chain_der().count(), 4);
        assert!(identity.chain_der().skip(1).all(|certificate| certificate.len() > 1000));
        let parsed = X509::stack_from_pem(identity.chain_pem().as_bytes()).unwrap();
        assert_eq!(parsed.len(), 4);
    }
}
