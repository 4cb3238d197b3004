//! What no connection has used of a pool's memory takes none of the machine's. Alone in its binary, for it looks at the
//! whole process.

#![cfg(target_os = "linux")]

use arenatls::{ArenaPool, Budget};

/// Pages of this process that are in memory (bytes, by pages of 4 KiB at least).
fn resident() -> usize {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap();
    statm.split(' ').nth(1).unwrap().parse::<usize>().unwrap() * 4096
}

#[test]
fn blocks_that_are_lent_and_not_used_cost_address_space_only() {
    const EACH: usize = 64 * 1024;
    const MANY: usize = 1000;
    for pool in [ArenaPool::new(Budget::bytes(EACH)), ArenaPool::with_limit(Budget::bytes(EACH), MANY)] {
        let before = resident();
        let mut backends: Vec<_> = (0..MANY).map(|_| pool.backend().unwrap()).collect();
        let lent = resident() - before;
        assert!(lent < MANY * EACH / 16, "{lent} bytes for {MANY} connections that do nothing");
        backends.iter_mut().for_each(|backend| backend.receive_into().fill(1));
        let used = resident() - before;
        assert!(used > MANY * EACH / 4, "{used} bytes; so it can be seen");
    }
}
