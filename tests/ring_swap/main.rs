//! A live connection goes from memory that the caller moves to a ring and back: every byte arrives once.
#![cfg(target_os = "linux")]

mod broken;
mod ends;
mod moves;
mod random;
mod refusals;
mod world;
