//! Ledgers of allocations, copies and time: arenatls beside its peers.
//!
//! `cargo bench --bench ledger` runs every contender in memory and over loopback, client to server, and prints what a record
//! costs each; `record` gives the same pairs in memory to criterion. `loopback` puts servers under load and prints what a
//! request costs their processor; `contention` has several threads share one connection, and connections come and go;
//! `handshakes`, `memory` and `request_response` are what they are called; `report` makes a page of all that was found.
//!
//! Everything runs over one trait, [`Contender`](contender::Contender), with one file for each library. What is in
//! everyone's time and nobody's count is the [`Wire`](wire::Wire). How allocations and copies are counted, and what the
//! count cannot see, is told in [`count`].

pub mod contender;
pub mod contention;
pub mod count;
pub mod ends;
pub mod errand;
pub mod handshakes;
pub mod ledger;
#[cfg(target_os = "linux")]
pub mod loopback;
pub mod measure;
pub mod memory;
pub mod moves;
pub mod page;
pub mod payload;
pub mod report;
#[cfg(target_os = "linux")]
pub mod request_response;
pub mod run;
mod s2n;
pub mod setting;
pub mod sheet;
pub mod wire;
