//! What a driver is made with.

use std::time::Duration;

use arenatls_engine::Options;
use arenatls_engine::record::{CONTROL_RESERVE, MAX_RECORD_IN, MAX_RECORD_OUT};

use crate::DriverError;

/// Deadlines can be added to any time there is.
pub(crate) const LONGEST: Duration = Duration::from_secs(365 * 24 * 60 * 60);

/// Limits, memory and deadlines of a [`RingDriver`](crate::RingDriver).
#[derive(Clone, Debug)]
pub struct Config {
    pub(crate) connections: u32,
    pub(crate) inbound: usize,
    pub(crate) outbound: usize,
    pub(crate) entries: u32,
    pub(crate) completions: u32,
    pub(crate) handshake_timeout: Duration,
    pub(crate) idle_timeout: Option<Duration>,
    pub(crate) close_timeout: Duration,
    pub(crate) rest_after: Option<Duration>,
    pub(crate) register_after: Option<u32>,
    pub(crate) spin: Duration,
    pub(crate) writers: usize,
    pub(crate) options: Options,
    /// Of the sending direction, and of the receiving one.
    pub(crate) kernel_tls: (bool, bool),
}

impl Default for Config {
    /// 1,024 connections of 128 KiB inbound and 36 KiB outbound, and 64 KiB for files (address space, until it is used);
    /// 10 s for a handshake, 60 s idle, 2 s to close; memory is given back after 5 s; 64 writers a connection.
    fn default() -> Self {
        Config {
            connections: 1024,
            inbound: 128 * 1024,
            outbound: 36 * 1024,
            entries: 256,
            completions: 1024,
            handshake_timeout: Duration::from_secs(10),
            idle_timeout: Some(Duration::from_secs(60)),
            close_timeout: Duration::from_secs(2),
            rest_after: Some(Duration::from_secs(5)),
            register_after: Some(8),
            spin: Duration::ZERO,
            writers: 64,
            options: Options::default(),
            kernel_tls: (false, false),
        }
    }
}

impl Config {
    /// The least memory a connection works with, inbound and outbound (bytes).
    pub const LEAST_MEMORY: (usize, usize) = (MAX_RECORD_IN, MAX_RECORD_OUT + CONTROL_RESERVE);

    /// The most connections at a time, those that are closing included.
    #[must_use]
    pub fn connections(mut self, most: u32) -> Self {
        self.connections = most;
        self
    }

    /// Ciphertext memory of one connection in each direction (bytes), at least [`LEAST_MEMORY`](Self::LEAST_MEMORY).
    /// Outbound is also how much a connection can have unsent.
    #[must_use]
    pub fn memory(mut self, inbound: usize, outbound: usize) -> Self {
        (self.inbound, self.outbound) = (inbound, outbound);
        self
    }

    /// Entries of the ring's two queues. Small ones cost system calls, never an operation.
    #[must_use]
    pub fn queues(mut self, submissions: u32, completions: u32) -> Self {
        (self.entries, self.completions) = (submissions, completions);
        self
    }

    /// From the connection's start, the TCP connect included, to the end of the handshake.
    #[must_use]
    pub fn handshake_timeout(mut self, limit: Duration) -> Self {
        self.handshake_timeout = limit;
        self
    }

    /// How long neither direction may move a byte; `None`: for ever.
    #[must_use]
    pub fn idle_timeout(mut self, limit: Option<Duration>) -> Self {
        self.idle_timeout = limit;
        self
    }

    /// From `close` to the end, whatever the peer does; and from `detach` until all that writers had brought is sealed.
    #[must_use]
    pub fn close_timeout(mut self, limit: Duration) -> Self {
        self.close_timeout = limit;
        self
    }

    /// After how long without traffic, a millisecond at least, a connection gives the memory of its slot back to the system;
    /// `None`: never. It costs a connection that goes on one more operation and the faults of the pages it then touches.
    #[must_use]
    pub fn rest_after(mut self, limit: Option<Duration>) -> Self {
        self.rest_after = limit;
        self
    }

    /// After how many receptions the kernel is told of a connection's socket and of a provided buffer of its own (Linux 6.15): each
    /// request costs less from there on, and a connection that ends before does not pay for it; `None`: never. It takes a page (4
    /// KiB), which counts as locked memory (`RLIMIT_MEMLOCK`), until the connection rests or ends. Where the kernel refuses, and
    /// in a driver that has the kernel protect records ([`kernel_tls`](Self::kernel_tls)), connections go on without.
    #[must_use]
    pub fn register_after(mut self, receptions: Option<u32>) -> Self {
        self.register_after = receptions;
        self
    }

    /// How long a turn looks for completions before it sleeps. It burns processor time, and spares a lone connection the
    /// wake-up.
    #[must_use]
    pub fn spin(mut self, limit: Duration) -> Self {
        self.spin = limit;
        self
    }

    /// The most writers on other threads that a connection has at a time, clones included.
    #[must_use]
    pub fn writers(mut self, most: u32) -> Self {
        self.writers = most as usize;
        self
    }

    /// The engine's choices for connections that are adopted or made; those accepted have their listener's.
    #[must_use]
    pub fn options(mut self, options: Options) -> Self {
        self.options = options;
        self
    }

    /// Has the kernel protect the records of a direction, with [`Protection::Kernel`](arenatls_engine::Protection), where
    /// its `tls` layer is there, takes the suite, and OpenSSL hands the keys over; elsewhere all stays as it is. By
    /// default neither. [`Connection::protection`](arenatls_engine::Connection::protection) says what came of it.
    #[must_use]
    pub fn kernel_tls(mut self, sending: bool, receiving: bool) -> Self {
        self.kernel_tls = (sending, receiving);
        self
    }

    pub(crate) fn check(&self) -> Result<(), DriverError> {
        let (inbound, outbound) = Config::LEAST_MEMORY;
        if self.inbound < inbound || self.outbound < outbound {
            return Err(DriverError::BadConfig("a connection needs at least Config::LEAST_MEMORY"));
        }
        if self.inbound.max(self.outbound) > 1 << 30 {
            return Err(DriverError::BadConfig("a connection has at most 1 GiB in each direction"));
        }
        let deadlines = [Some(self.handshake_timeout), self.idle_timeout, Some(self.close_timeout), self.rest_after];
        if deadlines.into_iter().flatten().any(|limit| limit > LONGEST) {
            return Err(DriverError::BadConfig("a deadline is at most 365 days away"));
        }
        if !(1..=1 << 20).contains(&self.connections) {
            return Err(DriverError::BadConfig("a driver has 1 to 1,048,576 connections"));
        }
        if !(1..=32_768).contains(&self.entries) || !(self.entries..=65_536).contains(&self.completions) {
            return Err(DriverError::BadConfig(
                "queues have 1 to 32,768 submissions and as many completions, up to 65,536",
            ));
        }
        Ok(())
    }
}
