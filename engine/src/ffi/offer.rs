//! The key offer: the C structs of `linux/tls.h` that OpenSSL hands to `BIO_ctrl(SET_KTLS)`.

use std::ffi::c_void;

use crate::record::crypto_info::{HEAD, Layout, SEQUENCE, layout};
use crate::record::keys::{TrafficKeys, Version};

/// Reads an offer; `None` is a suite or version that we leave to OpenSSL.
///
/// # Safety
///
/// - `info` points to a `tls_crypto_info` of `linux/tls.h`, followed by the rest of the struct that its cipher type
///   names, all readable for this call.
pub(super) unsafe fn parse(info: *const c_void) -> Option<TrafficKeys> {
    if info.is_null() || !cfg!(target_os = "linux") {
        return None;
    }
    // SAFETY: the caller's promise; the head is common to every struct.
    let head: [u8; HEAD] = unsafe { info.cast::<[u8; HEAD]>().read() };
    let version = Version::from_wire(u16::from_ne_bytes([head[0], head[1]]))?;
    let Layout { suite, iv, key, salt } = layout(u16::from_ne_bytes([head[2], head[3]]))?;
    // SAFETY: the struct that the cipher type names goes on past its head.
    let body = unsafe { info.cast::<u8>().add(HEAD) };
    // SAFETY: the caller's promise, with the sizes of that struct.
    let body = unsafe { std::slice::from_raw_parts(body, iv + key + salt + SEQUENCE) };
    let (iv, rest) = body.split_at(iv);
    let (key, rest) = rest.split_at(key);
    let (salt, seq) = rest.split_at(salt);
    TrafficKeys::new(version, suite, key, [salt, iv], u64::from_be_bytes(seq.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::keys::Suite;

    fn offer(version: u16, cipher: u16, lens: [usize; 4]) -> Vec<u8> {
        let mut bytes = Vec::new();
        bytes.extend(version.to_ne_bytes());
        bytes.extend(cipher.to_ne_bytes());
        for (i, len) in lens.iter().enumerate() {
            bytes.extend(vec![u8::try_from(i + 1).unwrap(); *len]);
        }
        bytes
    }

    fn parsed(bytes: &[u8]) -> Option<TrafficKeys> {
        // SAFETY: the test's buffers are as long as the struct they imitate.
        unsafe { parse(bytes.as_ptr().cast()) }
    }

    #[test]
    fn fields_are_where_linux_tls_h_puts_them() {
        let keys = parsed(&offer(0x0304, 51, [8, 16, 4, 8])).unwrap();
        assert_eq!((keys.version(), keys.suite()), (Version::Tls13, Suite::Aes128Gcm));
        assert_eq!(keys.key(), &[2; 16]);
        assert_eq!(keys.iv(), &[3, 3, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1]);
        assert_eq!(keys.sequence(), 0x0404_0404_0404_0404);
        let keys = parsed(&offer(0x0303, 54, [12, 32, 0, 8])).unwrap();
        assert_eq!((keys.version(), keys.suite()), (Version::Tls12, Suite::ChaCha20Poly1305));
        assert_eq!(keys.key(), &[2; 32]);
        assert_eq!(keys.iv(), &[1; 12]);
    }

    #[test]
    fn what_we_do_not_do_is_refused() {
        assert!(parsed(&offer(0x0304, 53, [8, 16, 4, 8])).is_none(), "AES-128-CCM");
        assert!(parsed(&offer(0x0302, 51, [8, 16, 4, 8])).is_none(), "TLS 1.1");
    }
}
