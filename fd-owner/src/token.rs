//! What an operation is called while the kernel has it: the 64 bits of `user_data`.

/// What an operation does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Accept,
    Connect,
    Recv,
    Send,
    /// Reads a file.
    Read,
    /// Cancels another operation of the same owner.
    Cancel,
    /// Waits until somebody wakes the driver.
    Wake,
    /// Of no owner.
    Other,
}

impl Kind {
    const ALL: [Kind; 8] =
        [Kind::Accept, Kind::Connect, Kind::Recv, Kind::Send, Kind::Read, Kind::Cancel, Kind::Wake, Kind::Other];
}

/// Kind, index of the owner, and the owner's generation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Token {
    pub(crate) kind: Kind,
    /// Less than [`Token::OWNERS`].
    pub(crate) index: u32,
    pub(crate) generation: u32,
}

impl Token {
    /// How many owners can be told apart.
    pub(crate) const OWNERS: u32 = 1 << 24;

    pub(crate) fn encode(self) -> u64 {
        debug_assert!(self.index < Token::OWNERS);
        (self.kind as u64) << 56 | u64::from(self.index) << 32 | u64::from(self.generation)
    }

    pub(crate) fn decode(user_data: u64) -> Token {
        let [kind, i2, i1, i0, g3, g2, g1, g0] = user_data.to_be_bytes();
        Token {
            kind: Kind::ALL.get(usize::from(kind)).copied().unwrap_or(Kind::Other),
            index: u32::from_be_bytes([0, i2, i1, i0]),
            generation: u32::from_be_bytes([g3, g2, g1, g0]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_encoded_is_decoded() {
        for kind in Kind::ALL {
            for index in [0, 1, 0x0012_3456, Token::OWNERS - 1] {
                for generation in [0, 1, u32::MAX] {
                    let token = Token { kind, index, generation };
                    assert_eq!(Token::decode(token.encode()), token);
                }
            }
        }
    }
}
