//! Connections come and go: each shakes hands, carries one byte there and back, and ends well at both ends.

mod blocking;
mod openssl_stream;
#[cfg(target_os = "linux")]
mod ring;
mod rustls_stream;

use std::collections::HashSet;
use std::fmt::Write as _;
use std::time::{Duration, Instant};

use openssl::ssl::SslContext;

use super::Args;
use crate::measure::median;
use crate::setting::{Parties, Suite};
use crate::sheet::{Better, Cell, Column, Table};

/// How many, and of which kind.
#[derive(Debug, Clone, Copy)]
struct Plan {
    warm_up: usize,
    timed: usize,
    at_once: usize,
    /// Whether clients offer the session of an earlier connection.
    resume: bool,
}

/// A connection that went well.
#[derive(Debug, Clone)]
struct Made {
    begun: Instant,
    took: Duration,
    resumed: bool,
    /// The session's, at the client; `None` where the library does not tell.
    session_id: Option<Vec<u8>>,
}

/// Those that were timed.
#[derive(Debug, Default)]
struct Outcome {
    seconds: f64,
    made: Vec<Made>,
}

impl Outcome {
    /// The connections that `phase` makes.
    fn of(phase: impl FnOnce() -> Vec<Made>) -> Outcome {
        let begun = Instant::now();
        let made = phase();
        Outcome { seconds: begun.elapsed().as_secs_f64(), made }
    }

    fn rate(&self) -> f64 {
        self.made.len() as f64 / self.seconds
    }

    fn latency(&self) -> f64 {
        median(&self.made.iter().map(|made| made.took.as_secs_f64() * 1e3).collect::<Vec<_>>())
    }

    fn resumed(&self) -> usize {
        self.made.iter().filter(|made| made.resumed).count()
    }

    fn distinct_ids(&self) -> Option<usize> {
        let ids: Option<HashSet<_>> = self.made.iter().map(|made| made.session_id.as_deref()).collect();
        ids.map(|ids| ids.len())
    }
}

type Run = fn(Suite, &Parties, Plan) -> Result<Outcome, String>;

/// Client and server are of the same kind.
const SUBJECTS: [(&str, bool, Run); 3] = [
    ("arenatls, a ring driver at each end", true, on_rings),
    ("openssl, blocking streams", false, openssl_stream::run),
    ("rustls, blocking streams", false, rustls_stream::run),
];

/// The table, what is to be noted, and the events.
pub(super) fn measure(args: &Args, parties: &Parties) -> (Vec<Table>, Vec<String>, String) {
    let (mut table, mut notes) = (table(args), Vec::new());
    let mut events = String::from("tls,contender,run,connection,at_ns,took_ns,resumed\n");
    for suite in &args.suites {
        for resume in [false, true] {
            let plan = Plan { warm_up: args.warm_up, timed: args.connecting, at_once: args.at_once, resume };
            let group = format!("{}, {}", suite.version_name(), if resume { "resumed" } else { "full" });
            let mut outcomes: [Vec<Outcome>; 3] = Default::default();
            for run in 0..args.runs {
                for ((name, _, make), outcomes) in SUBJECTS.into_iter().zip(&mut outcomes) {
                    eprintln!("connections: {group}, {name}, run {}", run + 1);
                    match make(*suite, parties, plan) {
                        Ok(outcome) => {
                            check(&outcome, plan, name);
                            lines(&mut events, &format!("{group},{},{run}", name.replace(',', ":")), &outcome);
                            outcomes.push(outcome);
                        }
                        Err(why) => notes.push(format!("{name}: not here. {why}")),
                    }
                }
            }
            for ((name, ours, _), outcomes) in SUBJECTS.into_iter().zip(&outcomes) {
                enter(&mut table, &group, (name, ours), outcomes);
            }
        }
    }
    (vec![table], notes, events)
}

/// All were made, and as they should be.
fn check(outcome: &Outcome, plan: Plan, name: &str) {
    assert_eq!(outcome.made.len(), plan.timed, "{name}");
    let resumed = if plan.resume { plan.timed } else { 0 };
    assert_eq!(outcome.resumed(), resumed, "resumed by {name}");
}

#[cfg(target_os = "linux")]
fn on_rings(suite: Suite, parties: &Parties, plan: Plan) -> Result<Outcome, String> {
    ring::run(&contexts(suite, parties), plan)
}

#[cfg(not(target_os = "linux"))]
fn on_rings(_: Suite, _: &Parties, _: Plan) -> Result<Outcome, String> {
    Err("There is no io_uring.".into())
}

/// OpenSSL's, for clients and for servers; servers give tickets as they do of themselves.
fn contexts(suite: Suite, parties: &Parties) -> (SslContext, SslContext) {
    use arenatls_rig::contexts::{Terms, client, server};
    use openssl::ssl::SslVersion;

    let version = match suite.version {
        crate::setting::Version::Tls12 => SslVersion::TLS1_2,
        crate::setting::Version::Tls13 => SslVersion::TLS1_3,
    };
    let terms = Terms::default().version(version).suite(suite.openssl());
    (client(&parties.authority, &terms), server(&parties.server, &terms))
}

fn table(args: &Args) -> Table {
    let about = format!(
        "{} connections over loopback, {} at a time, after {} to warm up. Each is made, shakes hands, carries a byte there \
         and back, and is over when both ends have said close_notify. A resumed one offers the session of an earlier one.",
        args.connecting, args.at_once, args.warm_up
    );
    let columns = vec![
        Column::plotted("connections", "1/s", Better::More),
        Column::plain("one took, median", "ms", Better::Less),
        Column::plain("resumed", "", Better::Neither),
        Column::plain("distinct session ids", "", Better::Neither),
    ];
    Table::new("Connections", &about, columns)
}

fn enter(table: &mut Table, group: &str, (name, ours): (&str, bool), outcomes: &[Outcome]) {
    let range = |of: fn(&Outcome) -> f64| Cell::of(&outcomes.iter().map(of).collect::<Vec<_>>());
    let ids: Option<Vec<f64>> = outcomes.iter().map(|o| o.distinct_ids().map(|ids| ids as f64)).collect();
    let ids = ids.map_or_else(|| Cell::Missing("it does not tell".into()), |ids| Cell::of(&ids));
    table.push(
        group,
        name,
        ours,
        vec![range(Outcome::rate), range(Outcome::latency), range(|o| o.resumed() as f64), ids],
    );
}

fn lines(text: &mut String, label: &str, outcome: &Outcome) {
    let first = outcome.made.iter().map(|made| made.begun).min();
    for (connection, made) in outcome.made.iter().enumerate() {
        let at = first.map_or(0, |first| (made.begun - first).as_nanos());
        // Writing to a string does not fail.
        let _ = writeln!(text, "{label},{connection},{at},{},{}", made.took.as_nanos(), made.resumed);
    }
}
