//! What a connection speaks: version and suite, and whether records of CBC are split.

use arenatls_rig::contexts::{self, Terms};
use openssl::ssl::{SslContext, SslOptions, SslVersion};

use crate::setting::{Parties, Setting, Suite};

/// A suite of TLS 1.0, which OpenSSL speaks no more unless its security level is lowered.
const CBC: &str = "ECDHE-ECDSA-AES128-SHA:@SECLEVEL=0";

/// A version with a suite.
#[derive(Debug, Clone, Copy)]
pub(super) struct Speech {
    /// As reports name it.
    pub(super) title: &'static str,
    /// The suite of the ledger, where it knows it.
    pub(super) suite: Option<Suite>,
    /// Whether OpenSSL may put an empty record before each of CBC, which keeps its IV from being foreseen.
    pub(super) split: bool,
}

/// All of them.
pub(super) const SPEECHES: [Speech; 4] = [
    Speech { title: "TLS 1.0 CBC, split", suite: None, split: true },
    Speech { title: "TLS 1.0 CBC, not split", suite: None, split: false },
    Speech { title: "TLS 1.2", suite: Some(Suite::ALL[1]), split: false },
    Speech { title: "TLS 1.3", suite: Some(Suite::ALL[0]), split: false },
];

impl Speech {
    /// Contexts of a client and a server for contenders over OpenSSL.
    pub(super) fn contexts(&self, parties: &Parties) -> (SslContext, SslContext) {
        if let Some(suite) = self.suite {
            let setting = Setting { suite, parties };
            return (setting.openssl_client(), setting.openssl_server());
        }
        let terms = Terms::default().version(SslVersion::TLS1).suite(CBC).tickets(0);
        let client = contexts::client_builder(&parties.authority, &terms);
        let server = contexts::server_builder(&parties.server, &terms);
        let [client, server] = [client, server].map(|mut builder| {
            if !self.split {
                builder.set_options(SslOptions::DONT_INSERT_EMPTY_FRAGMENTS);
            }
            builder.build()
        });
        (client, server)
    }
}
