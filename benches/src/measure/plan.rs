//! What there is to measure: groups of rows that may be compared with one another.

use crate::contender::{MAX_PLAINTEXT, SUBJECTS, Subject};
use crate::measure::Direction;
use crate::setting::Suite;

/// Sizes of payload, in bytes.
const PAYLOADS: [usize; 3] = [64, 1024, MAX_PLAINTEXT];

/// Rows that take turns: the same suite, payload and direction, one row for each contender.
#[derive(Debug, Clone)]
pub struct Group {
    /// Version and suite.
    pub suite: Suite,
    /// Bytes of plaintext in a record.
    pub payload: usize,
    /// Which end's work is measured.
    pub direction: Direction,
    /// Who takes turns.
    pub subjects: Vec<&'static Subject>,
}

impl Group {
    /// The group as reports head it.
    #[must_use]
    pub fn title(&self) -> String {
        let Self { suite, payload, direction, .. } = self;
        let (version, name) = (suite.version_name(), suite.openssl());
        format!("{version} {name}, {payload} B, {}", direction.name())
    }
}

/// All groups over `suites`, with the rows whose label `wanted` accepts. Groups without rows are left out.
///
/// A row's label reads `contender protection backend version suite payload direction`, as in
/// `openssl-membio own own TLSv1.3 tls13-aes128 1024 both`.
#[must_use]
pub fn plan(suites: &[Suite], wanted: impl Fn(&str) -> bool) -> Vec<Group> {
    let mut groups = Vec::new();
    for &suite in suites {
        for payload in PAYLOADS {
            for direction in Direction::ALL {
                let with =
                    |subject: &&Subject| (subject.speaks)(suite) && wanted(&label(subject, suite, payload, direction));
                let subjects: Vec<_> = SUBJECTS.iter().filter(with).collect();
                groups.push(Group { suite, payload, direction, subjects });
            }
        }
    }
    groups.retain(|group| !group.subjects.is_empty());
    groups
}

fn label(subject: &Subject, suite: Suite, payload: usize, direction: Direction) -> String {
    let Subject { name, protection, backend, .. } = subject;
    let (version, short, direction) = (suite.version_name(), suite.short(), direction.name());
    format!("{name} {protection} {backend} {version} {short} {payload} {direction}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_selects_a_row() {
        let wanted = "openssl-membio own own TLSv1.3 tls13-aes128 1024 both";
        let groups = plan(&Suite::ALL, |label| label == wanted);
        assert_eq!(groups.len(), 1);
        assert_eq!(groups[0].subjects[0].name, "openssl-membio");
        assert_eq!(groups[0].title(), "TLSv1.3 TLS_AES_128_GCM_SHA256, 1024 B, both");
    }
}
