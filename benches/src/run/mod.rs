//! What the benches of whole connections share: their command line, and how they say how far they are.

mod args;
mod progress;

pub use crate::ledger::Mode;
pub use args::Args;
pub use progress::Progress;
