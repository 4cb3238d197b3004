//! The language of the inputs: three bytes say what connection it is, the rest are steps.
//!
//! | byte | meaning |
//! |---|---|
//! | 0 | [`Setting`]: state, by its remainder |
//! | 1 | bit 0: the server is under test; bit 1: TLS 1.2; bits 2–3: suite; bit 4: Library protection; bit 5: padding; bit 6: low limits |
//! | 2 | bytes that arrive at once; 0: all |
//!
//! A step is a byte, by its remainder, and its operands. Bytes that are missing are zero, so that every input is a program.

/// Where the connection is when the steps begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Setting {
    /// Nothing has happened.
    Idle,
    /// This many flights have been exchanged.
    Handshake(u8),
    /// The handshake is done.
    Traffic,
    /// We have sent close_notify.
    SendClosed,
    /// The peer has.
    ReceiveClosed,
}

/// One step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// These bytes arrive.
    Raw(Vec<u8>),
    /// What the peer has to say in the handshake arrives, with one byte changed (not, if the last is 0).
    Flight(u16, u8),
    /// An authentic record of this content type arrives.
    Record(u8, Vec<u8>),
    /// A record with this outer type and exactly this under the AEAD arrives, with one byte changed.
    Forged(u8, Vec<u8>, u16, u8),
    /// We write this many bytes.
    Write(u16),
    /// We write until there is no room.
    Fill,
    /// We close.
    Close,
    /// We replace our keys, and ask the peer to.
    KeyUpdate(bool),
    /// What we have to send leaves; in a handshake the peer gets it.
    Drain,
    /// The transport ends.
    End,
    /// An authentic record is opened in memory of the caller's own.
    OpenIn(u8, Vec<u8>),
    /// A record is sealed into memory of the caller's own.
    SealInto(u16, u16),
}

const STEPS: u8 = 12;

/// Reads a program.
#[derive(Debug)]
pub struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    /// Of `data`.
    pub fn new(data: &'a [u8]) -> Reader<'a> {
        Reader { rest: data }
    }

    /// The next byte, 0 at the end.
    pub fn byte(&mut self) -> u8 {
        let Some((first, rest)) = self.rest.split_first() else { return 0 };
        self.rest = rest;
        *first
    }

    fn word(&mut self) -> u16 {
        u16::from_le_bytes([self.byte(), self.byte()])
    }

    /// A length, and as many bytes (or what is left).
    fn bytes(&mut self) -> Vec<u8> {
        let len = usize::from(self.byte()).min(self.rest.len());
        let (bytes, rest) = self.rest.split_at(len);
        self.rest = rest;
        bytes.to_vec()
    }

    /// The setting.
    pub fn setting(&mut self) -> Setting {
        match self.byte() % 8 {
            0 => Setting::Idle,
            flights @ 1..=3 => Setting::Handshake(flights),
            6 => Setting::SendClosed,
            7 => Setting::ReceiveClosed,
            _ => Setting::Traffic,
        }
    }

    /// The next step, if there is one.
    pub fn step(&mut self) -> Option<Step> {
        if self.rest.is_empty() {
            return None;
        }
        Some(match self.byte() % STEPS {
            0 => Step::Raw(self.bytes()),
            1 => Step::Flight(self.word(), self.byte()),
            2 => Step::Record(self.byte(), self.bytes()),
            3 => Step::Forged(self.byte(), self.bytes(), self.word(), self.byte()),
            4 => Step::Write(self.word()),
            5 => Step::Fill,
            6 => Step::Close,
            7 => Step::KeyUpdate(self.byte() % 2 == 1),
            8 => Step::Drain,
            9 => Step::End,
            10 => Step::OpenIn(self.byte(), self.bytes()),
            _ => Step::SealInto(self.word(), self.word()),
        })
    }
}

impl Step {
    /// Appends the step to a program.
    pub fn put(&self, to: &mut Vec<u8>) {
        match self {
            Step::Raw(bytes) => put(to, &[0], bytes),
            Step::Flight(at, flip) => to.extend([&[1], &at.to_le_bytes()[..], &[*flip]].concat()),
            Step::Record(kind, bytes) => put(to, &[2, *kind], bytes),
            Step::Forged(kind, bytes, at, flip) => {
                put(to, &[3, *kind], bytes);
                to.extend([&at.to_le_bytes()[..], &[*flip]].concat());
            }
            Step::Write(len) => to.extend([&[4], &len.to_le_bytes()[..]].concat()),
            Step::Fill => to.push(5),
            Step::Close => to.push(6),
            Step::KeyUpdate(ask) => to.extend([7, u8::from(*ask)]),
            Step::Drain => to.push(8),
            Step::End => to.push(9),
            Step::OpenIn(kind, bytes) => put(to, &[10, *kind], bytes),
            Step::SealInto(len, given) => to.extend([&[11], &len.to_le_bytes()[..], &given.to_le_bytes()].concat()),
        }
    }
}

fn put(to: &mut Vec<u8>, head: &[u8], bytes: &[u8]) {
    let bytes = &bytes[..bytes.len().min(255)];
    to.extend(head);
    to.push(u8::try_from(bytes.len()).unwrap_or(u8::MAX));
    to.extend(bytes);
}
