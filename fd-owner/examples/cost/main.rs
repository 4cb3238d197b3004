//! What a request costs the server's processor: 1 KiB there and back on loopback, over TLS by the driver, and as bare bytes
//! of the same length by a ring without TLS. The server's thread has a core of its own, its clients' thread another.
//!
//! ```text
//! cargo run --release -p arenatls-fd-owner --example cost -- [REQUESTS [REPETITIONS]]
//! ```

#[cfg(target_os = "linux")]
#[expect(unsafe_code, reason = "a ring without TLS, whose buffers live as long as it")]
mod bare;
#[cfg(target_os = "linux")]
#[expect(unsafe_code, reason = "getrusage and sched_setaffinity")]
mod thread;
#[cfg(target_os = "linux")]
mod tls;

#[cfg(target_os = "linux")]
fn main() {
    use std::net::TcpListener;

    let number = |which: usize, usual: usize| std::env::args().nth(which).and_then(|n| n.parse().ok()).unwrap_or(usual);
    let (requests, repetitions) = (number(1, 100_000), number(2, 3));
    println!("server CPU per request of 1 KiB (µs), and the turns (system calls) of its thread for each");
    for connections in [1, 64] {
        for _ in 0..repetitions {
            for (name, tls) in [("bare bytes", false), ("TLS", true)] {
                let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
                let address = listener.local_addr().expect("an address");
                let contexts = tls::contexts();
                let job = tls::Job { address, connections, requests };
                let (client_context, server_context) = contexts;
                let clients = std::thread::spawn(move || {
                    thread::pin(1);
                    if tls { tls::load(&job, &client_context) } else { bare::load(&job) }
                });
                thread::pin(0);
                let cost = if tls { tls::echo(listener, server_context, &job) } else { bare::echo(&listener, &job) };
                clients.join().expect("the clients are well");
                println!("{connections:4} connections  {name:10}  {cost}");
            }
        }
    }
}

#[cfg(not(target_os = "linux"))]
fn main() {
    println!("{}", arenatls_fd_owner::Unsupported::NotLinux);
}
