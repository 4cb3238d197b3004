//! What the system allows a process is little: connections go on, registered or not. A process of its own: its limits are
//! lowered, and stay so.
#![cfg(target_os = "linux")]

use arenatls_fd_owner::Config;
use arenatls_rig::echo_ring::{connected, exchange};
use arenatls_rig::ring::{reasons, run_out};

fn limit(resource: libc::__rlimit_resource_t, to: libc::rlim_t) {
    let mut limits = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: it writes one `rlimit`, to which the pointer leads.
    assert_eq!(unsafe { libc::getrlimit(resource, &raw mut limits) }, 0);
    limits.rlim_cur = to;
    // SAFETY: it reads one `rlimit`, to which the pointer leads.
    assert_eq!(unsafe { libc::setrlimit(resource, &raw const limits) }, 0);
}

/// Many requests of a few clients, under a limit that comes when they are connected and not registered yet, and their ends.
fn echoes(connections: u32, resource: libc::__rlimit_resource_t, to: libc::rlim_t) {
    let config = Config::default().register_after(Some(6)).connections(connections);
    let Some((mut driver, mut echo, mut log, mut clients)) = connected(config) else { return };
    limit(resource, to);
    for round in 0..100 {
        for client in &mut clients {
            exchange(&mut driver, &mut echo, &mut log, client, 1 + round * 10);
        }
    }
    let n = clients.len();
    clients.into_iter().for_each(|mut client| assert!(client.shutdown().is_ok()));
    run_out(&mut driver, &mut echo, &mut log);
    assert_eq!(reasons(&log).len(), n, "{log:?}");
}

#[test]
fn limits_of_the_system_cost_the_gain_and_nothing_else() {
    // The table has fewer places than there are slots; then fewer than there are connections.
    echoes(1024, libc::RLIMIT_NOFILE, 100);
    echoes(64, libc::RLIMIT_NOFILE, 5);
    limit(libc::RLIMIT_NOFILE, 100);
    // There is no memory for the groups of connections, except for the privileged, whom it does not count.
    echoes(64, libc::RLIMIT_MEMLOCK, 0);
}
