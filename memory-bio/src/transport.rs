//! Moving ciphertext between a backend and a transport of the standard library.

use crate::ArenaBackend;
use arenatls_engine::Backend as _;
use std::io::{self, ErrorKind, Read, Write};

/// What [`ArenaBackend::read_from`] came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Intake {
    /// So many bytes came, at least one.
    Bytes(usize),
    /// There is no room before the engine has been asked for what waits; the transport was not.
    Full,
    /// The transport has ended, now or before, and the backend knows.
    Ended,
}

impl ArenaBackend<'_> {
    /// Reads from `transport` once, straight into the arena: [`receive_into`](Self::receive_into) and
    /// [`received`](Self::received), or [`end_of_input`](Self::end_of_input) if it has ended.
    ///
    /// # Errors
    ///
    /// The transport's, with nothing changed: `WouldBlock`, for one, as it came; only after `Interrupted` it is asked again.
    /// An [`Overrun`](crate::Overrun), with `Other`, if it claims to have read more than it was asked for.
    pub fn read_from(&mut self, mut transport: impl Read) -> io::Result<Intake> {
        let room = self.receive_into();
        if room.is_empty() {
            return Ok(if self.input_ended() { Intake::Ended } else { Intake::Full });
        }
        match uninterrupted(|| transport.read(room))? {
            0 => {
                self.end_of_input();
                Ok(Intake::Ended)
            }
            n => {
                self.received(n).map_err(io::Error::other)?;
                Ok(Intake::Bytes(n))
            }
        }
    }

    /// Writes to `transport` once, straight out of the arena: [`to_send`](Self::to_send) and [`sent`](Self::sent). Returns
    /// how many bytes it took; 0 only if nothing waits, and the transport was not asked then. So this sends all there is
    /// to a transport that blocks:
    ///
    /// ```
    /// # use arenatls_memory_bio::{ArenaPool, Budget};
    /// # fn all(pool: &ArenaPool, mut transport: impl std::io::Write) -> Result<(), Box<dyn std::error::Error>> {
    /// # let mut backend = pool.backend()?;
    /// while backend.write_to(&mut transport)? > 0 {}
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// The transport's, with nothing changed: `WouldBlock`, for one, as it came; only after `Interrupted` it is asked again.
    /// `WriteZero` if it takes nothing. An [`Overrun`](crate::Overrun), with `Other`, if it claims to have taken more than there was.
    pub fn write_to(&mut self, mut transport: impl Write) -> io::Result<usize> {
        let waiting = self.to_send();
        if waiting.is_empty() {
            return Ok(0);
        }
        let n = uninterrupted(|| transport.write(waiting))?;
        if n == 0 {
            return Err(ErrorKind::WriteZero.into());
        }
        self.sent(n).map_err(io::Error::other)?;
        Ok(n)
    }
}

/// Calls until nothing interrupts it.
fn uninterrupted(mut call: impl FnMut() -> io::Result<usize>) -> io::Result<usize> {
    loop {
        match call() {
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            other => return other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ArenaPool, Budget, Capacities, Overrun};
    use std::collections::VecDeque;

    /// Answers as it was told, in order; then it blocks.
    #[derive(Default)]
    struct Script {
        answers: VecDeque<Result<usize, ErrorKind>>,
        /// What it was asked for, or given (bytes), each time.
        asked: Vec<usize>,
        written: Vec<u8>,
    }

    impl Script {
        fn of(answers: impl IntoIterator<Item = Result<usize, ErrorKind>>) -> Script {
            Script { answers: answers.into_iter().collect(), ..Script::default() }
        }

        fn answer(&mut self, asked: usize) -> io::Result<usize> {
            self.asked.push(asked);
            self.answers.pop_front().unwrap_or(Err(ErrorKind::WouldBlock)).map_err(io::Error::from)
        }
    }

    impl Read for Script {
        fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
            let n = self.answer(buf.len())?;
            let len = buf.len();
            buf[..n.min(len)].fill(b'r');
            Ok(n)
        }
    }

    impl Write for Script {
        fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
            let n = self.answer(buf.len())?;
            self.written.extend(&buf[..n.min(buf.len())]);
            Ok(n)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn with_backend(test: impl FnOnce(&mut ArenaBackend<'_>)) {
        let pool = ArenaPool::new(Budget::bytes(Capacities::MINIMUM.total()));
        test(&mut pool.backend().unwrap());
    }

    fn kind<T: std::fmt::Debug>(result: io::Result<T>) -> ErrorKind {
        result.unwrap_err().kind()
    }

    fn overrun<T: std::fmt::Debug>(result: io::Result<T>) -> Overrun {
        *result.unwrap_err().into_inner().unwrap().downcast().unwrap()
    }

    #[test]
    fn one_read_brings_what_there_is() {
        with_backend(|backend| {
            let mut script = Script::of([Ok(3), Ok(4)]);
            assert_eq!(backend.read_from(&mut script).unwrap(), Intake::Bytes(3));
            assert_eq!(backend.input(), b"rrr");
            assert_eq!(backend.read_from(&mut script).unwrap(), Intake::Bytes(4));
            let room = Capacities::MINIMUM.inbound();
            assert_eq!((script.asked, backend.input().len()), (vec![room, room - 3], 7));
        });
    }

    #[test]
    fn a_read_that_fails_changes_nothing_and_one_that_is_interrupted_is_repeated() {
        with_backend(|backend| {
            let mut script = Script::of([Err(ErrorKind::WouldBlock), Err(ErrorKind::Interrupted), Ok(1)]);
            assert_eq!(kind(backend.read_from(&mut script)), ErrorKind::WouldBlock);
            assert!(backend.input().is_empty() && !backend.input_ended());
            assert_eq!(backend.read_from(&mut script).unwrap(), Intake::Bytes(1));
            assert_eq!(script.asked.len(), 3);
        });
    }

    #[test]
    fn the_end_is_told_to_the_backend_and_not_asked_for_again() {
        with_backend(|backend| {
            let mut script = Script::of([Ok(2), Ok(0)]);
            for expected in [Intake::Bytes(2), Intake::Ended, Intake::Ended] {
                assert_eq!(backend.read_from(&mut script).unwrap(), expected);
            }
            assert!(backend.input_ended());
            assert_eq!((script.asked.len(), backend.input().len()), (2, 2), "what came before is still there");
        });
    }

    #[test]
    fn a_full_arena_is_not_the_end() {
        with_backend(|backend| {
            let mut script = Script::of([Ok(Capacities::MINIMUM.inbound()), Ok(5)]);
            assert_eq!(backend.read_from(&mut script).unwrap(), Intake::Bytes(Capacities::MINIMUM.inbound()));
            assert_eq!(backend.read_from(&mut script).unwrap(), Intake::Full);
            assert_eq!((script.asked.len(), backend.input_ended()), (1, false), "nobody was asked");
            backend.consume(Capacities::MINIMUM.inbound());
            assert_eq!(backend.read_from(&mut script).unwrap(), Intake::Bytes(5));
        });
    }

    #[test]
    fn writes_go_on_until_nothing_waits() {
        with_backend(|backend| {
            backend.room(10)[..10].copy_from_slice(b"ciphertext");
            backend.commit(10);
            let mut script = Script::of([Ok(6), Err(ErrorKind::Interrupted), Ok(4)]);
            assert_eq!(backend.write_to(&mut script).unwrap(), 6);
            assert_eq!(backend.unsent(), 4);
            assert_eq!(backend.write_to(&mut script).unwrap(), 4);
            assert_eq!(backend.write_to(&mut script).unwrap(), 0);
            assert_eq!((script.written, script.asked), (b"ciphertext".to_vec(), vec![10, 4, 4]));
        });
    }

    #[test]
    fn a_write_that_fails_changes_nothing() {
        with_backend(|backend| {
            backend.room(3)[..3].copy_from_slice(b"abc");
            backend.commit(3);
            let mut script = Script::of([Err(ErrorKind::WouldBlock), Ok(0), Err(ErrorKind::BrokenPipe), Ok(3)]);
            for expected in [ErrorKind::WouldBlock, ErrorKind::WriteZero, ErrorKind::BrokenPipe] {
                assert_eq!(kind(backend.write_to(&mut script)), expected);
                assert_eq!(backend.to_send(), b"abc");
            }
            assert_eq!(backend.write_to(&mut script).unwrap(), 3);
        });
    }

    #[test]
    fn a_transport_that_lies_is_found_out() {
        with_backend(|backend| {
            let offered = Capacities::MINIMUM.inbound();
            let mut script = Script::of([Ok(offered + 1), Ok(4)]);
            assert_eq!(overrun(backend.read_from(&mut script)), Overrun { said: offered + 1, offered });
            assert!(backend.input().is_empty());
            backend.room(3).fill(0);
            backend.commit(3);
            assert_eq!(overrun(backend.write_to(&mut script)), Overrun { said: 4, offered: 3 });
            assert_eq!(backend.unsent(), 3);
        });
    }
}
