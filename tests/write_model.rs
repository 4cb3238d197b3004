//! Against a model: what the peer reads is the concatenation of what was accepted, under random sizes, splits,
//! capacities, cancelled writes, drains and key updates from either side.

use std::collections::VecDeque;
use std::io::IoSlice;
use std::sync::LazyLock;

use arenatls::{ArenaPool, Event, Progress};
use arenatls_rig::mode::{Mode, modes};
use arenatls_rig::native::error_queue_is_empty;
use arenatls_rig::pair::{Conn, Pair, carry_chunks};
use openssl::ssl::SslContext;
use proptest::prelude::*;

/// What can happen; `end` 0 is the client.
#[derive(Clone, Copy, Debug)]
enum Op {
    /// A write of so many bytes, in so many slices. If it is refused it is forgotten: a cancelled write.
    Write { end: usize, len: usize, slices: usize },
    /// So many bytes go from this end to the other, at most.
    Carry { end: usize, len: usize },
    /// This end polls once, and consumes so much of what it is lent.
    Poll { end: usize, consume: usize },
    /// This end changes its keys.
    KeyUpdate { end: usize, ask: bool },
}

fn op() -> impl Strategy<Value = Op> {
    let len = prop_oneof![0..40_usize, 0..3000_usize, 16_000..40_000_usize];
    let chunk = prop_oneof![1..8_usize, 1..3000_usize, Just(usize::MAX)];
    prop_oneof![
        4 => (0..2_usize, len, 1..4_usize).prop_map(|(end, len, slices)| Op::Write { end, len, slices }),
        6 => (0..2_usize, chunk).prop_map(|(end, len)| Op::Carry { end, len }),
        6 => (0..2_usize, prop_oneof![Just(usize::MAX), 0..100_usize])
            .prop_map(|(end, consume)| Op::Poll { end, consume }),
        1 => (0..2_usize, any::<bool>()).prop_map(|(end, ask)| Op::KeyUpdate { end, ask }),
    ]
}

/// Contexts of each mode, made once.
static CONTEXTS: LazyLock<Vec<(Mode, SslContext, SslContext)>> =
    LazyLock::new(|| modes().map(|mode| (mode, mode.client(), mode.server())).into());

fn pool(size: usize) -> &'static ArenaPool {
    static POOLS: LazyLock<[&ArenaPool; 3]> = LazyLock::new(|| [35_594, 50_000, 100_000].map(arenatls_rig::pair::pool));
    POOLS[size]
}

struct World {
    ends: [Conn; 2],
    /// What each end was sent and has not read.
    pending: [VecDeque<u8>; 2],
    tls13: bool,
    written: usize,
}

impl World {
    fn write(&mut self, end: usize, len: usize, slices: usize) {
        let start = self.written;
        let data: Vec<u8> = (start..start + len).map(|i| i.wrapping_mul(31).to_le_bytes()[i % 3]).collect();
        let pieces: Vec<IoSlice<'_>> = data.chunks(len.div_ceil(slices).max(1)).map(IoSlice::new).collect();
        let conn = &mut self.ends[end];
        let progress = if slices == 1 { conn.write(&data) } else { conn.write_vectored(&pieces) };
        if let Progress::Done(n) = progress.expect("a write in traffic") {
            self.pending[1 - end].extend(&data[..n]);
            self.written += n;
        }
    }

    fn poll(&mut self, end: usize, consume: usize) -> bool {
        match self.ends[end].poll_event().expect("nothing is wrong") {
            None => false,
            Some(Event::Plaintext(bytes)) => {
                let n = bytes.len().min(consume);
                assert!(!bytes.is_empty());
                assert!(self.pending[end].iter().zip(bytes.iter()).all(|(sent, read)| sent == read));
                assert!(self.pending[end].len() >= bytes.len());
                bytes.consume(n);
                self.pending[end].drain(..n);
                n > 0
            }
            Some(other) => panic!("{other:?}"),
        }
    }

    fn carry(&mut self, end: usize, len: usize) -> usize {
        let [client, server] = &mut self.ends;
        if end == 0 { carry_chunks(client, server, 1..=len) } else { carry_chunks(server, client, 1..=len) }
    }

    fn run(&mut self, op: Op) {
        match op {
            Op::Write { end, len, slices } => self.write(end, len, slices),
            Op::Carry { end, len } => {
                self.carry(end, len);
            }
            Op::Poll { end, consume } => {
                self.poll(end, consume);
            }
            Op::KeyUpdate { end, ask } if self.tls13 => {
                let _: Progress<()> = self.ends[end].key_update(ask).expect("a key update in traffic");
            }
            Op::KeyUpdate { .. } => {}
        }
        assert!(error_queue_is_empty());
    }

    /// Carries and reads until everything has arrived.
    fn finish(&mut self) {
        loop {
            let mut moved = false;
            for end in [0, 1] {
                moved |= self.carry(end, usize::MAX) > 0;
                while self.poll(1 - end, usize::MAX) {
                    moved = true;
                }
            }
            if !moved {
                break;
            }
        }
        for end in [0, 1] {
            assert_eq!(self.pending[end].len(), 0, "bytes that never arrived");
            assert_eq!(self.ends[end].backend().unsent(), 0);
        }
    }
}

fn check(mode: usize, pools: [usize; 2], ops: &[Op]) {
    let (mode, client, server) = &CONTEXTS[mode];
    let mut pair: Pair = mode.pair_of(client, server, pool(pools[0]));
    pair.server = mode.pair_of(client, server, pool(pools[1])).server;
    pair.handshake();
    let ends = [pair.client, pair.server];
    let mut world = World { ends, pending: Default::default(), tls13: mode.is_tls13(), written: 0 };
    for op in ops {
        world.run(*op);
    }
    world.finish();
    for (end, other) in [(0, 1), (1, 0)] {
        assert_eq!(world.ends[end].sent().bytes, world.ends[other].received().bytes);
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 60, failure_persistence: None, rng_seed: proptest::test_runner::RngSeed::Fixed(1),
        ..ProptestConfig::default()
    })]

    #[test]
    fn the_peer_reads_exactly_what_was_accepted_library_12(
        sizes in (0..3_usize, 0..3_usize), ops in prop::collection::vec(op(), 0..120),
    ) {
        check(0, sizes.into(), &ops);
    }

    #[test]
    fn the_peer_reads_exactly_what_was_accepted_library_13(
        sizes in (0..3_usize, 0..3_usize), ops in prop::collection::vec(op(), 0..120),
    ) {
        check(1, sizes.into(), &ops);
    }

    #[test]
    fn the_peer_reads_exactly_what_was_accepted_engine_12(
        sizes in (0..3_usize, 0..3_usize), ops in prop::collection::vec(op(), 0..120),
    ) {
        check(2, sizes.into(), &ops);
    }

    #[test]
    fn the_peer_reads_exactly_what_was_accepted_engine_13(
        sizes in (0..3_usize, 0..3_usize), ops in prop::collection::vec(op(), 0..120),
    ) {
        check(3, sizes.into(), &ops);
    }
}
