//! Ledgers of allocations, copies and time: arenatls beside its peers.
//!
//! `cargo bench --bench ledger` runs every contender in memory, client to server, and prints what a record costs each;
//! `cargo bench --bench record` gives the same pairs to criterion.
//! `cargo bench --bench contention -- traffic|connections` has several threads share one connection over loopback, and
//! connections come and go.
//!
//! Everything runs over one trait, [`Contender`](contender::Contender), with one file for each library. What is in
//! everyone's time and nobody's count is the [`Wire`](wire::Wire). How allocations and copies are counted, and what the
//! count cannot see, is told in [`count`].

pub mod contender;
pub mod contention;
pub mod count;
pub mod errand;
pub mod ledger;
pub mod measure;
pub mod moves;
pub mod payload;
pub mod report;
pub mod setting;
pub mod sheet;
pub mod wire;
