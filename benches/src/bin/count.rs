//! The ledger's first instrument alone: counts one contender's records and prints the counts as JSON.
//!
//! `count --contender openssl-membio --payload 1024 --records 100`

use std::error::Error;
use std::process::ExitCode;

use arenatls_benches::count;
use arenatls_benches::errand::Errand;
use arenatls_benches::measure::Counter;

arenatls_benches::count_everything!();

fn main() -> ExitCode {
    match count() {
        Ok(counts) => {
            println!("{counts}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("count: {error}");
            ExitCode::FAILURE
        }
    }
}

fn count() -> Result<String, Box<dyn Error>> {
    count::install()?;
    let errand = Errand::parse(std::env::args_os().skip(1))?;
    let counter = errand.run(Counter::new());
    Ok(serde_json::to_string(&counter.counts())?)
}
