//! This thread's processor, and the time it has had of it.

/// Runs this thread on processor `which`, if there is one.
pub(crate) fn pin(which: usize) {
    // SAFETY: a set of processors is plain bits, and none is a valid set.
    let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    // SAFETY: `which` is far below the size of the set.
    unsafe { libc::CPU_SET(which, &mut set) };
    // SAFETY: the set is live, and its size is what is said. A refusal leaves the thread where it is.
    let _ = unsafe { libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &set) };
}

/// Processor time of this thread (nanoseconds).
pub(crate) fn used() -> f64 {
    // SAFETY: the structure is plain numbers.
    let mut time: libc::timespec = unsafe { std::mem::zeroed() };
    // SAFETY: `time` is live and writable.
    let got = unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
    assert_eq!(got, 0, "a thread may ask what it has used");
    time.tv_sec as f64 * 1e9 + time.tv_nsec as f64
}
