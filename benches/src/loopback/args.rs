//! The bench's command line.

use std::ffi::OsString;

use lexopt::{Arg, ValueExt};
use regex_lite::Regex;

use crate::run::{self, Mode};

/// What `--help` says.
pub const HELP: &str = "\
What a request costs a TLS server's processor: 1 KiB there and back over loopback TCP.

Usage: cargo bench --bench loopback -- [OPTIONS]

Options:
      --quick              A rough run in half a minute
      --only REGEX         Only the rows whose label matches; a label reads `server work connections`, as in
                           `tokio-rustls requests 64`; works are requests, receive and send
      --connections LIST   Connections that ask at the same time, with commas (default: 1,64,1000)
      --idle NUMBER        Also 100 connections that ask beside this many that only are there
      --test               Does every row work? Measures next to nothing and writes no report
  -h, --help               Prints this

Writes benches/loopback.json into cargo's target directory.
";

/// Most connections at a time.
const MOST: usize = 20_000;

/// The command line, understood.
#[derive(Debug)]
pub struct Args {
    /// How much is to be done.
    pub mode: Mode,
    /// Which rows.
    pub only: Option<Regex>,
    /// How many connections ask.
    pub connections: Vec<usize>,
    /// How many only are there, in the part that has such.
    pub idle: Option<usize>,
}

impl Args {
    /// Understands a command line without the name of the program; see [`run::parse`].
    ///
    /// # Errors
    ///
    /// Fails on an unknown option, a bad pattern or a bad number of connections.
    pub fn parse(arguments: impl IntoIterator<Item = OsString>) -> Result<Option<Self>, lexopt::Error> {
        let (mut only, mut asking, mut idle) = (None, Vec::new(), None);
        let mode = run::parse(arguments, |option, parser| {
            match option {
                Arg::Long("only") => only = Some(parser.value()?.parse_with(Regex::new)?),
                Arg::Long("connections") => asking = parser.value()?.parse_with(connections)?,
                Arg::Long("idle") => idle = Some(parser.value()?.parse_with(number)?),
                other => return Err(other.unexpected()),
            }
            Ok(())
        })?;
        let Some(mode) = mode else { return Ok(None) };
        let test = mode == Mode::Test;
        if asking.is_empty() {
            asking = if test { vec![1, 8] } else { vec![1, 64, 1000] };
        }
        Ok(Some(Self { mode, only, connections: asking, idle: idle.or(test.then_some(5)) }))
    }

    /// Whether the row of this label is wanted.
    #[must_use]
    pub fn wants(&self, label: &str) -> bool {
        self.only.as_ref().is_none_or(|only| only.is_match(label))
    }
}

fn connections(list: &str) -> Result<Vec<usize>, String> {
    list.split(',').map(number).collect()
}

fn number(text: &str) -> Result<usize, String> {
    let number = text.parse().ok().filter(|number| (1..=MOST).contains(number));
    number.ok_or_else(|| format!("{text:?} is not a number of connections from 1 to {MOST}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Args, lexopt::Error> {
        Args::parse(line.split_whitespace().map(OsString::from)).map(Option::unwrap)
    }

    #[test]
    fn modes_and_rows_are_selected() {
        let args = parse("--bench --only ^tokio --connections 2,3 --idle 10").unwrap();
        assert_eq!((args.mode, &args.connections[..], args.idle), (Mode::Full, &[2, 3][..], Some(10)));
        assert!(args.wants("tokio-rustls requests 2") && !args.wants("bare ring requests 2"));
        assert_eq!(parse("").unwrap().mode, Mode::Test);
        assert_eq!(parse("--bench --quick").unwrap().connections, [1, 64, 1000]);
    }

    #[test]
    fn nonsense_is_refused() {
        for line in ["--connections 0", "--connections 1,,2", "--connections 20001", "--idle many", "--only [", "word"]
        {
            assert!(parse(line).is_err(), "{line}");
        }
    }
}
