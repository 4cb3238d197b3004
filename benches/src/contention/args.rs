//! The command line of the contention bench.

use std::ffi::OsString;

use lexopt::{Arg, Parser, ValueExt};

use crate::run::{self, Mode};
use crate::setting::{Suite, Version};

/// What `--help` says.
pub const HELP: &str = "\
Threads that share one connection, and connections that come and go, over loopback.

Usage: cargo bench --bench contention -- [traffic] [connections] [OPTIONS]

  traffic               Several threads write to one connection; every byte is echoed and checked
  connections           Connections are made, carry one byte there and back, and end
Without either nothing is measured, for it takes minutes.

Options:
      --runs N          Times that everything is measured (default: 3)
      --tls LIST        1.2, 1.3, or all (default: all)
      --writers N       traffic: threads that write (default: 4)
      --writes N        traffic: messages of each (default: 30000)
      --size BYTES      traffic: length of a message, 16 to 16384 (default: 1024)
      --ring BYTES      traffic: ring of a writer's handle (default: 65536)
      --warm-up N       connections: made before the clock starts (default: 64)
      --connections N   connections: made while it runs (default: 384)
      --at-once N       connections: made at a time (default: 1)
      --quick           A tenth of all that
      --test            Does it all work? Next to nothing of everything, and nothing is written
  -h, --help            Prints this

Writes benches/contention.json, and what happened when to benches/contention-*.csv, in cargo's target directory.
";

/// What shall be measured, and how much of it.
#[derive(Debug, Clone)]
pub struct Args {
    /// How much.
    pub mode: Mode,
    /// Whether threads share a connection.
    pub traffic: bool,
    /// Whether connections come and go.
    pub connections: bool,
    /// Times that everything is measured.
    pub runs: usize,
    /// With which versions.
    pub suites: Vec<Suite>,
    /// Threads that write.
    pub writers: usize,
    /// Messages of each.
    pub writes: usize,
    /// Bytes of a message.
    pub size: usize,
    /// Bytes of a handle's ring.
    pub ring: usize,
    /// Connections before the clock starts.
    pub warm_up: usize,
    /// Connections while it runs.
    pub connecting: usize,
    /// Connections at a time.
    pub at_once: usize,
}

/// Both versions, with the same AEAD.
const SUITES: [Suite; 2] = [Suite::ALL[1], Suite::ALL[0]];

impl Default for Args {
    fn default() -> Args {
        Args {
            mode: Mode::Test,
            traffic: false,
            connections: false,
            runs: 3,
            suites: SUITES.to_vec(),
            writers: 4,
            writes: 30_000,
            size: 1024,
            ring: 65_536,
            warm_up: 64,
            connecting: 384,
            at_once: 1,
        }
    }
}

impl Args {
    /// Understands a command line without the name of the program; see [`run::parse`].
    ///
    /// # Errors
    ///
    /// Fails on an unknown option or scenario, and on numbers that cannot be.
    pub fn parse(arguments: impl IntoIterator<Item = OsString>) -> Result<Option<Args>, lexopt::Error> {
        let mut args = Args::default();
        let mode = run::parse(arguments, |option, parser| {
            match option {
                Arg::Long("tls") => args.suites = parser.value()?.parse_with(suites)?,
                Arg::Long(name) => args.set(name, parser)?,
                Arg::Value(value) if value == "traffic" => args.traffic = true,
                Arg::Value(value) if value == "connections" => args.connections = true,
                other => return Err(other.unexpected()),
            }
            Ok(())
        })?;
        Ok(mode.map(|mode| Args { mode, ..args }.scaled()))
    }

    fn set(&mut self, name: &str, parser: &mut Parser) -> Result<(), lexopt::Error> {
        let (place, range) = match name {
            "runs" => (&mut self.runs, 1..=1000),
            "writers" => (&mut self.writers, 1..=64),
            "writes" => (&mut self.writes, 1..=1 << 24),
            "size" => (&mut self.size, 16..=16_384),
            "ring" => (&mut self.ring, 32..=1 << 30),
            "warm-up" => (&mut self.warm_up, 1..=1 << 20),
            "connections" => (&mut self.connecting, 1..=1 << 20),
            "at-once" => (&mut self.at_once, 1..=256),
            _ => return Err(format!("there is no option --{name}").into()),
        };
        let number = parser.value()?.parse()?;
        if !range.contains(&number) {
            return Err(format!("--{name} is {} to {}", range.start(), range.end()).into());
        }
        *place = number;
        Ok(())
    }

    /// Less of everything, where that is asked for.
    fn scaled(mut self) -> Args {
        // A message must fit its ring.
        self.ring = self.ring.max(self.size + 4);
        match self.mode {
            Mode::Full => {}
            Mode::Quick => {
                for number in [&mut self.writes, &mut self.warm_up, &mut self.connecting] {
                    *number = number.div_ceil(10);
                }
            }
            Mode::Test => {
                (self.traffic, self.connections, self.runs) = (true, true, 1);
                (self.writes, self.warm_up, self.connecting) = (200, 2, 6);
                self.at_once = 2;
            }
        }
        self
    }
}

fn suites(list: &str) -> Result<Vec<Suite>, String> {
    let named = |suite: &Suite| match suite.version {
        Version::Tls12 => "1.2",
        Version::Tls13 => "1.3",
    };
    if list == "all" {
        return Ok(SUITES.to_vec());
    }
    let find = |name: &str| SUITES.into_iter().find(|suite| named(suite) == name);
    list.split(',').map(|name| find(name).ok_or_else(|| format!("there is no TLS {name} here"))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Args, lexopt::Error> {
        Args::parse(line.split_whitespace().map(OsString::from)).map(Option::unwrap)
    }

    #[test]
    fn nothing_is_measured_unless_it_is_named() {
        let args = parse("--bench").unwrap();
        assert_eq!((args.mode, args.traffic, args.connections), (Mode::Full, false, false));
        let args = parse("--bench traffic --runs 5 --tls 1.2").unwrap();
        assert_eq!((args.traffic, args.connections, args.runs, args.writes), (true, false, 5, 30_000));
        assert_eq!(args.suites, [Suite::ALL[1]]);
    }

    #[test]
    fn a_test_is_of_everything_and_little_of_it() {
        for line in ["", "--bench --test", "--test traffic"] {
            let args = parse(line).unwrap();
            assert_eq!((args.mode, args.traffic, args.connections, args.runs), (Mode::Test, true, true, 1));
            assert!(args.writes <= 1000 && args.connecting <= 10);
        }
        assert_eq!(parse("--bench --quick traffic").unwrap().writes, 3000);
    }

    #[test]
    fn nonsense_is_refused() {
        for line in ["everything", "--size 8", "--size 16385", "--runs 0", "--runs x", "--loud", "--tls 1.1", "--ring"]
        {
            assert!(parse(line).is_err(), "{line}");
        }
    }
}
