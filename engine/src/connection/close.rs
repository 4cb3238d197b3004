//! Ending a connection.

use super::Connection;
use crate::backend::Backend;
use crate::error::Error;
use crate::ffi::tls::Outcome;
use crate::state::{State, Trigger};
use crate::want::Progress;

impl<B: Backend> Connection<B> {
    /// Ends our sending direction: close_notify is in the backend when this is done. What the peer still sends can be
    /// read. During a handshake there is nothing to end well, and the connection is closed without a word.
    ///
    /// `Want::Input`: half a handshake message of the peer's (a ticket, say) is here, and OpenSSL says nothing before it
    /// has the rest. A peer that keeps it back is a case for a deadline and [`abort`](Self::abort).
    ///
    /// Closing twice does nothing the second time.
    ///
    /// # Errors
    ///
    /// The cause for which the connection failed, before or now.
    pub fn close(&mut self) -> Result<Progress<()>, Error> {
        self.check(Trigger::Close)?;
        if matches!(self.state, State::Idle | State::Handshake) && !self.handshaken {
            self.transit(Trigger::Close)?;
            self.want = None;
            return Ok(Progress::Done(()));
        }
        if matches!(self.state, State::SendClosed | State::Closed) {
            return Ok(Progress::Done(()));
        }
        if let Some(want) = self.cannot_speak()? {
            return Ok(Progress::Want(want));
        }
        match self.native(|tls, border| tls.shutdown(border)) {
            Ok(Outcome::Done(_)) => {
                self.transit(Trigger::Close)?;
                Ok(Progress::Done(()))
            }
            Ok(_) => Err(self.bug("OpenSSL was given room for close_notify and wants more")),
            Err(error) => Err(self.fail(error)),
        }
    }

    /// Gives the connection up: nothing more is sent or read, and the peer will see a truncation. Keys are zeroed now.
    pub fn abort(&mut self) {
        // First: what is given up has not ended well.
        self.handshaken = false;
        if self.transit(Trigger::Abort).is_ok() {
            self.want = None;
            self.outbound.drop_keys();
            self.inbound.drop_keys();
        }
    }
}
