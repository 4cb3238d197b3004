//! Why the driver refused.

use std::io;

use arenatls_engine::{BuildError, Error, ExchangeError};
use thiserror::Error as ThisError;

use crate::Unsupported;

/// Why a call of the driver was refused. Nothing was changed; what it was given is dropped.
#[derive(Debug, ThisError)]
#[non_exhaustive]
pub enum DriverError {
    /// There is no ring here.
    #[error(transparent)]
    Unsupported(#[from] Unsupported),
    /// A configuration that cannot be.
    #[error("{0}")]
    BadConfig(&'static str),
    /// As many connections as the driver has room for.
    #[error("all {connections} connections of the driver are in use")]
    AtCapacity {
        /// The most connections at a time.
        connections: u32,
    },
    /// As many writers as the connection may have.
    #[error("the connection has {most} writers, as many as allowed")]
    TooManyWriters {
        /// [`Config::writers`](crate::Config::writers).
        most: usize,
    },
    /// The connection that this handle named is no more, or is closing.
    #[error("the connection is no more")]
    Stale,
    /// The connection could not be made.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// The TLS connection failed; its event follows.
    #[error(transparent)]
    Tls(#[from] Error),
    /// The connection does not change its backend.
    #[error(transparent)]
    Exchange(#[from] ExchangeError),
    /// [`DriverEvent::Detached`](crate::DriverEvent::Detached) has not come to pass.
    #[error("the connection is not detached")]
    NotDetached,
    /// A file is on its way into the connection, or its end was not told yet.
    #[error("a file is on its way into the connection")]
    FileUnderWay,
    /// No regular file.
    #[error("only a regular file can be sent")]
    NotAFile,
    /// A range that ends before it begins, or beyond what a file can have.
    #[error("no file has such a range")]
    BadRange,
    /// The system refused.
    #[error("cannot {doing}: {cause}")]
    System {
        /// What was tried.
        doing: &'static str,
        /// The reason.
        cause: io::Error,
    },
}
