//! What must not compile (design §3.1 to 3.3). Each example that is refused has a twin that differs in the one line
//! that matters and compiles, so that no example is refused for another reason.
//!
//! # A connection cannot outlive its arena
//!
//! ```compile_fail,E0505
//! use arenatls_engine::Connection;
//! use arenatls_memory_bio::{Arena, ArenaBackend, Budget, Capacities};
//! # use openssl::ssl::{Ssl, SslContext, SslMethod};
//! # let ssl = Ssl::new(&SslContext::builder(SslMethod::tls()).unwrap().build()).unwrap();
//! let arena = Arena::new(Budget::bytes(64 * 1024));
//! let backend = ArenaBackend::new_in(&arena, Capacities::MINIMUM).unwrap();
//! let mut connection = Connection::accept(ssl, backend).unwrap();
//! drop(arena);
//! connection.abort();
//! ```
//!
//! ```
//! # use arenatls_engine::Connection;
//! # use arenatls_memory_bio::{Arena, ArenaBackend, Budget, Capacities};
//! # use openssl::ssl::{Ssl, SslContext, SslMethod};
//! # let ssl = Ssl::new(&SslContext::builder(SslMethod::tls()).unwrap().build()).unwrap();
//! let arena = Arena::new(Budget::bytes(64 * 1024));
//! let backend = ArenaBackend::new_in(&arena, Capacities::MINIMUM).unwrap();
//! let mut connection = Connection::accept(ssl, backend).unwrap();
//! connection.abort();
//! drop(connection);
//! drop(arena);
//! ```
//!
//! # An arena cannot be reset under a connection
//!
//! ```compile_fail,E0502
//! # use arenatls_engine::Connection;
//! # use arenatls_memory_bio::{Arena, ArenaBackend, Budget, Capacities};
//! # use openssl::ssl::{Ssl, SslContext, SslMethod};
//! # let ssl = Ssl::new(&SslContext::builder(SslMethod::tls()).unwrap().build()).unwrap();
//! let mut arena = Arena::new(Budget::bytes(64 * 1024));
//! let backend = ArenaBackend::new_in(&arena, Capacities::MINIMUM).unwrap();
//! let mut connection = Connection::accept(ssl, backend).unwrap();
//! arena.reset();
//! connection.abort();
//! ```
//!
//! ```
//! # use arenatls_engine::Connection;
//! # use arenatls_memory_bio::{Arena, ArenaBackend, Budget, Capacities};
//! # use openssl::ssl::{Ssl, SslContext, SslMethod};
//! # let ssl = Ssl::new(&SslContext::builder(SslMethod::tls()).unwrap().build()).unwrap();
//! let mut arena = Arena::new(Budget::bytes(64 * 1024));
//! let backend = ArenaBackend::new_in(&arena, Capacities::MINIMUM).unwrap();
//! let mut connection = Connection::accept(ssl, backend).unwrap();
//! connection.abort();
//! drop(connection);
//! arena.reset();
//! ```
//!
//! # Nor its pool
//!
//! ```compile_fail,E0505
//! # use arenatls_engine::Connection;
//! # use arenatls_memory_bio::{ArenaPool, Budget};
//! # use openssl::ssl::{Ssl, SslContext, SslMethod};
//! # let ssl = Ssl::new(&SslContext::builder(SslMethod::tls()).unwrap().build()).unwrap();
//! let pool = ArenaPool::new(Budget::bytes(64 * 1024));
//! let mut connection = Connection::accept(ssl, pool.backend().unwrap()).unwrap();
//! drop(pool);
//! connection.abort();
//! ```
//!
//! ```
//! # use arenatls_engine::Connection;
//! # use arenatls_memory_bio::{ArenaPool, Budget};
//! # use openssl::ssl::{Ssl, SslContext, SslMethod};
//! # let ssl = Ssl::new(&SslContext::builder(SslMethod::tls()).unwrap().build()).unwrap();
//! let pool = ArenaPool::new(Budget::bytes(64 * 1024));
//! let mut connection = Connection::accept(ssl, pool.backend().unwrap()).unwrap();
//! connection.abort();
//! drop(connection);
//! drop(pool);
//! ```
//!
//! # What a read lends keeps the connection's memory from being used
//!
//! ```compile_fail,E0499
//! use arenatls_engine::{Backend, Connection, Event};
//!
//! fn hold<B: Backend>(connection: &mut Connection<B>) -> usize {
//!     let Ok(Some(Event::Plaintext(bytes))) = connection.poll_event() else { return 0 };
//!     connection.backend_mut().consume(1);
//!     bytes.len()
//! }
//! ```
//!
//! ```compile_fail,E0499
//! use arenatls_engine::{Backend, Connection, Event};
//!
//! fn hold<B: Backend>(connection: &mut Connection<B>) -> usize {
//!     let Ok(Some(Event::Plaintext(bytes))) = connection.poll_event() else { return 0 };
//!     let _ = connection.poll_event();
//!     bytes.len()
//! }
//! ```
//!
//! ```compile_fail,E0499
//! use arenatls_engine::{Backend, Connection, Event};
//!
//! fn hold<B: Backend>(connection: &mut Connection<B>) -> usize {
//!     let Ok(Some(Event::Plaintext(bytes))) = connection.poll_event() else { return 0 };
//!     let _ = connection.write(&bytes);
//!     bytes.len()
//! }
//! ```
//!
//! ```
//! use arenatls_engine::{Backend, Connection, Event};
//!
//! fn hold<B: Backend>(connection: &mut Connection<B>) -> usize {
//!     let Ok(Some(Event::Plaintext(bytes))) = connection.poll_event() else { return 0 };
//!     let n = bytes.len();
//!     drop(bytes);
//!     connection.backend_mut().consume(0);
//!     let _ = connection.poll_event();
//!     let _ = connection.write(&[]);
//!     n
//! }
//! ```
//!
//! # Nor is the connection dropped or moved under it
//!
//! ```compile_fail,E0505
//! use arenatls_engine::{Backend, Connection, Event};
//!
//! fn hold<B: Backend>(mut connection: Connection<B>) -> usize {
//!     let Ok(Some(Event::Plaintext(bytes))) = connection.poll_event() else { return 0 };
//!     drop(connection);
//!     bytes.len()
//! }
//! ```
//!
//! ```
//! use arenatls_engine::{Backend, Connection, Event};
//!
//! fn hold<B: Backend>(mut connection: Connection<B>) -> usize {
//!     let Ok(Some(Event::Plaintext(bytes))) = connection.poll_event() else { return 0 };
//!     let n = bytes.len();
//!     drop(bytes);
//!     drop(connection);
//!     n
//! }
//! ```
//!
//! # Two threads do not share a connection
//!
//! ```compile_fail,E0277
//! use arenatls_engine::Connection;
//! use arenatls_memory_bio::ArenaBackend;
//!
//! fn share(connection: &Connection<ArenaBackend<'static>>) {
//!     std::thread::scope(|scope| {
//!         scope.spawn(move || connection.state());
//!     });
//! }
//! ```
//!
//! ```
//! use arenatls_engine::Connection;
//! use arenatls_memory_bio::ArenaBackend;
//!
//! fn lend(connection: &mut Connection<ArenaBackend<'static>>) {
//!     std::thread::scope(|scope| {
//!         scope.spawn(move || connection.state());
//!     });
//! }
//! ```
