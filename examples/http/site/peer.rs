//! One connection's conversation: requests in, answers out.

use std::fs::File;
use std::io::IoSlice;
use std::time::{Duration, Instant};

use arenatls::fd_owner::FdBackend;
use arenatls::{Connection, Error, Progress};

use super::body::Body;
use super::clock::Clock;
use super::files::Root;
use super::head::Partial;
use super::reply::{BYTES, CONTINUE, Head, PERIOD, PIECE, reason};
use super::request::{Answer, Framing, Parsed, Refusal, Request};

/// What may wait to be sent before no further request is looked at (bytes): a pipeline's answers leave together.
const MOST_OUT: usize = 16 * 1024;
/// What a place keeps of its memory for the next connection (bytes, of each of two buffers).
const KEPT: usize = 4 * 1024;

/// Where the conversation is.
#[derive(Debug, Default)]
enum Step {
    #[default]
    Head,
    /// The body of this request comes in.
    Body(Request),
    /// No further request is answered. Once all is out, it closes.
    Last,
}

/// How far sending came.
#[derive(Debug)]
pub(crate) enum Sent {
    /// All there was.
    All,
    /// All but this file, which comes next, with its length.
    File(File, u64),
    /// `Writable` says when to go on.
    Part,
    /// The peer takes nothing any more.
    Nowhere,
}

/// A client, and what is said and not sent yet.
#[derive(Debug, Default)]
pub(crate) struct Peer {
    step: Step,
    head: Partial,
    body: Body,
    /// The body that will be sent back.
    content: Vec<u8>,
    out: Vec<u8>,
    /// How much of `out` is sent.
    sent: usize,
    /// How much of `/bytes/N` is to follow `out`, and where in its period it goes on.
    stream: (u64, usize),
    /// The file that was asked for, and its length.
    opened: Option<(File, u64)>,
    /// The file that is to follow `out`.
    file: Option<(File, u64)>,
    /// The driver sends it.
    is_sending: bool,
    /// Since when a request has been coming in.
    since: Option<Instant>,
    peer_is_done: bool,
}

impl Peer {
    /// A new client, in the place of an old one.
    pub(crate) fn restart(&mut self) {
        for buffer in [&mut self.content, &mut self.out] {
            buffer.clear();
            buffer.shrink_to(KEPT);
        }
        let (content, out) = (std::mem::take(&mut self.content), std::mem::take(&mut self.out));
        *self = Peer { content, out, ..Peer::default() };
    }

    /// The client will say no more.
    pub(crate) fn hear_the_end(&mut self) {
        self.peer_is_done = true;
    }

    /// The client said something: how much of it was looked at. The rest has to wait until some answer is sent.
    pub(crate) fn hear(&mut self, bytes: &[u8], clock: &mut Clock, limit: Duration, root: Option<&Root>) -> usize {
        if self.since.is_some_and(|since| since.elapsed() > limit) {
            self.refuse(Refusal(408), clock);
        }
        let mut at = 0;
        while at < bytes.len() && self.may_go_on() {
            at += self.hear_piece(&bytes[at..], clock, root).unwrap_or_else(|refusal| {
                self.refuse(refusal, clock);
                0
            });
        }
        let is_amid = !self.head.is_empty() || matches!(self.step, Step::Body(_));
        self.since = if is_amid { self.since.or_else(|| Some(Instant::now())) } else { None };
        if matches!(self.step, Step::Last) { bytes.len() } else { at }
    }

    fn may_go_on(&self) -> bool {
        let is_long = self.stream.0 > 0 || self.file.is_some() || self.is_sending;
        !matches!(self.step, Step::Last) && !is_long && self.out.len() < MOST_OUT
    }

    fn hear_piece(&mut self, bytes: &[u8], clock: &mut Clock, root: Option<&Root>) -> Result<usize, Refusal> {
        let opened = &mut self.opened;
        let mut open = |path: &str| {
            *opened = root.and_then(|root| root.open(path));
            opened.as_ref().map(|(_, length)| *length)
        };
        let (request, heard) = match &mut self.step {
            Step::Head => match self.head.hear(bytes, &mut open)? {
                (Parsed::Partial, heard) => return Ok(heard),
                (Parsed::Whole(request, _), heard) => return self.begin(request, clock).map(|()| heard),
            },
            Step::Body(request) => {
                let content = &mut self.content;
                let heard = self.body.hear(bytes, |piece| {
                    if request.answer == Answer::Echo {
                        content.extend_from_slice(piece);
                    }
                })?;
                if !self.body.is_whole() {
                    return Ok(heard);
                }
                (*request, heard)
            }
            Step::Last => return Ok(bytes.len()),
        };
        self.answer(&request, clock);
        Ok(heard)
    }

    /// The head of a request is here.
    fn begin(&mut self, mut request: Request, clock: &mut Clock) -> Result<(), Refusal> {
        self.content.clear();
        if request.framing == Framing::Length(0) {
            self.answer(&request, clock);
            return Ok(());
        }
        self.body = Body::new(request.framing, request.answer.most())?;
        if request.awaits_continue && !request.answer.is_served() {
            // It is not asked for its body, and whether it sends it all the same cannot be known.
            request.keep_alive = false;
            self.answer(&request, clock);
            return Ok(());
        }
        if request.awaits_continue {
            self.out.extend_from_slice(CONTINUE);
        }
        self.step = Step::Body(request);
        Ok(())
    }

    fn answer(&mut self, request: &Request, clock: &mut Clock) {
        let (mut head, text) = match request.answer {
            Answer::Page(text) => (Head::text(200, text), text),
            Answer::Bytes(n) | Answer::File(n) => (Head::bytes(n), ""),
            Answer::Echo => (Head::bytes(self.content.len() as u64), ""),
            Answer::NotFound => (Head::text(404, NOT_FOUND), NOT_FOUND),
            Answer::NotAllowed(methods) => (Head { allow: Some(methods), ..Head::text(405, "") }, ""),
        };
        head.connection = match (request.keep_alive, request.is_old) {
            (false, _) => Some("close"),
            (true, true) => Some("keep-alive"),
            (true, false) => None,
        };
        head.write(&mut self.out, clock);
        let opened = self.opened.take();
        if !request.head_only {
            self.out.extend_from_slice(text.as_bytes());
            match request.answer {
                Answer::Bytes(n) => self.stream = (n, 0),
                Answer::File(_) => self.file = opened,
                Answer::Echo => self.out.extend_from_slice(&self.content),
                _ => {}
            }
        }
        self.step = if request.keep_alive { Step::Head } else { Step::Last };
    }

    /// Says why not, as the last word.
    fn refuse(&mut self, refusal: Refusal, clock: &mut Clock) {
        let text = reason(refusal.0);
        let head = Head { connection: Some("close"), ..Head::text(refusal.0, text) };
        head.write(&mut self.out, clock);
        self.out.extend_from_slice(text.as_bytes());
        self.head.clear();
        self.step = Step::Last;
    }

    /// Whether nothing remains but to close, once all that was said is sent.
    pub(crate) fn is_done(&mut self, clock: &mut Clock) -> bool {
        if self.peer_is_done && !matches!(self.step, Step::Last) {
            if !self.head.is_empty() || matches!(self.step, Step::Body(_)) {
                self.refuse(Refusal(400), clock);
            }
            self.step = Step::Last;
        }
        matches!(self.step, Step::Last)
    }

    /// Sends what there is room for. Head and body leave in one record where they fit one.
    pub(crate) fn send(&mut self, connection: &mut Connection<FdBackend>) -> Result<Sent, Error> {
        if self.is_sending {
            return Ok(Sent::Part);
        }
        while self.sent < self.out.len() || self.stream.0 > 0 {
            if connection.backend().output_is_lost() {
                return Ok(Sent::Nowhere);
            }
            let (left, phase) = self.stream;
            let piece = usize::try_from(left).unwrap_or(usize::MAX).min(PIECE);
            let pieces = [IoSlice::new(&self.out[self.sent..]), IoSlice::new(&BYTES[phase..phase + piece])];
            match connection.write_vectored(&pieces)? {
                Progress::Done(n) => self.took(n),
                Progress::Want(_) => return Ok(Sent::Part),
            }
        }
        self.out.clear();
        self.sent = 0;
        let Some((file, length)) = self.file.take() else { return Ok(Sent::All) };
        self.is_sending = true;
        Ok(Sent::File(file, length))
    }

    /// It is on its way as a whole.
    pub(crate) fn file_is_sent(&mut self) {
        self.is_sending = false;
    }

    fn took(&mut self, n: usize) {
        let of_out = n.min(self.out.len() - self.sent);
        let of_stream = n - of_out;
        self.sent += of_out;
        self.stream.0 -= of_stream as u64;
        self.stream.1 = (self.stream.1 + of_stream) % PERIOD;
    }
}

const NOT_FOUND: &str = "there are /, /health, /bytes/N and, for POST, /echo here\n";
