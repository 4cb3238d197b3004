//! The report's command line.

use std::ffi::OsString;

use lexopt::{Arg, Parser, ValueExt};

use super::benches;

/// What `--help` says.
pub const HELP: &str = "\
Runs the other benches, and makes one page of what they have found.

Usage: cargo bench --bench report -- [OPTIONS]

Options:
      --no-run        Only makes the page, of the data that is there
      --only LIST     Runs only these benches, with commas; the page shows what there is of the others too
      --quick         Rough runs: shows that everything works
      --test          Makes a page of sample data, checks it, and throws it away
  -h, --help          Prints this

Writes report.html, which needs nothing beside it, and report.md into cargo's target directory.
";

/// What to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Task {
    /// Run these benches, then make the page.
    Run(Vec<String>),
    /// Make the page.
    Show,
    /// See whether a page can be made.
    Test,
    /// Print the help.
    Help,
}

/// The command line, understood.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Args {
    /// What to do.
    pub task: Task,
    /// Whether benches are run in their quick mode.
    pub quick: bool,
}

impl Args {
    /// Understands a command line without the name of the program. Without `--bench`, which cargo adds to what
    /// `cargo bench` runs, it is a test.
    ///
    /// # Errors
    ///
    /// Fails on an unknown option, and on a bench that there is not.
    pub fn parse(arguments: impl IntoIterator<Item = OsString>) -> Result<Args, lexopt::Error> {
        let mut parser = Parser::from_args(arguments);
        let (mut benched, mut quick, mut task, mut only) = (false, false, None, None);
        while let Some(argument) = parser.next()? {
            match argument {
                Arg::Long("bench") => benched = true,
                Arg::Long("quick") => quick = true,
                Arg::Long("no-run") => task = task.or(Some(Task::Show)),
                Arg::Long("only") => only = Some(parser.value()?.parse_with(named)?),
                Arg::Long("test") => task = Some(Task::Test),
                Arg::Long("help") | Arg::Short('h') => task = Some(Task::Help),
                other => return Err(other.unexpected()),
            }
        }
        let usual = match (benched || quick || only.is_some(), only) {
            (true, only) => Task::Run(only.unwrap_or_else(benches::all)),
            (false, _) => Task::Test,
        };
        Ok(Args { task: task.unwrap_or(usual), quick })
    }
}

fn named(list: &str) -> Result<Vec<String>, String> {
    let known = benches::all();
    let chosen: Vec<_> = list.split(',').map(|name| name.trim().to_owned()).collect();
    match chosen.iter().find(|name| !known.contains(name)) {
        Some(name) => Err(format!("no bench is called {name}; there are: {}", known.join(", "))),
        None => Ok(chosen),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Args, lexopt::Error> {
        Args::parse(line.split_whitespace().map(OsString::from))
    }

    #[test]
    fn everything_is_run_unless_something_else_is_said() {
        assert_eq!(parse("--bench").unwrap(), Args { task: Task::Run(benches::all()), quick: false });
        let some = Task::Run(vec!["ledger".into(), "request_response".into()]);
        assert_eq!(parse("--bench --quick --only ledger,request_response").unwrap(), Args { task: some, quick: true });
        assert_eq!(parse("--bench --no-run").unwrap().task, Task::Show);
        assert_eq!(parse("--bench --no-run --test").unwrap().task, Task::Test);
        assert_eq!(parse("").unwrap().task, Task::Test);
    }

    #[test]
    fn nonsense_is_refused() {
        for line in ["--only nobody", "--only report", "--loud", "word"] {
            assert!(parse(line).is_err(), "{line}");
        }
    }
}
