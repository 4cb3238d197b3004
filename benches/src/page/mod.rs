//! One page of all that the benches have found: the main line of `cargo bench --bench report`.
//!
//! It knows no bench but the ledger: what there is, cargo's manifest says, and what they have found lies in cargo's target
//! directory, as [`Sheet`](crate::sheet::Sheet)s.

mod args;
mod benches;
mod build;
mod chart;
mod check;
mod compare;
mod document;
mod gather;
mod html;
mod ledger;
mod markdown;
mod origin;
mod sample;
mod scale;

use std::path::Path;
use std::process::ExitCode;
use std::{env, fs, io};

use crate::report::target_directory;
use crate::run;
use gather::Data;

pub use args::{Args, HELP, Task};

/// Runs the benches as the command line says, and makes the page.
pub fn main() -> ExitCode {
    run::main("report", HELP, Ok(()), |line| Args::parse(line).map(Some), start)
}

fn start(args: &Args) -> io::Result<ExitCode> {
    let well = match &args.task {
        Task::Help => {
            print!("{HELP}");
            true
        }
        Task::Test => test().map(|()| true)?,
        Task::Show => show(Vec::new())?,
        Task::Run(benches) => show(benches::run(benches, args.quick))?,
    };
    Ok(if well { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Makes the page; whether all benches did well.
fn show(failed: Vec<(String, String)>) -> io::Result<bool> {
    let target = target_directory();
    for (bench, how) in &failed {
        eprintln!("report: {bench} failed: {how}");
    }
    let well = failed.is_empty();
    let data = Data { failed, ..Data::read(&target) };
    for (bench, why) in &data.missing {
        eprintln!("report: without {bench}: {why}");
    }
    write(&data, &target)?;
    Ok(well)
}

fn write(data: &Data, folder: &Path) -> io::Result<()> {
    let (page, text) = (folder.join("report.html"), folder.join("report.md"));
    let document = build::document(data);
    fs::create_dir_all(folder)?;
    fs::write(&page, html::page(&document))?;
    fs::write(&text, markdown::page(&document))?;
    eprintln!("written: {} and {}", page.display(), text.display());
    Ok(())
}

/// Makes a page of sample data somewhere else, and looks whether everything is on it.
fn test() -> io::Result<()> {
    let folder = env::temp_dir().join(format!("arenatls-report-{}", std::process::id()));
    let data = sample::data();
    let checked = write(&data, &folder).and_then(|()| {
        let page = fs::read_to_string(folder.join("report.html"))?;
        let text = fs::read_to_string(folder.join("report.md"))?;
        check::check(&data, &page, &text).map_err(io::Error::other)
    });
    fs::remove_dir_all(&folder)?;
    checked?;
    println!("report: a page of sample data is whole");
    Ok(())
}
