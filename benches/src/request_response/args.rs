//! The command line of the request/response bench.

use std::ffi::OsString;

use lexopt::{Arg, ValueExt};

use crate::run::{self, Mode};

/// What `--help` says.
pub const HELP: &str = "\
Small requests over loopback TCP, one at a time: how many a second, do they stall, in how many pieces do they leave?

Usage: cargo bench --bench request_response -- [OPTIONS]

Options:
      --requests N    Requests of each contender under each setting (default: 2000; quick: 300)
      --length BYTES  Bytes of a request, and of a response, 1 to 16384 (default: 100)
      --quick         A rough run in a few seconds
      --test          Does every contender work? Measures next to nothing and writes nothing
  -h, --help          Prints this

A contender that stalls sends fewer requests: after some seconds it has shown what there is to see.
Writes benches/request_response.json into cargo's target directory.
";

/// The command line, understood.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Args {
    /// How much is to be done.
    pub mode: Mode,
    /// Requests of a contender under a setting.
    pub requests: usize,
    /// Bytes of a request and of a response.
    pub length: usize,
}

impl Args {
    /// Understands a command line without the name of the program; see [`run::parse`].
    ///
    /// # Errors
    ///
    /// Fails on an unknown option, and on numbers that make no sense.
    pub fn parse(arguments: impl IntoIterator<Item = OsString>) -> Result<Option<Args>, lexopt::Error> {
        let (mut requests, mut length) = (None, 100);
        let mode = run::parse(arguments, |option, parser| {
            match option {
                Arg::Long("requests") => requests = Some(parser.value()?.parse_with(|text| number(text, 1_000_000))?),
                Arg::Long("length") => length = parser.value()?.parse_with(|text| number(text, 16_384))?,
                other => return Err(other.unexpected()),
            }
            Ok(())
        })?;
        let usual = |mode| match mode {
            Mode::Full => 2000,
            Mode::Quick => 300,
            Mode::Test => 20,
        };
        Ok(mode.map(|mode| Args { mode, requests: requests.unwrap_or(usual(mode)), length }))
    }
}

fn number(text: &str, most: usize) -> Result<usize, String> {
    let number = text.parse().ok().filter(|number| (1..=most).contains(number));
    number.ok_or_else(|| format!("a number from 1 to {most} is wanted, not {text}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Args, lexopt::Error> {
        Args::parse(line.split_whitespace().map(OsString::from)).map(Option::unwrap)
    }

    #[test]
    fn a_full_run_has_two_thousand_requests_of_a_hundred_bytes() {
        let args = Args { mode: Mode::Full, requests: 2000, length: 100 };
        assert_eq!(parse("--bench").unwrap(), args);
        assert_eq!(parse("").unwrap().mode, Mode::Test);
        let args = parse("--bench --quick --requests 7 --length 16384").unwrap();
        assert_eq!((args.mode, args.requests, args.length), (Mode::Quick, 7, 16_384));
    }

    #[test]
    fn nonsense_is_refused() {
        for line in ["--requests 0", "--requests many", "--length 16385", "--loud", "word"] {
            assert!(parse(line).is_err(), "{line}");
        }
    }
}
