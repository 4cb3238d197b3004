//! Work in progress.
pub use arenatls_engine::*;
pub use arenatls_memory_bio::*;
