//! Who protects the records, and how much of it there was.

/// One of a connection's two directions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Direction {
    /// From us to the peer.
    Send,
    /// From the peer to us.
    Receive,
}

/// Who protects the records of one direction. Decided by behaviour when the traffic keys appear.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Protection {
    /// OpenSSL's own record layer: every version and suite; two copies each way and OpenSSL's allocations.
    #[default]
    Library,
    /// The engine: sealed from the caller's memory, opened in place; no copy, no allocation.
    Engine,
    /// The kernel's `tls` layer (backends that own a socket).
    Kernel,
}

impl std::fmt::Display for Protection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Protection::Library => "Library",
            Protection::Engine => "Engine",
            Protection::Kernel => "Kernel",
        })
    }
}

/// What one direction has carried since the connection began. Sums never wrap in practice (64 bits).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Records of application data.
    pub records: u64,
    /// Bytes of application data.
    pub bytes: u64,
    /// Records of any other kind since the traffic keys came; in Library protection, received ones only.
    pub control_records: u64,
    /// Key generations that the engine was given (0 in Library protection; each KeyUpdate adds one).
    pub key_generations: u64,
}
