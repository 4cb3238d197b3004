//! Files below a directory, and none beside it.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::os::fd::AsRawFd as _;
use std::os::unix::ffi::OsStringExt as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

/// A directory whose files are served.
#[derive(Clone, Debug)]
pub(crate) struct Root(PathBuf);

impl Root {
    /// The directory at `path`.
    pub(crate) fn new(path: &str) -> io::Result<Root> {
        let path = fs::canonicalize(path)?;
        // It can be looked into, too.
        fs::read_dir(&path)?;
        Ok(Root(path))
    }

    /// The regular file that the path of a target names, and its length (bytes). Nothing that lies outside, by whatever way,
    /// symbolic links included. Opening waits for the disk, which a server with slow disks would leave to another thread.
    pub(crate) fn open(&self, path: &str) -> Option<(File, u64)> {
        let path = fs::canonicalize(self.0.join(relative(path)?)).ok().filter(|path| self.holds(path))?;
        // Neither a link nor a pipe that took its place in between.
        let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK;
        let file = File::options().read(true).custom_flags(flags).open(path).ok()?;
        let about = file.metadata().ok().filter(fs::Metadata::is_file)?;
        // Nor a directory on the way that became a link.
        let opened = fs::read_link(format!("/proc/self/fd/{}", file.as_raw_fd())).ok()?;
        self.holds(&opened).then_some((file, about.len()))
    }

    fn holds(&self, path: &Path) -> bool {
        path != self.0 && path.starts_with(&self.0)
    }
}

/// The path without its first slash and its escapes; nothing if it has parts that are no names.
fn relative(path: &str) -> Option<PathBuf> {
    let bytes = decode(path.strip_prefix('/')?.as_bytes())?;
    let is_name = |part: &[u8]| !matches!(part, b"" | b"." | b"..") && !part.contains(&0);
    bytes.split(|byte| *byte == b'/').all(is_name).then(|| OsString::from_vec(bytes.clone()).into())
}

/// RFC 3986 §2.1.
fn decode(mut path: &[u8]) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(path.len());
    while let Some((first, rest)) = path.split_first() {
        path = rest;
        if *first != b'%' {
            bytes.push(*first);
            continue;
        }
        let (digits, rest) = path.split_at_checked(2)?;
        let digits = std::str::from_utf8(digits).ok().filter(|text| text.bytes().all(|b| b.is_ascii_hexdigit()))?;
        bytes.push(u8::from_str_radix(digits, 16).ok()?);
        path = rest;
    }
    Some(bytes)
}
