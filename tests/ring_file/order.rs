//! Nothing gets into a file: not what the application writes, and not what other threads do.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use arenatls::{Error, Progress, Protection, Want};
use arenatls_fd_owner::{CloseReason, ConnectionId, DriverError, DriverEvent, RingDriver, WriteError, Writer};
use arenatls_rig::files::file_of;
use arenatls_rig::ring::{Told, contexts, pattern, read_to_end, reasons, run_out};

use crate::support::{config, serve, start};

const LEN: usize = 200_000;

#[test]
fn what_is_written_meanwhile_finds_no_room_and_comes_behind() {
    let bytes = pattern(5, LEN);
    let file = Arc::new(file_of(&bytes));
    let app = {
        let mut written = false;
        move |driver: &mut RingDriver, event: &DriverEvent| match *event {
            DriverEvent::HandshakeComplete(id) => {
                let connection = driver.connection(id).unwrap();
                assert_eq!(connection.write(b"before").unwrap(), Progress::Done(6));
                driver.send_file(id, Arc::clone(&file), 0..LEN as u64).unwrap();
                let connection = driver.connection(id).unwrap();
                assert_eq!(connection.write(b"after").unwrap(), Progress::Want(Want::Drain));
                if connection.protection().0 == Protection::Engine {
                    assert_eq!(connection.seal_into(b"after", &mut [0; 100]), Ok(Progress::Want(Want::Drain)));
                }
                let again = driver.send_file(id, Arc::clone(&file), 0..1);
                assert!(matches!(again, Err(DriverError::FileUnderWay)));
                assert!(matches!(driver.detach(id), Err(DriverError::FileUnderWay)));
                // New keys are no data.
                assert_eq!(driver.connection(id).unwrap().key_update(false), Ok(Progress::Done(())));
            }
            DriverEvent::Writable(id) if !written => {
                written = true;
                assert_eq!(driver.connection(id).unwrap().write(b"after").unwrap(), Progress::Done(5));
                driver.close(id).unwrap();
            }
            _ => {}
        }
    };
    let Some((got, log)) = serve(config(), contexts(), app, |mut stream| read_to_end(&mut stream)) else { return };
    assert!(got == [&b"before"[..], &bytes, b"after"].concat(), "{} bytes", got.len());
    let place = |wanted: fn(&Told) -> bool| log.iter().position(wanted).unwrap();
    assert!(place(|told| matches!(told, Told::FileSent(..))) < place(|told| matches!(told, Told::Writable(_))));
}

/// Their messages before it are far more than the slot holds.
#[test]
fn what_writers_brought_before_comes_before_and_the_rest_behind() {
    let bytes = pattern(5, LEN);
    let read = |mut stream| read_to_end(&mut stream);
    let Some((mut driver, id, reader)) = start(config(), contexts(), None, read) else { return };
    let mut writers: Vec<_> = (0..2).map(|_| driver.writer(id, 400_000).unwrap()).collect();
    let message = |first: u8| (0..15_000_u16).map(move |i| if i == 0 { first } else { 0xee }).collect::<Vec<_>>();
    let mut bring = |what: std::ops::Range<u8>| {
        for first in what {
            writers[usize::from(first) % 2].try_write(&message(first)).unwrap();
        }
    };
    bring(0..20);
    driver.send_file(id, file_of(&bytes), 0..LEN as u64).unwrap();
    bring(20..40);
    let mut log = Vec::new();
    let mut app = |driver: &mut RingDriver, event: &DriverEvent| {
        if let DriverEvent::FileSent(id, _) = *event {
            driver.close(id).unwrap();
        }
    };
    run_out(&mut driver, &mut app, &mut log);
    assert_eq!(reasons(&log), [CloseReason::Done]);
    let got = reader.join().unwrap();
    let (before, rest) = got.split_at(20 * 15_000);
    let (file, after) = rest.split_at(LEN);
    assert!(file == bytes, "it is not in its place");
    for (part, firsts) in [(before, 0..20), (after, 20..40)] {
        let mut seen: Vec<u8> = part.chunks(15_000).map(|message| message[0]).collect();
        assert!(part.chunks(15_000).all(|message| message[1..].iter().all(|byte| *byte == 0xee)));
        for parity in 0..2 {
            let of_one = seen.iter().filter(|first| *first % 2 == parity);
            assert!(of_one.is_sorted(), "{seen:?}");
        }
        seen.sort_unstable();
        assert_eq!(seen, firsts.collect::<Vec<_>>());
    }
}

/// Writes messages until it may not, and says how many were taken.
fn hammer(mut writer: Writer, stop: &AtomicBool) -> usize {
    let message = [0xee; 1000];
    let mut taken = 0;
    while !stop.load(Ordering::Relaxed) {
        match writer.write(&message) {
            Ok(()) => taken += 1,
            Err(WriteError::Closed(_)) => break,
            Err(error) => panic!("{error}"),
        }
    }
    taken
}

/// Files, one after the other, while threads write as fast as they can.
#[test]
fn files_stay_in_one_piece_under_many_writers() {
    const FILES: usize = 12;
    // No byte of it is one of a message.
    let bytes: Vec<u8> = pattern(5, LEN).into_iter().map(|byte| byte.min(0xed)).collect();
    let file = Arc::new(file_of(&bytes));
    let read = |mut stream| read_to_end(&mut stream);
    let Some((mut driver, id, reader)) = start(config(), contexts(), None, read) else { return };
    let stop = Arc::new(AtomicBool::new(false));
    let threads: Vec<_> = (0..3)
        .map(|_| {
            let (writer, stop) = (driver.writer(id, 10_000).unwrap(), Arc::clone(&stop));
            thread::spawn(move || hammer(writer, &stop))
        })
        .collect();
    let send = |driver: &mut RingDriver, id: ConnectionId| driver.send_file(id, Arc::clone(&file), 0..LEN as u64);
    let (mut sent, mut log) = (0, Vec::new());
    let mut app = |driver: &mut RingDriver, event: &DriverEvent| match *event {
        DriverEvent::HandshakeComplete(id) => send(driver, id).unwrap(),
        DriverEvent::FileSent(id, _) => {
            sent += 1;
            if sent < FILES {
                return send(driver, id).unwrap();
            }
            driver.close(id).unwrap();
        }
        _ => {}
    };
    run_out(&mut driver, &mut app, &mut log);
    stop.store(true, Ordering::Relaxed);
    let taken: usize = threads.into_iter().map(|thread| thread.join().unwrap()).sum();
    let got = reader.join().unwrap();
    let (mut rest, mut files, mut messages) = (&got[..], 0, 0);
    while let Some(first) = rest.first() {
        let (piece, behind) = rest.split_at(if *first == 0xee { 1000 } else { LEN });
        if *first == 0xee {
            assert!(piece.iter().all(|byte| *byte == 0xee), "message {messages} is not in one piece");
            messages += 1;
        } else {
            assert!(piece == bytes, "file {files} is not in one piece");
            files += 1;
        }
        rest = behind;
    }
    assert_eq!((files, messages), (FILES, taken), "{log:?}");
}

/// To end the direction is no writing: the file ends there, and that is told.
#[test]
fn an_end_of_the_direction_cuts_it_and_says_so() {
    let bytes = pattern(5, LEN);
    let file = Arc::new(file_of(&bytes));
    let app = move |driver: &mut RingDriver, event: &DriverEvent| match *event {
        DriverEvent::HandshakeComplete(id) => driver.send_file(id, Arc::clone(&file), 0..LEN as u64).unwrap(),
        DriverEvent::Plaintext(id) => {
            assert!(driver.plaintext(id).is_some());
            let connection = driver.connection(id).unwrap();
            while connection.close().unwrap() != Progress::Done(()) {}
        }
        DriverEvent::FileFailed(id, _) => {
            assert!(matches!(driver.connection(id).unwrap().write(b"x"), Err(Error::Illegal(_))));
            driver.close(id).unwrap();
        }
        _ => {}
    };
    let read = |mut stream: arenatls::openssl::ssl::SslStream<std::net::TcpStream>| {
        use std::io::{Read as _, Write as _};
        let mut start = [0; 1000];
        stream.read_exact(&mut start).unwrap();
        // The sockets do not hold it all.
        stream.write_all(b"enough").unwrap();
        [&start[..], &read_to_end(&mut stream)].concat()
    };
    let config = config();
    let Some((mut driver, _, reader)) = start(config, contexts(), Some(4096), read) else { return };
    let (mut log, mut app) = (Vec::new(), app);
    run_out(&mut driver, &mut app, &mut log);
    let got = reader.join().unwrap();
    assert!(bytes.starts_with(&got) && got.len() < LEN, "{} bytes", got.len());
    let told = log.iter().find_map(|told| match told {
        Told::FileFailed(_, sent, why) => Some((*sent, why.clone())),
        _ => None,
    });
    assert_eq!(told, Some((got.len() as u64, "SendClosed".to_owned())));
}
