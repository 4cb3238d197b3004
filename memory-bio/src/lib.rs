//! Ciphertext in arena memory that the caller owns and the caller moves: the sans-IO backend of arenatls.
//!
//! A TLS connection needs memory for what has arrived and is not yet read, and for what is written and not yet
//! sent. This crate takes both out of an arena, in one piece per connection, and shows it to either side as plain
//! slices. The engine opens and seals records in them; the caller reads from and writes to the transport. Nothing
//! here does I/O of its own, blocks, or allocates once the connection has its memory.
//!
//! | type | what it is |
//! |---|---|
//! | [`Arena`] | memory that is released as a whole, within a [`Budget`] |
//! | [`ArenaPool`] | memory of connections that come and go, recycled, shared by threads |
//! | [`ArenaBackend`] | the memory of one connection, the engine's [`Backend`](arenatls_engine::Backend) |
//! | [`Queue`] | one direction of it: bytes in order, contiguous room |
//!
//! # Example
//!
//! Anything that implements [`Read`](std::io::Read) and [`Write`](std::io::Write) can be the transport, and anything else
//! that fills and takes slices. Here a slice and a vector are, and the place of the engine is taken by lines that send back
//! what has come in.
//!
//! ```
//! use arenatls_engine::Backend;
//! use arenatls_memory_bio::{ArenaPool, Budget, Intake};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let (mut from_peer, mut to_peer) = (&b"ciphertext"[..], Vec::new());
//!
//! let pool = ArenaPool::new(Budget::bytes(64 * 1024)); // of one connection
//! let mut backend = pool.backend()?;
//!
//! assert_eq!(backend.read_from(&mut from_peer)?, Intake::Bytes(10)); // straight into the arena
//!
//! let ports = backend.ports(10); // the engine's side
//! ports.room[..10].copy_from_slice(&ports.input[..10]);
//! backend.consume(10);
//! backend.commit(10);
//!
//! while backend.write_to(&mut to_peer)? > 0 {} // straight out of it
//!
//! drop(backend); // zeroed, then back in the pool
//! assert_eq!((to_peer.as_slice(), pool.idle()), (&b"ciphertext"[..], 1));
//! # Ok(())
//! # }
//! ```
//!
//! # Ownership
//!
//! - The borrow checker keeps an [`ArenaBackend`] within the life of its arena or pool, and every slice it shows
//!   within the time until its next use.
//! - Memory is zeroed when it is released: by the backend what it has used, by the arena what it has handed out.
//! - A refusal ([`BudgetExceeded`], [`Overrun`] and kin) changes nothing.
//! - `unsafe` occurs in two private modules: one lends the pool's blocks, one has the zeroed memory they lie in.

#![deny(unsafe_code)]

mod arena;
mod backend;
#[expect(unsafe_code, reason = "lends memory that lies behind the pool's lock")]
mod block;
mod budget;
mod capacities;
#[expect(unsafe_code, reason = "takes zeroed memory from the global allocator")]
mod piece;
mod pool;
mod queue;
mod transport;

pub use arena::{Arena, ArenaError};
pub use backend::{ArenaBackend, Overrun};
pub use budget::{Budget, BudgetExceeded, OutOfMemory};
pub use capacities::Capacities;
pub use pool::{ArenaPool, PoolError};
pub use queue::Queue;
pub use transport::Intake;
