//! Records that the kernel protects: it has the keys, and the backend carries plaintext behind record headers.

use super::Connection;
use super::keys::Keys;
use crate::alert::Alert;
use crate::backend::Backend;
use crate::error::{BadRecord, Error};
use crate::protection::Direction;
use crate::record::CONTROL_RESERVE;
use crate::record::crypto_info::CryptoInfo;
use crate::record::hand_over::{Keyed, Takeover};
use crate::state::Trigger;
use crate::want::{Progress, Want};

impl<B: Backend> Connection<B> {
    /// Whether there are keys of `direction` to [hand over](Self::hand_over): kept by
    /// [`Options::keep_keys`](crate::Options::keep_keys) and not offered yet, or new ones in the place of those the
    /// kernel has.
    pub fn offers_keys(&self, direction: Direction) -> bool {
        match direction {
            Direction::Send => self.outbound.keys.offers_keys(),
            Direction::Receive => self.inbound.keys.offers_keys(),
        }
    }

    /// Offers the keys of `direction` to the kernel, by way of `take`. `Done(true)`: it has them, the engine has dropped
    /// its own, and [`protection`](Self::protection) says [`Kernel`](crate::Protection::Kernel). `Done(false)`: it
    /// refused, all stays as it is, and the keys are not offered again.
    ///
    /// This is for a backend that owns the socket, and can be done only between two records. From then on what it carries
    /// in that direction are no protected records but a header each (content type, 3.3, length) and **plaintext**:
    ///
    /// - sending: it takes the headers off, sends the rest by the socket that has the key, and says which records are no
    ///   application data (`TLS_SET_RECORD_TYPE`);
    /// - receiving: before what the socket gives it lays such a header, with the content type that the kernel tells
    ///   (`TLS_GET_RECORD_TYPE`) and at most 2^14 bytes behind it. After each handshake record it receives nothing before
    ///   the engine has seen that one and [`offers_keys`](Self::offers_keys) is false: a KeyUpdate may be in it.
    ///
    /// `Want::Drain`: output of the time before has to leave first. `Want::Input`: received records, or a part of one,
    /// have to be read first. Nothing was offered then.
    ///
    /// # Errors
    ///
    /// [`Error::Illegal`] outside of traffic, [`Error::Misuse`] if there are no keys to offer, both with nothing changed;
    /// [`Error::KernelCannotRekey`] if new keys were refused by the kernel, which ends the connection.
    pub fn hand_over(
        &mut self,
        direction: Direction,
        take: impl FnOnce(&CryptoInfo) -> Takeover,
    ) -> Result<Progress<bool>, Error> {
        let legal = match direction {
            Direction::Send if self.outbound.keys.awaits_kernel() => Trigger::KeyUpdate,
            Direction::Send => Trigger::Write,
            Direction::Receive => Trigger::Read,
        };
        self.check(legal)?;
        if !self.offers_keys(direction) {
            return Err(Error::Misuse("there are no keys to hand over"));
        }
        if let Some(want) = self.between_records(direction) {
            return Ok(Progress::Want(want));
        }
        match direction {
            Direction::Send => match offer(&mut self.outbound.keys, take) {
                Offered::NewKeysTaken => {
                    self.blocked = self.owes_key_update().then_some(Want::Drain);
                    Ok(Progress::Done(true))
                }
                // The peer has been told that the next record is under the new key: nothing more can be said to it.
                Offered::NewKeysRefused => Err(self.fail(Error::KernelCannotRekey)),
                Offered::Answered(taken) => Ok(Progress::Done(taken)),
            },
            Direction::Receive => match offer(&mut self.inbound.keys, take) {
                Offered::NewKeysTaken => Ok(Progress::Done(true)),
                Offered::NewKeysRefused => Err(self.cannot_follow()),
                Offered::Answered(taken) => Ok(Progress::Done(taken)),
            },
        }
    }

    /// What is on its way under the engine's key.
    fn between_records(&mut self, direction: Direction) -> Option<Want> {
        match direction {
            Direction::Send if self.backend.unsent() > 0 => Some(Want::Drain),
            Direction::Send if self.outbound.keys.awaits_kernel() => None,
            Direction::Send => self.blocked,
            Direction::Receive => {
                self.settle();
                (!self.backend.input().is_empty()).then_some(Want::Input)
            }
        }
    }

    /// Says that the kernel would not open the record that comes after all that is in the input; the next poll that comes
    /// to it ends the connection, with the alert that `why` calls for.
    pub fn not_opened(&mut self, why: BadRecord) {
        self.inbound.unopened.get_or_insert(why);
    }

    /// Whether OpenSSL has followed a KeyUpdate, or is about to answer one, to where the kernel's keys cannot go.
    pub(super) fn kernel_cannot_follow(&self) -> bool {
        let (sending, receiving) = (&self.outbound.keys, &self.inbound.keys);
        (receiving.awaits_kernel() && !receiving.rekeys()) || (!sending.rekeys() && self.owes_key_update())
    }

    /// Ends the connection for that. OpenSSL has no reason to; the alert is ours, under the key we still have.
    #[cold]
    pub(super) fn cannot_follow(&mut self) -> Error {
        let room = self.backend.room(CONTROL_RESERVE);
        let sealed = self.outbound.seal_alert(Alert::INTERNAL_ERROR, room);
        self.backend.commit(sealed.unwrap_or(0));
        self.fail(Error::KernelCannotRekey)
    }
}

enum Offered {
    /// The first keys, taken or not.
    Answered(bool),
    NewKeysTaken,
    NewKeysRefused,
}

fn offer<T: Keyed>(keys: &mut Keys<T>, take: impl FnOnce(&CryptoInfo) -> Takeover) -> Offered {
    let new = keys.awaits_kernel();
    match (keys.hand_over(take), new) {
        (taken, false) => Offered::Answered(taken),
        (true, true) => Offered::NewKeysTaken,
        (false, true) => Offered::NewKeysRefused,
    }
}
