//! Writing: what is accepted is ciphertext in the backend when the call returns.

use std::io::IoSlice;

use zeroize::Zeroize as _;

use super::Connection;
use super::outbound::MAX_LIBRARY_OVERHEAD;
use crate::backend::Backend;
use crate::error::Error;
use crate::ffi::bio::Border;
use crate::ffi::tls::Outcome;
use crate::record::gather::Gather;
use crate::record::keys::Version;
use crate::record::{APPLICATION_DATA, CONTROL_RESERVE, HEADER};
use crate::state::Trigger;
use crate::want::{Progress, Want};

/// What OpenSSL needs beside the plaintext: two records' worth of overhead (TLS 1.0 sends an empty one before each), and
/// the reserve (bytes).
const LIBRARY_ROOM: usize = 2 * (HEADER + MAX_LIBRARY_OVERHEAD) + CONTROL_RESERVE;

impl<B: Backend> Connection<B> {
    /// Protects as much of `plaintext` as the output has room for, in whole records: `Done(n)` means that `n` bytes
    /// are ciphertext in the backend now, and the rest was not looked at. `Want` means none were taken. Nothing is
    /// held back in between, so a write that was not taken may be repeated from elsewhere, changed, or dropped.
    ///
    /// An empty write is `Done(0)` in any state, and does nothing.
    ///
    /// # Errors
    ///
    /// [`Error::Illegal`] before the handshake is done and after [`close`](Self::close), with nothing changed; else
    /// the cause for which the connection failed.
    pub fn write(&mut self, plaintext: &[u8]) -> Result<Progress<usize>, Error> {
        self.write_gathered(Gather::one(plaintext))
    }

    /// [`write`](Self::write) of several slices, gathered into full records: three slices of ten bytes are one record.
    ///
    /// # Errors
    ///
    /// As [`write`](Self::write).
    pub fn write_vectored(&mut self, slices: &[IoSlice<'_>]) -> Result<Progress<usize>, Error> {
        self.write_gathered(Gather::many(slices))
    }

    fn write_gathered(&mut self, mut plain: Gather<'_>) -> Result<Progress<usize>, Error> {
        if plain.is_empty() {
            return Ok(Progress::Done(0));
        }
        self.check(Trigger::Write)?;
        if !self.unblock()? {
            return Ok(Progress::Want(Want::Drain));
        }
        let mut accepted = 0;
        while !plain.is_empty() {
            let n = self.write_record(plain)?;
            if n == 0 {
                break;
            }
            plain.take(n);
            accepted += n;
        }
        Ok(if accepted == 0 { Progress::Want(Want::Drain) } else { Progress::Done(accepted) })
    }

    /// One record off the front of `plain`; 0 if it does not fit now.
    fn write_record(&mut self, mut plain: Gather<'_>) -> Result<usize, Error> {
        let piece = plain.take(self.options.record_size(self.outbound.counters.bytes));
        let n = if self.outbound.is_engine() { self.write_engine(piece)? } else { self.write_library(piece)? };
        if n > 0 {
            self.count_sent(n);
        }
        Ok(n)
    }

    fn write_engine(&mut self, piece: Gather<'_>) -> Result<usize, Error> {
        if !self.keep_keys_fresh()? {
            return Ok(0);
        }
        let Some(sealer) = self.outbound.sealer() else { return self.write_library(piece) };
        let padding = self.options.padding.zeros(piece.len());
        let room = self.backend.room(sealer.sealed_len(piece.len(), padding) + CONTROL_RESERVE);
        if room.is_empty() {
            return Ok(0);
        }
        let Ok(sealed) = sealer.seal(APPLICATION_DATA, piece, padding, room) else { return Err(self.would_not_seal()) };
        self.backend.commit(sealed);
        Ok(piece.len())
    }

    /// Seals into memory that is not the backend's; `out` is long enough.
    pub(super) fn seal_data(&mut self, piece: Gather<'_>, out: &mut [u8]) -> Result<usize, Error> {
        let padding = self.options.padding.zeros(piece.len());
        let sealed = self.outbound.sealer().and_then(|s| s.seal(APPLICATION_DATA, piece, padding, out).ok());
        sealed.ok_or_else(|| self.would_not_seal())
    }

    fn would_not_seal(&mut self) -> Error {
        self.bug("the AEAD would not seal a record")
    }

    pub(super) fn count_sent(&mut self, plaintext: usize) {
        self.outbound.counters.records += 1;
        self.outbound.counters.bytes += plaintext as u64;
    }

    /// Replaces a worn-out sending key before the next record (RFC 8446 §5.5); false while there is no room for it.
    pub(super) fn keep_keys_fresh(&mut self) -> Result<bool, Error> {
        let Some(sealer) = self.outbound.sealer() else { return Ok(true) };
        let (records, version) = (sealer.records(), sealer.shape().version);
        if records < self.options.rekey_after {
            return Ok(true);
        }
        if version == Version::Tls13 {
            return Ok(self.key_update(false)?.done().is_some());
        }
        if !self.has_reserve() {
            return Ok(false);
        }
        // The one thing still safe to say under this key is that nothing more will come.
        let _: Result<Outcome, Error> = self.native(|tls, border| tls.shutdown(border));
        Err(self.fail(Error::KeysWornOut { records }))
    }

    fn write_library(&mut self, piece: Gather<'_>) -> Result<usize, Error> {
        let outcome = match piece.as_one() {
            Some(plain) if self.backend.room(plain.len() + LIBRARY_ROOM).is_empty() => return Ok(0),
            Some(plain) => self.native(|tls, border| tls.write(border, plain)),
            None => match self.write_joined(piece) {
                Some(outcome) => outcome,
                // Not even one piece, then.
                None => return piece.pieces().next().map_or(Ok(0), |first| self.write_library(Gather::one(first))),
            },
        };
        match outcome {
            Ok(Outcome::Done(n)) => Ok(n),
            Ok(_) => Err(self.bug("OpenSSL was given room for a record and wants more")),
            Err(error) => Err(self.fail(error)),
        }
    }

    /// OpenSSL takes one slice, so several are joined for it, at the end of the room that the record is made in;
    /// `None` if there is no room for both.
    fn write_joined(&mut self, piece: Gather<'_>) -> Option<Result<Outcome, Error>> {
        let room = self.backend.room(2 * piece.len() + LIBRARY_ROOM);
        let (room, joined) = room.split_at_mut_checked(room.len().checked_sub(piece.len())?)?;
        if room.is_empty() {
            return None;
        }
        let mut at = 0;
        for part in piece.pieces() {
            joined[at..at + part.len()].copy_from_slice(part);
            at += part.len();
        }
        let mut border = Border::new(room, &mut self.outbound, &mut self.inbound);
        let outcome = self.tls.write(&mut border, joined);
        let put = border.put;
        joined.zeroize();
        self.backend.commit(put);
        Some(outcome)
    }

    /// Replaces our sending keys (RFC 8446 §4.6.3), and asks the peer to replace its own if `ask_peer`. The KeyUpdate
    /// is in the backend when this is done, behind everything written before.
    ///
    /// # Errors
    ///
    /// [`Error::Illegal`] outside of traffic or after [`close`](Self::close), [`Error::Misuse`] before TLS 1.3, both with
    /// nothing changed; else the cause for which the connection failed.
    pub fn key_update(&mut self, ask_peer: bool) -> Result<Progress<()>, Error> {
        self.check(Trigger::KeyUpdate)?;
        if self.ssl().version2() != Some(openssl::ssl::SslVersion::TLS1_3) {
            return Err(Error::Misuse("KeyUpdate needs TLS 1.3"));
        }
        if !self.unblock()? || !self.has_reserve() {
            return Ok(Progress::Want(Want::Drain));
        }
        match self.native(|tls, border| tls.key_update(border, ask_peer)) {
            Ok(Outcome::Done(_)) => Ok(Progress::Done(())),
            Ok(Outcome::Wants(Want::Drain)) => {
                self.blocked = true;
                Ok(Progress::Done(()))
            }
            Ok(_) => Err(self.bug("a KeyUpdate wants what it cannot want")),
            Err(error) => Err(self.fail(error)),
        }
    }
}
