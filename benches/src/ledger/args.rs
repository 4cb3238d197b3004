//! The ledger's command line.

use std::ffi::OsString;

use lexopt::{Arg, Parser, ValueExt};
use regex_lite::Regex;

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

/// How much is to be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// A proper run.
    Full,
    /// A rough run.
    Quick,
    /// Only whether everything works.
    Test,
}

/// The command line, understood.
#[derive(Debug)]
pub struct Args {
    /// How much is to be done.
    pub mode: Mode,
    /// Which rows.
    pub only: Option<Regex>,
    /// Which suites.
    pub suites: Vec<Suite>,
    /// Whether only the help is wanted.
    pub help: bool,
}

impl Args {
    /// Understands a command line without the name of the program.
    ///
    /// Cargo adds `--bench` to what `cargo bench` runs. Without it a bench is run as a test, as criterion does too,
    /// unless a mode is asked for.
    ///
    /// # Errors
    ///
    /// Fails on an unknown option, a bad pattern or an unknown suite.
    pub fn parse(arguments: impl IntoIterator<Item = OsString>) -> Result<Self, lexopt::Error> {
        let mut parser = Parser::from_args(arguments);
        let mut args = Self { mode: Mode::Test, only: None, suites: vec![Suite::ALL[0]], help: false };
        let (mut benched, mut mode) = (false, None);
        while let Some(argument) = parser.next()? {
            match argument {
                Arg::Long("bench") => benched = true,
                Arg::Long("quick") => mode = mode.or(Some(Mode::Quick)),
                Arg::Long("test") => mode = Some(Mode::Test),
                Arg::Long("only") => args.only = Some(parser.value()?.parse_with(Regex::new)?),
                Arg::Long("suite") => args.suites = parser.value()?.parse_with(suites)?,
                Arg::Long("help") | Arg::Short('h') => args.help = true,
                other => return Err(other.unexpected()),
            }
        }
        args.mode = mode.unwrap_or(if benched { Mode::Full } else { Mode::Test });
        Ok(args)
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
        Args::parse(line.split_whitespace().map(OsString::from))
    }

    #[test]
    fn cargo_bench_means_a_full_run_and_cargo_test_a_test() {
        assert_eq!(parse("--bench").unwrap().mode, Mode::Full);
        assert_eq!(parse("--bench --quick").unwrap().mode, Mode::Quick);
        assert_eq!(parse("--bench --quick --test").unwrap().mode, Mode::Test);
        assert_eq!(parse("").unwrap().mode, Mode::Test);
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
