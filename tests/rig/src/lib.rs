//! The test rig: identities, contexts and pairs of joined connections.

pub mod contexts;
pub mod identity;
pub mod pair;
