//! The data there is, and what is wrong with the rest.

use std::fs;
use std::io;
use std::path::Path;
use std::time::SystemTime;

use super::benches;
use crate::report::{Host, Report, Versions};
use crate::sheet::Sheet;

/// All that goes on the page.
#[derive(Debug, Default)]
pub(super) struct Data {
    /// The ledger.
    pub(super) ledger: Option<Taken<Report>>,
    /// Every other bench's sheet, in the order of the manifest; those it does not name come last.
    pub(super) sheets: Vec<Taken<Sheet>>,
    /// Benches of which there is nothing, and why.
    pub(super) missing: Vec<(String, String)>,
    /// Benches that failed when the page was made, and how: what is shown of them is older.
    pub(super) failed: Vec<(String, String)>,
}

/// Something from a file, with when it was written (seconds since 1970).
#[derive(Debug)]
pub(super) struct Taken<T> {
    pub(super) what: T,
    pub(super) at: Option<u64>,
}

/// Where one part of the data comes from.
pub(super) struct Origin<'a> {
    pub(super) bench: &'a str,
    pub(super) command: &'a str,
    pub(super) host: &'a Host,
    pub(super) versions: &'a Versions,
    pub(super) seconds: Option<f64>,
    pub(super) quick: bool,
    pub(super) at: Option<u64>,
}

/// The name of the ledger's bench.
pub(super) const LEDGER: &str = "ledger";

impl Data {
    /// Reads all there is in cargo's `target` directory.
    pub(super) fn read(target: &Path) -> Data {
        let mut data = Data::default();
        match load(&target.join("ledger.json")) {
            Ok(ledger) => data.ledger = Some(ledger),
            Err(why) => data.missing.push((LEDGER.into(), why)),
        }
        let (folder, known) = (target.join("benches"), benches::all());
        let known = || known.iter().filter(|bench| *bench != LEDGER);
        for bench in known().cloned().chain(others(&folder, &known().collect::<Vec<_>>())) {
            match load(&folder.join(format!("{bench}.json"))) {
                Ok(sheet) => data.sheets.push(sheet),
                Err(why) => data.missing.push((bench, why)),
            }
        }
        data
    }

    /// Where each part comes from.
    pub(super) fn origins(&self) -> Vec<Origin<'_>> {
        let ledger = self.ledger.iter().map(|taken| Origin {
            bench: LEDGER,
            command: "cargo bench --bench ledger",
            host: &taken.what.host,
            versions: &taken.what.versions,
            seconds: None,
            quick: false,
            at: taken.at,
        });
        let sheets = self.sheets.iter().map(|taken| Origin {
            bench: &taken.what.bench,
            command: &taken.what.command,
            host: &taken.what.host,
            versions: &taken.what.versions,
            seconds: Some(taken.what.seconds),
            quick: taken.what.quick,
            at: taken.at,
        });
        ledger.chain(sheets).collect()
    }
}

/// Sheets in `folder` beside the known.
fn others(folder: &Path, known: &[&String]) -> Vec<String> {
    let files = fs::read_dir(folder).into_iter().flatten().flatten();
    let names = files.filter_map(|file| Some(file.file_name().to_str()?.strip_suffix(".json")?.to_owned()));
    let mut names: Vec<_> = names.filter(|name| !known.contains(&name)).collect();
    names.sort();
    names
}

fn load<T: serde::de::DeserializeOwned>(path: &Path) -> Result<Taken<T>, String> {
    let text = fs::read_to_string(path).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => "it has not been run".into(),
        _ => format!("its data cannot be read: {error}"),
    })?;
    let what = serde_json::from_str(&text).map_err(|error| format!("its data is of another form: {error}"))?;
    let written = fs::metadata(path).and_then(|metadata| metadata.modified()).ok();
    let since = written.and_then(|time| time.duration_since(SystemTime::UNIX_EPOCH).ok());
    Ok(Taken { what, at: since.map(|since| since.as_secs()) })
}

/// A time (seconds since 1970) as a date and a time of day, UTC.
pub(super) fn date(at: u64) -> String {
    let (mut days, seconds) = (at / 86_400, at % 86_400);
    let leap = |year: u64| year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let mut year = 1970;
    while days >= 365 + u64::from(leap(year)) {
        days -= 365 + u64::from(leap(year));
        year += 1;
    }
    let lengths = [31, 28 + u64::from(leap(year)), 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let mut month = 0;
    while days >= lengths[month] {
        days -= lengths[month];
        month += 1;
    }
    format!("{year}-{:02}-{:02} {:02}:{:02} UTC", month + 1, days + 1, seconds / 3600, seconds % 3600 / 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_those_of_the_calendar() {
        assert_eq!(date(0), "1970-01-01 00:00 UTC");
        assert_eq!(date(951_782_400 + 86_399), "2000-02-29 23:59 UTC");
        assert_eq!(date(1_767_225_599), "2025-12-31 23:59 UTC");
    }

    #[test]
    fn what_is_not_there_or_broken_is_told() {
        let target = std::env::temp_dir().join(format!("arenatls-gather-{}", std::process::id()));
        fs::create_dir_all(target.join("benches")).unwrap();
        fs::write(target.join("ledger.json"), "{").unwrap();
        fs::write(target.join("benches/odd.json"), "[]").unwrap();
        let data = Data::read(&target);
        fs::remove_dir_all(&target).unwrap();
        assert!(data.ledger.is_none() && data.sheets.is_empty());
        let why = |bench: &str| &data.missing.iter().find(|(name, _)| name == bench).unwrap().1;
        assert!(why("ledger").contains("another form") && why("odd").contains("another form"), "{:?}", data.missing);
        assert_eq!(why("request_response"), "it has not been run");
    }
}
