//! What the ring's ways to move bytes cost on this machine, without TLS: the reasons why the driver uses what it uses.
//!
//! ```text
//! cargo run --release -p arenatls-fd-owner --example primitives -- [ROUNDS]
//! ```
//!
//! One thread is measured (`CLOCK_THREAD_CPUTIME_ID`), its peer's thread has another core. Medians of the rounds' ratios.

#[cfg(target_os = "linux")]
#[expect(unsafe_code, reason = "hands buffers to the kernel that live as long as the ring")]
mod bulk;
#[cfg(target_os = "linux")]
#[expect(unsafe_code, reason = "hands buffers to the kernel that live as long as the ring")]
mod echo;
#[cfg(target_os = "linux")]
#[expect(unsafe_code, reason = "the buffers of a ring of provided buffers are shared with the kernel")]
mod provided;
#[cfg(target_os = "linux")]
#[expect(unsafe_code, reason = "clock_gettime and sched_setaffinity")]
mod thread;

#[cfg(target_os = "linux")]
fn main() {
    let rounds = std::env::args().nth(1).and_then(|n| n.parse().ok()).unwrap_or(7_usize);
    println!("sending, CPU of the sender: SEND_ZC as a multiple of SEND");
    for kib in [16, 36, 64, 256, 1024] {
        let measure = |way| move || bulk::cost_of_a_kib(way, kib << 10);
        let ways = [bulk::Way::Send, bulk::Way::ZeroCopy, bulk::Way::ZeroCopyRegistered].map(measure);
        let (base, ratios) = compare(rounds, &ways);
        println!("{kib:5} KiB at a time: {base:6.0} ns/KiB; {:5.2}; of registered memory {:5.2}", ratios[1], ratios[2]);
    }
    println!(
        "echo of {} bytes, CPU of the server: as a multiple of descriptors and single-shot receptions",
        echo::MESSAGE
    );
    for connections in [1, 64, 1000] {
        let measure = |way| move || echo::cost_of_a_message(way, connections);
        let ways = [
            echo::Way::Plain,
            echo::Way::FixedFiles,
            echo::Way::Multishot,
            echo::Way::MultishotOwn,
            echo::Way::MultishotOwnFixed,
        ]
        .map(measure);
        let (base, ratios) = compare(rounds, &ways);
        println!(
            "{connections:5} connections: {base:6.0} ns; with fixed files {:5.2}; multishot into provided buffers {:5.2}, \
             into one of the connection's own {:5.2}, and with fixed files {:5.2}",
            ratios[1], ratios[2], ratios[3], ratios[4]
        );
    }
}

/// The first way's median, and the medians of each way's ratios to the first, round by round.
#[cfg(target_os = "linux")]
fn compare<const N: usize>(rounds: usize, ways: &[impl Fn() -> f64; N]) -> (f64, [f64; N]) {
    let rounds: Vec<[f64; N]> = (0..rounds.max(1)).map(|_| std::array::from_fn(|way| ways[way]())).collect();
    let median = |pick: &dyn Fn(&[f64; N]) -> f64| {
        let mut all: Vec<f64> = rounds.iter().map(pick).collect();
        all.sort_by(f64::total_cmp);
        all[all.len() / 2]
    };
    (median(&|round| round[0]), std::array::from_fn(|way| median(&|round| round[way] / round[0])))
}

#[cfg(not(target_os = "linux"))]
fn main() {
    println!("{}", arenatls_fd_owner::Unsupported::NotLinux);
}
