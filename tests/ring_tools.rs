//! The driver against the `openssl` tool, both ways.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use arenatls::openssl::ssl::Ssl;
use arenatls_fd_owner::{CloseReason, Config, DriverEvent, RingDriver};
use arenatls_rig::contexts::{self, Terms};
use arenatls_rig::identity::Authority;
use arenatls_rig::ring::{Server, Told, WATCHDOG, driver, reasons, run_out};

/// A process that does not outlive its test.
struct Tool(Child);

impl Tool {
    fn start(args: &[&str]) -> Option<Tool> {
        let mut command = Command::new("openssl");
        command.args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        match command.spawn() {
            Ok(child) => Some(Tool(child)),
            Err(error) => {
                eprintln!("SKIPPED: no openssl tool: {error}");
                None
            }
        }
    }
}

impl Drop for Tool {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Files of one test, gone at its end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let folder = std::env::temp_dir().join(format!("arenatls-ring-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        Folder(folder)
    }

    fn file(&self, name: &str, text: &str) -> String {
        let file = self.0.join(name);
        std::fs::write(&file, text).unwrap();
        file.to_str().unwrap().to_owned()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn openssl_s_client_talks_to_the_echo_server() {
    let authority = Authority::new("tools");
    for version in ["-tls1_2", "-tls1_3"] {
        let context = contexts::server(&authority.server(), &Terms::default());
        let Some(server) = Server::echo(Config::default(), context, 4) else { return };
        let folder = Folder::new(version);
        let ca = folder.file("ca.pem", &authority.pem());
        let address = server.address.to_string();
        let verify = ["-CAfile", &ca, "-verify_return_error", "-servername", "localhost"];
        let args = [&["s_client", "-quiet", "-connect", &address, version], &verify[..]].concat();
        let Some(mut tool) = Tool::start(&args) else { return };
        let mut input = tool.0.stdin.take().unwrap();
        let mut output = BufReader::new(tool.0.stdout.take().unwrap());
        for line in ["hello", "and good day"] {
            writeln!(input, "{line}").unwrap();
            let mut back = String::new();
            output.read_line(&mut back).unwrap();
            assert_eq!(back.trim_end(), line);
        }
        drop((input, output));
        drop(tool);
        server.stop();
    }
}

#[test]
fn we_talk_to_openssl_s_server() {
    let authority = Authority::new("tools");
    let identity = authority.server();
    let folder = Folder::new("server");
    let (chain, key) = (folder.file("chain.pem", &identity.chain_pem()), folder.file("key.pem", &identity.key_pem()));
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let args = ["s_server", "-accept", &port.to_string(), "-cert", &chain, "-key", &key, "-rev", "-quiet"];
    let Some(_tool) = Tool::start(&args) else { return };
    let Some(mut driver) = driver(Config::default().connections(2)) else { return };
    let context = contexts::client(&authority, &Terms::default());
    let mut got = Vec::new();
    let mut talk = |driver: &mut RingDriver, event: &DriverEvent| match *event {
        DriverEvent::HandshakeComplete(id) => {
            let _ = driver.connection(id).unwrap().write(b"hello\n").unwrap();
        }
        DriverEvent::Plaintext(id) => {
            got.extend_from_slice(&driver.plaintext(id).unwrap());
            if got.ends_with(b"\n") {
                driver.close(id).unwrap();
            }
        }
        _ => {}
    };
    let end = Instant::now() + WATCHDOG;
    // The tool needs a moment before it listens.
    let log = loop {
        driver.connect(port, Ssl::new(&context).unwrap(), "localhost").unwrap();
        let mut log: Vec<Told> = Vec::new();
        run_out(&mut driver, &mut talk, &mut log);
        if !matches!(reasons(&log)[..], [CloseReason::NotConnected(_)]) {
            break log;
        }
        assert!(Instant::now() < end, "openssl does not listen");
        std::thread::sleep(Duration::from_millis(10));
    };
    assert_eq!(got, b"olleh\n");
    assert!(matches!(reasons(&log)[..], [CloseReason::Done | CloseReason::CloseTimeout]), "{log:?}");
}

#[test]
fn curl_gets_an_answer_where_there_is_curl() {
    let authority = Authority::new("tools");
    let context = contexts::server(&authority.server(), &Terms::default());
    let answer = |driver: &mut RingDriver, event: &DriverEvent| {
        if let DriverEvent::Plaintext(id) = *event {
            let _ = driver.plaintext(id);
            let _ = driver.connection(id).unwrap().write(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello").unwrap();
        }
        if let DriverEvent::PeerClosed(id) = *event {
            driver.close(id).unwrap();
        }
    };
    let Some(server) = Server::start(Config::default(), context, move || answer) else { return };
    let folder = Folder::new("curl");
    let ca = folder.file("ca.pem", &authority.pem());
    let url = format!("https://localhost:{}/", server.address.port());
    let curl = Command::new("curl").args(["-s", "--max-time", "10", "-4", "--cacert", &ca, &url]).output();
    match curl {
        Ok(output) => assert_eq!(output.stdout, b"hello", "{output:?}"),
        Err(error) => eprintln!("SKIPPED: no curl: {error}"),
    }
    server.stop();
}
