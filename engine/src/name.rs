//! Whom a client means to talk to.

use std::net::IpAddr;

use openssl::ssl::SslRef;
use openssl::x509::verify::X509CheckFlags;

use crate::error::BuildError;

/// A peer name that was checked: a host name in lower case without a trailing dot, or an IP address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum PeerName {
    Host(String),
    Ip(IpAddr),
}

impl PeerName {
    pub(crate) fn parse(name: &str) -> Result<PeerName, BuildError> {
        let bad = |why| BuildError::BadName { name: name.to_owned(), why };
        let bracketed = name.strip_prefix('[').and_then(|n| n.strip_suffix(']'));
        if let Ok(ip) = bracketed.unwrap_or(name).parse() {
            return Ok(PeerName::Ip(ip));
        }
        let host = name.strip_suffix('.').unwrap_or(name).to_ascii_lowercase();
        if host.is_empty() {
            return Err(bad("it is empty"));
        }
        // Something takes each of these for an IPv4 address, and then it must not be checked as a name.
        let last = host.rsplit('.').next().unwrap_or_default();
        if last.bytes().all(|b| b.is_ascii_digit()) || last.starts_with("0x") {
            return Err(bad("its last label is a number, as in an IPv4 address"));
        }
        if host.len() > 253 || host.split('.').any(|label| label.is_empty() || label.len() > 63) {
            return Err(bad("a label has 1 to 63 bytes and a name at most 253 (RFC 1035 §2.3.4)"));
        }
        if !host.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'.' | b'_')) {
            return Err(bad("only letters, digits, '-', '_' and '.' (write international names as xn--…)"));
        }
        Ok(PeerName::Host(host))
    }

    /// Has OpenSSL check the name (`X509_VERIFY_PARAM_set1_host`/`_ip`) in full, and send it unless it is an address.
    pub(crate) fn apply(&self, ssl: &mut SslRef) -> Result<(), BuildError> {
        ssl.param_mut().set_hostflags(X509CheckFlags::NO_PARTIAL_WILDCARDS);
        match self {
            PeerName::Host(host) => {
                ssl.set_hostname(host)?;
                ssl.param_mut().set_host(host)?;
            }
            PeerName::Ip(ip) => ssl.param_mut().set_ip(*ip)?,
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_normalised() {
        assert_eq!(PeerName::parse("A.Example.").unwrap(), PeerName::Host("a.example".into()));
        assert_eq!(PeerName::parse("127.0.0.1").unwrap(), PeerName::Ip([127, 0, 0, 1].into()));
        assert!(matches!(PeerName::parse("[::1]").unwrap(), PeerName::Ip(ip) if ip.is_loopback()));
    }

    #[test]
    fn what_is_no_name_is_refused() {
        for name in ["", ".", "a..b", "a\0b", "a b", "*.example", "127.0.0.1.", "10.1", "a.0x7f", "ünter.example", &"a".repeat(64), "a.example:443"] {
            assert!(matches!(PeerName::parse(name), Err(BuildError::BadName { .. })), "{name:?}");
        }
    }
}
