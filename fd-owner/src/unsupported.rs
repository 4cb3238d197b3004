//! Why there is no ring.

use thiserror::Error;

use crate::Release;

/// Why io_uring cannot be used here. Each says what would help.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Unsupported {
    /// This is not Linux.
    #[error("io_uring is a part of Linux, and this is another system")]
    NotLinux,
    /// The kernel is older than what is asked of it.
    #[error("Linux {release} is too old: {needed} or newer is needed")]
    KernelTooOld {
        /// The kernel there is.
        release: Release,
        /// The oldest that would do.
        needed: Release,
    },
    /// The kernel is new enough and does not know the call: it was built without `CONFIG_IO_URING`.
    #[error("this kernel was built without io_uring (CONFIG_IO_URING)")]
    NotBuiltIn,
    /// The administrator has switched it off.
    #[error("io_uring is switched off: the sysctl kernel.io_uring_disabled is {value}, and {} would allow it", allow(*.value))]
    Sysctl {
        /// 1: only those are refused who have neither CAP_SYS_ADMIN nor the group in `kernel.io_uring_group`; 2: all are.
        value: u8,
    },
    /// A filter of system calls forbids it, or a part of it, as those of container runtimes do.
    #[error(
        "a seccomp filter forbids io_uring; containers need a profile that allows io_uring_setup, _enter, _register"
    )]
    Seccomp,
    /// A ring counts as locked memory of its user, before Linux 5.12 and again in later ones (found with 6.18; with
    /// `CAP_IPC_LOCK` it does not), and the limit leaves no room for it.
    #[error("the kernel has no memory for a ring; the limit on locked memory (ulimit -l) is {}", limit(*.memlock))]
    Memlock {
        /// The limit (bytes); none if it is unlimited or not known.
        memlock: Option<u64>,
    },
    /// Anything else.
    #[error("io_uring_setup failed: {}", std::io::Error::from_raw_os_error(*.errno))]
    Other {
        /// The number of the error.
        errno: i32,
    },
}

fn allow(value: u8) -> &'static str {
    if value == 1 { "0, CAP_SYS_ADMIN or the group kernel.io_uring_group" } else { "0" }
}

fn limit(memlock: Option<u64>) -> String {
    memlock.map_or_else(|| "not known or unlimited".to_owned(), |bytes| format!("{bytes} bytes"))
}

#[cfg(target_os = "linux")]
mod linux {
    use super::Unsupported;
    use crate::Release;
    use crate::kernel::Surroundings;

    /// The first release with `io_uring_setup`.
    const FIRST: Release = Release { major: 5, minor: 1 };
    /// The first release that says what its rings can do (`IORING_REGISTER_PROBE`).
    const PROBE: Release = Release { major: 5, minor: 6 };
    /// The first release with the sysctl: there its absence tells that io_uring is not built in.
    const SYSCTL: Release = Release { major: 6, minor: 6 };

    impl Unsupported {
        /// What `errno` of `io_uring_setup` means here.
        pub(crate) fn setup(errno: i32, here: &Surroundings) -> Unsupported {
            let is_before = |first| here.release.is_some_and(|release| release < first);
            match (errno, here.release, here.disabled) {
                (libc::ENOSYS, Some(release), _) if is_before(FIRST) => {
                    Unsupported::KernelTooOld { release, needed: FIRST }
                }
                (libc::EPERM, _, Some(value @ 1..)) if value != 1 || !(here.filtered && here.admin) => {
                    Unsupported::Sysctl { value }
                }
                (libc::ENOSYS, Some(_), None) if !is_before(SYSCTL) => Unsupported::NotBuiltIn,
                (libc::EPERM | libc::EACCES | libc::ENOSYS, ..) if here.filtered => Unsupported::Seccomp,
                (libc::ENOSYS, _, None) => Unsupported::NotBuiltIn,
                (libc::ENOMEM, ..) if here.memlock.is_some() && !here.may_lock => {
                    Unsupported::Memlock { memlock: here.memlock }
                }
                _ => Unsupported::Other { errno },
            }
        }

        /// What `errno` of `IORING_REGISTER_PROBE` means here.
        pub(crate) fn probe(errno: i32, here: &Surroundings) -> Unsupported {
            match here.release {
                Some(release) if errno == libc::EINVAL && release < PROBE => {
                    Unsupported::KernelTooOld { release, needed: PROBE }
                }
                _ => Unsupported::setup(errno, here),
            }
        }
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        const NEW: Surroundings = Surroundings {
            release: Some(Release { major: 6, minor: 8 }),
            disabled: Some(0),
            filtered: false,
            admin: false,
            may_lock: false,
            memlock: None,
        };

        fn old(minor: u32) -> (Release, Surroundings) {
            let release = Release { major: 5, minor };
            (release, Surroundings { release: Some(release), disabled: None, ..NEW })
        }

        #[test]
        fn an_old_kernel_is_told_from_one_without() {
            let (release, here) = old(0);
            assert_eq!(Unsupported::setup(libc::ENOSYS, &here), Unsupported::KernelTooOld { release, needed: FIRST });
            let (release, here) = old(5);
            assert_eq!(Unsupported::setup(libc::ENOSYS, &here), Unsupported::NotBuiltIn);
            assert_eq!(Unsupported::probe(libc::EINVAL, &here), Unsupported::KernelTooOld { release, needed: PROBE });
            assert_eq!(Unsupported::probe(libc::EINVAL, &NEW), Unsupported::Other { errno: libc::EINVAL });
        }

        #[test]
        fn the_sysctl_tells_a_kernel_without_from_a_filter() {
            let without = Surroundings { disabled: None, ..NEW };
            for filtered in [false, true] {
                let here = Surroundings { filtered, ..without };
                assert_eq!(Unsupported::setup(libc::ENOSYS, &here), Unsupported::NotBuiltIn);
            }
            let (_, older) = old(15);
            let here = Surroundings { filtered: true, ..older };
            assert_eq!(Unsupported::setup(libc::ENOSYS, &here), Unsupported::Seccomp, "it cannot be known there");
            // It is built in, and no filter is to be seen.
            assert_eq!(Unsupported::setup(libc::ENOSYS, &NEW), Unsupported::Other { errno: libc::ENOSYS });
        }

        #[test]
        fn the_three_that_forbid_are_told_apart() {
            for value in [1, 2] {
                let here = Surroundings { disabled: Some(value), filtered: true, ..NEW };
                assert_eq!(Unsupported::setup(libc::EPERM, &here), Unsupported::Sysctl { value });
                let here = Surroundings { disabled: Some(value), admin: true, ..NEW };
                assert_eq!(Unsupported::setup(libc::EPERM, &here), Unsupported::Sysctl { value }, "of a namespace");
            }
            let here = Surroundings { disabled: Some(1), filtered: true, admin: true, ..NEW };
            assert_eq!(
                Unsupported::setup(libc::EPERM, &here),
                Unsupported::Seccomp,
                "1 does not refuse the privileged"
            );
            let here = Surroundings { filtered: true, ..NEW };
            assert_eq!(Unsupported::setup(libc::EPERM, &here), Unsupported::Seccomp);
            assert_eq!(Unsupported::setup(libc::ENOSYS, &here), Unsupported::Seccomp);
            assert_eq!(Unsupported::setup(libc::EACCES, &NEW), Unsupported::Other { errno: libc::EACCES });
        }

        #[test]
        fn too_little_memory_names_the_limit_where_there_is_one() {
            let here = Surroundings { memlock: Some(65_536), ..NEW };
            let why = Unsupported::setup(libc::ENOMEM, &here);
            assert_eq!(why, Unsupported::Memlock { memlock: Some(65_536) });
            assert!(why.to_string().ends_with("is 65536 bytes"), "{why}");
            let none = Unsupported::Other { errno: libc::ENOMEM };
            assert_eq!(Unsupported::setup(libc::ENOMEM, &NEW), none);
            assert_eq!(Unsupported::setup(libc::ENOMEM, &Surroundings { may_lock: true, ..here }), none);
        }
    }
}
