//! No protocol at all: the EVP calls that a record cannot do without, sealing from the payload into one buffer and
//! opening in place. It is the floor for everybody whose AEAD is OpenSSL's.
//!
//! A record costs one `EVP_CIPHER_CTX_set_params` (nonce, and the tag to expect), one `EVP_Cipher` each for the
//! additional data, the payload, the inner type (TLS 1.3, sealing) and the end, and one `EVP_CIPHER_CTX_get_params`
//! (sealing: the tag). `EVP_Cipher` skips the checks of `EVP_CipherUpdate`. ChaCha20-Poly1305 takes its nonce by
//! `EVP_CipherInit_ex` and its end by `EVP_CipherFinal`. Key, header and sequence number are made up.

use std::ffi::{CStr, c_int, c_uint};
use std::ptr;

use foreign_types::ForeignType;
use openssl::cipher::Cipher;
use openssl::cipher_ctx::CipherCtx;
use openssl_sys as ffi;

use super::{Contender, Look, MAX_RECORD};
use crate::setting::{Aead, Setting, Suite, Version};
use crate::wire::Wire;

unsafe extern "C" {
    /// `openssl/evp.h`; openssl-sys does not declare it.
    fn EVP_Cipher(ctx: *mut ffi::EVP_CIPHER_CTX, out: *mut u8, input: *const u8, length: c_uint) -> c_int;
    /// `openssl/evp.h`; openssl-sys does not declare it.
    fn EVP_CIPHER_CTX_set_params(ctx: *mut ffi::EVP_CIPHER_CTX, params: *const ffi::OSSL_PARAM) -> c_int;
    /// `openssl/evp.h`; openssl-sys does not declare it.
    fn EVP_CIPHER_CTX_get_params(ctx: *mut ffi::EVP_CIPHER_CTX, params: *mut ffi::OSSL_PARAM) -> c_int;
}

/// `OSSL_PARAM_OCTET_STRING` (`openssl/core.h`).
const OCTET_STRING: c_uint = 5;
const HEADER: usize = 5;
const TAG: usize = 16;
const KEY: [u8; 32] = [7; 32];

struct Pair {
    client: End,
    server: End,
    shape: Shape,
    record: Box<[u8]>,
    received: Box<[u8]>,
}

/// Where things lie in a record.
#[derive(Clone, Copy)]
struct Shape {
    /// Before the text: the header, in TLS 1.2 with AES-GCM the explicit nonce too.
    before: usize,
    /// The inner type after the text, in TLS 1.3.
    inner_type: usize,
    /// Additional data.
    additional: usize,
}

/// One direction's context and sequence number.
struct End {
    ctx: CipherCtx,
    gcm: bool,
    sequence: u64,
}

/// Makes a pair that shares a made-up key.
pub(super) fn connect(setting: &Setting<'_>) -> Box<dyn Contender> {
    Box::new(Pair {
        client: End::new(setting.suite.aead, true),
        server: End::new(setting.suite.aead, false),
        shape: Shape::of(setting.suite),
        record: vec![0; MAX_RECORD].into_boxed_slice(),
        received: vec![0; MAX_RECORD].into_boxed_slice(),
    })
}

impl Contender for Pair {
    fn write(&mut self, payload: &[u8], wire: &mut Wire) {
        let length = self.client.seal(self.shape, payload, &mut self.record);
        wire.push(&self.record[..length]);
    }

    fn read(&mut self, wire: &mut Wire, look: &mut Look<'_>) -> usize {
        let length = wire.pull(&mut self.received);
        let payload = self.server.open(self.shape, &mut self.received[..length]);
        look(payload);
        payload.len()
    }
}

impl Shape {
    fn of(suite: Suite) -> Self {
        match (suite.version, suite.aead) {
            (Version::Tls13, _) => Self { before: HEADER, inner_type: 1, additional: HEADER },
            (Version::Tls12, Aead::ChaCha20Poly1305) => Self { before: HEADER, inner_type: 0, additional: 13 },
            (Version::Tls12, _) => Self { before: HEADER + 8, inner_type: 0, additional: 13 },
        }
    }
}

impl End {
    fn new(aead: Aead, seals: bool) -> Self {
        let (name, length) = match aead {
            Aead::Aes128Gcm => ("AES-128-GCM", 16),
            Aead::Aes256Gcm => ("AES-256-GCM", 32),
            Aead::ChaCha20Poly1305 => ("ChaCha20-Poly1305", 32),
        };
        let cipher = Cipher::fetch(None, name, None).expect("OpenSSL has the cipher");
        let mut ctx = CipherCtx::new().expect("OpenSSL makes a context");
        let (key, nonce) = (Some(&KEY[..length]), Some(&[0; 12][..]));
        if seals { ctx.encrypt_init(Some(&cipher), key, nonce) } else { ctx.decrypt_init(Some(&cipher), key, nonce) }
            .expect("OpenSSL takes the key");
        Self { ctx, gcm: aead != Aead::ChaCha20Poly1305, sequence: 0 }
    }

    fn seal(&mut self, shape: Shape, payload: &[u8], record: &mut [u8]) -> usize {
        let text = payload.len() + shape.inner_type;
        let end = shape.before + text + TAG;
        let (before, body) = record[..end].split_at_mut(shape.before);
        before[0] = 23;
        self.begin(None);
        self.additional(shape);
        self.cipher(body.as_mut_ptr(), payload.as_ptr(), payload.len());
        if shape.inner_type == 1 {
            self.cipher(body[payload.len()..].as_mut_ptr(), [23].as_ptr(), 1);
        }
        self.finish();
        self.put_tag(&mut body[text..]);
        end
    }

    fn open<'a>(&mut self, shape: Shape, record: &'a mut [u8]) -> &'a [u8] {
        let (text, tag) = record[shape.before..].split_last_chunk_mut::<TAG>().expect("a whole record");
        self.begin(Some(tag));
        self.additional(shape);
        self.cipher(text.as_mut_ptr(), text.as_ptr(), text.len());
        self.finish();
        &text[..text.len() - shape.inner_type]
    }

    fn begin(&mut self, tag: Option<&mut [u8; TAG]>) {
        let mut nonce = [7; 12];
        nonce[4..].copy_from_slice(&self.sequence.to_be_bytes());
        self.sequence += 1;
        let tag = tag.map_or_else(end_of_params, |tag| octets(c"tag", tag.as_mut_ptr(), TAG));
        if self.gcm {
            // The length −1 sets the whole nonce.
            let nonce = octets(c"tlsivfixed", nonce.as_mut_ptr(), usize::MAX);
            self.set(&[nonce, tag, end_of_params()]);
        } else {
            self.init(&nonce);
            self.set(&[tag, end_of_params(), end_of_params()]);
        }
    }

    fn init(&mut self, nonce: &[u8; 12]) {
        let ctx = self.ctx.as_ptr();
        // SAFETY: the context is live and keyed; nulls keep cipher and key; its nonce is 12 bytes long.
        let code =
            unsafe { ffi::EVP_CipherInit_ex(ctx, ptr::null(), ptr::null_mut(), ptr::null(), nonce.as_ptr(), -1) };
        assert_eq!(code, 1, "the nonce is taken");
    }

    fn set(&mut self, params: &[ffi::OSSL_PARAM; 3]) {
        if params[0].key.is_null() {
            return;
        }
        // SAFETY: the context is live; the array ends with an empty key; what it points to outlives the call.
        let code = unsafe { EVP_CIPHER_CTX_set_params(self.ctx.as_ptr(), params.as_ptr()) };
        assert_eq!(code, 1, "the parameters are taken");
    }

    fn additional(&mut self, shape: Shape) {
        let data = [23; 13];
        self.cipher(ptr::null_mut(), data.as_ptr(), shape.additional);
    }

    /// ChaCha20-Poly1305 wants `EVP_CipherFinal`: given nothing, its `EVP_Cipher` does nothing, not even check a tag.
    fn finish(&mut self) {
        let mut nothing = [0; TAG];
        if self.gcm {
            return self.cipher(nothing.as_mut_ptr(), ptr::null(), 0);
        }
        let (ctx, mut length) = (self.ctx.as_ptr(), 0);
        // SAFETY: the context is live; an AEAD's end puts out nothing, for which there is more than room.
        let code = unsafe { ffi::EVP_CipherFinal(ctx, nothing.as_mut_ptr(), &mut length) };
        assert_eq!(code, 1, "the AEAD agrees");
    }

    /// `out` is null (additional data), or has `length` bytes and is `input` or apart from it.
    fn cipher(&mut self, out: *mut u8, input: *const u8, length: usize) {
        let length = c_uint::try_from(length).expect("a record's length");
        // SAFETY: the context is live and has its nonce; the callers in this file pass pointers of slices of at least
        // `length` bytes, or null and no length for the end (of AES-GCM, which then puts out nothing).
        let code = unsafe { EVP_Cipher(self.ctx.as_ptr(), out, input, length) };
        assert!(code >= 0, "the AEAD agrees");
    }

    fn put_tag(&mut self, tag: &mut [u8]) {
        let mut params = [octets(c"tag", tag.as_mut_ptr(), tag.len()), end_of_params()];
        // SAFETY: the context is live; the array ends with an empty key; `tag` is writable for the call.
        let code = unsafe { EVP_CIPHER_CTX_get_params(self.ctx.as_ptr(), params.as_mut_ptr()) };
        assert_eq!(code, 1, "the tag is given");
    }
}

fn octets(key: &'static CStr, data: *mut u8, data_size: usize) -> ffi::OSSL_PARAM {
    ffi::OSSL_PARAM {
        key: key.as_ptr(),
        data_type: OCTET_STRING,
        data: data.cast(),
        data_size,
        return_size: usize::MAX,
    }
}

fn end_of_params() -> ffi::OSSL_PARAM {
    ffi::OSSL_PARAM { key: ptr::null(), data_type: 0, data: ptr::null_mut(), data_size: 0, return_size: 0 }
}
