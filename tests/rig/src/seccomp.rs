//! System calls that fail as if the kernel, or whoever confined us, refused them.

use std::io;
use std::os::unix::process::CommandExt as _;
use std::process::Command;

use libc::{c_int, c_long, c_ulong, sock_filter, sock_fprog};

/// Offset of `nr` in `struct seccomp_data` of `linux/seccomp.h`.
const NUMBER: u32 = 0;
/// The most calls that one filter refuses.
const MOST: usize = 8;

/// From here on, `calls` (`SYS_*`) fail with `errno` on this thread, on threads that it starts, and in programs that
/// they run. It cannot be taken back. `/proc/thread-self/status` shows the filter.
///
/// # Errors
///
/// The system's, where filters are not to be had; [`io::ErrorKind::InvalidInput`] for more than eight calls, or a number
/// that cannot be.
pub fn refuse_on_this_thread(calls: &[c_long], errno: c_int) -> io::Result<()> {
    let filter = Filter::new(calls, errno)?;
    // Without privileges a filter is taken only from a process that can gain none.
    // SAFETY: this operation takes numbers, and touches no memory.
    check(c_long::from(unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1 as c_ulong, 0, 0, 0) }))?;
    let program = filter.program();
    let none: c_ulong = 0;
    // SAFETY: `program` holds the address and the length of the instructions in `filter`, and both live until the call
    // returns; the kernel copies them, and checks them.
    check(unsafe { libc::syscall(libc::SYS_seccomp, libc::SECCOMP_SET_MODE_FILTER, none, &raw const program) })
}

/// The program that `command` runs will find `calls` refused with `errno`.
pub fn refuse_in<'c>(command: &'c mut Command, calls: &'static [c_long], errno: c_int) -> &'c mut Command {
    let confine = move || refuse_on_this_thread(calls, errno);
    // SAFETY: between fork and exec it makes two system calls on memory of its own stack. It allocates nothing and takes
    // no lock: the errors are made of a number, or of a constant.
    unsafe { command.pre_exec(confine) }
}

fn check(result: c_long) -> io::Result<()> {
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// A program for the kernel's filter machine (`linux/filter.h`).
struct Filter {
    code: [sock_filter; MOST + 3],
    len: u16,
}

impl Filter {
    /// Load the number of the call; for each of `calls`, jump to the refusal if it is that; allow; refuse. That numbers
    /// mean other calls in a process of another architecture does not matter here: it confines nobody who tries to
    /// escape.
    fn new(calls: &[c_long], errno: c_int) -> io::Result<Filter> {
        let invalid = |_| io::Error::from(io::ErrorKind::InvalidInput);
        let count = u8::try_from(calls.len()).map_err(invalid)?;
        if calls.len() > MOST {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let refusal = u32::from(u16::try_from(errno).map_err(invalid)?);
        let mut code = [instruction(libc::BPF_RET | libc::BPF_K, libc::SECCOMP_RET_ALLOW); MOST + 3];
        code[0] = instruction(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, NUMBER);
        for (at, call) in (0..count).zip(calls) {
            let number = u32::try_from(*call).map_err(invalid)?;
            let compare = instruction(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, number);
            // Over those behind it, and the one that allows.
            code[usize::from(at) + 1] = sock_filter { jt: count - at, ..compare };
        }
        let end = calls.len() + 2;
        code[end] = instruction(libc::BPF_RET | libc::BPF_K, libc::SECCOMP_RET_ERRNO | refusal);
        Ok(Filter { code, len: u16::from(count) + 3 })
    }

    fn program(&self) -> sock_fprog {
        sock_fprog { len: self.len, filter: self.code.as_ptr().cast_mut() }
    }
}

fn instruction(code: u32, k: u32) -> sock_filter {
    // Codes have eight bits.
    sock_filter { code: u16::try_from(code).unwrap_or(0), jt: 0, jf: 0, k }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;

    /// `getpriority` and `getpgid` of this process.
    fn ask() -> [c_long; 2] {
        // SAFETY: these calls take numbers, and touch no memory.
        [libc::SYS_getpriority, libc::SYS_getpgid].map(|call| unsafe { libc::syscall(call, 0, 0) })
    }

    #[test]
    fn what_is_named_is_refused_on_that_thread_and_no_other() {
        let before = ask();
        assert!(before.iter().all(|answer| *answer >= 0), "{before:?}");
        let confined = thread::spawn(|| {
            refuse_on_this_thread(&[libc::SYS_getpgid], libc::EDOM).unwrap();
            let answers = ask();
            let error = io::Error::last_os_error();
            refuse_on_this_thread(&[libc::SYS_getppid, libc::SYS_getpriority], libc::ENOSYS).unwrap();
            (answers, error.raw_os_error(), ask())
        });
        let (one, error, both) = confined.join().unwrap();
        assert_eq!((one, error, both), ([before[0], -1], Some(libc::EDOM), [-1, -1]));
        assert_eq!(ask(), before);
    }

    #[test]
    fn filters_that_cannot_be_are_refused() {
        for (calls, errno) in [(&[1; 9][..], 1), (&[-1], 1), (&[1], -1)] {
            let refused = refuse_on_this_thread(calls, errno);
            assert_eq!(refused.map_err(|error| error.kind()), Err(io::ErrorKind::InvalidInput));
        }
    }
}
