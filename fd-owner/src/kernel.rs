//! What the kernel says of itself, in text.

use std::fmt;

/// A release of Linux, to its second number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Release {
    /// The 6 of 6.1.
    pub major: u32,
    /// The 1 of 6.1.
    pub minor: u32,
}

impl Release {
    /// Reads what `uname -r` prints, say `6.1.0-18-amd64`.
    #[cfg(any(target_os = "linux", test))]
    pub(crate) fn parse(text: &str) -> Option<Release> {
        let mut numbers = text.trim().split(['.', '-', '+', '~']).map(str::parse);
        Some(Release { major: numbers.next()?.ok()?, minor: numbers.next()?.ok()? })
    }
}

impl fmt::Display for Release {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("{}.{}", self.major, self.minor))
    }
}

/// What may explain why there is no ring.
#[cfg(target_os = "linux")]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Surroundings {
    /// The running kernel, if it says.
    pub(crate) release: Option<Release>,
    /// `kernel.io_uring_disabled`: 0 for nobody, 1 for the unprivileged, 2 for all. Kernels before 6.6 do not say.
    pub(crate) disabled: Option<u8>,
    /// True if this thread runs under a filter of system calls.
    pub(crate) filtered: bool,
    /// True if this thread has `CAP_SYS_ADMIN`, in its own user namespace.
    pub(crate) admin: bool,
    /// True if it has `CAP_IPC_LOCK`: the limit on locked memory is not for it.
    pub(crate) may_lock: bool,
    /// The limit on locked memory (bytes); nothing if there is none.
    pub(crate) memlock: Option<u64>,
}

#[cfg(target_os = "linux")]
mod proc {
    use std::fs;

    use super::{Release, Surroundings};

    impl Surroundings {
        /// As `/proc` has it; what cannot be read is not known.
        pub(crate) fn read() -> Surroundings {
            let status = text("/proc/thread-self/status").unwrap_or_default();
            Surroundings {
                release: release_text().and_then(|text| Release::parse(&text)),
                disabled: text("/proc/sys/kernel/io_uring_disabled").and_then(|text| text.trim().parse().ok()),
                filtered: super::seccomp_mode(&status) == Some(2),
                admin: super::has_capability(&status, super::SYS_ADMIN),
                may_lock: super::has_capability(&status, super::IPC_LOCK),
                memlock: text("/proc/self/limits").and_then(|limits| super::memlock_soft(&limits)),
            }
        }
    }

    /// What `uname -r` prints.
    pub(crate) fn release_text() -> Option<String> {
        text("/proc/sys/kernel/osrelease").map(|text| text.trim().to_owned())
    }

    fn text(path: &str) -> Option<String> {
        fs::read_to_string(path).ok()
    }
}

#[cfg(target_os = "linux")]
pub(crate) use proc::release_text;

/// The mode in `/proc/self/status`: 0 none, 1 strict, 2 a filter.
#[cfg(any(target_os = "linux", test))]
fn seccomp_mode(status: &str) -> Option<u8> {
    status.lines().find_map(|line| line.strip_prefix("Seccomp:"))?.trim().parse().ok()
}

/// `CAP_IPC_LOCK` and `CAP_SYS_ADMIN` of `linux/capability.h`.
#[cfg(any(target_os = "linux", test))]
const IPC_LOCK: u32 = 14;
#[cfg(any(target_os = "linux", test))]
const SYS_ADMIN: u32 = 21;

/// Whether `number` is among the effective capabilities in `/proc/self/status`.
#[cfg(any(target_os = "linux", test))]
fn has_capability(status: &str, number: u32) -> bool {
    let set = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    set.and_then(|set| u64::from_str_radix(set.trim(), 16).ok()).is_some_and(|set| set >> number & 1 != 0)
}

/// The soft limit in `/proc/self/limits`.
#[cfg(any(target_os = "linux", test))]
fn memlock_soft(limits: &str) -> Option<u64> {
    let line = limits.lines().find_map(|line| line.strip_prefix("Max locked memory"))?;
    line.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn releases_of_distributions_are_understood() {
        let release = |text| Release::parse(text).map(|r| (r.major, r.minor));
        assert_eq!(release("6.1.0-18-amd64\n"), Some((6, 1)));
        assert_eq!(release("5.14.0-427.el9.x86_64"), Some((5, 14)));
        assert_eq!(release("6.12-rc1"), Some((6, 12)));
        assert_eq!(release("6.18.44+"), Some((6, 18)));
        assert_eq!(release("elsewhere"), None);
        assert_eq!(release(""), None);
        assert!(Release { major: 5, minor: 19 } < Release { major: 6, minor: 0 });
    }

    #[test]
    fn the_lines_of_proc_are_found() {
        assert_eq!(seccomp_mode("Name:\tx\nSeccomp:\t2\nSeccomp_filters:\t1\n"), Some(2));
        assert_eq!(seccomp_mode("Name:\tx\n"), None);
        let has = |status| [IPC_LOCK, SYS_ADMIN].map(|number| has_capability(status, number));
        assert_eq!(has("CapPrm:\t0\nCapEff:\t000001ffffffffff\n"), [true, true]);
        assert_eq!(has("CapEff:\t00000000a80425fb\n"), [false, false], "a container's usual set");
        assert_eq!(has("CapEff:\t0000000000004000\n"), [true, false]);
        assert_eq!(has("Name:\tx\n"), [false, false]);
        let limits = "Limit                     Soft Limit           Hard Limit           Units     \n\
                      Max locked memory         65536                65536                bytes     \n";
        assert_eq!(memlock_soft(limits), Some(65_536));
        assert_eq!(memlock_soft("Max locked memory  unlimited  unlimited  bytes\n"), None);
    }
}
