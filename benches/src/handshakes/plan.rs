//! Who shakes hands, and on which terms.

use super::course::{Course, course};
use crate::ends::{
    Arenatls, AwsLcRs, Certificate, Engine, Group, Kit, Library, Openssl, Parties, Ring, Rustls, S2nTls, Terms, Usual,
};
use crate::run::Args;
use crate::setting::Version;

/// An entry of the list of contenders.
#[derive(Debug, Clone, Copy)]
pub(super) struct Subject {
    pub(super) name: &'static str,
    pub(super) ours: bool,
    pub(super) can: fn(&Terms) -> bool,
    pub(super) course: fn(&Terms, &Parties) -> Box<dyn Course>,
}

/// The contender that others are compared with.
pub(super) const REFERENCE: &str = "openssl-membio";

const SUBJECTS: [Subject; 6] = [
    Subject { ours: true, ..subject::<Arenatls<Engine>>("arenatls Engine") },
    Subject { ours: true, ..subject::<Arenatls<Library>>("arenatls Library") },
    subject::<Openssl<Usual>>(REFERENCE),
    subject::<Rustls<AwsLcRs>>("rustls-aws-lc-rs"),
    subject::<Rustls<Ring>>("rustls-ring"),
    subject::<S2nTls>("s2n-tls"),
];

const fn subject<K: Kit + 'static>(name: &'static str) -> Subject {
    Subject { name, ours: false, can: K::can, course: course::<K> }
}

/// Rows that may be compared with each other.
#[derive(Debug)]
pub(super) struct Heat {
    pub(super) terms: Terms,
    pub(super) subjects: Vec<Subject>,
    /// Whether it is run in several threads, too.
    pub(super) raced: bool,
}

impl Heat {
    /// "TLS 1.3, P-256, X25519, full".
    pub(super) fn title(&self) -> String {
        let Terms { version, certificate, group, resumption } = self.terms;
        let version = if version == Version::Tls13 { "TLS 1.3" } else { "TLS 1.2" };
        let kind = if resumption { "resumed" } else { "full" };
        format!("{version}, {}, {}, {kind}", certificate.name(), group.name())
    }
}

/// All that is wanted.
pub(super) fn plan(args: &Args) -> Vec<Heat> {
    let mut heats: Vec<Heat> =
        terms().into_iter().map(|(terms, raced)| Heat { terms, subjects: Vec::new(), raced }).collect();
    for heat in &mut heats {
        let title = heat.title();
        let wanted =
            |subject: &&Subject| (subject.can)(&heat.terms) && args.wants(&format!("{title} {}", subject.name));
        heat.subjects = SUBJECTS.iter().filter(wanted).copied().collect();
    }
    heats.retain(|heat| !heat.subjects.is_empty());
    heats
}

/// The usual terms first; with each, whether it is run in several threads, too.
fn terms() -> Vec<(Terms, bool)> {
    let mut all = Vec::new();
    for version in [Version::Tls13, Version::Tls12] {
        for certificate in [Certificate::P256, Certificate::Rsa2048] {
            for resumption in [false, true] {
                let raced = certificate == Certificate::P256;
                all.push((Terms { version, certificate, group: Group::X25519, resumption }, raced));
            }
        }
    }
    for resumption in [false, true] {
        all.push((Terms { group: Group::X25519Mlkem768, resumption, ..Terms::USUAL }, false));
    }
    all
}
