//! Several threads write to one TLS connection, and every byte is echoed and checked.

mod arenatls_link;
#[cfg(target_os = "linux")]
mod owner;
mod rustls_link;
mod shared;

use std::net::{SocketAddr, TcpListener, TcpStream};

use arenatls_memory_bio::{ArenaPool, Budget};
use openssl::ssl::SslContext;

use super::Args;
use super::message::{Checker, WATCHDOG};
use super::peers::{echo, rustls_client};
use super::waits::{self, Notebook, Waits};
use crate::setting::{Parties, Setting, Suite};
use crate::sheet::{Better, Cell, Column, Table};

/// How much is written.
#[derive(Debug, Clone, Copy)]
struct Load {
    writers: usize,
    writes: usize,
    size: usize,
    ring: usize,
}

impl Load {
    fn checker(&self) -> Checker {
        Checker::new(self.writers, self.writes, self.size)
    }

    fn mebibytes(&self) -> f64 {
        // Lossless up to a petabyte or so.
        (self.writers * self.writes * self.size) as f64 / f64::from(1 << 20)
    }
}

/// What came of one run. It went well, or the run has panicked.
struct Outcome {
    seconds: f64,
    /// Those of the writers, then the reader's.
    notebooks: Vec<Notebook>,
    /// Wake-ups of the owner's thread that cost a system call, where there is an owner.
    wakes: Option<u64>,
}

impl Outcome {
    fn sum(&self, of: impl Fn(&Notebook) -> u64) -> f64 {
        self.notebooks.iter().map(of).sum::<u64>() as f64
    }

    fn sleeps(&self) -> Option<f64> {
        let sleeps: Option<Vec<u64>> = self.notebooks.iter().map(|notebook| notebook.sleeps).collect();
        sleeps.map(|sleeps| sleeps.iter().sum::<u64>() as f64)
    }
}

/// Who can be shared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Subject {
    Owner,
    Arenatls,
    Rustls,
}

const SUBJECTS: [(Subject, &str); 3] = [
    (Subject::Owner, "arenatls, owner thread and writer handles"),
    (Subject::Arenatls, "arenatls behind a mutex"),
    (Subject::Rustls, "rustls behind a mutex"),
];

/// Both tables, what is to be noted, and the events.
pub(super) fn measure(args: &Args, parties: &Parties) -> (Vec<Table>, Vec<String>, String) {
    let load = Load { writers: args.writers, writes: args.writes, size: args.size, ring: args.ring };
    let (mut tables, mut notes, mut events) = (tables(&load), Vec::new(), String::from(waits::HEADING));
    for suite in &args.suites {
        let mut outcomes: [Vec<Outcome>; 3] = Default::default();
        for run in 0..args.runs {
            // Turn by turn, so that a busy machine is busy for all.
            for ((subject, name), outcomes) in SUBJECTS.into_iter().zip(&mut outcomes) {
                eprintln!("traffic: {}, {name}, run {}", suite.version_name(), run + 1);
                match once(subject, *suite, parties, &load) {
                    Ok(outcome) => {
                        let label = format!("{},{},{run}", suite.version_name(), name.replace(',', ":"));
                        events += &waits::lines(&label, &outcome.notebooks);
                        outcomes.push(outcome);
                    }
                    Err(why) => notes.push(format!("{name}: not here. {why}")),
                }
            }
        }
        for ((subject, name), outcomes) in SUBJECTS.into_iter().zip(&outcomes) {
            enter(&mut tables, suite.version_name(), (name, subject != Subject::Rustls), outcomes, &load);
        }
    }
    (tables.into(), notes, events)
}

fn once(subject: Subject, suite: Suite, parties: &Parties, load: &Load) -> Result<Outcome, String> {
    let setting = Setting { suite, parties };
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("a port");
    let peer = echo(listener, setting.openssl_server());
    let outcome = match subject {
        Subject::Owner => owned(&setting.openssl_client(), address, load),
        Subject::Arenatls => {
            let (pool, socket) = (ArenaPool::new(Budget::bytes(256 * 1024)), connect(address));
            let backend = pool.backend().expect("a first connection");
            let link = arenatls_link::Shared::connect(&setting.openssl_client(), backend, &socket);
            socket.set_nonblocking(true).expect("a socket");
            Ok(shared::run(link, &socket, load))
        }
        Subject::Rustls => {
            let socket = connect(address);
            let link = rustls_link::Shared::connect(rustls_client(suite, parties), &socket);
            socket.set_nonblocking(true).expect("a socket");
            Ok(shared::run(link, &socket, load))
        }
    };
    if outcome.is_err() {
        // So that the echo has had its client.
        drop(connect(address));
        let _ = peer.join();
    } else {
        peer.join().expect("the echo");
    }
    outcome
}

#[cfg(target_os = "linux")]
fn owned(context: &SslContext, address: SocketAddr, load: &Load) -> Result<Outcome, String> {
    owner::run(context, address, load)
}

#[cfg(not(target_os = "linux"))]
fn owned(_: &SslContext, _: SocketAddr, _: &Load) -> Result<Outcome, String> {
    Err("There is no io_uring.".into())
}

fn connect(address: SocketAddr) -> TcpStream {
    let socket = TcpStream::connect(address).expect("somebody listens");
    socket.set_read_timeout(Some(WATCHDOG)).expect("a socket");
    socket.set_nodelay(true).expect("a TCP socket");
    socket
}

fn tables(load: &Load) -> [Table; 2] {
    let Load { writers, writes, size, ring } = load;
    let about = format!(
        "{writers} threads write {writes} messages of {size} bytes each to one connection over loopback. The peer is the same \
         for all: a thread of OpenSSL that echoes. A writer's handle has a ring of {ring} bytes."
    );
    let counted = |name, better| Column::plain(name, "", better);
    let rate = vec![
        Column::plotted("echoed", "MiB/s", Better::More),
        counted("lock entries", Better::Neither),
        Column::plotted("of them contended", "", Better::Less),
        Column::plain("waited for the lock, in all", "ms", Better::Less),
        counted("waits for room", Better::Less),
        Column::plain("waited for room, in all", "ms", Better::Neither),
        counted("sleeps of all threads", Better::Less),
        counted("wake-ups of the owner", Better::Less),
    ];
    let decades = Waits::DECADES.map(|decade| counted(decade, Better::Neither));
    let decades = decades.into_iter().chain([Column::plain("longest", "ms", Better::Less)]).collect();
    [
        Table::new("Traffic", &about, rate),
        Table::new("How long a wait was", "Waits of all runs, by what was waited for.", decades),
    ]
}

/// Which of a thread's waits.
type Kind = fn(&Notebook) -> &Waits;

fn enter(tables: &mut [Table; 2], group: &str, (name, ours): (&str, bool), outcomes: &[Outcome], load: &Load) {
    let range = |of: &dyn Fn(&Outcome) -> f64| Cell::of(&outcomes.iter().map(of).collect::<Vec<_>>());
    let optional = |of: &dyn Fn(&Outcome) -> Option<f64>, why: &str| {
        let values: Option<Vec<f64>> = outcomes.iter().map(of).collect();
        values.map_or_else(|| Cell::Missing(why.into()), |values| Cell::of(&values))
    };
    let millis =
        |waits: Kind| range(&|o: &Outcome| o.notebooks.iter().map(|n| waits(n).total.as_secs_f64() * 1e3).sum());
    let cells = vec![
        range(&|o| load.mebibytes() / o.seconds),
        range(&|o| o.sum(|n| n.entries)),
        range(&|o| o.sum(|n| n.lock.count)),
        millis(|n| &n.lock),
        range(&|o| o.sum(|n| n.room.count)),
        millis(|n| &n.room),
        optional(&Outcome::sleeps, "this system does not tell"),
        optional(&|o| o.wakes.map(|wakes| wakes as f64), "there is no owner"),
    ];
    tables[0].push(group, name, ours, cells);
    let kinds: [(&str, Kind); 2] = [("lock", |n| &n.lock), ("room", |n| &n.room)];
    for (kind, of) in kinds {
        let mut all = Waits::default();
        outcomes.iter().flat_map(|o| &o.notebooks).for_each(|notebook| all.merge(of(notebook)));
        let counts = all.decades.iter().map(|count| Cell::Number(*count as f64));
        let cells = counts.chain([Cell::Number(all.longest.as_secs_f64() * 1e3)]).collect();
        tables[1].push(group, &format!("{name}: {kind}"), ours, cells);
    }
}
