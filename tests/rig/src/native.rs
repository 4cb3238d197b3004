//! What tests need of OpenSSL and the `openssl` crate does not offer.

use std::ffi::{c_int, c_void};
use std::ptr;
use std::sync::atomic::{AtomicUsize, Ordering};

use foreign_types::ForeignTypeRef as _;
use openssl::error::ErrorStack;
use openssl::ssl::{SslContextBuilder, SslRef, SslSessionRef, SslVerifyMode};
use openssl::x509::{X509, X509StoreContext};
use openssl_sys as ffi;

type CertCallback = extern "C" fn(*mut ffi::SSL, *mut c_void) -> c_int;

unsafe extern "C" {
    // openssl/ssl.h
    fn SSL_CTX_set_cert_cb(context: *mut ffi::SSL_CTX, callback: CertCallback, argument: *mut c_void);
    fn SSL_SESSION_is_resumable(session: *const ffi::SSL_SESSION) -> c_int;
    fn SSL_renegotiate(ssl: *mut ffi::SSL) -> c_int;
    // openssl/err.h
    fn ERR_peek_error() -> std::ffi::c_ulong;
}

/// `SSL_set_retry_verify` is this control (openssl/ssl.h).
const SSL_CTRL_SET_RETRY_VERIFY: c_int = 136;

/// True if this thread's error queue holds nothing (`ERR_peek_error`).
#[must_use]
pub fn error_queue_is_empty() -> bool {
    // SAFETY: no precondition: this thread's queue.
    unsafe { ERR_peek_error() == 0 }
}

/// Leaves an entry in this thread's error queue, as careless code does.
///
/// # Panics
///
/// If OpenSSL takes junk for a certificate.
pub fn soil_error_queue() {
    X509::from_der(b"junk").expect_err("junk is no certificate").put();
    assert!(!error_queue_is_empty());
}

/// Empties this thread's error queue.
pub fn clean_error_queue() {
    let _: ErrorStack = ErrorStack::get();
}

/// Whether a session may be resumed (`SSL_SESSION_is_resumable`).
#[must_use]
pub fn is_resumable(session: &SslSessionRef) -> bool {
    // SAFETY: the reference keeps the session alive.
    unsafe { SSL_SESSION_is_resumable(session.as_ptr()) == 1 }
}

/// Asks a stock end to renegotiate (`SSL_renegotiate`, TLS 1.2); its next handshake call sends the request.
#[must_use]
pub fn renegotiate(ssl: &SslRef) -> bool {
    // SAFETY: the reference keeps the `SSL` alive; the caller's stream is not inside a call.
    unsafe { SSL_renegotiate(ssl.as_ptr()) == 1 }
}

/// Has the certificate callback of `builder` say "later" the next `times` times (`SSL_CTX_set_cert_cb`). The counter
/// says how many are left.
pub fn pause_certificate(builder: &mut SslContextBuilder, times: usize) -> &'static AtomicUsize {
    let left: &'static AtomicUsize = Box::leak(Box::new(AtomicUsize::new(times)));
    let argument = ptr::from_ref(left).cast_mut().cast();
    // SAFETY: the context is live and `later` treats its argument as what it is, a counter that lives for ever.
    unsafe { SSL_CTX_set_cert_cb(builder.as_ptr(), later, argument) };
    left
}

extern "C" fn later(_: *mut ffi::SSL, left: *mut c_void) -> c_int {
    // SAFETY: `pause_certificate` passed a counter that lives for ever.
    let left = unsafe { &*left.cast::<AtomicUsize>() };
    if take_one(left) { -1 } else { 1 }
}

/// Has the verification of a client of `builder` say "later" the next `times` times (`SSL_set_retry_verify`).
pub fn pause_verification(builder: &mut SslContextBuilder, times: usize) -> &'static AtomicUsize {
    let left: &'static AtomicUsize = Box::leak(Box::new(AtomicUsize::new(times)));
    builder.set_verify_callback(SslVerifyMode::PEER, move |ok, store| {
        // The leaf comes last; once is enough.
        if store.error_depth() == 0 && take_one(left) {
            let ssl = X509StoreContext::ssl_idx().ok().and_then(|index| store.ex_data(index));
            let ssl = ssl.expect("a verification for a connection");
            // SAFETY: the `SSL` is the live one whose callback is running; this control only sets its wait state.
            unsafe { ffi::SSL_ctrl(ssl.as_ptr(), SSL_CTRL_SET_RETRY_VERIFY, 0, ptr::null_mut()) };
        }
        ok
    });
    left
}

fn take_one(left: &AtomicUsize) -> bool {
    left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |n| n.checked_sub(1)).is_ok()
}
