//! The ledger's pairs under criterion: one benchmark for each contender, payload and direction.

use arenatls_benches::contender::{Carrier, Contender, MAX_PLAINTEXT, SUBJECTS};
use arenatls_benches::measure::{Direction, Stopwatch, check, pin_to_one_core, run};
use arenatls_benches::payload;
use arenatls_benches::setting::{Parties, Setting, Suite};
use arenatls_benches::wire::Wire;
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};

fn record(criterion: &mut Criterion) {
    pin_to_one_core();
    let parties = Parties::new();
    let setting = Setting { suite: Suite::ALL[0], parties: &parties };
    for direction in Direction::ALL {
        for length in [64, 1024, MAX_PLAINTEXT] {
            compare(criterion, &setting, direction, length);
        }
    }
}

fn compare(criterion: &mut Criterion, setting: &Setting<'_>, direction: Direction, length: usize) {
    let mut group = criterion.benchmark_group(format!("{}/{length}", direction.name()));
    group.throughput(Throughput::Bytes(length as u64));
    let payload = payload::of(length);
    let mut wire = Wire::new();
    for subject in SUBJECTS.iter().filter(|subject| subject.carrier == Carrier::Wire) {
        let name = BenchmarkId::from_parameter(format!("{} {}", subject.name, subject.protection));
        let mut pair = None;
        group.bench_function(name, |bencher| {
            let pair: &mut Box<dyn Contender> = pair.get_or_insert_with(|| {
                let mut pair = (subject.connect)(setting);
                check(&mut *pair, &mut wire, length, subject.name);
                pair
            });
            bencher.iter_custom(|records| {
                let mut stopwatch = Stopwatch::new();
                let records = usize::try_from(records).expect("no more than can be counted");
                run(direction, &mut **pair, &mut wire, &payload, records, &mut stopwatch);
                stopwatch.elapsed()
            });
        });
    }
    group.finish();
}

criterion_group!(benches, record);
criterion_main!(benches);
