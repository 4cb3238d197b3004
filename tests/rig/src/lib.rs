//! The test rig: identities, contexts, pairs of joined connections, and peers that misbehave.

pub mod alloc;
pub mod contexts;
#[cfg(target_os = "linux")]
pub mod echo_ring;
#[cfg(target_os = "linux")]
pub mod files;
pub mod forge;
pub mod identity;
pub mod mode;
pub mod native;
pub mod ownership;
pub mod pair;
pub mod random;
#[cfg(target_os = "linux")]
pub mod ring;
#[cfg(target_os = "linux")]
pub mod seccomp;
pub mod stock;
#[cfg(target_os = "linux")]
pub mod talk;
pub mod wire;
