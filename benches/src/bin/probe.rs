//! The second instrument: sends one contender's records while glibc's own malloc trace is on.
//!
//! This program interposes nothing. It writes a trace only if glibc's tracer is loaded and told where to write:
//!
//! ```text
//! LD_PRELOAD=libc_malloc_debug.so.0 MALLOC_TRACE=trace probe --contender openssl-membio --payload 1024 --records 100
//! ```
//!
//! Every line of the trace with ` + ` or ` > ` is an allocation.

use std::process::ExitCode;

use arenatls_benches::errand::Errand;
use arenatls_benches::measure::Instrument;

/// glibc's malloc trace (`mcheck.h`).
struct Trace;

#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod glibc {
    unsafe extern "C" {
        /// `mcheck.h`: traces from now on, into the file that `MALLOC_TRACE` names, if the tracer is loaded.
        pub(super) safe fn mtrace();
        /// `mcheck.h`: traces no more.
        pub(super) safe fn muntrace();
    }
}

/// Elsewhere there is no such tracer.
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
mod glibc {
    pub(super) fn mtrace() {}
    pub(super) fn muntrace() {}
}

impl Instrument for Trace {
    /// On from the first batch to the end: each start would begin the file anew.
    fn begin(&mut self) {
        glibc::mtrace();
    }

    fn end(&mut self, _records: usize) {}
}

impl Drop for Trace {
    fn drop(&mut self) {
        glibc::muntrace();
    }
}

fn main() -> ExitCode {
    match Errand::parse(std::env::args_os().skip(1)) {
        Ok(errand) => {
            errand.run(Trace);
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("probe: {error}");
            ExitCode::FAILURE
        }
    }
}
