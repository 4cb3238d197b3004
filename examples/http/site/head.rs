//! The head of a request that comes in pieces.

use super::request::{MAX_HEAD, Parsed, Refusal, parse};

/// What has come of a head that was not whole in one piece. Empty most of the time.
#[derive(Debug, Default)]
pub(crate) struct Partial {
    bytes: Vec<u8>,
    /// It is looked at again once it is that long, or has what may be its end: looking at all of it for every byte that
    /// comes would let a peer cost us the square of what it costs itself.
    look_at: usize,
}

impl Partial {
    pub(crate) fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    pub(crate) fn clear(&mut self) {
        self.bytes.clear();
    }

    /// The next bytes of the peer's: what they bring, and how many of them belong to it. `open` as for [`parse`].
    pub(crate) fn hear(
        &mut self,
        bytes: &[u8],
        open: &mut dyn FnMut(&str) -> Option<u64>,
    ) -> Result<(Parsed, usize), Refusal> {
        if self.bytes.is_empty() {
            // As a rule it is whole, and is read where it lies.
            let parsed = parse(bytes, open)?;
            if let Parsed::Whole(_, length) = parsed {
                return Ok((parsed, length));
            }
            self.bytes.extend_from_slice(bytes);
            self.look_at = 2 * bytes.len();
            return Ok((parsed, bytes.len()));
        }
        self.go_on(bytes, open)
    }

    fn go_on(&mut self, bytes: &[u8], open: &mut dyn FnMut(&str) -> Option<u64>) -> Result<(Parsed, usize), Refusal> {
        let before = self.bytes.len();
        // One too many shows that it is too long.
        let fresh = &bytes[..bytes.len().min(MAX_HEAD + 1 - before)];
        self.bytes.extend_from_slice(fresh);
        let may_end = has_end(&self.bytes[before.saturating_sub(3)..]);
        if !may_end && self.bytes.len() < self.look_at.min(MAX_HEAD) {
            return Ok((Parsed::Partial, fresh.len()));
        }
        let parsed = parse(&self.bytes, open)?;
        self.look_at = 2 * self.bytes.len();
        match parsed {
            Parsed::Partial => Ok((parsed, fresh.len())),
            Parsed::Whole(_, length) => {
                self.bytes.clear();
                Ok((parsed, length.saturating_sub(before)))
            }
        }
    }
}

/// Whether a blank line may end in these bytes.
fn has_end(bytes: &[u8]) -> bool {
    bytes.windows(2).any(|two| two == b"\n\n") || bytes.windows(3).any(|three| three == b"\n\r\n")
}
