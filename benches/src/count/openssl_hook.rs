//! The column of OpenSSL's allocator hook.

use std::ffi::{c_char, c_int, c_void};

use super::{NotCounting, OPENSSL, live};

type Malloc = unsafe extern "C" fn(usize, *const c_char, c_int) -> *mut c_void;
type Realloc = unsafe extern "C" fn(*mut c_void, usize, *const c_char, c_int) -> *mut c_void;
type Free = unsafe extern "C" fn(*mut c_void, *const c_char, c_int);

unsafe extern "C" {
    /// `openssl/crypto.h`; openssl-sys does not declare it.
    fn CRYPTO_set_mem_functions(malloc: Malloc, realloc: Realloc, free: Free) -> c_int;
}

/// Hangs the counting functions into OpenSSL (`CRYPTO_set_mem_functions`).
pub(super) fn install() -> Result<(), NotCounting> {
    // SAFETY: the three functions are libc's malloc, realloc and free with counting before, as OpenSSL's own are, and
    // live as long as the process.
    let taken = unsafe { CRYPTO_set_mem_functions(hooked_malloc, hooked_realloc, hooked_free) };
    if taken == 1 {
        Ok(())
    } else {
        Err(NotCounting("OpenSSL refuses its allocator hook, so it has allocated before".into()))
    }
}

unsafe extern "C" fn hooked_malloc(size: usize, _file: *const c_char, _line: c_int) -> *mut c_void {
    OPENSSL.add(size);
    // SAFETY: malloc takes any size.
    let block = unsafe { libc::malloc(size) };
    // SAFETY: it is libc's, and live.
    unsafe { live::OPENSSL.took_block(block) };
    block
}

unsafe extern "C" fn hooked_realloc(
    block: *mut c_void,
    size: usize,
    _file: *const c_char,
    _line: c_int,
) -> *mut c_void {
    OPENSSL.add(size);
    // SAFETY: `block` is null or came from one of these functions, hence from libc, and is live.
    unsafe { live::OPENSSL.gave_block(block) };
    // SAFETY: as above, and it is not used again by OpenSSL.
    let block = unsafe { libc::realloc(block, size) };
    // SAFETY: it is libc's, and live.
    unsafe { live::OPENSSL.took_block(block) };
    block
}

unsafe extern "C" fn hooked_free(block: *mut c_void, _file: *const c_char, _line: c_int) {
    // SAFETY: `block` is null or came from one of these functions, hence from libc, and is live.
    unsafe { live::OPENSSL.gave_block(block) };
    // SAFETY: `block` is null or came from one of these functions, hence from libc, and is not used again by OpenSSL.
    unsafe { libc::free(block) }
}
