//! Reading a request's body, in whatever pieces it comes.

use super::request::{Framing, Refusal};

/// Longest line between chunks, extensions included, and longest trailer field (bytes).
const MAX_LINE: usize = 256;
/// Most trailer fields; they are read and thrown away.
const MAX_TRAILERS: u32 = 64;

/// What is still to come of a body.
#[derive(Clone, Debug)]
pub(crate) struct Body {
    state: State,
    /// How much content there may still be (bytes).
    room: u64,
    line: [u8; MAX_LINE],
    line_len: usize,
}

/// Where in it we are (RFC 9112 §7.1).
///
/// ```text
///   Plain ─▶ End          Size ─▶ Chunk ─▶ ChunkEnd ─▶ Size …
///                           └ of 0 ─▶ Trailer ─ blank line ─▶ End
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Plain(u64),
    Size,
    Chunk(u64),
    ChunkEnd,
    Trailer(u32),
    End,
}

impl Default for Body {
    /// One that has come already.
    fn default() -> Body {
        Body { state: State::End, room: 0, line: [0; MAX_LINE], line_len: 0 }
    }
}

impl Body {
    /// A body with at most `most` bytes of content.
    pub(crate) fn new(framing: Framing, most: u64) -> Result<Body, Refusal> {
        let state = match framing {
            Framing::Length(length) if length > most => return Err(Refusal(413)),
            Framing::Length(0) => State::End,
            Framing::Length(length) => State::Plain(length),
            Framing::Chunked => State::Size,
        };
        Ok(Body { state, room: most, ..Body::default() })
    }

    /// Whether all of it has come.
    pub(crate) fn is_whole(&self) -> bool {
        self.state == State::End
    }

    /// The next bytes of the peer's: how many of them belong to it. Content goes to `take`.
    pub(crate) fn hear(&mut self, bytes: &[u8], mut take: impl FnMut(&[u8])) -> Result<usize, Refusal> {
        let mut at = 0;
        while at < bytes.len() && !self.is_whole() {
            at += match self.state {
                State::Plain(left) | State::Chunk(left) => {
                    let n = usize::try_from(left).unwrap_or(usize::MAX).min(bytes.len() - at);
                    take(&bytes[at..at + n]);
                    self.took(n as u64, left);
                    n
                }
                _ => self.hear_line(&bytes[at..])?,
            };
        }
        Ok(at)
    }

    fn took(&mut self, n: u64, left: u64) {
        self.state = match self.state {
            State::Plain(_) if n == left => State::End,
            State::Plain(_) => State::Plain(left - n),
            _ if n == left => State::ChunkEnd,
            _ => State::Chunk(left - n),
        };
    }

    fn hear_line(&mut self, bytes: &[u8]) -> Result<usize, Refusal> {
        let (n, ends) = match bytes.iter().position(|byte| *byte == b'\n') {
            Some(at) => (at + 1, true),
            None => (bytes.len(), false),
        };
        let place = self.line.get_mut(self.line_len..self.line_len + n).ok_or(Refusal(400))?;
        place.copy_from_slice(&bytes[..n]);
        self.line_len += n;
        if self.state == State::ChunkEnd && !b"\r\n".starts_with(&self.line[..self.line_len]) {
            return Err(Refusal(400));
        }
        if ends {
            self.state = self.after_line()?;
            self.line_len = 0;
        }
        Ok(n)
    }

    /// What follows the line that has just ended.
    fn after_line(&mut self) -> Result<State, Refusal> {
        let line = &self.line[..self.line_len];
        let is_blank = line == b"\r\n";
        match self.state {
            State::Size => match httparse::parse_chunk_size(line) {
                Ok(httparse::Status::Complete((_, 0))) => Ok(State::Trailer(0)),
                Ok(httparse::Status::Complete((_, size))) => {
                    self.room = self.room.checked_sub(size).ok_or(Refusal(413))?;
                    Ok(State::Chunk(size))
                }
                _ => Err(Refusal(400)),
            },
            State::ChunkEnd => Ok(State::Size),
            State::Trailer(_) if is_blank => Ok(State::End),
            State::Trailer(count) if count < MAX_TRAILERS && line.ends_with(b"\r\n") => Ok(State::Trailer(count + 1)),
            _ => Err(Refusal(400)),
        }
    }
}
