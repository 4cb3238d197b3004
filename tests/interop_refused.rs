//! Where io_uring is refused: what is said of it, and that the other backend serves all the same.

use std::io::{Read as _, Write as _};
use std::os::unix::fs::MetadataExt as _;
use std::os::unix::process::CommandExt as _;
use std::process::Command;
use std::{fs, thread};

use arenatls::fd_owner::{Capabilities, Config, DriverError, RingDriver, Unsupported};
use arenatls_rig::contexts::{self, Terms};
use arenatls_rig::ring::client;
use arenatls_rig::seccomp::{refuse_in, refuse_on_this_thread};
use libc::{SYS_io_uring_enter, SYS_io_uring_register, SYS_io_uring_setup, c_int, c_long};

#[expect(dead_code, reason = "what these tests need of it")]
mod interop;

use interop::{Files, Running, example, peer};

const SETUP: &[c_long] = &[SYS_io_uring_setup];
const SYSCTL: &str = "/proc/sys/kernel/io_uring_disabled";

/// What the probe and the driver say.
fn ask() -> [Option<Unsupported>; 2] {
    let driver = match RingDriver::new(Config::default()) {
        Ok(_) => None,
        Err(DriverError::Unsupported(why)) => Some(why),
        Err(error) => panic!("no reason of its own: {error}"),
    };
    [Capabilities::probe().err(), driver]
}

/// The same on a thread for which `calls` fail.
fn ask_without(calls: &'static [c_long], errno: c_int) -> [Option<Unsupported>; 2] {
    let confined = thread::spawn(move || {
        refuse_on_this_thread(calls, errno).expect("a filter");
        ask()
    });
    confined.join().expect("neither panics")
}

/// Whether rings can be had on this machine; loud if not.
fn is_here() -> bool {
    let here = ask() == [None, None];
    if !here {
        eprintln!("SKIPPED: there is no ring here to begin with: {:?}", ask());
    }
    here
}

#[test]
fn a_filter_is_named_whatever_it_answers() {
    if !is_here() {
        return;
    }
    for errno in [libc::EPERM, libc::ENOSYS, libc::EACCES] {
        let said = ask_without(SETUP, errno);
        assert_eq!(said, [Some(Unsupported::Seccomp), Some(Unsupported::Seccomp)], "{errno}");
    }
    let said = Unsupported::Seccomp.to_string();
    assert!(said.contains("seccomp") && said.contains("io_uring_setup"), "{said}");
    assert_eq!(ask(), [None, None], "other threads have it still");
}

#[test]
fn a_filter_of_the_other_two_calls_is_found_before_anything_depends_on_them() {
    if !is_here() {
        return;
    }
    for errno in [libc::EPERM, libc::ENOSYS] {
        let said = ask_without(&[SYS_io_uring_enter], errno);
        assert_eq!(said, [Some(Unsupported::Seccomp), Some(Unsupported::Seccomp)], "{errno}");
        // The driver registers nothing.
        let said = ask_without(&[SYS_io_uring_register], errno);
        assert_eq!(said, [Some(Unsupported::Seccomp), None], "{errno}");
    }
    assert_eq!(arenatls::fd_owner::leaked_rings(), 0);
}

/// This test binary, to say in another process what [`ask`] says.
fn other_process(through: &mut Command) -> String {
    through.arg(std::env::current_exe().expect("the test knows itself"));
    let done = Running::run(through.args(["--exact", "says_what_is_here", "--ignored", "--nocapture"]));
    let said = String::from_utf8_lossy(&done.stdout).into_owned();
    assert_eq!(done.code, Some(0), "{through:?}: {said}{}", done.stderr);
    said.lines().find_map(|line| line.strip_prefix("it says ")).expect("an answer").to_owned()
}

#[test]
#[ignore = "run by the tests beside it, in surroundings of its own"]
fn says_what_is_here() {
    println!("\nit says {:?}", ask());
}

#[test]
fn the_sysctl_is_told_from_a_filter() {
    let files = Files::new("sysctl");
    // In namespaces of its own, where another file lies over the sysctl, and with a filter to refuse as the sysctl would.
    let Some(_) = peer("unshare", "--version") else { return };
    let script = "mount --bind \"$0\" /proc/sys/kernel/io_uring_disabled && exec \"$@\"";
    let unshared = |file: &str| {
        let mut command = Command::new("unshare");
        command.args(["--user", "--map-root-user", "--mount", "sh", "-c", script, file]);
        command
    };
    let file = files.path("disabled");
    fs::write(&file, "2\n").expect("a file");
    let can = Running::run(unshared(&file).args(["cat", SYSCTL]));
    if can.stdout != b"2\n" {
        eprintln!("SKIPPED: no namespace of mounts, or no sysctl, here: {}", can.stderr);
        return;
    }
    // Who is root in a namespace is not refused by a 1.
    for (value, reason) in [("0", "Seccomp"), ("1", "Seccomp"), ("2", "Sysctl { value: 2 }")] {
        fs::write(&file, value).expect("a file");
        let said = other_process(refuse_in(&mut unshared(&file), SETUP, libc::EPERM));
        assert_eq!(said, format!("[Some({reason}), Some({reason})]"), "{value}");
    }
}

/// The sysctl as it was, whatever happens.
struct Restored(String);

impl Drop for Restored {
    fn drop(&mut self) {
        let _ = fs::write(SYSCTL, &self.0);
    }
}

#[test]
#[ignore = "for a moment it changes what all of the machine may do; root is needed"]
fn the_sysctl_refuses_the_unprivileged() {
    let before = Restored(fs::read_to_string(SYSCTL).expect("the sysctl"));
    fs::write(SYSCTL, "1").expect("root may switch it");
    assert_eq!(ask(), [None, None], "root has it still");
    let said = other_process(Command::new("env").uid(65_534).gid(65_534));
    drop(before);
    assert_eq!(said, "[Some(Sysctl { value: 1 }), Some(Sysctl { value: 1 })]");
}

#[test]
fn a_limit_on_locked_memory_is_named_where_it_counts() {
    let Some(_) = peer("prlimit", "--version") else { return };
    if !is_here() {
        return;
    }
    // None at all; too little for the driver's ring, if not for the one that is only asked; enough.
    for (limit, fails) in [("0", true), ("16384", true), ("8388608", false)] {
        let mut prlimit = Command::new("prlimit");
        prlimit.arg(format!("--memlock={limit}:{limit}"));
        // The limit does not bind root.
        if fs::metadata("/proc/self").expect("this process").uid() == 0 {
            prlimit.uid(65_534).gid(65_534);
        }
        let said = other_process(&mut prlimit);
        if said == "[None, None]" && fails {
            eprintln!("SKIPPED: this kernel does not count rings as locked memory");
        } else if fails {
            assert!(said.ends_with(&format!(", Some(Memlock {{ memlock: Some({limit}) }})]")), "{said}");
        } else {
            assert_eq!(said, "[None, None]");
        }
    }
}

/// A server's options: its identity, and any port.
fn options(files: &Files) -> [String; 6] {
    let [cert, key] = [files.path("server.pem"), files.path("server.key")];
    ["--listen", "127.0.0.1:0", "--cert", &cert, "--key", &key].map(ToOwned::to_owned)
}

#[test]
fn servers_on_a_ring_say_what_forbids_it_and_end() {
    let files = Files::new("refused");
    for (name, backend, advice) in [("echo", &["--backend", "uring"][..], true), ("http", &[], false)] {
        for errno in [libc::EPERM, libc::ENOSYS] {
            let mut command = example(name);
            command.args(options(&files)).args(backend).args(["--threads", "2"]);
            let done = Running::run(refuse_in(&mut command, SETUP, errno));
            assert_eq!(done.code, Some(1), "{}", done.stderr);
            assert!(done.stderr.contains("a seccomp filter forbids io_uring"), "{}", done.stderr);
            assert_eq!(done.stderr.contains("--backend arena needs no io_uring"), advice, "{}", done.stderr);
            assert!(done.stdout.is_empty(), "it does not say that it listens");
        }
    }
}

/// The example `echo`, and what three clients one after another send it.
fn echoes(files: &Files, confine: bool, backend: &[&str]) {
    let mut command = example("echo");
    command.args(options(files)).args(backend).args(["--threads", "2"]);
    if confine {
        refuse_in(&mut command, SETUP, libc::EPERM);
    }
    let running = Running::start(&mut command);
    let port: u16 = running.wait_for("listening on 127.0.0.1:", 1).parse().expect("a port");
    let context = contexts::client(&files.authority, &Terms::default());
    for _ in 0..3 {
        let mut stream = client(([127, 0, 0, 1], port).into(), &context);
        let sent = arenatls_rig::ring::pattern(7, 100_000);
        for piece in sent.chunks(10_000) {
            stream.write_all(piece).expect("a write");
            let mut back = vec![0; piece.len()];
            stream.read_exact(&mut back).expect("the same");
            assert!(back == piece, "it differs");
        }
        stream.shutdown().expect("close_notify");
        assert_eq!(stream.read(&mut [0; 10]).expect("a clean end"), 0);
    }
}

#[test]
fn the_arena_serves_without_a_ring() {
    echoes(&Files::new("arena"), true, &["--backend", "arena"]);
}

#[test]
fn with_a_ring_both_serve() {
    let files = Files::new("both");
    echoes(&files, false, &["--backend", "arena"]);
    if is_here() {
        echoes(&files, false, &["--backend", "uring"]);
        echoes(&files, false, &[]);
    }
}

#[test]
fn numbers_that_cannot_be_are_refused() {
    for (name, option, value) in
        [("echo", "--threads", "0"), ("http", "--threads", "0"), ("http", "--connections", "x")]
    {
        let mut command = example(name);
        let done = Running::run(command.args(["--listen", "127.0.0.1:0", option, value]));
        assert!(done.code.is_some_and(|code| code != 0) && done.stderr.contains(option), "{}", done.stderr);
    }
}
