//! The chunked transfer coding (RFC 9112 §7.1), undone as the bytes come in.

use httparse::{InvalidChunkSize, Status, parse_chunk_size};

/// Longest line between chunks (bytes).
const MAX_LINE: usize = 4096;

/// Where in the coding we are.
#[derive(Debug)]
pub(crate) struct Chunks {
    at: At,
    /// A line that is not whole yet.
    line: Vec<u8>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum At {
    Size,
    Data(u64),
    DataEnd,
    Trailer,
    End,
}

impl Chunks {
    pub(crate) fn new() -> Chunks {
        Chunks { at: At::Size, line: Vec::new() }
    }

    /// True once the last chunk and the trailer are there.
    pub(crate) fn is_whole(&self) -> bool {
        self.at == At::End
    }

    /// Takes one step's worth off the front of `input`, and returns what of it is content.
    pub(crate) fn step<'b>(&mut self, input: &mut &'b [u8]) -> Result<&'b [u8], InvalidChunkSize> {
        if let At::Data(left) = self.at {
            let n = usize::try_from(left).unwrap_or(usize::MAX).min(input.len());
            let (content, rest) = input.split_at(n);
            *input = rest;
            let left = left - n as u64;
            self.at = if left == 0 { At::DataEnd } else { At::Data(left) };
            return Ok(content);
        }
        if let Some(line) = self.take_line(input)? {
            self.at = self.after(&line)?;
        }
        Ok(&[])
    }

    /// A whole line with its end, once there is one.
    fn take_line(&mut self, input: &mut &[u8]) -> Result<Option<Vec<u8>>, InvalidChunkSize> {
        let end = input.iter().position(|byte| *byte == b'\n').map(|at| at + 1);
        let (piece, rest) = input.split_at(end.unwrap_or(input.len()));
        self.line.extend_from_slice(piece);
        *input = rest;
        if self.line.len() > MAX_LINE {
            return Err(InvalidChunkSize);
        }
        Ok(end.map(|_| std::mem::take(&mut self.line)))
    }

    fn after(&self, line: &[u8]) -> Result<At, InvalidChunkSize> {
        let is_blank = matches!(line, b"\r\n" | b"\n");
        match self.at {
            // Without a digit, httparse would read 0: an end that nobody announced.
            At::Size if !line[0].is_ascii_hexdigit() => Err(InvalidChunkSize),
            At::Size => match parse_chunk_size(line)? {
                Status::Complete((_, 0)) => Ok(At::Trailer),
                Status::Complete((_, size)) => Ok(At::Data(size)),
                Status::Partial => Err(InvalidChunkSize),
            },
            At::DataEnd if is_blank => Ok(At::Size),
            At::Trailer if is_blank => Ok(At::End),
            At::Trailer => Ok(At::Trailer),
            At::DataEnd | At::Data(_) | At::End => Err(InvalidChunkSize),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All of `coded`, given in pieces of `size` bytes.
    fn decoded(coded: &[u8], size: usize) -> Result<(Vec<u8>, bool), InvalidChunkSize> {
        let (mut chunks, mut content) = (Chunks::new(), Vec::new());
        for mut piece in coded.chunks(size) {
            while !piece.is_empty() && !chunks.is_whole() {
                content.extend_from_slice(chunks.step(&mut piece)?);
            }
        }
        Ok((content, chunks.is_whole()))
    }

    #[test]
    fn chunks_come_apart_however_they_are_split() {
        let coded = b"5\r\nhello\r\nA;x=y\r\n, world!!\n\r\n0\r\nT: v\r\n\r\n";
        for size in 1..=coded.len() {
            assert_eq!(decoded(coded, size), Ok((b"hello, world!!\n".to_vec(), true)), "in pieces of {size}");
        }
    }

    #[test]
    fn every_shorter_coding_is_not_whole() {
        let coded = b"5\r\nhello\r\n0\r\n\r\n";
        for end in 1..coded.len() {
            assert!(matches!(decoded(&coded[..end], 4), Ok((_, false))), "{end} bytes");
        }
    }

    #[test]
    fn what_is_no_coding_is_refused() {
        for coded in [&b"x\r\n"[..], b"\r\n", b"5\r\nhello0\r\n", b"fffffffffffffffff\r\n", &[b'0'; MAX_LINE + 1]] {
            assert!(decoded(coded, 7).is_err(), "{coded:?}");
        }
    }
}
