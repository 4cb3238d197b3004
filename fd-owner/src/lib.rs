//! Where the backend owns the socket, and moves ciphertext by io_uring.
//!
//! A [`RingDriver`] owns a ring, the sockets of its connections, and the memory ("slots") their ciphertext passes through.
//! The kernel receives straight into the memory in which the engine opens records, and sends straight from the memory in
//! which it has sealed them. The connections are those of `arenatls-engine`, and code that reads and writes is the same
//! as over memory that the caller moves.
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

#![deny(unsafe_code)]

mod capabilities;
mod config;
#[cfg(target_os = "linux")]
mod driver;
#[cfg(not(target_os = "linux"))]
mod elsewhere;
mod error;
mod event;
mod feature;
mod file;
mod kernel;
#[cfg(target_os = "linux")]
#[expect(unsafe_code, reason = "tells the kernel of memory")]
mod registered;
#[cfg(target_os = "linux")]
mod ring;
#[cfg(target_os = "linux")]
#[expect(unsafe_code, reason = "lends memory, part of which the kernel writes to")]
mod slot;
#[cfg(target_os = "linux")]
#[expect(unsafe_code, reason = "hands memory and descriptors to the kernel")]
mod submission;
#[cfg(target_os = "linux")]
mod timers;
#[cfg(target_os = "linux")]
mod todo;
#[cfg(target_os = "linux")]
mod token;
#[cfg(target_os = "linux")]
#[expect(unsafe_code, reason = "sets options of sockets")]
mod ulp;
mod unsupported;
#[cfg(target_os = "linux")]
mod waker;
#[cfg(target_os = "linux")]
mod writer;

pub use capabilities::Capabilities;
pub use config::Config;
#[cfg(target_os = "linux")]
pub use driver::{NotAdopted, NotTaken, RingDriver, Role};
#[cfg(not(target_os = "linux"))]
pub use elsewhere::RingDriver;
pub use error::DriverError;
pub use event::{CloseReason, ConnectionId, DriverEvent, ListenerId};
pub use feature::Feature;
pub use file::{FileError, FileFailure};
pub use kernel::Release;
#[cfg(target_os = "linux")]
pub use slot::{FdBackend, SlotCount};
#[cfg(target_os = "linux")]
pub use submission::leaked_rings;
pub use unsupported::Unsupported;
#[cfg(target_os = "linux")]
pub use waker::Waker;
#[cfg(target_os = "linux")]
pub use writer::{WriteError, Writer, WriterCounts, WriterEnd};
