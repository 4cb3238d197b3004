//! A program that runs, its output so far, and an end to waiting for it.

use std::io::{Read, Write as _};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// How long any one thing may take; much more than it does on a machine that is busy with other things.
const LIMIT: Duration = Duration::from_secs(60);

/// A program with piped input and output. Dropping it kills it.
pub(crate) struct Running {
    child: Child,
    name: String,
    stdout: Stream,
    stderr: Stream,
}

/// How a program ended.
pub(crate) struct Finished {
    /// Its exit code; `None` if a signal ended it.
    pub(crate) code: Option<i32>,
    /// All of its standard output.
    pub(crate) stdout: Vec<u8>,
    /// All of its standard error.
    pub(crate) stderr: String,
}

impl Running {
    /// Starts it.
    pub(crate) fn start(command: &mut Command) -> Running {
        let name = format!("{command:?}");
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap_or_else(|error| panic!("{name}: {error}"));
        let stdout = Stream::of(child.stdout.take());
        let stderr = Stream::of(child.stderr.take());
        Running { child, name, stdout, stderr }
    }

    /// Runs it to its end, without input.
    pub(crate) fn run(command: &mut Command) -> Finished {
        let mut running = Running::start(command);
        running.end_input();
        running.finish()
    }

    /// Gives it input.
    pub(crate) fn input(&mut self, bytes: &[u8]) {
        let mut stdin = self.child.stdin.as_ref().expect("input has not ended");
        stdin.write_all(bytes).unwrap_or_else(|error| panic!("{}: {error}\n{}", self.name, self.output()));
    }

    /// Ends its input.
    pub(crate) fn end_input(&mut self) {
        self.child.stdin = None;
    }

    /// Waits until its output holds `text` for the `times`th time, and returns the rest of that line.
    pub(crate) fn wait_for(&self, text: &str, times: usize) -> String {
        let deadline = Instant::now() + LIMIT;
        loop {
            let output = self.output();
            if let Some(rest) = output.split(text).nth(times).filter(|rest| rest.contains('\n')) {
                return rest.lines().next().unwrap_or_default().to_owned();
            }
            assert!(Instant::now() < deadline, "{}: no {text:?} in time\n{output}", self.name);
            thread::sleep(Duration::from_millis(5));
        }
    }

    /// What it has printed so far.
    pub(crate) fn output(&self) -> String {
        String::from_utf8_lossy(&[self.stdout.so_far(), self.stderr.so_far()].concat()).into_owned()
    }

    /// Waits for its end.
    pub(crate) fn finish(mut self) -> Finished {
        let deadline = Instant::now() + LIMIT;
        let status = loop {
            if let Some(status) = self.child.try_wait().expect("a child can be waited for") {
                break status;
            }
            assert!(Instant::now() < deadline, "{} does not end\n{}", self.name, self.output());
            thread::sleep(Duration::from_millis(2));
        };
        let stderr = String::from_utf8_lossy(&self.stderr.to_end()).into_owned();
        Finished { code: status.code(), stdout: self.stdout.to_end(), stderr }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Both fail only for a program that has ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// An output stream, read by a thread of its own so that the program never waits for us.
struct Stream {
    bytes: Arc<Mutex<Vec<u8>>>,
    reader: Option<JoinHandle<()>>,
}

impl Stream {
    fn of(pipe: Option<impl Read + Send + 'static>) -> Stream {
        let mut pipe = pipe.expect("output is piped");
        let bytes = Arc::new(Mutex::new(Vec::new()));
        let shared = Arc::clone(&bytes);
        let reader = thread::spawn(move || {
            let mut piece = [0; 65_536];
            while let Ok(n @ 1..) = pipe.read(&mut piece) {
                shared.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(&piece[..n]);
            }
        });
        Stream { bytes, reader: Some(reader) }
    }

    fn so_far(&self) -> Vec<u8> {
        self.bytes.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn to_end(&mut self) -> Vec<u8> {
        if let Some(reader) = self.reader.take() {
            reader.join().expect("reading output does not panic");
        }
        self.so_far()
    }
}
