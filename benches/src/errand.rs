//! One contender alone, sending a number of records there: for the small programs that confirm the ledger's counts.

use std::ffi::OsString;

use lexopt::{Arg, Parser, ValueExt};

use crate::contender::{Contender, MAX_PLAINTEXT, Subject, find};
use crate::measure::{Direction, Instrument, Stopwatch, check, run};
use crate::payload;
use crate::setting::{Parties, Setting, Suite};
use crate::wire::Wire;

/// What the command line of an errand is.
const USAGE: &str = "--contender NAME [--protection NAME] [--payload BYTES] [--records NUMBER]";

/// Records before the instrument watches.
const WARM_UP: usize = 64;

/// Who is to send what, over TLS 1.3 with AES-128-GCM: written, carried and read.
#[derive(Debug)]
pub struct Errand {
    subject: &'static Subject,
    payload: usize,
    records: usize,
}

impl Errand {
    /// Understands a command line without the name of the program.
    ///
    /// # Errors
    ///
    /// Fails if an option or the contender is not known.
    pub fn parse(arguments: impl IntoIterator<Item = OsString>) -> Result<Self, lexopt::Error> {
        let mut parser = Parser::from_args(arguments);
        let (mut name, mut protection) = (None, None);
        let (mut payload, mut records) = (1024, 100);
        while let Some(argument) = parser.next()? {
            match argument {
                Arg::Long("contender") => name = Some(parser.value()?.string()?),
                Arg::Long("protection") => protection = Some(parser.value()?.string()?),
                Arg::Long("payload") => payload = parser.value()?.parse()?,
                Arg::Long("records") => records = parser.value()?.parse()?,
                other => return Err(other.unexpected()),
            }
        }
        let name = name.ok_or(USAGE)?;
        let subject = find(&name, protection.as_deref()).ok_or("there is no such contender")?;
        if !(1..=MAX_PLAINTEXT).contains(&payload) {
            return Err("a payload fits one record".into());
        }
        Ok(Self { subject, payload, records })
    }

    /// Makes the pair, warms it up, and sends the records with `instrument` on, which it returns.
    ///
    /// # Panics
    ///
    /// Panics if the contender does not work.
    pub fn run<I: Instrument>(&self, mut instrument: I) -> I {
        let parties = Parties::new();
        let setting = Setting { suite: Suite::ALL[0], parties: &parties };
        let mut pair: Box<dyn Contender> = (self.subject.connect)(&setting);
        let mut wire = Wire::new();
        check(&mut *pair, &mut wire, self.payload, self.subject.name);
        let payload = payload::of(self.payload);
        run(Direction::Both, &mut *pair, &mut wire, &payload, WARM_UP, &mut Stopwatch::new());
        run(Direction::Both, &mut *pair, &mut wire, &payload, self.records, &mut instrument);
        instrument
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_errand_is_understood_or_refused() {
        let parse = |line: &str| Errand::parse(line.split_whitespace().map(OsString::from));
        let errand = parse("--contender wire-only --payload 64 --records 5").unwrap();
        assert_eq!((errand.subject.name, errand.payload, errand.records), ("wire-only", 64, 5));
        for line in ["", "--contender nobody", "--contender wire-only --payload 0", "--fast"] {
            assert!(parse(line).is_err(), "{line}");
        }
    }
}
