//! Which core the server has, and which its clients.

use std::time::Duration;

/// The cores this process may use, shared out.
#[derive(Debug, Clone)]
pub struct Cores {
    /// The server's.
    pub server: usize,
    /// The clients'; the server's, too, if there is no other.
    pub clients: Vec<usize>,
}

impl Cores {
    /// The last for the server, all others for its clients; nothing where that cannot be found out.
    #[must_use]
    pub fn share() -> Option<Self> {
        let mut clients = allowed()?;
        let server = clients.pop()?;
        if clients.is_empty() {
            clients.push(server);
        }
        Some(Self { server, clients })
    }
}

fn allowed() -> Option<Vec<usize>> {
    let mut set = nobody();
    // SAFETY: `set` is writable for its size; 0 is the calling thread.
    let code = unsafe { libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), &mut set) };
    let most = usize::try_from(libc::CPU_SETSIZE).ok().filter(|_| code == 0)?;
    // SAFETY: the index is below the size of the set.
    let is_in = |core: &usize| unsafe { libc::CPU_ISSET(*core, &set) };
    Some((0..most).filter(is_in).collect())
}

/// Keeps the calling thread on `cores`.
///
/// # Panics
///
/// Panics if the system refuses.
pub fn stay_on(cores: &[usize]) {
    let mut set = nobody();
    for &core in cores {
        // SAFETY: the index came from a set of this size.
        unsafe { libc::CPU_SET(core, &mut set) };
    }
    // SAFETY: `set` is readable for its size; 0 is the calling thread.
    let code = unsafe { libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &set) };
    assert_eq!(code, 0, "a thread stays on cores {cores:?}");
}

fn nobody() -> libc::cpu_set_t {
    // SAFETY: a set of no cores is all zeros.
    unsafe { std::mem::zeroed() }
}

/// The processor time of a thread, user's and system's, to be read by another (`pthread_getcpuclockid`).
#[derive(Debug, Clone, Copy)]
pub struct ThreadClock(libc::clockid_t);

impl ThreadClock {
    /// The calling thread's.
    ///
    /// # Panics
    ///
    /// Panics if the system has no such clock.
    #[must_use]
    pub fn mine() -> Self {
        let mut clock = 0;
        // SAFETY: no precondition.
        let thread = unsafe { libc::pthread_self() };
        // SAFETY: the thread is the calling one, and `clock` is writable.
        let code = unsafe { libc::pthread_getcpuclockid(thread, &mut clock) };
        assert_eq!(code, 0, "a thread has a clock");
        Self(clock)
    }

    /// What the thread has used so far; nothing once it has ended (`clock_gettime`).
    #[must_use]
    pub fn read(self) -> Option<Duration> {
        let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: `time` is writable.
        let code = unsafe { libc::clock_gettime(self.0, &mut time) };
        let (seconds, nanos) = (u64::try_from(time.tv_sec).ok()?, u32::try_from(time.tv_nsec).ok()?);
        (code == 0).then(|| Duration::new(seconds, nanos))
    }
}

/// Lets this process have as many descriptors as it may; returns how many (`RLIMIT_NOFILE`).
#[must_use]
pub fn most_descriptors(wanted: usize) -> usize {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: `limit` is writable.
    unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit) };
    let wanted = wanted as u64;
    let hard = limit.rlim_max.max(wanted);
    for hard in [hard, limit.rlim_max] {
        let raised = libc::rlimit { rlim_cur: wanted.min(hard).max(limit.rlim_cur), rlim_max: hard };
        // SAFETY: `raised` is readable. Only the privileged may raise the hard limit, hence the second try.
        if unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &raised) } == 0 {
            return usize::try_from(raised.rlim_cur).unwrap_or(usize::MAX);
        }
    }
    usize::try_from(limit.rlim_cur).unwrap_or(usize::MAX)
}
