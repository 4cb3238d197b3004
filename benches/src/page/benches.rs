//! The other benches: which there are, and running them one after the other.

use std::env;
use std::ffi::OsStr;
use std::io;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::sheet::Sheet;

/// Where cargo reads which benches there are.
const MANIFEST: &str = include_str!("../../Cargo.toml");

/// Benches that leave nothing to show here: this one, and the one whose report is criterion's.
const WITHOUT_DATA: [&str; 2] = ["report", "record"];

/// How often a running bench is looked at, and told of.
const LOOK: Duration = Duration::from_millis(200);
const TELL: Duration = Duration::from_secs(15);

/// What a bench is thought to take of which nothing is known (seconds): in full, and in its quick mode.
const GUESS: (f64, f64) = (100.0, 15.0);

/// The names of all benches that leave data, as cargo knows them.
pub(super) fn all() -> Vec<String> {
    let sections = MANIFEST.split("[[bench]]").skip(1);
    let names = sections.filter_map(|section| section.split("name = \"").nth(1)?.split('"').next());
    names.filter(|name| !WITHOUT_DATA.contains(name)).map(String::from).collect()
}

/// How to run a bench.
pub(super) fn command(bench: &str, quick: bool) -> String {
    format!("cargo bench --bench {bench}{}", if quick { " -- --quick" } else { "" })
}

/// Runs `benches`, telling how far it is; the names of those that failed, and how.
pub(super) fn run(benches: &[String], quick: bool) -> Vec<(String, String)> {
    let expected: Vec<_> = benches.iter().map(|bench| expected(bench, quick)).collect();
    let begun = Instant::now();
    let mut failed = Vec::new();
    for (index, bench) in benches.iter().enumerate() {
        let head = format!("[{}/{}] {bench}", index + 1, benches.len());
        let this = Instant::now();
        let tell = || {
            let (gone, left) = (begun.elapsed().as_secs_f64(), left(&expected[index..], this.elapsed().as_secs_f64()));
            let left = match left {
                Ok(left) => format!("about {} left", clock(left)),
                Err(others) => format!("it takes longer than expected, and the others about {}", clock(others)),
            };
            eprintln!("report: {head}: {} gone, {left}", clock(gone));
        };
        match run_one(bench, quick, tell) {
            Ok(status) if status.success() => {}
            Ok(status) => failed.push((bench.clone(), format!("it ended with {status}"))),
            Err(error) => failed.push((bench.clone(), format!("it could not be run: {error}"))),
        }
    }
    failed
}

fn run_one(bench: &str, quick: bool, tell: impl Fn()) -> io::Result<ExitStatus> {
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    // From where people run it: another selection of packages would be another build of everything.
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    command.current_dir(workspace).args(["bench", "--bench", bench]).arg("--");
    if quick {
        command.arg("--quick");
    }
    // What cargo told us of ourselves is not for others: some build scripts begin anew when it changes.
    for (name, _) in env::vars_os().filter(|(name, _)| is_about_us(name)) {
        command.env_remove(name);
    }
    // What it says on its standard output is in the data too.
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::null()).spawn()?;
    tell();
    let mut told = Instant::now();
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
        thread::sleep(LOOK);
        if told.elapsed() >= TELL {
            told = Instant::now();
            tell();
        }
    }
}

fn is_about_us(name: &OsStr) -> bool {
    let begins = ["CARGO_PKG_", "CARGO_MANIFEST_", "CARGO_BIN_", "CARGO_CRATE_"];
    name.to_str().is_some_and(|name| begins.iter().any(|begin| name.starts_with(begin)))
}

/// What a bench is likely to take (seconds): what it took last time, in the same mode.
fn expected(bench: &str, quick: bool) -> f64 {
    let guess = if quick { GUESS.1 } else { GUESS.0 };
    let last = Sheet::load(bench).ok().filter(|sheet| sheet.quick == quick);
    last.map_or(guess, |sheet| sheet.seconds)
}

/// What is left of benches of which the first has run for so long (seconds); only of the others, if that should be done.
fn left(expected: &[f64], running: f64) -> Result<f64, f64> {
    let (first, others) = expected.split_first().map_or((0.0, &[][..]), |(first, others)| (*first, others));
    let others: f64 = others.iter().sum();
    if running < first { Ok(first - running + others) } else { Err(others) }
}

fn clock(seconds: f64) -> String {
    let whole = seconds.max(0.0).round() as u64;
    format!("{}:{:02}", whole / 60, whole % 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_benches_are_those_of_the_manifest() {
        let all = all();
        for bench in ["ledger", "request_response"] {
            assert!(all.iter().any(|name| name == bench), "{all:?}");
        }
        assert!(!all.iter().any(|name| WITHOUT_DATA.contains(&name.as_str())), "{all:?}");
        assert_eq!(command("ledger", true), "cargo bench --bench ledger -- --quick");
    }

    #[test]
    fn a_bench_is_not_told_of_this_one() {
        assert!(is_about_us("CARGO_PKG_NAME".as_ref()) && is_about_us("CARGO_MANIFEST_DIR".as_ref()));
        assert!(!is_about_us("CARGO_HOME".as_ref()) && !is_about_us("CARGO_TARGET_DIR".as_ref()));
    }

    #[test]
    fn what_is_left_shrinks_until_nobody_knows() {
        assert_eq!(left(&[60.0, 30.0], 20.0), Ok(70.0));
        assert_eq!(left(&[60.0, 30.0], 90.0), Err(30.0));
        assert_eq!((clock(0.4), clock(75.0), clock(3601.0)), ("0:00".into(), "1:15".into(), "60:01".into()));
    }
}
