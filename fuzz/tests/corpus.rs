//! The seeds, without libFuzzer: `cargo test` in this folder.

use std::fs;
use std::path::Path;

#[test]
fn every_seed_keeps_the_promises() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus/inbound");
    let mut files: Vec<_> =
        fs::read_dir(folder).expect("a corpus").map(|entry| entry.expect("a file").path()).collect();
    files.sort();
    assert!((20..=40).contains(&files.len()), "{}", files.len());
    for file in files {
        eprintln!("{}", file.display());
        arenatls_fuzz::inbound::run(&fs::read(file).expect("a seed"));
    }
}
