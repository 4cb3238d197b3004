//! What `openssl-sys` 0.9 does not declare, with the header each comes from.

use std::ffi::{c_int, c_long, c_uchar, c_uint, c_void};

use openssl_sys::{BIO, EVP_CIPHER_CTX, OSSL_PARAM, SSL};

// openssl/ssl.h
pub(super) const SSL_OP_CLEANSE_PLAINTEXT: u64 = 1 << 1;
pub(super) const SSL_CTRL_CLEAR_MODE: c_int = 78;
pub(super) const SSL_MODE_ASYNC: c_long = 0x100;
pub(super) const SSL_OP_ENABLE_KTLS: u64 = 1 << 3;
pub(super) const SSL_KEY_UPDATE_NONE: c_int = -1;
pub(super) const SSL_KEY_UPDATE_NOT_REQUESTED: c_int = 0;
pub(super) const SSL_KEY_UPDATE_REQUESTED: c_int = 1;
pub(super) const SSL_ERROR_WANT_ASYNC: c_int = 9;
pub(super) const SSL_ERROR_WANT_ASYNC_JOB: c_int = 10;
pub(super) const SSL_ERROR_WANT_RETRY_VERIFY: c_int = 12;
pub(super) const SSL_AD_REASON_OFFSET: i32 = 1000;

// openssl/bio.h
pub(super) const BIO_TYPE_SOURCE_SINK: c_int = 0x0400;
pub(super) const BIO_FLAGS_READ: c_int = 0x01;
pub(super) const BIO_FLAGS_WRITE: c_int = 0x02;
pub(super) const BIO_FLAGS_RWS: c_int = 0x07;
pub(super) const BIO_FLAGS_SHOULD_RETRY: c_int = 0x08;
pub(super) const BIO_CTRL_EOF: c_int = 2;
pub(super) const BIO_CTRL_PENDING: c_int = 10;
pub(super) const BIO_CTRL_FLUSH: c_int = 11;
// openssl/bio.h says "BIO_CTRL_DGRAM_*" around them; internal/bio.h names these.
pub(super) const BIO_CTRL_SET_KTLS: c_int = 72;
pub(super) const BIO_CTRL_GET_KTLS_SEND: c_int = 73;
pub(super) const BIO_CTRL_SET_KTLS_TX_SEND_CTRL_MSG: c_int = 74;
pub(super) const BIO_CTRL_CLEAR_KTLS_TX_CTRL_MSG: c_int = 75;
pub(super) const BIO_CTRL_GET_KTLS_RECV: c_int = 76;

// openssl/core.h
pub(super) const OSSL_PARAM_OCTET_STRING: c_uint = 5;

unsafe extern "C" {
    // openssl/bio.h
    pub(super) fn BIO_get_new_index() -> c_int;
    // openssl/ssl.h
    pub(super) fn SSL_get_rbio(ssl: *const SSL) -> *mut BIO;
    pub(super) fn SSL_set_options(ssl: *mut SSL, options: u64) -> u64;
    pub(super) fn SSL_clear_options(ssl: *mut SSL, options: u64) -> u64;
    pub(super) fn SSL_key_update(ssl: *mut SSL, update_type: c_int) -> c_int;
    pub(super) fn SSL_get_key_update_type(ssl: *const SSL) -> c_int;
    pub(super) fn SSL_set_block_padding(ssl: *mut SSL, block_size: usize) -> c_int;
    pub(super) fn SSL_set_record_padding_callback(
        ssl: *mut SSL,
        callback: Option<unsafe extern "C" fn(*mut SSL, c_int, usize, *mut c_void) -> usize>,
    );
    pub(super) fn SSL_free_buffers(ssl: *mut SSL) -> c_int;
    pub(super) fn SSL_in_init(ssl: *const SSL) -> c_int;
    pub(super) fn SSL_is_dtls(ssl: *const SSL) -> c_int;
    // openssl/err.h
    pub(super) fn ERR_set_mark() -> c_int;
    pub(super) fn ERR_pop_to_mark() -> c_int;
    pub(super) fn ERR_peek_error() -> std::ffi::c_ulong;
    // openssl/evp.h
    pub(super) fn EVP_Cipher(ctx: *mut EVP_CIPHER_CTX, out: *mut c_uchar, input: *const c_uchar, len: c_uint) -> c_int;
    pub(super) fn EVP_CIPHER_CTX_set_params(ctx: *mut EVP_CIPHER_CTX, params: *const OSSL_PARAM) -> c_int;
    pub(super) fn EVP_CIPHER_CTX_get_params(ctx: *mut EVP_CIPHER_CTX, params: *mut OSSL_PARAM) -> c_int;
}

/// Numbers of controls fit where the C prototypes use `long`.
pub(super) const YES: c_long = 1;
pub(super) const NO: c_long = 0;
