//! The bench's command line.

use std::ffi::OsString;

use lexopt::{Arg, Parser, ValueExt};
use regex_lite::Regex;

pub use crate::ledger::Mode;

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
    /// Whether only the help is wanted.
    pub help: bool,
}

impl Args {
    /// Understands a command line without the name of the program; see [`ledger::Args`](crate::ledger::Args::parse).
    ///
    /// # Errors
    ///
    /// Fails on an unknown option, a bad pattern or a bad number of connections.
    pub fn parse(arguments: impl IntoIterator<Item = OsString>) -> Result<Self, lexopt::Error> {
        let mut parser = Parser::from_args(arguments);
        let mut args = Self { mode: Mode::Test, only: None, connections: Vec::new(), idle: None, help: false };
        let (mut benched, mut mode) = (false, None);
        while let Some(argument) = parser.next()? {
            match argument {
                Arg::Long("bench") => benched = true,
                Arg::Long("quick") => mode = mode.or(Some(Mode::Quick)),
                Arg::Long("test") => mode = Some(Mode::Test),
                Arg::Long("only") => args.only = Some(parser.value()?.parse_with(Regex::new)?),
                Arg::Long("connections") => args.connections = parser.value()?.parse_with(connections)?,
                Arg::Long("idle") => args.idle = Some(parser.value()?.parse_with(number)?),
                Arg::Long("help") | Arg::Short('h') => args.help = true,
                other => return Err(other.unexpected()),
            }
        }
        args.mode = mode.unwrap_or(if benched { Mode::Full } else { Mode::Test });
        let test = args.mode == Mode::Test;
        if args.connections.is_empty() {
            args.connections = if test { vec![1, 8] } else { vec![1, 64, 1000] };
        }
        args.idle = args.idle.or(test.then_some(5));
        Ok(args)
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
        Args::parse(line.split_whitespace().map(OsString::from))
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
