//! What there is to measure: groups of rows that may be compared with one another.

use crate::contender::{Carrier, MAX_PLAINTEXT, SUBJECTS, Subject};
use crate::measure::Direction;
use crate::setting::Suite;

/// Sizes of payload, in bytes.
const PAYLOADS: [usize; 3] = [64, 1024, MAX_PLAINTEXT];

/// What carries the ciphertext of a group's rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Transport {
    /// A wire in memory.
    Memory,
    /// TCP over the loopback interface, both ends in one thread.
    Loopback,
}

impl Transport {
    /// The transport as reports spell it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::Loopback => "loopback",
        }
    }

    /// Which directions can be measured: what is in a socket cannot be put aside while one end is at work.
    fn directions(self) -> &'static [Direction] {
        match self {
            Self::Memory => &Direction::ALL,
            Self::Loopback => &[Direction::Both],
        }
    }

    fn carries(self, subject: &Subject) -> bool {
        match subject.carrier {
            Carrier::Wire => true,
            Carrier::Memory => self == Self::Memory,
            Carrier::Sockets | Carrier::Ring => self == Self::Loopback && subject.carrier.is_here(),
        }
    }
}

/// Rows that take turns: the same suite, transport, payload and direction, one row for each contender.
#[derive(Debug, Clone)]
pub struct Group {
    /// Version and suite.
    pub suite: Suite,
    /// What carries the ciphertext.
    pub transport: Transport,
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
        let Self { suite, transport, payload, direction, .. } = self;
        let (version, name) = (suite.version_name(), suite.openssl());
        format!("{version} {name}, {}, {payload} B, {}", transport.name(), direction.name())
    }
}

/// All groups over `suites`, with the rows whose label `wanted` accepts. Groups without rows are left out.
///
/// A row's label reads `contender protection backend version suite payload direction transport`, as in
/// `openssl-membio own own TLSv1.3 tls13-aes128 1024 both memory`.
#[must_use]
pub fn plan(suites: &[Suite], wanted: impl Fn(&str) -> bool) -> Vec<Group> {
    let mut groups = Vec::new();
    for &suite in suites {
        for transport in [Transport::Memory, Transport::Loopback] {
            for payload in PAYLOADS {
                for &direction in transport.directions() {
                    let mut group = Group { suite, transport, payload, direction, subjects: Vec::new() };
                    let with = |subject: &&Subject| {
                        transport.carries(subject) && (subject.speaks)(suite) && wanted(&label(subject, &group))
                    };
                    group.subjects = SUBJECTS.iter().filter(with).collect();
                    groups.push(group);
                }
            }
        }
    }
    groups.retain(|group| !group.subjects.is_empty());
    groups
}

fn label(subject: &Subject, group: &Group) -> String {
    let Subject { name, protection, backend, .. } = subject;
    let Group { suite, transport, payload, direction, .. } = group;
    let (version, short) = (suite.version_name(), suite.short());
    format!("{name} {protection} {backend} {version} {short} {payload} {} {}", direction.name(), transport.name())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_selects_a_row() {
        let wanted = "openssl-membio own own TLSv1.3 tls13-aes128 1024 both memory";
        let groups = plan(&Suite::ALL, |label| label == wanted);
        assert_eq!(groups.len(), 1);
        assert_eq!(groups[0].subjects[0].name, "openssl-membio");
        assert_eq!(groups[0].transport, Transport::Memory);
        assert_eq!(groups[0].title(), "TLSv1.3 TLS_AES_128_GCM_SHA256, memory, 1024 B, both");
    }
}
