//! Where reports go: cargo's target directory.

use std::env;
use std::path::{Path, PathBuf};

/// The file by which cargo marks its target directory.
const TAG: &str = "CACHEDIR.TAG";

/// Cargo's target directory, which is where this executable lies; else the one `CARGO_TARGET_DIR` names; else `target`
/// in the workspace. (A relative `CARGO_TARGET_DIR` is of no use here: cargo runs benches elsewhere than it was run.)
#[must_use]
pub fn target_directory() -> PathBuf {
    of_executable().or_else(of_environment).unwrap_or_else(of_workspace)
}

fn of_executable() -> Option<PathBuf> {
    let executable = env::current_exe().ok()?;
    let mut above = executable.ancestors().skip(1);
    above.find(|directory| directory.join(TAG).is_file()).map(Path::to_path_buf)
}

fn of_environment() -> Option<PathBuf> {
    let named = PathBuf::from(env::var_os("CARGO_TARGET_DIR")?);
    named.is_absolute().then_some(named)
}

fn of_workspace() -> PathBuf {
    let member = Path::new(env!("CARGO_MANIFEST_DIR"));
    member.parent().unwrap_or(member).join("target")
}
