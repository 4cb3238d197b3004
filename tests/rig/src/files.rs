//! Files without a name.

use std::fs::{self, File};
use std::io::Write as _;
use std::os::fd::AsRawFd as _;
use std::process;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A file that holds `bytes`, to read and write, and is gone when it is closed.
pub fn file_of(bytes: &[u8]) -> File {
    static COUNT: AtomicUsize = AtomicUsize::new(0);
    let name = format!("arenatls-{}-{}", process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
    let path = std::env::temp_dir().join(name);
    let mut file = File::options().read(true).write(true).create_new(true).open(&path).unwrap();
    fs::remove_file(path).unwrap();
    file.write_all(bytes).unwrap();
    file
}

/// Has the system forget what it remembers of a file's bytes, where it can: reading them takes a while then.
pub fn make_cold(file: &File) {
    file.sync_all().unwrap();
    // SAFETY: an advice about a live descriptor; no memory is passed.
    let advised = unsafe { libc::posix_fadvise(file.as_raw_fd(), 0, 0, libc::POSIX_FADV_DONTNEED) };
    assert_eq!(advised, 0);
}
