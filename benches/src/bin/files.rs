//! What it costs a server's thread to send a file over loopback: sent by the ring, or read and written by the application.
//!
//! ```text
//! cargo run --release -p arenatls-benches --bin files
//! ```
//!
//! Both ways take turns on one connection (TLS 1.3); processor time of the thread, medians of the rounds, and the
//! median of their ratios.

#[cfg(target_os = "linux")]
mod linux {
    use std::fs::{self, File};
    use std::io::Read as _;
    use std::net::TcpListener;
    use std::os::unix::fs::FileExt as _;
    use std::sync::Arc;
    use std::thread;

    use arenatls_engine::{Options, Progress};
    use arenatls_fd_owner::{Config, ConnectionId, DriverEvent, RingDriver};
    use arenatls_rig::files::file_of;
    use arenatls_rig::ring::{WATCHDOG, client, contexts, driver};

    const ROUNDS: usize = 21;
    /// Bytes that each way sends in a round.
    const BATCH: u64 = 128 << 20;
    /// What the application reads at once (bytes).
    const PIECE: usize = 64 * 1024;

    /// A server with one connection, and a file.
    struct Bench {
        driver: RingDriver,
        id: ConnectionId,
        file: Arc<File>,
        len: u64,
        piece: Vec<u8>,
    }

    impl Bench {
        fn wait_for(&mut self, wanted: impl Fn(&DriverEvent) -> bool) {
            loop {
                while let Some(event) = self.driver.poll_event().expect("an event") {
                    if wanted(&event) {
                        return;
                    }
                }
                self.driver.turn(Some(WATCHDOG)).expect("a turn");
            }
        }

        fn by_the_ring(&mut self) {
            self.driver.send_file(self.id, Arc::clone(&self.file), 0..self.len).expect("a file");
            self.wait_for(|event| matches!(event, DriverEvent::FileSent(..)));
        }

        fn by_the_application(&mut self) {
            let mut at = 0;
            while at < self.len {
                let n = self.file.read_at(&mut self.piece, at).expect("a read");
                let mut written = 0;
                while written < n {
                    let connection = self.driver.connection(self.id).expect("the connection");
                    match connection.write(&self.piece[written..n]).expect("a write") {
                        Progress::Done(n) => written += n,
                        Progress::Want(_) => self.wait_for(|event| matches!(event, DriverEvent::Writable(_))),
                    }
                }
                at += n as u64;
            }
        }

        /// Nanoseconds of this thread's for each file.
        fn measure(&mut self, way: fn(&mut Bench)) -> f64 {
            let files = BATCH / self.len;
            let before = cpu_time();
            for _ in 0..files {
                way(self);
            }
            (cpu_time() - before) as f64 / files as f64
        }
    }

    /// Processor time of this thread (nanoseconds).
    fn cpu_time() -> u64 {
        // What is told is what the last switch of threads, or tick, has written down.
        thread::yield_now();
        let told = fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
        told.split(' ').next().and_then(|time| time.parse().ok()).unwrap_or(0)
    }

    fn median(mut values: Vec<f64>) -> f64 {
        values.sort_unstable_by(f64::total_cmp);
        values[values.len() / 2]
    }

    fn run(len: u64, memory: usize) -> Option<()> {
        let (client_context, server_context) = contexts();
        let mut driver = driver(Config::default().connections(1).memory(20_000, memory))?;
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address");
        driver.listen(listener.into(), server_context, Options::default()).expect("a listener");
        let reader = thread::spawn(move || {
            let (mut stream, mut piece) = (client(address, &client_context), vec![0; 1 << 18]);
            while let Ok(1..) = stream.read(&mut piece) {}
        });
        let id = loop {
            match driver.poll_event().expect("an event") {
                Some(DriverEvent::HandshakeComplete(id)) => break id,
                Some(_) => {}
                None => driver.turn(Some(WATCHDOG)).expect("a turn"),
            }
        };
        let bytes = vec![7; usize::try_from(len).expect("a length")];
        let mut bench = Bench { driver, id, file: Arc::new(file_of(&bytes)), len, piece: vec![0; PIECE] };
        let ways: [fn(&mut Bench); 2] = [Bench::by_the_ring, Bench::by_the_application];
        let mut costs = [Vec::new(), Vec::new()];
        for round in 0..=ROUNDS {
            for which in [round % 2, 1 - round % 2] {
                let cost = bench.measure(ways[which]);
                // The first round warms up.
                if round > 0 {
                    costs[which].push(cost);
                }
            }
        }
        let ratios = costs[0].iter().zip(&costs[1]).map(|(ring, application)| ring / application).collect();
        let [ring, application] = costs.map(median);
        println!(
            "{len} bytes, {memory} bytes outbound: by the ring {:.1} us, by the application {:.1} us, ratio {:.3}",
            ring / 1000.0,
            application / 1000.0,
            median(ratios)
        );
        drop(bench);
        reader.join().expect("a client");
        Some(())
    }

    pub(crate) fn main() {
        for memory in [36 * 1024, 68 * 1024] {
            for len in [100_000, 1 << 20] {
                if run(len, memory).is_none() {
                    return;
                }
            }
        }
    }
}

#[cfg(target_os = "linux")]
fn main() {
    linux::main();
}

#[cfg(not(target_os = "linux"))]
fn main() {
    eprintln!("files: SKIPPED: this program knows Linux only");
}
