//! The ways a behaviour test is run: each protection, in TLS 1.2 and 1.3.

use std::sync::LazyLock;

use arenatls_engine::{Options, Protection};
use arenatls_memory_bio::{ArenaPool, Budget, Capacities};
use openssl::ssl::{SslContext, SslContextBuilder, SslVersion};

use crate::contexts::{self, Terms};
use crate::identity::{Authority, Identity};
use crate::pair::{BUDGET, Pair};

/// Which way records go, seen from one end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// From this end.
    Send,
    /// To this end.
    Receive,
}

/// Whether this build's OpenSSL hands the keys of `version` over, so that Engine protection is what must be seen.
///
/// OpenSSL 3.0 and 3.1 have no TLS 1.3 receiving keys to offer, and after a KeyUpdate no sending ones.
#[must_use]
pub fn engine_expected(version: SslVersion, direction: Direction) -> bool {
    let linked = openssl::version::number();
    let with_new_record_layer = linked >= 0x3020_0000;
    match (version, direction) {
        (SslVersion::TLS1_2, _) => true,
        (SslVersion::TLS1_3, Direction::Send | Direction::Receive) => with_new_record_layer,
        _ => false,
    }
}

/// One way to run a test.
#[derive(Clone, Copy, Debug)]
pub struct Mode {
    /// For messages.
    pub name: &'static str,
    /// The only version both ends speak.
    pub version: SslVersion,
    /// The engine's options at both ends.
    pub options: Options,
    /// What the options ask for.
    pub asked: Protection,
}

/// Every mode: two protections times two versions.
#[must_use]
pub fn modes() -> [Mode; 4] {
    let (library, engine) = (Options::default().library_protection(), Options::default());
    let mode = |name, version, options, asked| Mode { name, version, options, asked };
    [
        mode("Library, TLS 1.2", SslVersion::TLS1_2, library, Protection::Library),
        mode("Library, TLS 1.3", SslVersion::TLS1_3, library, Protection::Library),
        mode("Engine, TLS 1.2", SslVersion::TLS1_2, engine, Protection::Engine),
        mode("Engine, TLS 1.3", SslVersion::TLS1_3, engine, Protection::Engine),
    ]
}

/// Runs `test` in every mode; a failing test's output ends with the mode it failed in.
pub fn for_each_mode(mut test: impl FnMut(&Mode)) {
    for mode in modes() {
        eprintln!("mode: {}", mode.name);
        test(&mode);
    }
}

/// [`for_each_mode`], in TLS 1.3 alone.
pub fn for_each_tls13_mode(mut test: impl FnMut(&Mode)) {
    for_each_mode(|mode| {
        if mode.is_tls13() {
            test(mode);
        }
    });
}

/// The authority that signs the identities of [`Mode`]'s contexts.
#[must_use]
pub fn authority() -> &'static Authority {
    static AUTHORITY: LazyLock<Authority> = LazyLock::new(|| Authority::new("rig"));
    &AUTHORITY
}

/// The server's identity in [`Mode`]'s contexts.
#[must_use]
pub fn identity() -> &'static Identity {
    static IDENTITY: LazyLock<Identity> = LazyLock::new(|| authority().server());
    &IDENTITY
}

/// Memory for pairs, of [`BUDGET`] bytes a connection.
#[must_use]
pub fn usual_pool() -> &'static ArenaPool {
    static POOL: LazyLock<ArenaPool> = LazyLock::new(|| ArenaPool::new(Budget::bytes(BUDGET)));
    &POOL
}

/// Memory for pairs, the least there may be.
#[must_use]
pub fn smallest_pool() -> &'static ArenaPool {
    static POOL: LazyLock<ArenaPool> = LazyLock::new(|| ArenaPool::new(Budget::bytes(Capacities::MINIMUM.total())));
    &POOL
}

impl Mode {
    /// True in TLS 1.3.
    #[must_use]
    pub fn is_tls13(&self) -> bool {
        self.version == SslVersion::TLS1_3
    }

    /// The protection that must be seen once traffic flows: what was asked for, where OpenSSL makes it possible.
    #[must_use]
    pub fn expected(&self, direction: Direction) -> Protection {
        match self.asked {
            Protection::Engine if engine_expected(self.version, direction) => Protection::Engine,
            _ => Protection::Library,
        }
    }

    /// What both ends agree on: the version, AES-128-GCM, two tickets.
    #[must_use]
    pub fn terms(&self) -> Terms {
        let suite = if self.is_tls13() { "TLS_AES_128_GCM_SHA256" } else { "ECDHE-ECDSA-AES128-GCM-SHA256" };
        Terms::default().version(self.version).suite(suite)
    }

    /// A client's context, still open. Its key exchange is X25519 (P-256 for signatures in TLS 1.2), so that flights are as small as they were
    /// before post-quantum groups.
    ///
    /// # Panics
    ///
    /// If OpenSSL refuses it.
    #[must_use]
    pub fn client_builder(&self) -> SslContextBuilder {
        let mut builder = contexts::client_builder(authority(), &self.terms());
        builder.set_groups_list("X25519:P-256").expect("a group");
        builder
    }

    /// A server's context, still open.
    #[must_use]
    pub fn server_builder(&self) -> SslContextBuilder {
        contexts::server_builder(identity(), &self.terms())
    }

    /// A client's context.
    #[must_use]
    pub fn client(&self) -> SslContext {
        self.client_builder().build()
    }

    /// A server's context.
    #[must_use]
    pub fn server(&self) -> SslContext {
        self.server_builder().build()
    }

    /// A pair that has not spoken yet.
    #[must_use]
    pub fn pair(&self) -> Pair {
        self.pair_in(usual_pool())
    }

    /// A pair that has not spoken yet, with memory from `pool`.
    #[must_use]
    pub fn pair_in(&self, pool: &'static ArenaPool) -> Pair {
        self.pair_of(&self.client(), &self.server(), pool)
    }

    /// A pair over these contexts that has not spoken yet.
    #[must_use]
    pub fn pair_of(&self, client: &SslContext, server: &SslContext, pool: &'static ArenaPool) -> Pair {
        Pair::with(client, server, &self.options, &self.options, pool)
    }

    /// A pair in traffic.
    #[must_use]
    pub fn connected(&self) -> Pair {
        self.connected_in(usual_pool())
    }

    /// A pair in traffic, with memory from `pool`.
    #[must_use]
    pub fn connected_in(&self, pool: &'static ArenaPool) -> Pair {
        let mut pair = self.pair_in(pool);
        pair.handshake();
        pair
    }
}
