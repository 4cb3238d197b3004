//! The symbols that take the place of libc's, in the executables that ask for it.

/// Makes the executable that says it count: installs [`CountingAllocator`](crate::count::CountingAllocator) and
/// defines `malloc`, `memcpy` and kin in place of libc's.
///
/// Say it once, at the root of an executable, and call [`install`](crate::count::install) first thing in `main`.
#[macro_export]
macro_rules! count_everything {
    () => {
        #[global_allocator]
        static COUNTING_ALLOCATOR: $crate::count::CountingAllocator = $crate::count::CountingAllocator;

        /// The symbols that stand before libc's.
        #[cfg(all(target_os = "linux", target_env = "gnu"))]
        mod interposed {
            use std::ffi::{c_int, c_void};
            use $crate::count;

            #[unsafe(no_mangle)]
            unsafe extern "C" fn malloc(size: usize) -> *mut c_void {
                // SAFETY: the contract is C's, unchanged.
                unsafe { count::malloc(size) }
            }

            #[unsafe(no_mangle)]
            unsafe extern "C" fn calloc(count: usize, size: usize) -> *mut c_void {
                // SAFETY: the contract is C's, unchanged.
                unsafe { count::calloc(count, size) }
            }

            #[unsafe(no_mangle)]
            unsafe extern "C" fn realloc(block: *mut c_void, size: usize) -> *mut c_void {
                // SAFETY: the contract is C's, unchanged.
                unsafe { count::realloc(block, size) }
            }

            #[unsafe(no_mangle)]
            unsafe extern "C" fn free(block: *mut c_void) {
                // SAFETY: the contract is C's, unchanged.
                unsafe { count::free(block) }
            }

            #[unsafe(no_mangle)]
            unsafe extern "C" fn memalign(alignment: usize, size: usize) -> *mut c_void {
                // SAFETY: the contract is C's, unchanged.
                unsafe { count::memalign(alignment, size) }
            }

            #[unsafe(no_mangle)]
            unsafe extern "C" fn aligned_alloc(alignment: usize, size: usize) -> *mut c_void {
                // SAFETY: the contract is C's, unchanged.
                unsafe { count::memalign(alignment, size) }
            }

            #[unsafe(no_mangle)]
            unsafe extern "C" fn posix_memalign(out: *mut *mut c_void, alignment: usize, size: usize) -> c_int {
                // SAFETY: the contract is C's, unchanged.
                unsafe { count::posix_memalign(out, alignment, size) }
            }

            #[unsafe(no_mangle)]
            unsafe extern "C" fn memcpy(to: *mut c_void, from: *const c_void, length: usize) -> *mut c_void {
                // SAFETY: the contract is C's, unchanged.
                unsafe { count::memcpy(to, from, length) }
            }

            #[unsafe(no_mangle)]
            unsafe extern "C" fn memmove(to: *mut c_void, from: *const c_void, length: usize) -> *mut c_void {
                // SAFETY: the contract is C's, unchanged.
                unsafe { count::memmove(to, from, length) }
            }

            #[unsafe(no_mangle)]
            unsafe extern "C" fn __memcpy_chk(
                to: *mut c_void,
                from: *const c_void,
                length: usize,
                room: usize,
            ) -> *mut c_void {
                if length > room {
                    std::process::abort();
                }
                // SAFETY: the contract is C's, and the length fits the room.
                unsafe { count::memcpy(to, from, length) }
            }

            #[unsafe(no_mangle)]
            unsafe extern "C" fn __memmove_chk(
                to: *mut c_void,
                from: *const c_void,
                length: usize,
                room: usize,
            ) -> *mut c_void {
                if length > room {
                    std::process::abort();
                }
                // SAFETY: the contract is C's, and the length fits the room.
                unsafe { count::memmove(to, from, length) }
            }
        }
    };
}
