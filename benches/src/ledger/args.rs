//! The ledger's command line.

use std::ffi::OsString;

use lexopt::{Arg, ValueExt};
use regex_lite::Regex;

use crate::run::{self, Mode};
use crate::setting::Suite;

/// What `--help` says.
pub const HELP: &str = "\
What a TLS record costs: time, allocations, copies.

Usage: cargo bench --bench ledger -- [OPTIONS]

Options:
      --quick         A rough run in a few seconds
      --only REGEX    Only the rows whose label matches; a label reads
                      `contender protection backend version suite payload direction transport`, as in
                      `openssl-membio own own TLSv1.3 tls13-aes128 1024 both memory`
      --suite LIST    Version and suite, or several with commas, or `all` (default: tls13-aes128)
                      tls13-aes128 tls13-aes256 tls13-chacha20 tls12-aes128 tls12-aes256 tls12-chacha20
      --test          Does every row work? Measures next to nothing and writes no report
  -h, --help          Prints this

Writes ledger.json and ledger.md into cargo's target directory.
";

/// The command line, understood.
#[derive(Debug)]
pub struct Args {
    /// How much is to be done.
    pub mode: Mode,
    /// Which rows.
    pub only: Option<Regex>,
    /// Which suites.
    pub suites: Vec<Suite>,
}

impl Args {
    /// Understands a command line without the name of the program; see [`run::parse`].
    ///
    /// # Errors
    ///
    /// Fails on an unknown option, a bad pattern or an unknown suite.
    pub fn parse(arguments: impl IntoIterator<Item = OsString>) -> Result<Option<Self>, lexopt::Error> {
        let (mut only, mut chosen) = (None, vec![Suite::ALL[0]]);
        let mode = run::parse(arguments, |option, parser| {
            match option {
                Arg::Long("only") => only = Some(parser.value()?.parse_with(Regex::new)?),
                Arg::Long("suite") => chosen = parser.value()?.parse_with(suites)?,
                other => return Err(other.unexpected()),
            }
            Ok(())
        })?;
        Ok(mode.map(|mode| Self { mode, only, suites: chosen }))
    }
}

fn suites(list: &str) -> Result<Vec<Suite>, String> {
    if list == "all" {
        return Ok(Suite::ALL.to_vec());
    }
    list.split(',').map(suite).collect()
}

fn suite(name: &str) -> Result<Suite, String> {
    let known = Suite::ALL.into_iter().find(|suite| suite.short() == name);
    known.ok_or_else(|| format!("no suite is called {name}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Args, lexopt::Error> {
        Args::parse(line.split_whitespace().map(OsString::from)).map(Option::unwrap)
    }

    #[test]
    fn rows_and_suites_are_selected() {
        let args = parse("--only ^rustls --suite tls12-aes128,tls13-chacha20").unwrap();
        assert!(args.only.unwrap().is_match("rustls-ring-buffered"));
        assert_eq!(args.suites.len(), 2);
        assert_eq!(parse("--suite all").unwrap().suites, Suite::ALL);
    }

    #[test]
    fn nonsense_is_refused() {
        for line in ["--suite tls14", "--only [", "--loud", "word"] {
            assert!(parse(line).is_err(), "{line}");
        }
    }
}
