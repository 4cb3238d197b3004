//! Where there is no io_uring.

use std::convert::Infallible;

use crate::{Config, DriverError, Unsupported};

/// What drives connections by io_uring, on Linux. Here there is none.
#[derive(Debug)]
pub struct RingDriver {
    never: Infallible,
}

impl RingDriver {
    /// Refuses.
    ///
    /// # Errors
    ///
    /// [`Unsupported::NotLinux`], always.
    pub fn new(config: Config) -> Result<RingDriver, DriverError> {
        config.check()?;
        Err(Unsupported::NotLinux.into())
    }

    /// The events of no connection.
    pub fn connections(&self) -> usize {
        match self.never {}
    }
}
