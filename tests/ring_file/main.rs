//! Files that a ring sends: byte for byte, in their place in the stream, and with a word on how they ended.
#![cfg(target_os = "linux")]

mod ends;
mod limits;
mod order;
mod support;
mod whole;
