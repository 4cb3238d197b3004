//! Every `SSL_*` call: clear the error queue, call, classify at once, drain the queue into the result.

use std::ffi::{c_int, c_long};
use std::panic::resume_unwind;
use std::ptr;

use foreign_types::ForeignType as _;
use openssl::ssl::{Ssl, SslRef, SslVerifyMode};
use openssl::x509::X509VerifyResult;
use openssl_sys as ffi;

use super::bio::{self, Border};
use super::sys;
use crate::alert::Alert;
use crate::connection::inbound::Front;
use crate::error::{BuildError, Error, Native};
use crate::want::Want;

/// What a call came to, when it is no failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// Done; for a read, with this many bytes.
    Done(usize),
    /// It goes no further without this.
    Wants(Want),
    /// The peer's close_notify.
    PeerClosed,
}

/// The result of a call.
pub(crate) type Called = Result<Outcome, Error>;

/// An `SSL` whose read and write BIO are ours.
pub(crate) struct Tls {
    ssl: Ssl,
    calls: u64,
    /// Whether OpenSSL wipes what it has read.
    wipes: bool,
    /// Whether the connection has ended well, as far as it has ended.
    pub(crate) ended_well: bool,
}

impl Drop for Tls {
    /// OpenSSL takes a session out of its cache if the connection was not shut down; one that ended well stays.
    fn drop(&mut self) {
        if self.ended_well {
            self.mark_clean_end();
        }
    }
}

/// Which end of the connection to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    Client,
    Server,
}

impl Tls {
    /// Takes a configured `Ssl`, gives it our BIO, and sets what the engine relies on.
    pub(crate) fn new(ssl: Ssl, role: Role, offer_keys: bool) -> Result<Tls, BuildError> {
        let raw = ssl.as_ptr();
        // SAFETY: `ssl` is live.
        if unsafe { sys::SSL_is_dtls(raw) } != 0 {
            return Err(BuildError::Datagram);
        }
        let bio = bio::new_bio().map_err(BuildError::Native)?;
        // SAFETY: both live; SSL_set_bio takes over the one reference when both ends are the same BIO.
        unsafe { ffi::SSL_set_bio(raw, bio, bio) };
        let mut options = ffi::SSL_OP_NO_RENEGOTIATION | sys::SSL_OP_CLEANSE_PLAINTEXT;
        if offer_keys {
            options |= sys::SSL_OP_ENABLE_KTLS;
        }
        // SAFETY: `ssl` is live.
        unsafe { sys::SSL_set_options(raw, options) };
        // SAFETY: `ssl` is live. Without it, truncation would look like a clean end.
        unsafe { sys::SSL_clear_options(raw, ffi::SSL_OP_IGNORE_UNEXPECTED_EOF) };
        if !offer_keys {
            // SAFETY: `ssl` is live.
            unsafe { sys::SSL_clear_options(raw, sys::SSL_OP_ENABLE_KTLS) };
        }
        let mode: c_long = ffi::SSL_MODE_ENABLE_PARTIAL_WRITE | ffi::SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER;
        // SAFETY: `ssl` is live; SSL_set_mode is this control.
        unsafe { ffi::SSL_ctrl(raw, ffi::SSL_CTRL_MODE, mode, ptr::null_mut()) };
        // A padded record would not fit the room that the engine has seen to be there; `Options::padding` pads.
        // SAFETY: `ssl` is live; null is "no callback".
        unsafe { sys::SSL_set_record_padding_callback(raw, None) };
        // SAFETY: `ssl` is live.
        unsafe { sys::SSL_set_block_padding(raw, 0) };
        match role {
            // SAFETY: `ssl` is live.
            Role::Client => unsafe { ffi::SSL_set_connect_state(raw) },
            // SAFETY: `ssl` is live.
            Role::Server => unsafe { ffi::SSL_set_accept_state(raw) },
        }
        Ok(Tls { ssl, calls: 0, wipes: true, ended_well: false })
    }

    pub(crate) fn ssl(&self) -> &SslRef {
        &self.ssl
    }

    /// How many calls into OpenSSL's TLS code were made.
    pub(crate) fn calls(&self) -> u64 {
        self.calls
    }

    /// `SSL_do_handshake`.
    pub(crate) fn handshake(&mut self, border: &mut Border<'_>) -> Called {
        // SAFETY: `call` passes the live SSL, whose BIO sees `border`.
        let outcome = self.call(border, |ssl| unsafe { ffi::SSL_do_handshake(ssl) })?;
        if outcome == Outcome::Done(0) {
            // A paused job goes on with the pointers of the call that started it. A handshake call has none; a read or
            // a write has, and they would be stale: no jobs after the handshake.
            self.clear_mode(sys::SSL_MODE_ASYNC);
        }
        Ok(outcome)
    }

    /// Has OpenSSL release its record buffers (33 KiB) whenever they are empty, from here on.
    ///
    /// Not before it is known that data does not pass through them: there is no way to take it back that all record
    /// layers of OpenSSL 3.2 to 3.6 hear of, and each record would be an allocation.
    pub(crate) fn release_buffers(&mut self) {
        let ssl = self.ssl.as_ptr();
        // SAFETY: the SSL is live; SSL_set_mode is this control.
        unsafe { ffi::SSL_ctrl(ssl, ffi::SSL_CTRL_MODE, ffi::SSL_MODE_RELEASE_BUFFERS, ptr::null_mut()) };
    }

    /// Whether OpenSSL is to wipe what it reads from here on (`SSL_OP_CLEANSE_PLAINTEXT`), as it does at first.
    ///
    /// Once it [releases buffers](Self::release_buffers) it wipes all 16 KiB of one for a record of any length.
    pub(crate) fn set_wiping(&mut self, wipe: bool) {
        if wipe == self.wipes {
            return;
        }
        self.wipes = wipe;
        let ssl = self.ssl.as_ptr();
        if wipe {
            // SAFETY: the SSL is live.
            unsafe { sys::SSL_set_options(ssl, sys::SSL_OP_CLEANSE_PLAINTEXT) };
        } else {
            // SAFETY: the SSL is live.
            unsafe { sys::SSL_clear_options(ssl, sys::SSL_OP_CLEANSE_PLAINTEXT) };
        }
    }

    fn clear_mode(&mut self, mode: c_long) {
        let ssl = self.ssl.as_ptr();
        // SAFETY: the SSL is live; SSL_clear_mode is this control.
        unsafe { ffi::SSL_ctrl(ssl, sys::SSL_CTRL_CLEAR_MODE, mode, ptr::null_mut()) };
    }

    /// `SSL_read_ex` of one record, into the memory that the record lies in: OpenSSL may read `front` of `record`, and
    /// the plaintext is written behind the header.
    ///
    /// OpenSSL first copies a record into memory of its own, then opens it and copies the plaintext out, so the two
    /// may overlap; only one record is shown.
    pub(crate) fn read(&mut self, border: &mut Border<'_>, record: &mut [u8], front: Front) -> Called {
        let base = record.as_mut_ptr();
        let (end, text) = (front.end.min(record.len()), front.text().min(record.len()));
        let start = front.start.min(end);
        // SAFETY: `start` is within the slice.
        border.show_raw(unsafe { base.add(start) }, end - start);
        if text == record.len() {
            return self.provoke(border);
        }
        // SAFETY: `text` is within the slice.
        let out = unsafe { base.add(text) };
        let (room, mut n) = (record.len() - text, 0);
        // SAFETY: `out` has `room` writable bytes that outlive the call; all pointers come from `base` and no Rust
        // reference to the record is used while OpenSSL runs (U2, U3).
        let outcome = self.call(border, |ssl| unsafe { ffi::SSL_read_ex(ssl, out.cast(), room, &mut n) })?;
        Ok(if outcome == Outcome::Done(0) { Outcome::Done(n) } else { outcome })
    }

    /// `SSL_read_ex` of what can hold no data: an empty record, a bad one, or nothing, to let OpenSSL react.
    pub(crate) fn provoke(&mut self, border: &mut Border<'_>) -> Called {
        let (mut nowhere, mut n) = ([0u8; 1], 0);
        let out = nowhere.as_mut_ptr();
        // SAFETY: `out` is one writable byte that outlives the call.
        self.call(border, |ssl| unsafe { ffi::SSL_read_ex(ssl, out.cast(), 1, &mut n) })
    }

    /// `SSL_write_ex` of one record.
    pub(crate) fn write(&mut self, border: &mut Border<'_>, plaintext: &[u8]) -> Called {
        let mut n = 0;
        // SAFETY: `plaintext` is live for the call, which does not keep it: the border has room for the whole record.
        let outcome = self.call(border, |ssl| unsafe {
            ffi::SSL_write_ex(ssl, plaintext.as_ptr().cast(), plaintext.len(), &mut n)
        })?;
        Ok(if outcome == Outcome::Done(0) { Outcome::Done(n) } else { outcome })
    }

    /// `SSL_shutdown`, once: our close_notify. Never called during a handshake.
    pub(crate) fn shutdown(&mut self, border: &mut Border<'_>) -> Called {
        // SAFETY: `call` passes the live SSL. 0 means "sent, the peer's is not here yet", which is what is wanted.
        self.call(border, |ssl| match unsafe { ffi::SSL_shutdown(ssl) } {
            0 => 1,
            ret => ret,
        })
    }

    /// `SSL_key_update`, then the `SSL_do_handshake` that sends it.
    pub(crate) fn key_update(&mut self, border: &mut Border<'_>, ask_peer: bool) -> Called {
        let kind = if ask_peer { sys::SSL_KEY_UPDATE_REQUESTED } else { sys::SSL_KEY_UPDATE_NOT_REQUESTED };
        // SAFETY: `call` passes the live SSL.
        self.call(border, |ssl| unsafe { sys::SSL_key_update(ssl, kind) })?;
        self.handshake(border)
    }

    /// `SSL_get_key_update_type`: whether OpenSSL owes the peer a KeyUpdate, which it sends with the next handshake
    /// call or write of its own.
    pub(crate) fn owes_key_update(&self) -> bool {
        // SAFETY: the SSL is live.
        unsafe { sys::SSL_get_key_update_type(self.ssl.as_ptr()) != sys::SSL_KEY_UPDATE_NONE }
    }

    /// `SSL_in_init`: whether OpenSSL is in a handshake.
    pub(crate) fn in_init(&self) -> bool {
        // SAFETY: the SSL is live.
        unsafe { sys::SSL_in_init(self.ssl.as_ptr()) != 0 }
    }

    /// `SSL_get_shutdown`: bit 1, our close_notify was sent; bit 2, the peer's was received.
    pub(crate) fn shutdown_bits(&self) -> c_int {
        // SAFETY: the SSL is live.
        unsafe { ffi::SSL_get_shutdown(self.ssl.as_ptr()) }
    }

    /// Tells OpenSSL that the connection ended well, so that its session stays resumable (`SSL_set_shutdown`).
    fn mark_clean_end(&mut self) {
        // SAFETY: the SSL is live.
        unsafe { ffi::SSL_set_shutdown(self.ssl.as_ptr(), ffi::SSL_SENT_SHUTDOWN | ffi::SSL_RECEIVED_SHUTDOWN) };
    }

    fn call(&mut self, border: &mut Border<'_>, f: impl FnOnce(*mut ffi::SSL) -> c_int) -> Called {
        self.calls += 1;
        let ssl = self.ssl.as_ptr();
        // SAFETY: the SSL is live and its read BIO is the one `new` gave it.
        let bio = unsafe { sys::SSL_get_rbio(ssl) };
        drain();
        // SAFETY: the BIO is live; the border outlives this call and is reached only through the BIO until the
        // pointer is taken back below (U1).
        unsafe { ffi::BIO_set_data(bio, ptr::from_mut(border).cast()) };
        let ret = f(ssl);
        // SAFETY: the BIO is live.
        unsafe { ffi::BIO_set_data(bio, ptr::null_mut()) };
        // SAFETY: the SSL is live and this is the first call after the one that gave `ret`.
        let code = if ret > 0 { ffi::SSL_ERROR_NONE } else { unsafe { ffi::SSL_get_error(ssl, ret) } };
        let native = drain();
        if let Some(panic) = border.take_panic() {
            resume_unwind(panic);
        }
        self.classify(code, native, border.ended)
    }

    fn classify(&self, code: c_int, native: Native, ended: bool) -> Called {
        Ok(match code {
            ffi::SSL_ERROR_NONE => Outcome::Done(0),
            ffi::SSL_ERROR_WANT_READ => Outcome::Wants(Want::Input),
            ffi::SSL_ERROR_WANT_WRITE => Outcome::Wants(Want::Drain),
            ffi::SSL_ERROR_ZERO_RETURN => Outcome::PeerClosed,
            ffi::SSL_ERROR_WANT_X509_LOOKUP => Outcome::Wants(Want::Certificate),
            ffi::SSL_ERROR_WANT_CLIENT_HELLO_CB => Outcome::Wants(Want::ClientHello),
            sys::SSL_ERROR_WANT_RETRY_VERIFY => Outcome::Wants(Want::Verify),
            sys::SSL_ERROR_WANT_ASYNC | sys::SSL_ERROR_WANT_ASYNC_JOB => Outcome::Wants(Want::PrivateKey),
            // After a user_canceled OpenSSL takes a TLS 1.3 close_notify and does not say so (RFC 8446 §6.1 has both).
            ffi::SSL_ERROR_SYSCALL if native.code() == 0 && self.shutdown_bits() & ffi::SSL_RECEIVED_SHUTDOWN != 0 => {
                Outcome::PeerClosed
            }
            ffi::SSL_ERROR_SYSCALL if ended && native.code() == 0 => return Err(Error::Truncated),
            ffi::SSL_ERROR_SSL | ffi::SSL_ERROR_SYSCALL => return Err(self.failure(native)),
            _ => return Err(Error::Bug { what: "an SSL_get_error code that is not known", native }),
        })
    }

    fn failure(&self, native: Native) -> Error {
        if native.code() == 0 {
            return Error::Bug { what: "OpenSSL failed without a reason", native };
        }
        if !native.is_ssl() {
            return Error::Protocol(native);
        }
        match native.reason_code() {
            UNEXPECTED_EOF => Error::Truncated,
            CERTIFICATE_VERIFY_FAILED => self.certificate(native),
            BAD_RECORD_MAC => Error::Record(crate::error::BadRecord::Mac),
            r @ sys::SSL_AD_REASON_OFFSET..=1255 => {
                Error::PeerAlert(Alert(u8::try_from(r - sys::SSL_AD_REASON_OFFSET).unwrap_or(u8::MAX)))
            }
            r if CONFIGURATION.contains(&r) => Error::Configuration(native),
            r if TERMS.contains(&r) => Error::Incompatible(native),
            _ => Error::Protocol(native),
        }
    }

    fn certificate(&self, native: Native) -> Error {
        let verdict = self.ssl.verify_result();
        if verdict == X509VerifyResult::OK {
            return Error::Protocol(native);
        }
        Error::Certificate { code: verdict.as_raw(), reason: verdict.error_string() }
    }
}

impl Tls {
    /// Whether the `Ssl` refuses peers that it cannot verify (`SSL_get_verify_mode`).
    pub(crate) fn verifies(ssl: &SslRef) -> bool {
        ssl.verify_mode().contains(SslVerifyMode::PEER)
    }
}

// openssl/sslerr.h
const UNEXPECTED_EOF: i32 = 294;
const CERTIFICATE_VERIFY_FAILED: i32 = 134;
const BAD_RECORD_MAC: i32 = 281;
/// No ciphers available, certificate assigned, certificate set, private key, protocols available, or method specified.
const CONFIGURATION: [i32; 6] = [181, 177, 179, 190, 191, 188];
/// No shared cipher, suitable key share, shared groups, shared or suitable signature algorithms, or application protocol;
/// unsupported protocol; the peer did not return a certificate.
const TERMS: [i32; 8] = [193, 101, 410, 376, 118, 235, 258, 199];

/// What the error queue holds, taken out; the cheap look first, as nearly every call leaves it empty.
fn drain() -> Native {
    // SAFETY: no precondition: this thread's queue.
    if unsafe { sys::ERR_peek_error() } == 0 { Native::default() } else { Native::drain() }
}
