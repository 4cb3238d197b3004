//! The BIO through which OpenSSL reaches a connection's memory, its sealer and its opener.
//!
//! The BIO owns nothing. For the duration of one `SSL_*` call its data pointer names a [`Border`] on the caller's
//! stack; outside such a call it is null, and every callback then answers "nothing here". So a connection can
//! move in memory, and one `BIO_METHOD` serves the process.

use std::any::Any;
use std::ffi::{CStr, c_char, c_int, c_long, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;
use std::sync::OnceLock;

use openssl_sys as ffi;

use super::{offer, sys};
use crate::connection::inbound::Inbound;
use crate::connection::outbound::Outbound;
use crate::error::Native;
use crate::record::CONTROL_RESERVE;

/// How OpenSSL is told that the record it is about to read is bad (it then sends the alert).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// bad_record_mac.
    Mac,
    /// record_overflow.
    Overflow,
    /// protocol_version.
    Version,
}

impl Refusal {
    fn errno(self) -> c_int {
        match self {
            Refusal::Mac => libc::EBADMSG,
            Refusal::Overflow => libc::EMSGSIZE,
            Refusal::Version => libc::EINVAL,
        }
    }
}

/// What one call into OpenSSL may see and touch.
pub(crate) struct Border<'c> {
    /// The window of input, by pointer: the plaintext of an OpenSSL read may be written where it came from.
    input: *const u8,
    input_len: usize,
    /// Bytes of input that OpenSSL took.
    pub(crate) taken: usize,
    /// True when nothing will follow the window.
    pub(crate) ended: bool,
    /// Set to have the next read fail.
    pub(crate) refusal: Option<Refusal>,
    /// Where ciphertext to send goes.
    room: &'c mut [u8],
    /// Bytes put there.
    pub(crate) put: usize,
    pub(crate) outbound: &'c mut Outbound,
    pub(crate) inbound: &'c mut Inbound,
    panic: Option<Box<dyn Any + Send>>,
}

impl<'c> Border<'c> {
    /// A border with an empty window of input.
    pub(crate) fn new(room: &'c mut [u8], outbound: &'c mut Outbound, inbound: &'c mut Inbound) -> Self {
        Border {
            input: ptr::null(),
            input_len: 0,
            taken: 0,
            ended: false,
            refusal: None,
            room,
            put: 0,
            outbound,
            inbound,
            panic: None,
        }
    }

    /// Shows OpenSSL `window`, which stays borrowed as long as the border lives.
    pub(crate) fn show(&mut self, window: &'c [u8]) {
        self.show_raw(window.as_ptr(), window.len());
    }

    /// As [`show`](Self::show), for a window that the same call may write its plaintext over.
    pub(super) fn show_raw(&mut self, input: *const u8, input_len: usize) {
        self.input = input;
        self.input_len = input_len;
    }

    pub(super) fn take_panic(&mut self) -> Option<Box<dyn Any + Send>> {
        self.panic.take()
    }

    fn unread(&self) -> usize {
        self.input_len - self.taken
    }

    fn read(&mut self, bio: *mut ffi::BIO, buf: *mut u8, len: usize) -> c_int {
        if let Some(refusal) = self.refusal.take() {
            set_errno(refusal.errno());
            return -1;
        }
        let n = len.min(self.unread());
        if n == 0 {
            if self.ended {
                return 0;
            }
            set_retry(bio, sys::BIO_FLAGS_READ);
            return -1;
        }
        // SAFETY: `taken` ≤ `input_len`, so the result stays in the window that `show` was given (U2).
        let from = unsafe { self.input.add(self.taken) };
        // SAFETY: `from` has `n` bytes left in the window; `buf` is OpenSSL's own memory of `len` ≥ `n` bytes, which
        // cannot overlap the backend's.
        unsafe { ptr::copy_nonoverlapping(from, buf, n) };
        self.taken += n;
        c_int::try_from(n).unwrap_or(-1)
    }

    fn write(&mut self, bio: *mut ffi::BIO, data: &[u8]) -> c_int {
        let free = &mut self.room[self.put..];
        let accepted = if self.outbound.is_engine() {
            match unheard(|| self.outbound.seal_control(data, free)) {
                Ok(Some(sealed)) => {
                    self.put += sealed;
                    data.len()
                }
                Ok(None) => 0,
                Err(_) => return -1,
            }
        } else {
            let n = self.outbound.admit(data, free.len().saturating_sub(CONTROL_RESERVE), free.len());
            free[..n].copy_from_slice(&data[..n]);
            self.put += n;
            n
        };
        if accepted == 0 {
            set_retry(bio, sys::BIO_FLAGS_WRITE);
            return -1;
        }
        c_int::try_from(accepted).unwrap_or(-1)
    }

    fn ctrl(&mut self, cmd: c_int, num: c_long, ptr: *mut c_void) -> c_long {
        match cmd {
            sys::BIO_CTRL_FLUSH | sys::BIO_CTRL_CLEAR_KTLS_TX_CTRL_MSG => sys::YES,
            sys::BIO_CTRL_EOF => c_long::from(self.ended && self.unread() == 0),
            sys::BIO_CTRL_PENDING => c_long::try_from(self.unread()).unwrap_or(c_long::MAX),
            sys::BIO_CTRL_GET_KTLS_SEND => c_long::from(self.outbound.is_engine()),
            sys::BIO_CTRL_GET_KTLS_RECV => c_long::from(self.inbound.is_engine()),
            sys::BIO_CTRL_SET_KTLS_TX_SEND_CTRL_MSG => {
                self.outbound.set_control_type(u8::try_from(num).unwrap_or(0));
                sys::NO
            }
            sys::BIO_CTRL_SET_KTLS => c_long::from(self.take_keys(num != 0, ptr)),
            // PUSH, POP, DUP, WPENDING (we hold nothing back) and whatever else there is.
            _ => sys::NO,
        }
    }

    /// The key offer. A refusal leaves the direction to OpenSSL's own record layer.
    fn take_keys(&mut self, sending: bool, info: *const c_void) -> bool {
        // SAFETY: OpenSSL passes its `ktls_crypto_info_t`, live for this call (U5).
        let Some(keys) = (unsafe { offer::parse(info) }) else { return false };
        unheard(|| if sending { self.outbound.take_keys(&keys) } else { self.inbound.take_keys(&keys) })
    }
}

fn set_errno(value: c_int) {
    // SAFETY: the C library's errno of this thread, always writable.
    let errno = unsafe { libc::__errno_location() };
    // SAFETY: as above; no Rust reference to it exists.
    unsafe { errno.write(value) };
}

fn set_retry(bio: *mut ffi::BIO, direction: c_int) {
    // SAFETY: `bio` is the live BIO whose callback is running.
    unsafe { ffi::BIO_set_flags(bio, direction | sys::BIO_FLAGS_SHOULD_RETRY) };
}

/// Runs what may fail inside EVP and leaves no entry of it in the error queue: the SSL call around it would be judged
/// by it.
fn unheard<R>(f: impl FnOnce() -> R) -> R {
    // SAFETY: no precondition; balanced by the pop below.
    unsafe { sys::ERR_set_mark() };
    let result = f();
    // SAFETY: as above.
    unsafe { sys::ERR_pop_to_mark() };
    result
}

/// Runs a callback's body; no panic goes over the border.
fn guarded<R>(bio: *mut ffi::BIO, absent: R, panicked: R, body: impl FnOnce(&mut Border<'_>) -> R) -> R {
    // SAFETY: `bio` is the live BIO whose callback is running.
    let data = unsafe { ffi::BIO_get_data(bio) }.cast::<Border<'_>>();
    if data.is_null() {
        return absent;
    }
    // SAFETY: not null, so an `SSL_*` call is under way whose frame owns the border and does not touch it (U1).
    let border = unsafe { &mut *data };
    catch_unwind(AssertUnwindSafe(|| body(&mut *border))).unwrap_or_else(|panic| {
        border.panic = Some(panic);
        panicked
    })
}

fn clear_retry(bio: *mut ffi::BIO) {
    // SAFETY: `bio` is the live BIO whose callback is running.
    unsafe { ffi::BIO_clear_flags(bio, sys::BIO_FLAGS_RWS | sys::BIO_FLAGS_SHOULD_RETRY) };
}

unsafe extern "C" fn bio_read(bio: *mut ffi::BIO, buf: *mut c_char, len: c_int) -> c_int {
    clear_retry(bio);
    let Ok(len) = usize::try_from(len) else { return -1 };
    guarded(bio, -1, -1, |border| border.read(bio, buf.cast(), len))
}

unsafe extern "C" fn bio_write(bio: *mut ffi::BIO, buf: *const c_char, len: c_int) -> c_int {
    clear_retry(bio);
    let Ok(len) = usize::try_from(len) else { return -1 };
    if len == 0 || buf.is_null() {
        return 0;
    }
    // SAFETY: BIO_write's contract: `buf` holds `len` bytes that stay unchanged for this call.
    let data = unsafe { std::slice::from_raw_parts(buf.cast::<u8>(), len) };
    guarded(bio, -1, -1, |border| border.write(bio, data))
}

unsafe extern "C" fn bio_ctrl(bio: *mut ffi::BIO, cmd: c_int, num: c_long, ptr: *mut c_void) -> c_long {
    guarded(bio, 0, 0, |border| border.ctrl(cmd, num, ptr))
}

unsafe extern "C" fn bio_create(bio: *mut ffi::BIO) -> c_int {
    // SAFETY: OpenSSL hands the BIO it is making.
    unsafe { ffi::BIO_set_init(bio, 1) };
    1
}

/// The process's one method table; never freed.
struct Method(*const ffi::BIO_METHOD);
// SAFETY: written once before it is published by the OnceLock, read-only after (U4).
unsafe impl Send for Method {}
// SAFETY: as above.
unsafe impl Sync for Method {}

const NAME: &CStr = c"arenatls";

fn method() -> Option<*const ffi::BIO_METHOD> {
    static METHOD: OnceLock<Option<Method>> = OnceLock::new();
    METHOD.get_or_init(make_method).as_ref().map(|m| m.0)
}

fn make_method() -> Option<Method> {
    // SAFETY: no precondition.
    let index = unsafe { sys::BIO_get_new_index() };
    if index < 0 {
        return None;
    }
    // SAFETY: NAME is a static C string, which OpenSSL copies.
    let method = unsafe { ffi::BIO_meth_new(index | sys::BIO_TYPE_SOURCE_SINK, NAME.as_ptr()) };
    if method.is_null() {
        return None;
    }
    // SAFETY: `method` was just made and nobody else has it; the callback has the prototype the setter asks for.
    let read = unsafe { ffi::BIO_meth_set_read__fixed_rust(method, Some(bio_read)) };
    // SAFETY: as above.
    let write = unsafe { ffi::BIO_meth_set_write__fixed_rust(method, Some(bio_write)) };
    // SAFETY: as above.
    let ctrl = unsafe { ffi::BIO_meth_set_ctrl__fixed_rust(method, Some(bio_ctrl)) };
    // SAFETY: as above.
    let create = unsafe { ffi::BIO_meth_set_create__fixed_rust(method, Some(bio_create)) };
    (read == 1 && write == 1 && ctrl == 1 && create == 1).then_some(Method(method))
}

/// Makes the connection's BIO (`BIO_new`); the caller owns it.
pub(super) fn new_bio() -> Result<*mut ffi::BIO, Native> {
    let Some(method) = method() else { return Err(Native::drain()) };
    // SAFETY: the method table is complete and lives for ever (U4).
    let bio = unsafe { ffi::BIO_new(method) };
    if bio.is_null() { Err(Native::drain()) } else { Ok(bio) }
}
