//! A listening socket for each thread, all at one address: the kernel deals connections out among them.

use std::io;
use std::net::{SocketAddr, TcpListener, ToSocketAddrs as _};

use socket2::{Domain, Socket, Type};

/// Connections that may wait to be accepted, of each socket. The kernel has a limit of its own (`net.core.somaxconn`).
const BACKLOG: i32 = 4096;

/// So many sockets that listen at `address`. If its port is 0, they share one that is free.
pub(crate) fn listen(address: &str, count: u32) -> io::Result<Vec<TcpListener>> {
    let address = address.to_socket_addrs()?.next().ok_or_else(|| io::Error::other("the name has no address"))?;
    // Shared only where it has to be, so that a second server at the same address is told that it is taken.
    let shared = count > 1;
    let first = one(address, shared)?;
    let address = first.local_addr()?;
    let others = (1..count).map(|_| one(address, shared));
    std::iter::once(Ok(first)).chain(others).collect()
}

fn one(address: SocketAddr, shared: bool) -> io::Result<TcpListener> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, None)?;
    socket.set_reuse_address(true)?;
    socket.set_reuse_port(shared)?;
    socket.bind(&address.into())?;
    socket.listen(BACKLOG)?;
    Ok(socket.into())
}
