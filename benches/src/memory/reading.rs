//! How much memory the process has.

use std::fs;

use serde::{Deserialize, Serialize};

use crate::count;

/// Bytes of memory, of all the process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(super) struct Reading {
    /// From Rust's allocator.
    pub(super) rust: i64,
    /// From OpenSSL's.
    pub(super) openssl: i64,
    /// From libc's, the former two included.
    pub(super) libc: i64,
    /// Resident.
    pub(super) rss: i64,
}

impl Reading {
    /// As it is now.
    pub(super) fn now() -> Self {
        let count::Live { rust, openssl, libc } = count::live();
        Self { rust, openssl, libc, rss: resident() }
    }

    /// What has come since `before`.
    pub(super) fn since(self, before: Self) -> Self {
        Self {
            rust: self.rust - before.rust,
            openssl: self.openssl - before.openssl,
            libc: self.libc - before.libc,
            rss: self.rss - before.rss,
        }
    }
}

/// Resident memory (bytes): the exact sum of `/proc/self/smaps_rollup`; 0 where there is none.
fn resident() -> i64 {
    let rollup = fs::read_to_string("/proc/self/smaps_rollup").unwrap_or_default();
    let line = rollup.lines().find_map(|line| line.strip_prefix("Rss:"));
    let kilobytes = line.and_then(|line| line.trim().strip_suffix("kB")).and_then(|line| line.trim().parse().ok());
    kilobytes.map_or(0, |kilobytes: i64| kilobytes * 1024)
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn memory_that_is_used_is_resident() {
        const MUCH: usize = 64 << 20;
        let before = Reading::now();
        let memory = std::hint::black_box(vec![1_u8; MUCH]);
        let grown = Reading::now().since(before).rss;
        assert!(grown >= MUCH as i64 / 2, "{grown}");
        drop(memory);
    }
}
