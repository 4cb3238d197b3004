//! A live connection changes its backend twice: the handshake and the first line are done over memory and a blocking
//! socket, the second line on a ring, the rest in memory again, on another thread. The peer sends all lines at once, so
//! what was not read goes along each time, and so does what was not sent.
//!
//! ```text
//! cargo run --release --features fd-owner --example swap
//! ```

use std::error::Error;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread;

use arenatls::openssl::pkey::PKey;
use arenatls::openssl::ssl::{Ssl, SslContext, SslMethod, SslStream, SslVerifyMode};
use arenatls::openssl::x509::X509;
use arenatls::{ArenaPool, Budget, Connection};

use app::App;

mod app;
mod memory;
#[cfg(target_os = "linux")]
mod ring;

/// Whatever ends the program.
type Failure = Box<dyn Error + Send + Sync>;

fn main() -> Result<(), Failure> {
    let (server, client) = contexts()?;
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?;
    let client = thread::spawn(move || talk(address, &client));
    serve(listener.accept()?.0, &server)?;
    client.join().map_err(|_| "the client panicked")?
}

fn serve(socket: TcpStream, context: &SslContext) -> Result<(), Failure> {
    let pool = ArenaPool::new(Budget::bytes(64 * 1024));
    let mut app = App::default();
    let mut connection = Connection::accept(Ssl::new(context)?, pool.backend()?)?;
    memory::serve(&mut connection, &socket, &mut app, "in memory", 1)?;

    #[cfg(target_os = "linux")]
    let (mut connection, socket) = ring::visit(connection, socket, &mut app, &pool)?;

    // Off the ring it may go to any thread.
    let last = move || {
        memory::serve(&mut connection, &socket, &mut app, "in memory, on another thread", usize::MAX)?;
        let _ = connection.close()?;
        memory::flush(&mut connection, &socket)?;
        Ok(())
    };
    thread::scope(|scope| scope.spawn(last).join().map_err(|_| "the server panicked")?)
}

/// The client: OpenSSL alone.
fn talk(address: SocketAddr, context: &SslContext) -> Result<(), Failure> {
    let mut ssl = Ssl::new(context)?;
    ssl.param_mut().set_host("localhost")?;
    let mut stream = SslStream::new(ssl, TcpStream::connect(address)?)?;
    stream.connect()?;
    stream.write_all(b"one\ntwo\nthree\nfour\n")?;
    let mut answers = BufReader::new(stream);
    for _ in 0..4 {
        let mut line = String::new();
        answers.read_line(&mut line)?;
        std::io::stdout().write_all(line.as_bytes())?;
    }
    answers.get_mut().shutdown()?;
    Ok(())
}

/// An identity made on the spot, and a client that trusts it.
fn contexts() -> Result<(SslContext, SslContext), Failure> {
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()])?;
    let certificate = X509::from_der(made.cert.der())?;
    let mut server = SslContext::builder(SslMethod::tls_server())?;
    server.set_certificate(&certificate)?;
    let key = PKey::private_key_from_der(&made.signing_key.serialize_der())?;
    server.set_private_key(&key)?;
    let mut client = SslContext::builder(SslMethod::tls_client())?;
    client.set_verify(SslVerifyMode::PEER);
    client.cert_store_mut().add_cert(certificate)?;
    Ok((server.build(), client.build()))
}
