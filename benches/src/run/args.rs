//! A command line of few options.

use std::ffi::OsString;

use lexopt::{Arg, Parser, ValueExt};
use regex_lite::Regex;

use super::Mode;

/// The command line, understood.
#[derive(Debug)]
pub struct Args {
    /// How much is to be done.
    pub mode: Mode,
    /// Which rows, by their label: group and contender.
    pub only: Option<Regex>,
    /// Whether only the help is wanted.
    pub help: bool,
}

impl Args {
    /// Understands `--bench`, `--test`, `--quick`, `--only REGEX` and `--help`.
    ///
    /// Cargo adds `--bench` to what `cargo bench` runs. Without it a bench is run as a test, as criterion does too, unless
    /// a mode is asked for.
    ///
    /// # Errors
    ///
    /// Fails on an unknown option or a bad pattern.
    pub fn parse(arguments: impl IntoIterator<Item = OsString>) -> Result<Self, lexopt::Error> {
        let mut parser = Parser::from_args(arguments);
        let mut args = Self { mode: Mode::Test, only: None, help: false };
        let (mut benched, mut mode) = (false, None);
        while let Some(argument) = parser.next()? {
            match argument {
                Arg::Long("bench") => benched = true,
                Arg::Long("quick") => mode = mode.or(Some(Mode::Quick)),
                Arg::Long("test") => mode = Some(Mode::Test),
                Arg::Long("only") => args.only = Some(parser.value()?.parse_with(Regex::new)?),
                Arg::Long("help") | Arg::Short('h') => args.help = true,
                other => return Err(other.unexpected()),
            }
        }
        args.mode = mode.unwrap_or(if benched { Mode::Full } else { Mode::Test });
        Ok(args)
    }

    /// Whether the row with this label is wanted.
    #[must_use]
    pub fn wants(&self, label: &str) -> bool {
        self.only.as_ref().is_none_or(|only| only.is_match(label))
    }

    /// One of three things, by how much is to be done.
    #[must_use]
    pub fn choose<T>(&self, full: T, quick: T, test: T) -> T {
        match self.mode {
            Mode::Full => full,
            Mode::Quick => quick,
            Mode::Test => test,
        }
    }
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
    fn rows_are_selected_and_nonsense_is_refused() {
        let args = parse("--only ^TLS.*s2n").unwrap();
        assert!(args.wants("TLS 1.3 s2n-tls") && !args.wants("TLS 1.3 arenatls"));
        for line in ["--only [", "--loud", "word"] {
            assert!(parse(line).is_err(), "{line}");
        }
    }
}
