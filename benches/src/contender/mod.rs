//! The contenders: one trait, one file for each library, and the list of them all.

use crate::measure::Direction;
use crate::setting::Setting;
use crate::wire::Wire;

mod arenatls;
mod bare_evp;
mod openssl_membio;
mod openssl_stream;
mod rustls_buffered;
pub(crate) mod rustls_config;
mod rustls_unbuffered;
mod wire_only;

/// Most plaintext in a record (RFC 8446 section 5.1).
pub const MAX_PLAINTEXT: usize = 1 << 14;

/// Room for the biggest record of any version: header, plaintext and expansion (RFC 5246 section 6.2.3).
pub const MAX_RECORD: usize = 5 + MAX_PLAINTEXT + 2048;

/// What a reader does with plaintext where it lies.
pub type Look<'a> = dyn FnMut(&[u8]) + 'a;

/// A connected pair in memory: a client that writes and a server that reads.
///
/// An implementation takes the shortest way that its library documents, with buffers of full size made beforehand.
pub trait Contender {
    /// The client protects `payload`, at most [`MAX_PLAINTEXT`] bytes, as one record and pushes all its ciphertext.
    ///
    /// # Panics
    ///
    /// Panics if the library refuses: there is nothing to measure then.
    fn write(&mut self, payload: &[u8], wire: &mut Wire);

    /// The server pulls the oldest record, opens it and shows the plaintext to `look`, in one piece or several;
    /// returns how many bytes it was.
    ///
    /// # Panics
    ///
    /// Panics if the library refuses, or if the wire holds no whole record.
    fn read(&mut self, wire: &mut Wire, look: &mut Look<'_>) -> usize;

    /// Who protects the records that the client writes, and those that the server reads: arenatls decides that when the
    /// keys appear.
    fn protections(&self) -> Protections {
        Protections { writing: "own".into(), reading: "own".into() }
    }
}

/// Who protects records (`Library`, `Engine`, `Kernel`), by direction; `own` for everybody but arenatls.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Protections {
    /// The client's sending side.
    pub writing: String,
    /// The server's receiving side.
    pub reading: String,
}

impl Protections {
    /// The protection of what is measured in `direction`; both, with a slash, where they differ.
    #[must_use]
    pub fn of(self, direction: Direction) -> String {
        match direction {
            Direction::Write => self.writing,
            Direction::Read => self.reading,
            Direction::Both if self.writing == self.reading => self.writing,
            Direction::Both => format!("{}/{}", self.writing, self.reading),
        }
    }
}

/// An entry of the list of contenders.
#[derive(Debug, Clone, Copy)]
pub struct Subject {
    /// The contender's name in every report.
    pub name: &'static str,
    /// How arenatls is asked to protect records (`Library`, `Engine`); `own` for all others.
    pub protection: &'static str,
    /// The backend of arenatls the pair runs over; `own` for all others.
    pub backend: &'static str,
    /// What the contender is to others.
    pub role: Role,
    /// Makes a connected pair.
    pub connect: Connect,
}

/// What a contender is to others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// arenatls itself.
    Ours,
    /// A rustls: the fastest of these is a reference.
    Rustls,
    /// The `openssl` crate over memory BIOs: a reference.
    OpensslMembio,
    /// Another peer, or a floor: what everybody pays at least.
    Other,
}

/// All contenders, in the order of their turns.
pub const SUBJECTS: &[Subject] = &[
    ours("arenatls", "Library", arenatls::library),
    ours("arenatls", "Engine", arenatls::engine),
    #[cfg(feature = "ring")]
    ours("arenatls-ring", "Engine", arenatls::engine_ring),
    other("rustls-aws-lc-rs-buffered", Role::Rustls, rustls_buffered::connect::<rustls_config::AwsLcRs>),
    other("rustls-aws-lc-rs-unbuffered", Role::Rustls, rustls_unbuffered::connect::<rustls_config::AwsLcRs>),
    other("rustls-ring-buffered", Role::Rustls, rustls_buffered::connect::<rustls_config::Ring>),
    other("rustls-ring-unbuffered", Role::Rustls, rustls_unbuffered::connect::<rustls_config::Ring>),
    other("openssl-membio", Role::OpensslMembio, openssl_membio::connect),
    other("openssl-stream", Role::Other, openssl_stream::connect),
    other("bare-evp", Role::Other, bare_evp::connect),
    other("wire-only", Role::Other, wire_only::connect),
];

/// Finds a contender by its name and protection; of several protections, the first that is listed.
#[must_use]
pub fn find(name: &str, protection: Option<&str>) -> Option<&'static Subject> {
    SUBJECTS.iter().find(|subject| subject.name == name && protection.is_none_or(|wanted| subject.protection == wanted))
}

/// Makes a connected pair.
pub type Connect = fn(&Setting<'_>) -> Box<dyn Contender>;

const fn ours(name: &'static str, protection: &'static str, connect: Connect) -> Subject {
    Subject { name, protection, backend: "memory-bio", role: Role::Ours, connect }
}

const fn other(name: &'static str, role: Role, connect: Connect) -> Subject {
    Subject { name, protection: "own", backend: "own", role, connect }
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use super::*;
    use crate::measure::check;
    use crate::setting::{Parties, Suite};

    #[test]
    fn every_contender_carries_every_size_under_every_suite() {
        let parties = Parties::new();
        let mut wire = Wire::new();
        for suite in Suite::ALL {
            let setting = Setting { suite, parties: &parties };
            for subject in SUBJECTS {
                let mut pair = (subject.connect)(&setting);
                if cfg!(feature = "vendored") {
                    let asked = subject.protection.to_owned();
                    assert_eq!(pair.protections().of(Direction::Both), asked);
                }
                for length in [1, 64, 1024, MAX_PLAINTEXT] {
                    check(&mut *pair, &mut wire, length, subject.name);
                }
            }
        }
    }

    #[test]
    fn nobody_but_the_wire_opens_a_record_that_was_changed() {
        let parties = Parties::new();
        let protecting = |subject: &&Subject| subject.name != "wire-only";
        for suite in Suite::ALL {
            let setting = Setting { suite, parties: &parties };
            for subject in SUBJECTS.iter().filter(protecting) {
                let mut pair = (subject.connect)(&setting);
                let mut wire = Wire::new();
                pair.write(b"genuine", &mut wire);
                wire.spoil();
                let mut shown = 0;
                let read = AssertUnwindSafe(|| pair.read(&mut wire, &mut |piece| shown += piece.len()));
                let refused = catch_unwind(read).is_err();
                assert!(refused && shown == 0, "{} {}, {suite:?}", subject.name, subject.protection);
            }
        }
    }
}
