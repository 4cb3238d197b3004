//! The border with OpenSSL: the only place of this crate with `unsafe`.
//!
//! | file | C side |
//! |---|---|
//! | `sys` | declarations that `openssl-sys` lacks |
//! | `bio` | the `BIO_METHOD` and its callbacks |
//! | `tls` | every `SSL_*` call |
//! | `offer` | the key offer's C structs (`linux/tls.h`) |
//! | `evp` | AEAD over `EVP_CIPHER_CTX` |
//! | `prefetch` | none: an instruction |
//!
//! The numbered invariants are listed, each with its test, in `docs/unsafe.md`.

pub(crate) mod bio;
pub(crate) mod evp;
mod offer;
pub(crate) mod prefetch;
mod sys;
pub(crate) mod tls;
