//! The `Date` field, written anew once a second.

use std::io::Write as _;
use std::time::{SystemTime, UNIX_EPOCH};

/// Length of a date as HTTP has it: `Sun, 06 Nov 1994 08:49:37 GMT`.
const LEN: usize = 29;

/// What time it is, in HTTP's words.
#[derive(Debug)]
pub(crate) struct Clock {
    second: u64,
    text: [u8; LEN],
}

impl Default for Clock {
    fn default() -> Clock {
        let mut clock = Clock { second: u64::MAX, text: [b' '; LEN] };
        clock.now();
        clock
    }
}

impl Clock {
    /// The date (RFC 9110 §5.6.7).
    pub(crate) fn now(&mut self) -> &[u8] {
        let now = SystemTime::now();
        let second = now.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        if second != self.second {
            self.second = second;
            // It always has this length.
            let _ = write!(&mut self.text[..], "{}", httpdate::HttpDate::from(now));
        }
        &self.text
    }
}
