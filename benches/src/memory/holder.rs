//! The process that holds the other ends: clients of OpenSSL, whoever the servers are. Its memory is nobody's concern.

use std::io::{self, BufReader, BufWriter, Read, Write, stdin, stdout};
use std::net::{Ipv4Addr, TcpStream};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use super::frame::{self, Op, Request};
use super::{HOLDER, PAYLOAD};
use crate::ends::{End, Kit, Openssl, OpensslEnd, Parties, Terms, WithoutIdleBuffers};
use crate::payload;
use crate::wire::Wire;

/// The process, as seen from the one that is measured. It ends when this is dropped.
pub(super) struct Holder {
    child: Child,
    to: Option<BufWriter<ChildStdin>>,
    from: BufReader<ChildStdout>,
}

impl Holder {
    /// Starts it; its clients trust `parties`.
    pub(super) fn start(parties: &Parties) -> io::Result<Self> {
        let mut command = Command::new(std::env::current_exe()?);
        let mut child = command.arg(HOLDER).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let to = child.stdin.take().map(BufWriter::new);
        let from = child.stdout.take().map(BufReader::new).ok_or(io::ErrorKind::BrokenPipe)?;
        let mut holder = Self { child, to, from };
        holder.ask(Op::Parties, 0, &frame::join(&parties.to_der())?)?;
        Ok(holder)
    }

    /// Asks, and waits for the answer.
    pub(super) fn ask(&mut self, op: Op, index: usize, bytes: &[u8]) -> io::Result<Vec<u8>> {
        frame::ask(self.to.as_mut().ok_or(io::ErrorKind::BrokenPipe)?, op, index, bytes)?;
        frame::bytes(&mut self.from)
    }
}

impl Drop for Holder {
    fn drop(&mut self) {
        self.to = None;
        // A holder that failed has said so; whoever asked it has noticed.
        let _ended = self.child.wait();
    }
}

/// The process itself: does what it is asked until nobody asks any more.
pub(super) fn hold() -> io::Result<()> {
    let (mut from, mut to) = (BufReader::new(stdin().lock()), BufWriter::new(stdout().lock()));
    let mut clients = Clients::default();
    while let Some(request) = frame::request(&mut from)? {
        frame::answer(&mut to, &clients.serve(&request)?)?;
    }
    Ok(())
}

/// Clients, and what they share.
#[derive(Default)]
struct Clients {
    kit: Option<Openssl<WithoutIdleBuffers>>,
    ends: Vec<OpensslEnd>,
    sockets: Vec<TcpStream>,
    wires: [Wire; 2],
}

impl Clients {
    fn serve(&mut self, request: &Request) -> io::Result<Vec<u8>> {
        let Request { op, index, bytes } = request;
        match op {
            Op::Parties => self.begin(bytes)?,
            Op::Hello => return self.hello(*index),
            Op::Feed => return self.feed(*index, bytes),
            Op::Write => return self.write(*index),
            Op::Read => self.read(*index, bytes)?,
            Op::Connect => self.connect(*index, bytes)?,
            Op::Echo => (0..self.ends.len()).try_for_each(|index| self.echo(index))?,
            Op::Drop => {
                self.ends.clear();
                self.sockets.clear();
            }
        }
        Ok(Vec::new())
    }

    fn begin(&mut self, bytes: &[u8]) -> io::Result<()> {
        let pieces = frame::split(bytes)?;
        let parties = Parties::from_der(pieces.each_ref().map(|piece| &piece[..])).map_err(io::Error::other)?;
        self.kit = Some(Openssl::new(&Terms::USUAL, &parties, None));
        self.wires = [Wire::new(), Wire::new()];
        Ok(())
    }

    fn make(&mut self) -> io::Result<()> {
        let kit = self.kit.as_ref().ok_or_else(|| io::Error::other("there are no parties yet"))?;
        self.ends.push(kit.client());
        Ok(())
    }

    fn end(&mut self, index: usize) -> io::Result<(&mut OpensslEnd, &mut [Wire; 2])> {
        let end = self.ends.get_mut(index).ok_or_else(|| io::Error::other("there is no such client"))?;
        self.wires.iter_mut().for_each(Wire::reset);
        Ok((end, &mut self.wires))
    }

    fn hello(&mut self, index: usize) -> io::Result<Vec<u8>> {
        self.make()?;
        self.feed(index, &[])
    }

    fn feed(&mut self, index: usize, bytes: &[u8]) -> io::Result<Vec<u8>> {
        let (end, [back, there]) = self.end(index)?;
        back.push(bytes);
        end.go_on(back, there);
        Ok(all_of(there))
    }

    fn write(&mut self, index: usize) -> io::Result<Vec<u8>> {
        let (end, [_, there]) = self.end(index)?;
        end.write(&payload::of(PAYLOAD), there);
        Ok(all_of(there))
    }

    fn read(&mut self, index: usize, bytes: &[u8]) -> io::Result<()> {
        let (end, [back, _]) = self.end(index)?;
        back.push(bytes);
        let mut got = Vec::new();
        end.read(back, &mut |piece| got.extend_from_slice(piece));
        if got[..] == payload::of(PAYLOAD)[..] { Ok(()) } else { Err(io::Error::other("the echo is another")) }
    }

    fn connect(&mut self, count: usize, port: &[u8]) -> io::Result<()> {
        let port = port.try_into().map(u16::from_le_bytes).map_err(io::Error::other)?;
        for index in 0..count {
            let mut socket = TcpStream::connect((Ipv4Addr::LOCALHOST, port))?;
            socket.set_nodelay(true)?;
            self.make()?;
            let (end, [back, there]) = self.end(index)?;
            while !end.go_on(back, there) {
                socket.write_all(&all_of(there))?;
                back.reset();
                receive(&mut socket, back)?;
            }
            socket.write_all(&all_of(there))?;
            self.sockets.push(socket);
        }
        Ok(())
    }

    fn echo(&mut self, index: usize) -> io::Result<()> {
        let ciphertext = self.write(index)?;
        self.sockets[index].write_all(&ciphertext)?;
        let mut socket = self.sockets[index].try_clone()?;
        let (end, [back, _]) = self.end(index)?;
        let mut got = Vec::new();
        while got.len() < PAYLOAD {
            back.reset();
            receive(&mut socket, back)?;
            end.read(back, &mut |piece| got.extend_from_slice(piece));
        }
        if got[..] == payload::of(PAYLOAD)[..] { Ok(()) } else { Err(io::Error::other("the echo is another")) }
    }
}

fn receive(socket: &mut TcpStream, to: &mut Wire) -> io::Result<()> {
    let mut some = [0; 32 * 1024];
    match socket.read(&mut some)? {
        0 => Err(io::ErrorKind::UnexpectedEof.into()),
        length => to.write_all(&some[..length]),
    }
}

fn all_of(wire: &mut Wire) -> Vec<u8> {
    let mut all = vec![0; wire.len()];
    wire.pull(&mut all);
    wire.reset();
    all
}
