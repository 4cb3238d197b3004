//! What this build of arenatls stands on.

use std::fmt;
use std::sync::OnceLock;

use crate::Protection;

mod trial;

/// The OpenSSL in use, and what it lets the engine do.
///
/// `Display` prints it, one fact a line.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct BuildInfo {
    /// Version of this crate.
    pub version: &'static str,
    /// The target triple it was built for.
    pub target: &'static str,
    /// OpenSSL as it names itself at run time (`OpenSSL_version`).
    pub openssl: &'static str,
    /// True if that OpenSSL was built from source together with this crate and linked into it.
    pub vendored: bool,
    /// What TLS 1.3 connections get; `None` if OpenSSL would not even do the trial handshake.
    pub tls13: Option<Offer>,
    /// What TLS 1.2 connections get; `None` if OpenSSL would not even do the trial handshake.
    pub tls12: Option<Offer>,
    /// True with the feature `ring`: the choice of a second record AEAD.
    pub ring: bool,
}

/// The directions whose traffic keys OpenSSL hands over, and in which the engine can go on when they are replaced: those
/// that have [`Protection::Engine`]. The others have [`Protection::Library`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Offer {
    /// The records we send.
    pub sending: bool,
    /// The records we receive.
    pub receiving: bool,
}

/// What this build stands on. The first call makes a handshake with itself for each TLS version, in memory and without
/// certificates, to see what OpenSSL hands over: no header and no version number tells as surely.
pub fn build_info() -> &'static BuildInfo {
    static INFO: OnceLock<BuildInfo> = OnceLock::new();
    INFO.get_or_init(|| BuildInfo {
        version: env!("CARGO_PKG_VERSION"),
        target: env!("ARENATLS_TARGET"),
        openssl: openssl::version::version(),
        vendored: env!("ARENATLS_OPENSSL_VENDORED") == "true",
        tls13: trial::offer(trial::TLS13).ok(),
        tls12: trial::offer(trial::TLS12).ok(),
        ring: cfg!(feature = "ring"),
    })
}

impl Offer {
    fn of((sending, receiving): (Protection, Protection)) -> Offer {
        Offer { sending: sending == Protection::Engine, receiving: receiving == Protection::Engine }
    }
}

impl fmt::Display for Offer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match (self.sending, self.receiving) {
            (true, true) => "Engine both ways",
            (true, false) => "Engine for sending, Library for receiving",
            (false, true) => "Library for sending, Engine for receiving",
            (false, false) => "Library both ways",
        })
    }
}

impl fmt::Display for BuildInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "arenatls {} for {}", self.version, self.target)?;
        writeln!(f, "{} ({})", self.openssl, if self.vendored { "vendored" } else { "the system's" })?;
        for (name, offer) in [("TLS 1.3", self.tls13), ("TLS 1.2", self.tls12)] {
            match offer {
                Some(offer) => writeln!(f, "{name}: {offer}")?,
                None => writeln!(f, "{name}: not known, the trial handshake was refused")?,
            }
        }
        write!(f, "second AEAD (ring): {}", if self.ring { "yes" } else { "no" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// OpenSSL's number of 3.2.0, the first to hand over all TLS 1.3 keys.
    const ALL_OF_13: i64 = 0x3020_0000;

    #[test]
    fn what_is_offered_is_what_such_a_build_offers() {
        let info = build_info();
        let number = openssl::version::number();
        assert!(info.openssl.starts_with("OpenSSL "), "{info}");
        assert!(number >= 0x3000_0000, "{info}");
        // Elsewhere OpenSSL has no key offer, and a system's may have been built without.
        if info.vendored && cfg!(target_os = "linux") {
            let both = Some(Offer { sending: true, receiving: true });
            assert_eq!((info.tls13, info.tls12), (both, both), "{info}");
        }
        if number < ALL_OF_13 {
            assert_eq!(info.tls13, Some(Offer { sending: false, receiving: false }), "{info}");
        }
    }

    #[test]
    fn the_feature_asks_for_what_the_build_found() {
        // OPENSSL_NO_VENDOR overrules the feature.
        if std::env::var_os("OPENSSL_NO_VENDOR").is_none() {
            assert_eq!(build_info().vendored, cfg!(feature = "vendored"));
        }
    }

    #[test]
    fn it_prints_one_fact_a_line() {
        let info = BuildInfo {
            version: "1.2.3",
            target: "t",
            openssl: "OpenSSL 3.0.1",
            vendored: false,
            tls13: Some(Offer { sending: true, receiving: false }),
            tls12: None,
            ring: true,
        };
        let lines = [
            "arenatls 1.2.3 for t",
            "OpenSSL 3.0.1 (the system's)",
            "TLS 1.3: Engine for sending, Library for receiving",
            "TLS 1.2: not known, the trial handshake was refused",
            "second AEAD (ring): yes",
        ];
        assert_eq!(info.to_string(), lines.join("\n"));
    }

    #[test]
    fn a_trial_that_cannot_succeed_ends() {
        let nonsense = trial::Terms { suite: "no such suite", version: trial::TLS12.version };
        assert!(trial::offer(nonsense).is_err());
        let mismatch = trial::Terms { suite: trial::TLS12.suite, version: trial::TLS13.version };
        assert!(trial::offer(mismatch).is_err());
    }
}
