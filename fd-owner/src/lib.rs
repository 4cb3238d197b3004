//! Where the backend will own the socket and move ciphertext by io_uring. So far: what this kernel can do.
//!
//! **Nothing here moves a byte yet.** There is no `RingDriver` and no `FdBackend`; use `arenatls-memory-bio`, where the
//! caller moves the bytes. What is here is the question to ask first:
//!
//! ```
//! use arenatls_fd_owner::{Capabilities, Feature};
//!
//! match Capabilities::probe() {
//!     Ok(capabilities) if capabilities.has(Feature::DeferTaskrun) => println!("a ring of the best kind"),
//!     Ok(capabilities) => println!("a ring:\n{capabilities}"),
//!     Err(why) => println!("no ring: {why}"),
//! }
//! ```
//!
//! `cargo run -p arenatls-fd-owner --example probe` prints the same on your machine.
//!
//! The crate compiles everywhere; elsewhere than on Linux the answer is [`Unsupported::NotLinux`].

#![forbid(unsafe_code)]

mod capabilities;
mod feature;
mod kernel;
#[cfg(target_os = "linux")]
mod ring;
mod unsupported;

pub use capabilities::Capabilities;
pub use feature::Feature;
pub use kernel::Release;
pub use unsupported::Unsupported;
