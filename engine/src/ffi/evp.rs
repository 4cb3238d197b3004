//! The default record AEAD: OpenSSL's EVP, with as few calls a record as its interface allows.
//!
//! | step | call |
//! |---|---|
//! | nonce (and, to open, the expected tag) | one `EVP_CIPHER_CTX_set_params`, or for ChaCha20 `EVP_CipherInit_ex` |
//! | additional data, each piece of text, the end | one `EVP_Cipher` each (ChaCha20's end: `EVP_CipherFinal`) |
//! | tag (to seal) | one `EVP_CIPHER_CTX_get_params`, straight to its place |
//!
//! `EVP_Cipher` goes to the provider without the checks of `EVP_CipherUpdate`; the checks are made here instead.

use std::ffi::{CStr, c_int, c_uint};
use std::ptr;
use std::sync::OnceLock;

use foreign_types::ForeignType as _;
use openssl::cipher::Cipher;
use openssl::cipher_ctx::CipherCtx;
use openssl_sys as ffi;

use super::prefetch::prefetch;
use super::sys;
use crate::record::aead::{AeadFailure, RecordAead, TAG};
use crate::record::gather::Gather;
use crate::record::keys::Suite;

/// About the size of an `EVP_CIPHER_CTX` (bytes), which is nobody's but OpenSSL's to know.
const CONTEXT: usize = 192;

/// One direction's `EVP_CIPHER_CTX`. OpenSSL cleanses the key when the context is freed or keyed anew.
pub(crate) struct EvpAead {
    ctx: CipherCtx,
    seals: bool,
    gcm: bool,
}

/// The fetched ciphers, once a process: fetching takes locks and memory.
fn fetched(suite: Suite) -> Option<&'static Cipher> {
    static CIPHERS: OnceLock<[Option<Cipher>; 3]> = OnceLock::new();
    let ciphers = CIPHERS.get_or_init(|| {
        ["AES-128-GCM", "AES-256-GCM", "ChaCha20-Poly1305"].map(|name| Cipher::fetch(None, name, None).ok())
    });
    ciphers[suite as usize].as_ref()
}

impl EvpAead {
    pub(crate) fn new(suite: Suite, key: &[u8], seals: bool) -> Result<EvpAead, AeadFailure> {
        let ctx = CipherCtx::new().map_err(|_| AeadFailure)?;
        let mut aead = EvpAead { ctx, seals, gcm: false };
        aead.rekey(suite, key)?;
        Ok(aead)
    }

    /// Has the processor fetch the context.
    pub(crate) fn prefetch(&self) {
        prefetch(self.ctx.as_ptr().cast_const(), CONTEXT);
    }

    /// Another key, in the same context.
    pub(crate) fn rekey(&mut self, suite: Suite, key: &[u8]) -> Result<(), AeadFailure> {
        let cipher = fetched(suite).ok_or(AeadFailure)?;
        let nonce = [0u8; 12];
        if self.seals {
            self.ctx.encrypt_init(Some(cipher), Some(key), Some(&nonce))
        } else {
            self.ctx.decrypt_init(Some(cipher), Some(key), Some(&nonce))
        }
        .map_err(|_| AeadFailure)?;
        self.gcm = !matches!(suite, Suite::ChaCha20Poly1305);
        Ok(())
    }

    /// Nonce and, to open, the tag to expect.
    fn begin(&mut self, nonce: &[u8; 12], tag: Option<&[u8; TAG]>) -> Result<(), AeadFailure> {
        if !self.gcm {
            return self.begin_by_init(nonce, tag);
        }
        // The length −1 sets the whole IV (`EVP_CTRL_GCM_SET_IV_FIXED` with −1).
        let iv = octets(c"tlsivfixed", nonce.as_ptr().cast_mut(), usize::MAX);
        match tag {
            Some(tag) => self.set_params(&[iv, octets(c"tag", tag.as_ptr().cast_mut(), TAG), octets_end()]),
            None => self.set_params(&[iv, octets_end()]),
        }
    }

    fn begin_by_init(&mut self, nonce: &[u8; 12], tag: Option<&[u8; TAG]>) -> Result<(), AeadFailure> {
        let (ctx, keep) = (self.ctx.as_ptr(), ptr::null());
        // SAFETY: the context is live and keyed; nulls keep cipher and key; its nonce length is 12.
        let ok = unsafe { ffi::EVP_CipherInit_ex(ctx, keep, ptr::null_mut(), ptr::null(), nonce.as_ptr(), -1) };
        if ok != 1 {
            return Err(AeadFailure);
        }
        match tag {
            Some(tag) => self.set_params(&[octets(c"tag", tag.as_ptr().cast_mut(), TAG), octets_end()]),
            None => Ok(()),
        }
    }

    /// `params` is ended by [`octets_end`].
    fn set_params(&mut self, params: &[ffi::OSSL_PARAM]) -> Result<(), AeadFailure> {
        // SAFETY: the context is live; the array is ended by an empty key, and what it points to outlives the call.
        let ok = unsafe { sys::EVP_CIPHER_CTX_set_params(self.ctx.as_ptr(), params.as_ptr()) };
        if ok == 1 { Ok(()) } else { Err(AeadFailure) }
    }

    /// Seals `piece` to the start of `text`, and returns what is behind it.
    #[inline]
    fn seal_piece<'t>(&mut self, piece: &[u8], text: &'t mut [u8]) -> Result<&'t mut [u8], AeadFailure> {
        let (here, rest) = text.split_at_mut_checked(piece.len()).ok_or(AeadFailure)?;
        if !piece.is_empty() {
            self.cipher(here.as_mut_ptr(), piece.as_ptr(), piece.len())?;
        }
        Ok(rest)
    }

    fn aad(&mut self, aad: &[u8]) -> Result<(), AeadFailure> {
        self.cipher(ptr::null_mut(), aad.as_ptr(), aad.len())
    }

    /// Finishes the tag, or checks it. ChaCha20-Poly1305's provider takes an empty `EVP_Cipher` for no call at all, so
    /// there it has to be `EVP_CipherFinal`.
    fn end(&mut self) -> Result<(), AeadFailure> {
        let mut none = [0u8; TAG];
        if self.gcm {
            return self.cipher(none.as_mut_ptr(), ptr::null(), 0);
        }
        let mut n: c_int = 0;
        // SAFETY: the context is live, keyed and has its nonce; a stream cipher writes nothing here, and `none` holds
        // more than a block of any cipher in use.
        let ok = unsafe { ffi::EVP_CipherFinal(self.ctx.as_ptr(), none.as_mut_ptr(), &mut n) };
        if ok == 1 { Ok(()) } else { Err(AeadFailure) }
    }

    /// `EVP_Cipher`. `out` is null (additional data) or has `len` writable bytes, and is `input` or apart from it.
    fn cipher(&mut self, out: *mut u8, input: *const u8, len: usize) -> Result<(), AeadFailure> {
        let len = c_uint::try_from(len).map_err(|_| AeadFailure)?;
        // SAFETY: the context is live, keyed and has its nonce; the callers in this file pass pointers from slices of
        // at least `len` bytes (U6).
        let n: c_int = unsafe { sys::EVP_Cipher(self.ctx.as_ptr(), out, input, len) };
        if n >= 0 { Ok(()) } else { Err(AeadFailure) }
    }

    fn put_tag(&mut self, tag: &mut [u8; TAG]) -> Result<(), AeadFailure> {
        let mut params = [octets(c"tag", tag.as_mut_ptr(), TAG), octets_end()];
        // SAFETY: the context is live; the array is ended by an empty key, and `tag` is writable for the call.
        let ok = unsafe { sys::EVP_CIPHER_CTX_get_params(self.ctx.as_ptr(), params.as_mut_ptr()) };
        if ok == 1 { Ok(()) } else { Err(AeadFailure) }
    }
}

impl RecordAead for EvpAead {
    fn seal(
        &mut self,
        nonce: &[u8; 12],
        aad: &[u8],
        plain: Gather<'_>,
        tail: &[u8],
        out: &mut [u8],
    ) -> Result<(), AeadFailure> {
        if !self.seals || out.len() != plain.len() + tail.len() + TAG {
            return Err(AeadFailure);
        }
        self.begin(nonce, None)?;
        self.aad(aad)?;
        let (mut text, tag) = out.split_last_chunk_mut::<TAG>().ok_or(AeadFailure)?;
        match plain.as_one() {
            Some(piece) => text = self.seal_piece(piece, text)?,
            None => {
                for piece in plain.pieces() {
                    text = self.seal_piece(piece, text)?;
                }
            }
        }
        self.seal_piece(tail, text)?;
        self.end()?;
        self.put_tag(tag)
    }

    fn open(&mut self, nonce: &[u8; 12], aad: &[u8], body: &mut [u8]) -> Result<(), AeadFailure> {
        if self.seals {
            return Err(AeadFailure);
        }
        let (text, tag) = body.split_last_chunk_mut::<TAG>().ok_or(AeadFailure)?;
        self.begin(nonce, Some(tag))?;
        self.aad(aad)?;
        if !text.is_empty() {
            let at = text.as_mut_ptr();
            self.cipher(at, at, text.len())?;
        }
        self.end()
    }
}

fn octets(key: &'static CStr, data: *mut u8, data_size: usize) -> ffi::OSSL_PARAM {
    ffi::OSSL_PARAM {
        key: key.as_ptr(),
        data_type: sys::OSSL_PARAM_OCTET_STRING,
        data: data.cast(),
        data_size,
        return_size: usize::MAX,
    }
}

fn octets_end() -> ffi::OSSL_PARAM {
    ffi::OSSL_PARAM { key: ptr::null(), data_type: 0, data: ptr::null_mut(), data_size: 0, return_size: 0 }
}
