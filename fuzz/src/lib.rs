//! What the fuzz targets do, apart from libFuzzer, so that a test can do it too.

#[path = "../../tests/engine_records/forge.rs"]
mod forge;
pub mod inbound;
pub mod program;
mod world;
