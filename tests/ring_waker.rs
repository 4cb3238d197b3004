//! A waker that outlives its driver, in a program that does not ignore SIGPIPE. Alone in its binary, because of the signal.
#![cfg(target_os = "linux")]

use arenatls_fd_owner::Config;
use arenatls_rig::ring::driver;

#[test]
fn a_waker_of_a_driver_that_is_no_more_does_nothing() {
    // SAFETY: the default action is no handler, and nothing else in this process is about signals.
    unsafe { libc::signal(libc::SIGPIPE, libc::SIG_DFL) };
    let Some(driver) = driver(Config::default().connections(1)) else { return };
    let waker = driver.waker();
    drop(driver);
    waker.wake();
}
