//! What the two examples share: a connection joined to a socket, what can go wrong, and what is said about it.

pub(crate) mod choices;
pub(crate) mod failure;
pub(crate) mod http;
pub(crate) mod link;
