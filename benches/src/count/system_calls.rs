//! The column of system calls: the wrappers of libc that an executable calls, before they pass the call on.
//!
//! [`count_system_calls!`](crate::count_system_calls) defines the symbols that take libc's place. Calls that libc makes
//! within itself are not seen, and are none of a request's.

use std::ffi::{CStr, c_void};
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

use super::{NotCounting, SYSTEM_CALLS, start, stop};

/// A wrapper of libc behind the executable's own.
#[derive(Debug)]
pub struct SystemCall {
    name: &'static CStr,
    libc: AtomicPtr<c_void>,
}

impl SystemCall {
    /// The wrapper of this name.
    #[must_use]
    pub const fn new(name: &'static CStr) -> Self {
        Self { name, libc: AtomicPtr::new(ptr::null_mut()) }
    }

    /// Counts a call, and tells where libc's own wrapper is (`dlsym`, `RTLD_NEXT`).
    #[inline]
    #[must_use]
    pub fn count(&self) -> *mut c_void {
        SYSTEM_CALLS.add(0);
        let known = self.libc.load(Ordering::Relaxed);
        if known.is_null() { self.resolve() } else { known }
    }

    #[cold]
    fn resolve(&self) -> *mut c_void {
        // SAFETY: the name is a C string; asking for a symbol that libc defines runs no foreign constructor.
        let found = unsafe { libc::dlsym(libc::RTLD_NEXT, self.name.as_ptr()) };
        if found.is_null() {
            // There is nowhere to go on to.
            std::process::abort();
        }
        self.libc.store(found, Ordering::Relaxed);
        found
    }
}

/// System calls counted between [`start`] and [`stop`].
#[must_use]
pub fn system_calls() -> u64 {
    SYSTEM_CALLS.read().calls
}

/// Proves that system calls are counted.
///
/// # Errors
///
/// In an executable without [`count_system_calls!`](crate::count_system_calls).
pub fn install_system_calls() -> Result<(), NotCounting> {
    start();
    // SAFETY: no byte is read into nowhere, from no file.
    let read = unsafe { libc::read(-1, ptr::null_mut(), 0) };
    stop();
    match (read, system_calls()) {
        (-1, 1) => Ok(()),
        _ => Err(NotCounting("system calls are not seen".into())),
    }
}

/// Defines a wrapper in libc's place for each line, which counts and passes the call on.
#[doc(hidden)]
#[macro_export]
macro_rules! pass_on {
    ($($name:ident($($argument:ident: $type:ty),*) -> $result:ty;)*) => { $(
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name($($argument: $type),*) -> $result {
            static LIBC: $crate::count::SystemCall = $crate::count::SystemCall::new(
                match ::std::ffi::CStr::from_bytes_with_nul(concat!(stringify!($name), "\0").as_bytes()) {
                    Ok(name) => name,
                    Err(_) => panic!("a name without zeros"),
                },
            );
            type Wrapper = unsafe extern "C" fn($($type),*) -> $result;
            let libc = LIBC.count();
            // SAFETY: libc's symbol of this name is a function of this type.
            let wrapper = unsafe { ::std::mem::transmute::<*mut ::std::ffi::c_void, Wrapper>(libc) };
            // SAFETY: the contract is C's, unchanged.
            unsafe { wrapper($($argument),*) }
        }
    )* };
}

/// Makes the executable that says it count system calls: defines those wrappers of libc that servers call, in its place.
///
/// Say it once, at the root of an executable, beside [`count_everything!`](crate::count_everything).
///
/// `syscall` is variadic in C. Where this is compiled, a callee that takes seven words finds them where the callers of a
/// variadic function put them; those that were not given are passed on unread by anyone, as libc's own does.
#[macro_export]
macro_rules! count_system_calls {
    () => {
        /// The symbols that stand before libc's.
        #[cfg(all(target_os = "linux", target_env = "gnu", any(target_arch = "x86_64", target_arch = "aarch64")))]
        mod interposed_system_calls {
            use std::ffi::{c_int, c_long, c_void};

            $crate::pass_on! {
                syscall(number: c_long, a: c_long, b: c_long, c: c_long, d: c_long, e: c_long, f: c_long) -> c_long;
                read(fd: c_int, into: *mut c_void, length: usize) -> isize;
                write(fd: c_int, from: *const c_void, length: usize) -> isize;
                readv(fd: c_int, slices: *const c_void, count: c_int) -> isize;
                writev(fd: c_int, slices: *const c_void, count: c_int) -> isize;
                recv(fd: c_int, into: *mut c_void, length: usize, flags: c_int) -> isize;
                send(fd: c_int, from: *const c_void, length: usize, flags: c_int) -> isize;
                recvmsg(fd: c_int, message: *mut c_void, flags: c_int) -> isize;
                sendmsg(fd: c_int, message: *const c_void, flags: c_int) -> isize;
                epoll_ctl(epoll: c_int, what: c_int, fd: c_int, event: *mut c_void) -> c_int;
                epoll_wait(epoll: c_int, events: *mut c_void, most: c_int, timeout: c_int) -> c_int;
                epoll_pwait(epoll: c_int, events: *mut c_void, most: c_int, timeout: c_int, mask: *const c_void) -> c_int;
                poll(descriptors: *mut c_void, count: usize, timeout: c_int) -> c_int;
                shutdown(socket: c_int, how: c_int) -> c_int;
                close(fd: c_int) -> c_int;
                sched_yield() -> c_int;
            }
        }
    };
}
