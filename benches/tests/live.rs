//! The account of live bytes: what is taken is in it, what is given back is not, in each column.

use std::hint::black_box;

use arenatls_benches::count::{self, Live};
use openssl::bn::BigNum;

arenatls_benches::count_everything!();

/// What came of `act`, and what is left of it afterwards.
fn account<T>(act: impl FnOnce() -> T) -> (Live, Live) {
    let less = |now: Live, before: Live| Live {
        rust: now.rust - before.rust,
        openssl: now.openssl - before.openssl,
        libc: now.libc - before.libc,
    };
    let before = count::live();
    let made = black_box(act());
    let held = count::live();
    drop(made);
    (less(held, before), less(count::live(), before))
}

/// One test alone, for the account is the process's.
#[test]
fn what_is_taken_is_held_until_it_is_given_back() {
    count::install().expect("the counters are in place");
    count::watch_live();

    let (held, left) = account(|| vec![1_u8; 5000]);
    assert_eq!((held.rust, held.openssl), (5000, 0));
    assert!((5000..5100).contains(&held.libc), "{held:?}");
    assert_eq!(left, Live::default());

    let (held, left) = account(|| {
        let mut grown = vec![1_u8; 10];
        grown.resize(90_000, 2);
        grown.shrink_to_fit();
        grown
    });
    assert_eq!(held.rust, 90_000);
    assert_eq!(left, Live::default());

    let big = vec![7; 4000];
    let (held, left) = account(|| BigNum::from_slice(&big).expect("OpenSSL makes a number"));
    assert_eq!(held.rust, 0);
    assert!((4000..4200).contains(&held.openssl), "{held:?}");
    assert_eq!(held.libc, held.openssl, "OpenSSL has it from libc");
    assert_eq!(left, Live::default());
}
