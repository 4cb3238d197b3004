//! The state machine of a connection: one table, no native call, no I/O.
//!
//! ```text
//!            Start              HandshakeDone
//!   Idle ────────────▶ Handshake ────────────▶ Traffic ──── Close ───▶ SendClosed
//!    │                     │                    │   ▲                      │
//!    │ Close               │ Close              │   └ Read, Write,         │ PeerClosed
//!    ▼                     ▼                    │     KeyUpdate            ▼
//!  Closed               Closed                  └─ PeerClosed ─▶ ReceiveClosed ─ Close ─▶ Closed
//!
//!   any state but Closed and Failed ── Fail ──▶ Failed          any state ── Abort ──▶ Closed or Failed
//! ```
//!
//! `Traffic` is entered only when OpenSSL has finished *and* the last handshake flight has left the backend.
#![forbid(unsafe_code)]

use thiserror::Error;

/// Where a connection is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum State {
    /// Made, and nothing has happened yet.
    Idle,
    /// The handshake is under way, or its last flight has not been sent yet.
    Handshake,
    /// Both directions carry application data.
    Traffic,
    /// We sent close_notify; the peer may still send.
    SendClosed,
    /// The peer sent close_notify; we may still send.
    ReceiveClosed,
    /// Both directions ended cleanly, or the connection was given up before any data could flow.
    Closed,
    /// The connection failed; the cause is kept and every later call reports it.
    Failed,
}

/// What happened, or what the caller asks for: the columns of the transition table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Trigger {
    /// The handshake makes its first or a further step.
    Start,
    /// OpenSSL finished the handshake and the last flight has been sent.
    HandshakeDone,
    /// The caller looks for received plaintext.
    Read,
    /// The caller writes plaintext.
    Write,
    /// The caller asks for new sending keys (RFC 8446 §4.6.3).
    KeyUpdate,
    /// The caller ends its sending direction with close_notify (RFC 8446 §6.1).
    Close,
    /// The peer's close_notify arrived.
    PeerClosed,
    /// The caller gives the connection up without telling the peer.
    Abort,
    /// A fatal error, ours or the peer's.
    Fail,
}

/// A call that the connection's state does not allow. Nothing was changed and OpenSSL was not called.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("{event:?} is not possible in state {state:?}; nothing was changed")]
pub struct IllegalTransition {
    /// The state the connection was, and is, in.
    pub state: State,
    /// What was asked of it.
    pub event: Trigger,
}

impl State {
    /// Every state, for tests and tables.
    pub const ALL: [State; 7] = [
        State::Idle,
        State::Handshake,
        State::Traffic,
        State::SendClosed,
        State::ReceiveClosed,
        State::Closed,
        State::Failed,
    ];

    /// The state that follows.
    ///
    /// # Errors
    ///
    /// [`IllegalTransition`] where the table has no entry.
    pub const fn after(self, event: Trigger) -> Result<State, IllegalTransition> {
        use State::{Closed, Failed, Handshake, Idle, ReceiveClosed, SendClosed, Traffic};
        use Trigger as T;
        Ok(match (self, event) {
            (Idle | Handshake, T::Start) => Handshake,
            (Handshake, T::HandshakeDone) => Traffic,
            (Idle | Handshake, T::Close) => Closed,

            (Traffic, T::Read | T::Write | T::KeyUpdate) => Traffic,
            (Traffic, T::Close) => SendClosed,
            (Traffic, T::PeerClosed) => ReceiveClosed,

            (SendClosed, T::Read | T::Close) => SendClosed,
            (SendClosed, T::PeerClosed) => Closed,

            (ReceiveClosed, T::Write | T::KeyUpdate) => ReceiveClosed,
            (ReceiveClosed, T::Close) => Closed,

            (Closed, T::Close | T::Abort) => Closed,
            (Failed, T::Fail | T::Abort) => Failed,
            (Idle | Handshake | Traffic | SendClosed | ReceiveClosed, T::Abort) => Closed,
            (Idle | Handshake | Traffic | SendClosed | ReceiveClosed, T::Fail) => Failed,
            (state, event) => return Err(IllegalTransition { state, event }),
        })
    }

    /// True where application data may still arrive.
    pub const fn can_read(self) -> bool {
        self.after(Trigger::Read).is_ok()
    }

    /// True where application data may go either way: the handshake is done, and at most one direction has ended.
    pub const fn is_live(self) -> bool {
        self.can_read() || self.can_write()
    }

    /// True where application data may be written.
    pub const fn can_write(self) -> bool {
        self.after(Trigger::Write).is_ok()
    }
}

impl Trigger {
    /// Every trigger, for tests and tables.
    pub const ALL: [Trigger; 9] = [
        Trigger::Start,
        Trigger::HandshakeDone,
        Trigger::Read,
        Trigger::Write,
        Trigger::KeyUpdate,
        Trigger::Close,
        Trigger::PeerClosed,
        Trigger::Abort,
        Trigger::Fail,
    ];
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fmt::Write as _;

    /// The whole table, one row a state; `.` is an illegal pair. A change of the machine changes this text.
    const TABLE: &str = "\
State         Start HandshakeDone Read Write KeyUpdate Close PeerClosed Abort Fail
Idle          Handshake . . . . Closed . Closed Failed
Handshake     Handshake Traffic . . . Closed . Closed Failed
Traffic       . . Traffic Traffic Traffic SendClosed ReceiveClosed Closed Failed
SendClosed    . . SendClosed . . SendClosed Closed Closed Failed
ReceiveClosed . . . ReceiveClosed ReceiveClosed Closed . Closed Failed
Closed        . . . . . Closed . Closed .
Failed        . . . . . . . Failed Failed
";

    fn printed() -> String {
        let mut text = format!("{:13}", "State");
        for event in Trigger::ALL {
            write!(text, " {event:?}").unwrap();
        }
        text.push('\n');
        for state in State::ALL {
            write!(text, "{:13}", format!("{state:?}")).unwrap();
            for event in Trigger::ALL {
                match state.after(event) {
                    Ok(next) => write!(text, " {next:?}").unwrap(),
                    Err(e) => {
                        assert_eq!(e, IllegalTransition { state, event });
                        text.push_str(" .");
                    }
                }
            }
            text.push('\n');
        }
        text
    }

    #[test]
    fn every_state_and_event_is_in_the_table() {
        assert_eq!(printed(), TABLE);
    }

    #[test]
    fn ends_are_final() {
        for event in Trigger::ALL {
            assert!(matches!(State::Failed.after(event), Ok(State::Failed) | Err(_)));
            assert!(matches!(State::Closed.after(event), Ok(State::Closed) | Err(_)));
        }
    }
}
