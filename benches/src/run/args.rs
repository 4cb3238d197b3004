//! A command line of few options.

use std::ffi::OsString;

use lexopt::{Arg, Parser, ValueExt};
use regex_lite::Regex;

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

/// Understands `--bench`, `--test`, `--quick` and `--help`, and gives whatever else it meets to `own`. Returns nothing
/// if only the help is wanted.
///
/// Cargo adds `--bench` to what `cargo bench` runs. Without it a bench is run as a test, as criterion does too, unless
/// a mode is asked for.
///
/// # Errors
///
/// Fails on a value for an option that has none, and as `own` does.
pub fn parse(
    arguments: impl IntoIterator<Item = OsString>,
    mut own: impl FnMut(Arg<'_>, &mut Parser) -> Result<(), lexopt::Error>,
) -> Result<Option<Mode>, lexopt::Error> {
    let mut parser = Parser::from_args(arguments);
    let (mut benched, mut mode, mut help) = (false, None, false);
    while let Some(argument) = parser.next()? {
        match argument {
            Arg::Long("bench") => benched = true,
            Arg::Long("quick") => mode = mode.or(Some(Mode::Quick)),
            Arg::Long("test") => mode = Some(Mode::Test),
            Arg::Long("help") | Arg::Short('h') => help = true,
            Arg::Long(name) => {
                // The name is lent by the parser, which `own` needs for the value.
                let name = name.to_owned();
                own(Arg::Long(&name), &mut parser)?;
            }
            Arg::Short(letter) => own(Arg::Short(letter), &mut parser)?,
            Arg::Value(value) => own(Arg::Value(value), &mut parser)?,
        }
    }
    let usual = if benched { Mode::Full } else { Mode::Test };
    Ok((!help).then(|| mode.unwrap_or(usual)))
}

/// The command line of a bench that has `--only` besides.
#[derive(Debug)]
pub struct Args {
    /// How much is to be done.
    pub mode: Mode,
    /// Which rows, by their label: group and contender.
    pub only: Option<Regex>,
}

impl Args {
    /// Understands `--only REGEX`, and what all understand; see [`parse`].
    ///
    /// # Errors
    ///
    /// Fails on an unknown option or a bad pattern.
    pub fn parse(arguments: impl IntoIterator<Item = OsString>) -> Result<Option<Self>, lexopt::Error> {
        let mut only = None;
        let mode = parse(arguments, |option, parser| {
            match option {
                Arg::Long("only") => only = Some(parser.value()?.parse_with(Regex::new)?),
                other => return Err(other.unexpected()),
            }
            Ok(())
        })?;
        Ok(mode.map(|mode| Self { mode, only }))
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
        Args::parse(line.split_whitespace().map(OsString::from)).map(Option::unwrap)
    }

    #[test]
    fn cargo_bench_means_a_full_run_and_cargo_test_a_test() {
        assert_eq!(parse("--bench").unwrap().mode, Mode::Full);
        assert_eq!(parse("--bench --quick").unwrap().mode, Mode::Quick);
        assert_eq!(parse("--bench --quick --test").unwrap().mode, Mode::Test);
        assert_eq!(parse("").unwrap().mode, Mode::Test);
        assert!(Args::parse(["--bench", "--help"].map(OsString::from)).unwrap().is_none());
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
