//! What a ledger was taken on, and of what.

use std::fs;
use std::process::Command;

use serde::{Deserialize, Serialize};

/// The workspace's lock file, as of the build: it says which versions were linked.
const LOCK: &str = include_str!("../../../Cargo.lock");

/// Features of processors that decide which code the libraries run.
const FEATURES: [&str; 9] = ["aes", "pclmulqdq", "avx2", "avx512f", "vaes", "vpclmulqdq", "erms", "fsrm", "sha_ni"];

/// The machine.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Host {
    /// Operating system and its version.
    pub system: String,
    /// The processor's name.
    pub processor: String,
    /// What the processor has of the features that matter here.
    pub features: Vec<String>,
    /// Cores that this process may use.
    pub cores: usize,
    /// The core that the measuring thread was pinned to.
    pub pinned_to: Option<usize>,
    /// The load average over the minute before: above the number of busy cores of an idle machine, distrust the times.
    pub load: Option<f64>,
}

impl Host {
    /// Looks around; `pinned_to` and `cores` are as the caller has found them.
    #[must_use]
    pub fn look(pinned_to: Option<usize>, cores: usize) -> Self {
        let processor = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let flags = field(&processor, "flags").unwrap_or_default();
        let has = |feature: &&str| flags.split(' ').any(|flag| flag == *feature);
        Self {
            system: system(),
            processor: field(&processor, "model name").unwrap_or(std::env::consts::ARCH).into(),
            features: FEATURES.iter().filter(|feature| has(feature)).map(ToString::to_string).collect(),
            cores,
            pinned_to,
            load: load(),
        }
    }
}

/// What was linked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Versions {
    /// arenatls itself.
    pub arenatls: String,
    /// The OpenSSL library at run time, as it calls itself.
    pub openssl: String,
    /// Whether that OpenSSL was built from source for this bench.
    pub openssl_vendored: bool,
    /// The crate `openssl`.
    pub openssl_crate: String,
    /// The crate `rustls`.
    pub rustls: String,
    /// The crate `aws-lc-rs`.
    pub aws_lc_rs: String,
    /// The crate `ring`.
    pub ring: String,
    /// The crate `s2n-tls`.
    pub s2n_tls: String,
    /// The compiler, as it calls itself; unknown where it cannot be asked.
    pub rustc: String,
}

impl Versions {
    /// The versions linked here.
    #[must_use]
    pub fn linked() -> Self {
        Self {
            arenatls: env!("CARGO_PKG_VERSION").into(),
            openssl: openssl::version::version().into(),
            openssl_vendored: cfg!(feature = "vendored"),
            openssl_crate: locked("openssl"),
            rustls: locked("rustls"),
            aws_lc_rs: locked("aws-lc-rs"),
            ring: locked("ring"),
            s2n_tls: locked("s2n-tls"),
            rustc: rustc(),
        }
    }
}

/// The version of `package` in the lock file; the last that is listed, if there are several.
fn locked(package: &str) -> String {
    let heading = format!("name = \"{package}\"\nversion = \"");
    let versions = LOCK.rsplit_once(&heading).and_then(|(_, rest)| rest.split_once('"'));
    versions.map_or("unknown", |(version, _)| version).into()
}

fn rustc() -> String {
    let output = Command::new("rustc").arg("-V").output();
    let said = output.ok().and_then(|output| String::from_utf8(output.stdout).ok());
    said.map_or("unknown".into(), |said| said.trim().into())
}

fn system() -> String {
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    format!("{} {}", std::env::consts::OS, release.trim()).trim().into()
}

fn load() -> Option<f64> {
    let averages = fs::read_to_string("/proc/loadavg").ok()?;
    averages.split(' ').next()?.parse().ok()
}

fn field<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let line = text.lines().find(|line| line.starts_with(name))?;
    line.split_once(':').map(|(_, value)| value.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lock_file_names_versions() {
        let versions = Versions::linked();
        assert!(versions.rustls.starts_with("0.23."), "{versions:?}");
        assert!(versions.ring.starts_with("0.17."), "{versions:?}");
    }
}
