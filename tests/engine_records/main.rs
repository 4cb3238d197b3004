//! The record layer as a live connection shows it: limits, memory of one's own, and peers that mean no good.

mod flights;
mod forge;
mod hostile;
mod kernel;
mod messages;
mod own_memory;
mod records;
mod support;
mod tampering;
