//! Identities in files.

use std::fs;
use std::path::PathBuf;

use arenatls_rig::identity::{Authority, Identity};

/// A CA with a server's and a client's identity, in a directory that is removed when this is dropped.
pub(crate) struct Files {
    folder: PathBuf,
    /// Signs both identities.
    pub(crate) authority: Authority,
    /// For `localhost` and `127.0.0.1`.
    pub(crate) server: Identity,
}

impl Files {
    /// Writes them; `test` is a name of its own for each test.
    pub(crate) fn new(test: &str) -> Files {
        let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("{test}-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("a directory for the test's files");
        let authority = Authority::new("the CA of both ends");
        let (server, client) = (authority.server(), authority.client("somebody"));
        let files = Files { folder, authority, server };
        files.write("ca.pem", files.authority.pem());
        files.write("server.pem", files.server.chain_pem());
        files.write("server.key", files.server.key_pem());
        files.write("client.pem", client.chain_pem());
        files.write("client.key", client.key_pem());
        files
    }

    /// Where a file is, or may be written.
    pub(crate) fn path(&self, name: &str) -> String {
        self.folder.join(name).to_str().expect("a path in UTF-8").to_owned()
    }

    fn write(&self, name: &str, text: String) {
        fs::write(self.path(name), text).expect("the test's files can be written");
    }
}

impl Drop for Files {
    fn drop(&mut self) {
        // Nothing depends on it.
        let _ = fs::remove_dir_all(&self.folder);
    }
}
