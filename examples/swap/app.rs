//! The application: it knows connections, and not who moves their bytes.

use arenatls::{Backend, Connection, Error, Progress, Received};

/// Answers each line with the place where it was read.
#[derive(Debug, Default)]
pub(crate) struct App {
    line: Vec<u8>,
    answer: Vec<u8>,
    pub(crate) lines: usize,
    pub(crate) peer_is_done: bool,
}

impl App {
    /// Reads to the end of one line; what lies behind is left where it lies.
    pub(crate) fn hear(&mut self, bytes: Received<'_>, place: &str) {
        let end = bytes.iter().position(|byte| *byte == b'\n');
        let n = end.map_or(bytes.len(), |end| end + 1);
        self.line.extend_from_slice(&bytes[..n]);
        bytes.consume(n);
        if end.is_some() {
            self.answer.extend([place.as_bytes(), b": ", &self.line].concat());
            self.line.clear();
            self.lines += 1;
        }
    }

    /// Writes as much as there is room for.
    pub(crate) fn reply<B: Backend>(&mut self, connection: &mut Connection<B>) -> Result<(), Error> {
        if let Progress::Done(n) = connection.write(&self.answer)? {
            self.answer.drain(..n);
        }
        Ok(())
    }
}
