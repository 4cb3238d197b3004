//! The engine of `arenatls`: [`Connection`], its state machine, the calls into OpenSSL, and record protection.
//!
//! No I/O, no clock, no threads. Ciphertext memory is a [`Backend`]'s; configuration is an [`openssl::ssl::Ssl`].
//! Most users want the facade crate `arenatls`, which adds the backends.

pub mod alert;
mod backend;
mod connection;
mod error;
mod ffi;
mod handover;
mod name;
pub mod options;
mod protection;
pub mod record;
pub mod state;
mod want;

pub use alert::Alert;
pub use backend::{Backend, Ports};
pub use connection::{Connection, Event, ExchangeError, InPlace, Received, Refused};
pub use error::{BadRecord, Blame, BuildError, Error, Native};
pub use ffi::prefetch::prefetch;
pub use handover::{Handover, Pending};
pub use options::Options;
pub use protection::{Counters, Direction, Protection};
pub use record::aead::AeadChoice;
pub use record::crypto_info::CryptoInfo;
pub use record::hand_over::Takeover;
pub use state::{IllegalTransition, State};
pub use want::{Progress, Want};
