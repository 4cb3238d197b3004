//! What this kernel can do.

use std::fmt;

use crate::{Feature, Unsupported};

/// What io_uring and TCP of the running kernel can do, as found by asking and trying.
///
/// `Display` prints a table.
#[derive(Clone, PartialEq, Eq)]
pub struct Capabilities {
    kernel: String,
    /// One answer for each of [`Feature::ALL`].
    has: [bool; Feature::ALL.len()],
}

impl Capabilities {
    /// Makes a small ring, asks it what it knows, and makes others to try the flags that can only be tried. All are
    /// gone when it returns.
    ///
    /// # Errors
    ///
    /// If there can be no ring at all: why not.
    pub fn probe() -> Result<Capabilities, Unsupported> {
        #[cfg(target_os = "linux")]
        return crate::ring::probe();
        #[cfg(not(target_os = "linux"))]
        Err(Unsupported::NotLinux)
    }

    /// Whether the kernel has `feature`.
    pub fn has(&self, feature: Feature) -> bool {
        Feature::ALL.iter().zip(self.has).any(|(known, has)| *known == feature && has)
    }

    /// The kernel, as `uname -r` names it.
    pub fn kernel(&self) -> &str {
        &self.kernel
    }

    #[cfg(any(target_os = "linux", test))]
    pub(crate) fn new(kernel: String, has: impl Fn(Feature) -> bool) -> Capabilities {
        Capabilities { kernel, has: Feature::ALL.map(has) }
    }
}

impl fmt::Debug for Capabilities {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let has: Vec<_> = Feature::ALL.into_iter().filter(|feature| self.has(*feature)).collect();
        f.debug_struct("Capabilities").field("kernel", &self.kernel).field("has", &has).finish()
    }
}

impl fmt::Display for Capabilities {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{:26} {:>5}  Linux {}", "", "since", self.kernel)?;
        for feature in Feature::ALL {
            let answer = if self.has(feature) { "yes" } else { "no" };
            writeln!(f, "{feature:26} {:>5}  {answer}", feature.since())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_has_a_line_for_every_feature() {
        let capabilities = Capabilities::new("6.0.1".to_owned(), |feature| feature != Feature::DeferTaskrun);
        let table = capabilities.to_string();
        assert_eq!(table.lines().count(), 1 + Feature::ALL.len(), "{table}");
        assert!(table.starts_with("                           since  Linux 6.0.1\n"), "{table}");
        assert!(table.contains("\nsend without copy            6.0  yes\n"), "{table}");
        assert!(table.contains("\nsetup DEFER_TASKRUN          6.1  no\n"), "{table}");
    }

    #[test]
    fn this_machine_answers() {
        match Capabilities::probe() {
            Ok(capabilities) => {
                println!("{capabilities}");
                // A kernel that defers work to one issuer knows both halves of that, and all that came before.
                if capabilities.has(Feature::DeferTaskrun) {
                    for older in [Feature::SingleIssuer, Feature::CoopTaskrun, Feature::SendRecv, Feature::Timeout] {
                        assert!(capabilities.has(older), "{older}");
                    }
                }
            }
            Err(why) => eprintln!("SKIPPED: nothing to look at, for there is no ring here: {why}"),
        }
    }

    #[test]
    fn probing_leaves_nothing_open() {
        let Ok(before) = descriptors() else {
            eprintln!("SKIPPED: this system does not list a process's open descriptors");
            return;
        };
        for _ in 0..100 {
            drop(Capabilities::probe());
        }
        // Tests beside this one may hold a few.
        let after = descriptors().unwrap();
        assert!(after < before + 50, "{before} open before, {after} after");
    }

    fn descriptors() -> std::io::Result<usize> {
        Ok(std::fs::read_dir("/proc/self/fd")?.count())
    }
}
