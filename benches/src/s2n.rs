//! What the s2n-tls contenders share: callbacks that send to a wire and receive from one, and policies.

use std::ffi::{c_int, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;
use std::task::Poll;

use s2n_tls::config::Builder;
use s2n_tls::connection::Connection;
use s2n_tls::enums::{Blinding, Mode};
use s2n_tls::error::Error;
use s2n_tls::security::Policy;

use crate::moves;
use crate::wire::Wire;

/// What the callbacks see: where ciphertext comes from and where it goes.
struct Link<'a> {
    from: &'a mut Wire,
    to: &'a mut Wire,
}

/// A configuration that knows `policy` alone, still open for identities and roots.
pub(crate) fn builder(policy: &str) -> Builder {
    let mut builder = Builder::new();
    let policy = Policy::from_version(policy).expect("s2n-tls knows the policy");
    builder.set_security_policy(&policy).expect("s2n-tls takes the policy");
    builder.with_system_certs(false).expect("s2n-tls trusts nobody by itself");
    builder
}

/// A connection without configuration, whose callbacks are those of this file.
///
/// It takes the biggest records there are, and does not sleep over an error, as s2n-tls would by itself.
pub(crate) fn connection(mode: Mode) -> Connection {
    let mut connection = Connection::new(mode);
    let set = |connection: &mut Connection| -> Result<(), Error> {
        connection.set_blinding(Blinding::SelfService)?;
        connection.prefer_throughput()?;
        connection.set_send_callback(Some(send))?;
        connection.set_receive_callback(Some(receive))?;
        Ok(())
    };
    set(&mut connection).expect("s2n-tls takes the settings");
    connection
}

/// Does something with a connection that may send and receive.
///
/// # Panics
///
/// If s2n-tls refuses: there is nothing to measure then.
pub(crate) fn over<T>(
    connection: &mut Connection,
    from: &mut Wire,
    to: &mut Wire,
    act: impl FnOnce(&mut Connection) -> Poll<Result<T, Error>>,
) -> Option<T> {
    let mut link = Link { from, to };
    attach(connection, (&raw mut link).cast());
    let done = act(connection);
    attach(connection, ptr::null_mut());
    match done {
        Poll::Ready(done) => Some(done.expect("s2n-tls goes on")),
        Poll::Pending => None,
    }
}

fn attach(connection: &mut Connection, link: *mut c_void) {
    // SAFETY: the callbacks run only within calls on the connection, which `over` makes while the link lives.
    let receiving = unsafe { connection.set_receive_context(link) }.map(drop);
    // SAFETY: as above.
    let sending = unsafe { connection.set_send_context(link) }.map(drop);
    receiving.and(sending).expect("s2n-tls takes a context");
}

/// s2n-tls's `s2n_send_fn` (`s2n.h`).
unsafe extern "C" fn send(link: *mut c_void, bytes: *const u8, length: u32) -> c_int {
    // SAFETY: s2n-tls passes what `attach` set, which `over` keeps alive and does not use meanwhile, or null.
    let Some(link) = (unsafe { link.cast::<Link<'_>>().as_mut() }) else { return fail(libc::EIO) };
    // SAFETY: s2n-tls passes that many bytes, which stay as they are during the call.
    let bytes = unsafe { std::slice::from_raw_parts(bytes, length as usize) };
    // The wire panics when it is full.
    match catch_unwind(AssertUnwindSafe(|| link.to.push(bytes))) {
        Ok(()) => c_int::try_from(length).unwrap_or_else(|_| fail(libc::EIO)),
        Err(_) => fail(libc::EIO),
    }
}

/// s2n-tls's `s2n_recv_fn` (`s2n.h`).
unsafe extern "C" fn receive(link: *mut c_void, room: *mut u8, length: u32) -> c_int {
    // SAFETY: as in `send`.
    let Some(link) = (unsafe { link.cast::<Link<'_>>().as_mut() }) else { return fail(libc::EIO) };
    let take = |bytes: &[u8]| {
        // SAFETY: s2n-tls passes room for `length` bytes, which is not the wire's; `bytes` are no more.
        unsafe { moves::ascending(room.cast(), bytes.as_ptr().cast(), bytes.len()) };
    };
    match catch_unwind(AssertUnwindSafe(|| link.from.give(length as usize, take))) {
        Ok(0) => fail(libc::EWOULDBLOCK),
        Ok(pulled) => c_int::try_from(pulled).unwrap_or_else(|_| fail(libc::EIO)),
        Err(_) => fail(libc::EIO),
    }
}

/// Says why in `errno`, as s2n-tls wants it, and returns what the callback returns.
fn fail(errno: c_int) -> c_int {
    errno::set_errno(errno::Errno(errno));
    -1
}
