//! The driver against stock clients and servers.

use std::io::{Read as _, Write as _};
use std::time::Instant;

use arenatls_fd_owner::{CloseReason, Config};
use arenatls_rig::ring::{Server, Told, client, contexts, pattern};

#[test]
fn what_is_sent_comes_back() {
    let (client_context, server_context) = contexts();
    let Some(server) = Server::echo(Config::default(), server_context, 4) else { return };
    let mut stream = client(server.address, &client_context);
    for len in [1, 100, 1024, 16_384, 100_000] {
        let sent = pattern(len, len);
        let mut writer = stream.get_ref().try_clone().unwrap();
        let _ = writer.flush();
        let mut got = vec![0; len];
        let (mut at, mut back) = (0, 0);
        while back < len {
            if at < len {
                at += stream.write(&sent[at..len.min(at + 16_384)]).unwrap();
            }
            let most = at.min(len);
            if back < most {
                back += stream.read(&mut got[back..most]).unwrap();
            }
        }
        assert_eq!(got, sent);
    }
    stream.shutdown().unwrap();
    assert_eq!(stream.read(&mut [0; 10]).unwrap(), 0, "the server says close_notify, too");
    drop(stream);
    let log = server.stop();
    let Some(Told::Closed(id, CloseReason::Done)) = log.last() else { panic!("{log:?}") };
    assert_eq!(log[..2], [Told::Accepted(*id), Told::HandshakeComplete(*id)]);
    assert_eq!(log[log.len() - 2], Told::PeerClosed(*id));
}

#[test]
fn many_at_a_time() {
    let (client_context, server_context) = contexts();
    let Some(server) = Server::echo(Config::default(), server_context, 64) else { return };
    let start = Instant::now();
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let (context, address) = (&client_context, server.address);
            scope.spawn(move || {
                for round in 0..8 {
                    let mut stream = client(address, context);
                    for k in 0..20 {
                        let sent = pattern(thread * 1000 + round * 100 + k, 1000 + k);
                        stream.write_all(&sent).unwrap();
                        let mut got = vec![0; sent.len()];
                        stream.read_exact(&mut got).unwrap();
                        assert_eq!(got, sent);
                    }
                    stream.shutdown().unwrap();
                    assert_eq!(stream.read(&mut [0; 10]).unwrap(), 0);
                }
            });
        }
    });
    println!("{:?}", start.elapsed());
    let log = server.stop();
    let closed = log.iter().filter(|told| matches!(told, Told::Closed(_, CloseReason::Done))).count();
    assert_eq!(closed, 64);
}
