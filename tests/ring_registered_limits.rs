//! What the system allows a process is little: connections go on, registered or not. A process of its own: its limits are
//! lowered and stay so.
#![cfg(target_os = "linux")]

use arenatls_fd_owner::Config;
use arenatls_rig::echo_ring::{connected, exchange};
use arenatls_rig::ring::{reasons, run_out};

/// The soft limit, which is all that counts without privileges.
fn limit(resource: libc::__rlimit_resource_t, to: libc::rlim_t) {
    let limits = libc::rlimit { rlim_cur: to, rlim_max: to };
    // SAFETY: it reads one `rlimit`, to which the pointer leads.
    assert_eq!(unsafe { libc::setrlimit(resource, &raw const limits) }, 0);
}

fn echoes(connections: u32, few: bool) {
    let config = Config::default().register_after(Some(0)).connections(connections);
    let Some((mut driver, mut echo, mut log, mut clients)) = connected(config) else { return };
    let before = driver.receptions();
    for round in 0..100 {
        for client in &mut clients {
            exchange(&mut driver, &mut echo, &mut log, client, 1 + round * 10);
        }
    }
    let receptions = driver.receptions() - before;
    assert_eq!(receptions < 200, few, "{receptions} receptions");
    let n = clients.len();
    clients.into_iter().for_each(|mut client| assert!(client.shutdown().is_ok()));
    run_out(&mut driver, &mut echo, &mut log);
    assert_eq!(reasons(&log).len(), n, "{log:?}");
}

#[test]
fn limits_of_the_system_cost_the_gain_and_nothing_else() {
    limit(libc::RLIMIT_NOFILE, 100);
    // The table has 64 places of the 1,024 that were asked for, and slots are lent from the first on.
    echoes(1024, true);
    limit(libc::RLIMIT_MEMLOCK, 0);
    echoes(64, true);
}
