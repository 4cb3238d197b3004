//! A socket address where the kernel can read it.

use std::mem;
use std::net::SocketAddr;
use std::ptr;

use super::Grant;

/// Writes `address` as a `sockaddr_in` or `sockaddr_in6` to the start of the grant, and returns its length (bytes).
pub(super) fn write(grant: &Grant, address: &SocketAddr) -> u32 {
    match address {
        SocketAddr::V4(v4) => {
            let address = libc::sockaddr_in {
                sin_family: family(libc::AF_INET),
                sin_port: v4.port().to_be(),
                sin_addr: libc::in_addr { s_addr: u32::from_ne_bytes(v4.ip().octets()) },
                sin_zero: [0; 8],
            };
            put(grant, &address)
        }
        SocketAddr::V6(v6) => {
            let address = libc::sockaddr_in6 {
                sin6_family: family(libc::AF_INET6),
                sin6_port: v6.port().to_be(),
                sin6_flowinfo: v6.flowinfo(),
                sin6_addr: libc::in6_addr { s6_addr: v6.ip().octets() },
                sin6_scope_id: v6.scope_id(),
            };
            put(grant, &address)
        }
    }
}

fn family(of: libc::c_int) -> libc::sa_family_t {
    libc::sa_family_t::try_from(of).unwrap_or(0)
}

fn put<T: Copy>(grant: &Grant, address: &T) -> u32 {
    let len = mem::size_of::<T>();
    assert!(len <= grant.bytes.len(), "a slot is larger than an address");
    let from = ptr::from_ref(address).cast::<u8>();
    // SAFETY: `from` has `len` bytes; so has the grant (checked), which nobody else has and the kernel not yet (R2).
    unsafe { ptr::copy_nonoverlapping(from, grant.pointer(), len) };
    u32::try_from(len).unwrap_or(0)
}
