//! Running programs against each other: files for them, their output, and a limit on everything.

mod files;
mod running;

use std::path::PathBuf;
use std::process::{Command, Stdio};

pub(crate) use files::Files;
pub(crate) use running::Running;

/// One of our examples. Cargo builds them with the tests of the package.
pub(crate) fn example(name: &str) -> Command {
    let test = std::env::current_exe().expect("the test knows itself");
    // target/PROFILE/deps/TEST, and target/PROFILE/examples/NAME.
    let profile = test.ancestors().nth(2).expect("a test lies in target/PROFILE/deps");
    let path: PathBuf = [profile.as_os_str(), "examples".as_ref(), name.as_ref()].iter().collect();
    assert!(path.exists(), "{} is missing: cargo build --examples", path.display());
    Command::new(path)
}

/// A program of the system. Where it is missing, a test is skipped, and says so; except in CI.
pub(crate) fn peer(program: &str, version: &str) -> Option<Command> {
    let quiet =
        |command: &mut Command| command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
    match quiet(Command::new(program).arg(version)) {
        Ok(_) => Some(Command::new(program)),
        Err(error) if std::env::var_os("CI").is_some_and(|ci| ci == "true") => panic!("CI needs {program}: {error}"),
        Err(error) => {
            eprintln!("SKIPPED: {program} is not here: {error}");
            None
        }
    }
}

/// `openssl`, for its `s_client` and `s_server`.
pub(crate) fn openssl(command: &str) -> Option<Command> {
    let mut openssl = peer("openssl", "version")?;
    openssl.arg(command);
    Some(openssl)
}
