//! What the two processes say to each other: a request and its answer, over pipes.

use std::io::{self, Read, Write};

/// What is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Op {
    /// Here are the parties (three pieces). Answer: nothing, as where none is named.
    Parties = b'p',
    /// Make this client; answer: what it says first.
    Hello = b'h',
    /// The server said this to this client; answer: what it says to that.
    Feed = b'f',
    /// This client shall write the payload; answer: the ciphertext.
    Write = b'w',
    /// The server said this to this client, which shall find the payload in it.
    Read = b'r',
    /// Make as many clients as `index` says, connected to the port that the bytes say.
    Connect = b'c',
    /// Each of these shall write the payload and read it back.
    Echo = b'e',
    /// Let all clients go.
    Drop = b'd',
}

impl Op {
    const ALL: [Op; 8] = [Op::Parties, Op::Hello, Op::Feed, Op::Write, Op::Read, Op::Connect, Op::Echo, Op::Drop];
}

/// One request.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Request {
    pub(super) op: Op,
    pub(super) index: usize,
    pub(super) bytes: Vec<u8>,
}

/// Asks.
pub(super) fn ask(to: &mut impl Write, op: Op, index: usize, bytes: &[u8]) -> io::Result<()> {
    to.write_all(&[op as u8])?;
    to.write_all(&number(index)?.to_le_bytes())?;
    answer(to, bytes)
}

/// Answers.
pub(super) fn answer(to: &mut impl Write, bytes: &[u8]) -> io::Result<()> {
    to.write_all(&number(bytes.len())?.to_le_bytes())?;
    to.write_all(bytes)?;
    to.flush()
}

/// The next request; nothing at the end.
pub(super) fn request(from: &mut impl Read) -> io::Result<Option<Request>> {
    let mut op = [0];
    if from.read(&mut op)? == 0 {
        return Ok(None);
    }
    let op = Op::ALL.into_iter().find(|known| *known as u8 == op[0]);
    let op = op.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "no such request"))?;
    Ok(Some(Request { op, index: length(from)?, bytes: bytes(from)? }))
}

/// An answer, or the bytes of a request.
pub(super) fn bytes(from: &mut impl Read) -> io::Result<Vec<u8>> {
    let length = length(from)?;
    let mut bytes = Vec::new();
    if from.take(length as u64).read_to_end(&mut bytes)? < length {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(bytes)
}

/// Several pieces as one.
pub(super) fn join(pieces: &[Vec<u8>; 3]) -> io::Result<Vec<u8>> {
    let mut joined = Vec::new();
    pieces.iter().try_for_each(|piece| answer(&mut joined, piece))?;
    Ok(joined)
}

/// One as several pieces.
pub(super) fn split(mut joined: &[u8]) -> io::Result<[Vec<u8>; 3]> {
    Ok([bytes(&mut joined)?, bytes(&mut joined)?, bytes(&mut joined)?])
}

fn length(from: &mut impl Read) -> io::Result<usize> {
    let mut number = [0; 4];
    from.read_exact(&mut number)?;
    usize::try_from(u32::from_le_bytes(number)).map_err(io::Error::other)
}

fn number(number: usize) -> io::Result<u32> {
    u32::try_from(number).map_err(io::Error::other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_asked_is_what_is_understood() {
        let mut pipe = Vec::new();
        for op in Op::ALL {
            ask(&mut pipe, op, 70_000, b"some").unwrap();
        }
        let mut from = &pipe[..];
        for op in Op::ALL {
            assert_eq!(request(&mut from).unwrap(), Some(Request { op, index: 70_000, bytes: b"some".to_vec() }));
        }
        assert_eq!(request(&mut from).unwrap(), None);
        assert!(request(&mut &pipe[..pipe.len() - 1]).is_ok());
        assert!(request(&mut &b"h\0\0\0\0\x05\0\0\0abc"[..]).is_err(), "it is cut short");
        assert!(request(&mut &b"?"[..]).is_err());
        let pieces = [b"a".to_vec(), Vec::new(), b"ccc".to_vec()];
        assert_eq!(split(&join(&pieces).unwrap()).unwrap(), pieces);
    }
}
