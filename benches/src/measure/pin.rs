//! Staying on one core.

/// Pins the calling thread to the last core it may run on; returns which, or nothing where that cannot be done.
#[cfg(target_os = "linux")]
pub fn pin_to_one_core() -> Option<usize> {
    let mut allowed = nobody();
    let size = size_of::<libc::cpu_set_t>();
    // SAFETY: `allowed` is writable for `size` bytes; 0 is the calling thread.
    let code = unsafe { libc::sched_getaffinity(0, size, &mut allowed) };
    if code != 0 {
        return None;
    }
    let count = usize::try_from(libc::CPU_SETSIZE).ok()?;
    // SAFETY: the index is below the size of the set.
    let core = (0..count).rfind(|&core| unsafe { libc::CPU_ISSET(core, &allowed) })?;
    let mut only = nobody();
    // SAFETY: the index is below the size of the set.
    unsafe { libc::CPU_SET(core, &mut only) };
    // SAFETY: `only` is readable for `size` bytes; 0 is the calling thread.
    let code = unsafe { libc::sched_setaffinity(0, size, &only) };
    (code == 0).then_some(core)
}

#[cfg(target_os = "linux")]
fn nobody() -> libc::cpu_set_t {
    // SAFETY: a set of no cores is all zeros.
    unsafe { std::mem::zeroed() }
}

/// Pins nothing: there is no such call here.
#[cfg(not(target_os = "linux"))]
pub fn pin_to_one_core() -> Option<usize> {
    None
}
