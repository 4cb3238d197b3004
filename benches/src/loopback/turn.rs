//! One turn of one server: it is started, put under load, measured, and ended.

use std::net::TcpListener;
use std::os::fd::AsRawFd as _;
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::thread;

use super::clients::Client;
use super::cores::{Cores, ThreadClock, stay_on};
use super::load::{Figures, Load, Plan};
use super::servers::Subject;
use super::work::{Job, Work};
use crate::count;

/// Connections that may wait to be accepted.
const BACKLOG: i32 = 1024;

/// What a server and its clients do in a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Part {
    /// What the server does.
    pub work: Work,
    /// Connections that do something.
    pub active: usize,
    /// Connections that only are there.
    pub idle: usize,
}

impl Part {
    /// The connections in all.
    #[must_use]
    pub fn connections(&self) -> usize {
        self.active + self.idle
    }

    /// The label of `subject`'s row, by which it is selected.
    #[must_use]
    pub fn label(&self, subject: &Subject) -> String {
        format!("{} {} {}", subject.name, self.work.name(), self.connections())
    }
}

/// Says whose turn it was, if that ends in a panic.
struct ToldOnPanic(String);

impl Drop for ToldOnPanic {
    fn drop(&mut self) {
        if thread::panicking() {
            eprintln!("it was the turn of: {}", self.0);
        }
    }
}

/// Measures `subject` once, under the load of `client`, which has the calling thread.
///
/// # Panics
///
/// Panics if the server or its clients do not work.
#[must_use]
pub fn turn(subject: &'static Subject, client: &dyn Client, part: Part, plan: Plan, cores: &Cores) -> Figures {
    let _told = ToldOnPanic(part.label(subject));
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    // SAFETY: the socket is open, and listens already; it only gets a longer queue.
    let code = unsafe { libc::listen(listener.as_raw_fd(), BACKLOG) };
    assert_eq!(code, 0, "a listener gets a longer queue");
    let address = listener.local_addr().expect("an address");
    let job = Arc::new(Job::new(part.work, part.connections(), subject.expansion));
    let (tell, hear) = channel();
    let (core, its_job) = (cores.server, Arc::clone(&job));
    // Profilers show the name.
    let named = thread::Builder::new().name("server".into());
    let server = named.spawn(move || {
        stay_on(&[core]);
        count::only_this_thread();
        tell.send(ThreadClock::mine()).expect("somebody waits for it");
        subject.server.serve(listener, &its_job);
    });
    let server = server.expect("a thread is made");
    let mut load = Load::new(&job, plan, hear.recv().expect("the server starts"), part.active);
    client.run(address, &mut load);
    server.join().expect("the server ends well");
    load.figures()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::loopback::clients::{Epoll, of};
    use crate::loopback::servers::SUBJECTS;

    #[test]
    fn every_server_does_its_work_for_every_client() {
        let cores = Cores::share().unwrap();
        let [warm_up, timed, counted] = [Duration::from_millis(2); 3];
        let plan = Plan { warm_up, timed, counted };
        let ring = arenatls_fd_owner::Capabilities::probe();
        for subject in SUBJECTS.iter().filter(|subject| ring.is_ok() || !subject.on_ring) {
            for work in [Work::Answer, Work::Receive, Work::Send] {
                let part = Part { work, active: 3, idle: 2 };
                let speaks_tls = subject.expansion == 0;
                let clients = [Some(of(subject)), speaks_tls.then_some(&Epoll as &dyn Client)];
                for client in clients.into_iter().flatten() {
                    let figures = turn(subject, client, part, plan, &cores);
                    assert!(figures.cpu > Duration::ZERO && figures.wall >= timed, "{subject:?} {figures:?}");
                    assert_eq!(figures.latencies.len() as u64, if work == Work::Answer { figures.units } else { 0 });
                }
            }
        }
    }
}
