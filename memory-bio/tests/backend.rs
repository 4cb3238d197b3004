//! `ArenaBackend` from both its sides.

use arenatls_engine::Backend;
use arenatls_engine::record::{CONTROL_RESERVE, HEADER, MAX_RECORD_IN, MAX_RECORD_OUT};
use arenatls_memory_bio::{Arena, ArenaBackend, ArenaError, ArenaPool, Budget, BudgetExceeded, Capacities, Overrun};

fn arena() -> Arena {
    Arena::new(Budget::bytes(1 << 20))
}

fn receive(backend: &mut ArenaBackend<'_>, bytes: &[u8]) {
    backend.receive_into()[..bytes.len()].copy_from_slice(bytes);
    backend.received(bytes.len()).unwrap();
}

/// A record with `len` bytes after its header.
fn record(len: usize) -> Vec<u8> {
    let mut record = vec![0x17, 3, 3];
    record.extend(u16::try_from(len).unwrap().to_be_bytes());
    record.extend((0_u8..=255).cycle().take(len));
    record
}

#[test]
fn new_in_takes_all_or_nothing() {
    let budget = Capacities::MINIMUM.total() + 10;
    let arena = Arena::new(Budget::bytes(budget));
    let refusal = BudgetExceeded { requested: budget + 1, remaining: budget };
    let too_much = Capacities::new(Capacities::MINIMUM.inbound(), Capacities::MINIMUM.outbound() + 11);
    let refused = ArenaBackend::new_in(&arena, too_much).unwrap_err();
    assert_eq!(refused, ArenaError::BudgetExceeded(refusal));
    assert_eq!(arena.used(), 0);
    let backend = ArenaBackend::new_in(&arena, Capacities::MINIMUM).unwrap();
    assert_eq!(backend.capacities(), Capacities::MINIMUM);
    assert_eq!(arena.remaining(), 10);
}

#[test]
fn a_maximal_record_fits_wherever_its_first_bytes_came_to_lie() {
    let arena = arena();
    let whole = record(MAX_RECORD_IN - HEADER);
    for before in [1, 2, 100, MAX_RECORD_IN - 6, MAX_RECORD_IN - 1] {
        for first in [1, 4, 5, 6] {
            let mut backend = ArenaBackend::new_in(&arena, Capacities::MINIMUM).unwrap();
            receive(&mut backend, &vec![0; before]);
            let first = first.min(backend.receive_into().len());
            receive(&mut backend, &whole[..first]);
            backend.consume(before);
            receive(&mut backend, &whole[first..]);
            assert_eq!(backend.input(), whole);
            assert_eq!(backend.receive_into().len(), 0, "the engine comes first");
            backend.consume(MAX_RECORD_IN);
            assert_eq!(backend.receive_into().len(), MAX_RECORD_IN);
            drop(backend);
        }
    }
}

#[test]
fn a_partial_record_moves_only_if_its_rest_does_not_fit_behind_it() {
    let arena = arena();
    let mut backend = ArenaBackend::new_in(&arena, Capacities::MINIMUM).unwrap();
    let whole = record(1000);
    receive(&mut backend, &vec![0; MAX_RECORD_IN - 1500]);
    receive(&mut backend, &whole[..500]);
    backend.consume(MAX_RECORD_IN - 1500);
    assert_eq!(backend.receive_into().len(), 1000);
    assert_eq!(backend.moved_bytes(), 0, "505 bytes are to come");
    receive(&mut backend, &whole[500..]);
    assert_eq!(backend.input(), whole);
    receive(&mut backend, &whole[..400]);
    backend.consume(whole.len());
    assert_eq!(backend.receive_into().len(), MAX_RECORD_IN - 400);
    assert_eq!(backend.moved_bytes(), 400, "605 bytes are to come");
    assert_eq!(backend.input(), &whole[..400]);
}

#[test]
fn the_rest_of_an_opened_record_keeps_value_and_offset() {
    let arena = arena();
    // Whatever plaintext looks like when it is mistaken for a header.
    for byte in [0, 1, 0xff] {
        let mut backend = ArenaBackend::new_in(&arena, Capacities::MINIMUM).unwrap();
        receive(&mut backend, &vec![byte; MAX_RECORD_IN]);
        backend.consume(MAX_RECORD_IN - 300);
        backend.input()[7] = 0x77;
        let mut came = 0;
        while backend.input().len() < MAX_RECORD_IN {
            let room = backend.receive_into().len().min(1000);
            assert!(room > 0);
            receive(&mut backend, &vec![0x33; room]);
            came += room;
            let input = backend.input();
            assert_eq!(input.len(), 300 + came);
            assert!((0..300).all(|i| input[i] == if i == 7 { 0x77 } else { byte }));
            assert!(input[300..].iter().all(|&b| b == 0x33));
        }
    }
}

#[test]
fn reports_beyond_the_offer_change_nothing() {
    let arena = arena();
    let mut backend = ArenaBackend::new_in(&arena, Capacities::MINIMUM).unwrap();
    let overrun = |said, offered| Err(Overrun { said, offered });
    assert_eq!(backend.received(1), overrun(1, 0));
    let offered = backend.receive_into().len();
    assert_eq!(backend.received(offered + 1), overrun(offered + 1, offered));
    assert_eq!(backend.received(3), Ok(()));
    assert_eq!(backend.received(1), overrun(1, 0), "answered already");
    assert_eq!(backend.input().len(), 3);

    assert_eq!(backend.sent(1), overrun(1, 0));
    backend.room(10)[..10].fill(9);
    backend.commit(10);
    assert_eq!(backend.sent(11), overrun(11, 10));
    assert_eq!(backend.to_send(), [9; 10]);
    assert_eq!(backend.sent(4), Ok(()));
    assert_eq!(backend.unsent(), 6);
}

#[test]
fn after_the_end_nothing_more_is_received() {
    let arena = arena();
    let mut backend = ArenaBackend::new_in(&arena, Capacities::MINIMUM).unwrap();
    receive(&mut backend, b"last");
    assert!(!backend.receive_into().is_empty());
    assert!(!backend.input_ended());
    backend.end_of_input();
    assert!(backend.input_ended());
    assert!(backend.received(1).is_err());
    assert!(backend.receive_into().is_empty());
    assert_eq!(backend.input(), b"last");
}

#[test]
fn records_leave_in_order_whole_and_unmoved() {
    let arena = arena();
    let mut backend = ArenaBackend::new_in(&arena, Capacities::MINIMUM).unwrap();
    let mut wire = Vec::new();
    let mut sent = Vec::new();
    for n in (1..60).map(|i| 1 + i * 7919 % MAX_RECORD_OUT) {
        while backend.room(n + CONTROL_RESERVE).is_empty() {
            let burst = backend.to_send().len().min(3000);
            wire.extend_from_slice(&backend.to_send()[..burst]);
            backend.sent(burst).unwrap();
        }
        let record = record(n);
        let ports = backend.ports(record.len());
        ports.room[..record.len()].copy_from_slice(&record);
        backend.commit(record.len());
        sent.extend(record);
        assert!(!backend.room(1).is_empty(), "an alert always fits");
    }
    while backend.unsent() > 0 {
        wire.extend_from_slice(backend.to_send());
        backend.sent(backend.to_send().len()).unwrap();
    }
    assert_eq!(wire, sent);
    assert_eq!(backend.moved_bytes(), 0);
}

#[test]
fn the_next_connection_finds_zeroes() {
    let pool = ArenaPool::with_limit(Budget::bytes(64 * 1024), 1);
    for _ in 0..3 {
        let mut backend = pool.backend().unwrap();
        let inbound = backend.receive_into();
        assert!(inbound.iter().all(|&b| b == 0));
        inbound.fill(0xa5);
        let n = inbound.len();
        backend.received(n).unwrap();
        backend.consume(n / 2);
        let outbound = backend.room(1);
        assert!(outbound.iter().all(|&b| b == 0));
        outbound.fill(0xa5);
        let n = outbound.len();
        backend.commit(n);
    }
}

#[test]
fn a_forgotten_connection_costs_its_block_and_no_more() {
    let pool = ArenaPool::with_limit(Budget::bytes(64 * 1024), 2);
    std::mem::forget(pool.backend().unwrap());
    drop(pool.backend().unwrap());
    assert_eq!((pool.in_use(), pool.idle()), (1, 1));
}

#[test]
fn debug_shows_lengths_and_no_byte() {
    let arena = arena();
    let mut backend = ArenaBackend::new_in(&arena, Capacities::MINIMUM).unwrap();
    receive(&mut backend, &[213; 3]);
    let shown = format!("{backend:?}");
    assert!(shown.contains("pending: 3"), "{shown}");
    assert!(!shown.contains("213"), "{shown}");
}
