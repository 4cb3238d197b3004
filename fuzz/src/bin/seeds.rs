//! Writes the seed corpus: `cargo run --bin seeds` in this folder.

use std::path::Path;
use std::{fs, io};

use arenatls::Options;
use arenatls_fuzz::program::Step;
use arenatls_rig::contexts::{self, Terms};
use arenatls_rig::mode::{authority, identity, usual_pool};
use arenatls_rig::pair::{Pair, take_output};

const IDLE: u8 = 0;
const TRAFFIC: u8 = 4;
const SEND_CLOSED: u8 = 6;
const RECEIVE_CLOSED: u8 = 7;

const SERVER: u8 = 1;
const TLS12: u8 = 1 << 1;
const AES256: u8 = 1 << 2;
const CHACHA: u8 = 2 << 2;
const LIBRARY: u8 = 1 << 4;
const PADDING: u8 = 1 << 5;
const LOW: u8 = 1 << 6;

const ALERT: u8 = 21;
const HANDSHAKE: u8 = 22;
const DATA: u8 = 23;

fn main() -> io::Result<()> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus/inbound");
    fs::create_dir_all(&folder)?;
    for (name, head, steps) in seeds() {
        let mut program = head.to_vec();
        steps.iter().for_each(|step| step.put(&mut program));
        fs::write(folder.join(name), program)?;
    }
    Ok(())
}

type Seed = (&'static str, [u8; 3], Vec<Step>);

fn seeds() -> Vec<Seed> {
    [handshakes(), data(), control(), hostile(), own()].concat()
}

/// A ClientHello as it is on the wire.
fn hello() -> Vec<u8> {
    let terms = Terms::default();
    let (client, server) = (contexts::client(authority(), &terms), contexts::server(identity(), &terms));
    let plain = Options::default();
    let mut pair = Pair::with(&client, &server, &plain, &plain, usual_pool());
    pair.client.poll_event().expect("a ClientHello");
    take_output(&mut pair.client)
}

fn record(kind: u8, plain: &[u8]) -> Step {
    Step::Record(kind, plain.to_vec())
}

fn handshakes() -> Vec<Seed> {
    let honest = |n| (0..n).flat_map(|_| [Step::Flight(0, 0), Step::Drain]).collect::<Vec<_>>();
    let changed =
        |at| vec![Step::Flight(0, 0), Step::Drain, Step::Flight(at, 1), Step::Drain, Step::Flight(0, 0), Step::Drain];
    // A hello is longer than a step holds.
    let pieces = |bytes: &[u8]| bytes.chunks(255).map(|piece| Step::Raw(piece.to_vec())).collect::<Vec<_>>();
    vec![
        ("hello-to-server", [IDLE, SERVER, 0], pieces(&hello())),
        ("hello-to-server-by-bytes", [IDLE, SERVER, 1], pieces(&hello())),
        ("hello-to-client", [IDLE, 0, 0], pieces(&hello())),
        ("handshake-server-13", [IDLE, SERVER, 0], honest(4)),
        ("handshake-client-13", [IDLE, 0, 0], honest(4)),
        ("handshake-server-12", [IDLE, SERVER | TLS12, 7], honest(4)),
        ("handshake-client-12", [IDLE, TLS12 | AES256, 7], honest(4)),
        (
            "handshake-then-closes",
            [IDLE, SERVER, 0],
            [honest(4), vec![Step::Write(9), Step::Close, Step::Drain]].concat(),
        ),
        ("handshake-changed-13", [IDLE, 0, 0], changed(200)),
        ("handshake-changed-12", [IDLE, TLS12, 0], changed(600)),
        ("handshake-1-garbage", [1, SERVER, 0], vec![Step::Raw(vec![22, 3, 3, 0, 4, 20, 0, 0, 0])]),
        ("handshake-2-garbage", [2, 0, 0], vec![Step::Raw(vec![20, 3, 3, 0, 1, 1, 23, 3, 3, 0, 17])]),
        ("http", [IDLE, SERVER, 0], vec![Step::Raw(b"GET / HTTP/1.1\r\n\r\n".to_vec())]),
    ]
}

fn data() -> Vec<Seed> {
    let talk = || {
        vec![
            record(DATA, b"first"),
            Step::Write(10),
            record(DATA, b"second"),
            Step::Drain,
            record(DATA, b""),
            Step::Fill,
        ]
    };
    vec![
        ("data-13-client", [TRAFFIC, 0, 0], talk()),
        ("data-13-server-padded", [TRAFFIC, SERVER | AES256 | PADDING, 9], talk()),
        ("data-13-chacha-library", [TRAFFIC, CHACHA | LIBRARY, 0], talk()),
        ("data-12-client", [TRAFFIC, TLS12, 0], talk()),
        ("data-12-chacha-server", [TRAFFIC, TLS12 | CHACHA | SERVER, 1], talk()),
        ("data-12-library", [TRAFFIC, TLS12 | LIBRARY, 0], talk()),
        ("data-low-limits", [TRAFFIC, SERVER | LOW, 0], [talk(), talk()].concat()),
        ("empties", [TRAFFIC, 0, 0], vec![record(DATA, b""); 33]),
    ]
}

fn control() -> Vec<Seed> {
    let update = |ask| record(HANDSHAKE, &[24, 0, 0, 1, ask]);
    let ticket = [&[4, 0, 0, 24, 0, 0, 0, 60, 1, 2, 3, 4, 1, 7, 0, 10][..], &[9; 10], &[0, 0]].concat();
    let both = vec![update(1), record(DATA, b"new"), Step::KeyUpdate(true), Step::Write(3), Step::Drain, update(0)];
    let torn = vec![
        record(HANDSHAKE, &ticket[..9]),
        Step::Write(4),
        Step::Close,
        record(HANDSHAKE, &ticket[9..]),
        Step::Close,
    ];
    vec![
        ("key-updates", [TRAFFIC, 0, 0], both.clone()),
        ("key-updates-library", [TRAFFIC, SERVER | LIBRARY, 0], both),
        ("key-updates-flood", [TRAFFIC, SERVER | LOW, 0], vec![update(1); 7]),
        ("ticket-in-two", [TRAFFIC, 0, 0], torn.clone()),
        ("ticket-in-two-library", [TRAFFIC, LIBRARY, 0], torn),
        ("hello-requests", [TRAFFIC, TLS12 | LOW, 0], vec![record(HANDSHAKE, &[0; 4]); 7]),
        ("warnings", [TRAFFIC, 0, 0], vec![record(ALERT, &[1, 90]); 6]),
        ("canceled-and-closed", [TRAFFIC, 0, 0], vec![record(ALERT, &[1, 90]), record(ALERT, &[1, 0]), Step::Close]),
        ("fatal-alert", [TRAFFIC, SERVER, 0], vec![record(ALERT, &[2, 40])]),
        ("send-closed", [SEND_CLOSED, 0, 0], vec![record(DATA, b"on"), update(1), record(ALERT, &[1, 0])]),
        ("receive-closed", [RECEIVE_CLOSED, SERVER, 0], vec![Step::Write(5), record(DATA, b"late"), Step::Close]),
    ]
}

fn hostile() -> Vec<Seed> {
    vec![
        ("changed", [TRAFFIC, 0, 0], vec![record(DATA, b"good"), Step::Forged(DATA, b"evil\x17".to_vec(), 9, 1)]),
        ("zeros", [TRAFFIC, SERVER, 0], vec![Step::Forged(DATA, vec![0; 9], 0, 0)]),
        ("plain-close", [TRAFFIC, 0, 0], vec![Step::Raw(vec![21, 3, 3, 0, 2, 1, 0])]),
        (
            "torn-update",
            [TRAFFIC, 0, 0],
            vec![record(HANDSHAKE, &[24, 0, 0, 1]), record(ALERT, &[1, 90]), record(DATA, b"x")],
        ),
    ]
}

fn own() -> Vec<Seed> {
    let steps = vec![
        Step::OpenIn(DATA, b"mine".to_vec()),
        Step::SealInto(10, 60),
        Step::SealInto(10, 5),
        Step::OpenIn(HANDSHAKE, vec![24, 0, 0, 1, 1]),
        Step::SealInto(10, 60),
        Step::Drain,
        Step::SealInto(10, 60),
        Step::OpenIn(ALERT, vec![1, 0]),
    ];
    vec![("own-memory-13", [TRAFFIC, 0, 0], steps.clone()), ("own-memory-12", [TRAFFIC, SERVER | TLS12, 0], steps)]
}
