//! What is sent.

/// A payload of `length` bytes: a pattern that repeats only after 251 bytes, so that a shifted or doubled piece shows.
#[must_use]
pub fn of(length: usize) -> Box<[u8]> {
    (0..=250_u8).cycle().take(length).collect()
}
