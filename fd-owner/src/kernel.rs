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
            Surroundings {
                release: release_text().and_then(|text| Release::parse(&text)),
                disabled: text("/proc/sys/kernel/io_uring_disabled").and_then(|text| text.trim().parse().ok()),
                filtered: text("/proc/thread-self/status")
                    .is_some_and(|status| super::seccomp_mode(&status) == Some(2)),
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
        let limits = "Limit                     Soft Limit           Hard Limit           Units     \n\
                      Max locked memory         65536                65536                bytes     \n";
        assert_eq!(memlock_soft(limits), Some(65_536));
        assert_eq!(memlock_soft("Max locked memory  unlimited  unlimited  bytes\n"), None);
    }
}
