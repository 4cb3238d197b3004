//! Writing: what is accepted is ciphertext in the backend when the call returns.

use std::io::IoSlice;

use zeroize::Zeroize as _;

use super::Connection;
use crate::backend::Backend;
use crate::error::Error;
use crate::ffi::bio::Border;
use crate::ffi::tls::Outcome;
use crate::record::gather::Gather;
use crate::record::keys::Version;
use crate::record::{APPLICATION_DATA, CONTROL_RESERVE, MAX_PLAINTEXT, MAX_RECORD_OUT};
use crate::state::Trigger;
use crate::want::{Progress, Want};

/// What OpenSSL needs beside the plaintext (bytes): a record's overhead, and the reserve. As much as a full record of TLS
/// 1.3 may be longer than its plaintext is more than OpenSSL adds to any: 22 bytes there without padding, 29 with AES-GCM
/// in TLS 1.2, and with CBC at most a header, an IV, a MAC of 48 bytes and a block of padding, and in TLS 1.0 an empty
/// record before it.
const LIBRARY_ROOM: usize = MAX_RECORD_OUT - MAX_PLAINTEXT + CONTROL_RESERVE;

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

    fn write_gathered(&mut self, plain: Gather<'_>) -> Result<Progress<usize>, Error> {
        if plain.is_empty() {
            return Ok(Progress::Done(0));
        }
        self.check(Trigger::Write)?;
        if self.is_held() {
            self.want = Some(Want::Drain);
            return Ok(Progress::Want(Want::Drain));
        }
        let progress = self.write_records(plain)?;
        self.want = progress.want();
        Ok(progress)
    }

    fn write_records(&mut self, mut plain: Gather<'_>) -> Result<Progress<usize>, Error> {
        let mut accepted = 0;
        while !plain.is_empty() {
            match self.write_record(plain) {
                Ok(Progress::Done(n)) => {
                    plain.take(n);
                    accepted += n;
                }
                Ok(want) if accepted == 0 => return Ok(want),
                Err(error) if accepted == 0 => return Err(error),
                // What was accepted is said first; the rest, or the failure, the next call finds again.
                Ok(Progress::Want(_)) | Err(_) => break,
            }
        }
        Ok(Progress::Done(accepted))
    }

    /// One record off the front of `plain`.
    fn write_record(&mut self, mut plain: Gather<'_>) -> Result<Progress<usize>, Error> {
        let piece = plain.take(self.options.record_size(self.outbound.counters.bytes));
        let progress = if self.outbound.is_engine() { self.write_engine(piece)? } else { self.write_library(piece)? };
        if let Progress::Done(n) = progress {
            self.count_sent(n);
        }
        Ok(progress)
    }

    fn write_engine(&mut self, piece: Gather<'_>) -> Result<Progress<usize>, Error> {
        if let Some(want) = self.keep_keys_fresh()? {
            return Ok(Progress::Want(want));
        }
        let Some(sealer) = self.outbound.sealer() else { return Err(self.would_not_seal()) };
        let padding = self.options.padding.zeros(piece.len());
        let room = self.backend.room(sealer.sealed_len(piece.len(), padding) + CONTROL_RESERVE);
        if room.is_empty() {
            return Ok(Progress::Want(Want::Drain));
        }
        let Ok(sealed) = sealer.seal(APPLICATION_DATA, piece, padding, room) else { return Err(self.would_not_seal()) };
        self.backend.commit(sealed);
        Ok(Progress::Done(piece.len()))
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
        // A peer that only reads may send a control record now and then for as long as we write.
        self.inbound.controls = 0;
    }

    /// Sees to it that the sending key may protect another record (RFC 8446 §5.5), and replaces it if not; else what
    /// that waits for.
    #[inline]
    pub(super) fn keep_keys_fresh(&mut self) -> Result<Option<Want>, Error> {
        if self.blocked.is_some()
            && let Some(want) = self.held_up()?
        {
            return Ok(Some(want));
        }
        let limit = self.options.rekey_after;
        match self.outbound.sealer() {
            Some(sealer) if sealer.is_worn(limit) => self.replace_key(),
            _ => Ok(None),
        }
    }

    #[cold]
    fn replace_key(&mut self) -> Result<Option<Want>, Error> {
        let Some(sealer) = self.outbound.sealer() else { return Ok(None) };
        let (records, version) = (sealer.records(), sealer.shape().version);
        if version == Version::Tls13 && self.outbound.keys.rekeys() {
            return Ok(match self.key_update(false)? {
                // The kernel may have to be given the new key first.
                Progress::Done(()) => self.blocked.filter(|_| self.outbound.keys.awaits_kernel()),
                Progress::Want(want) => Some(want),
            });
        }
        if let Some(want) = self.cannot_speak()? {
            return Ok(Some(want));
        }
        // The one thing still safe to say under this key is that nothing more will come.
        let _: Result<Outcome, Error> = self.native(|tls, border| tls.shutdown(border));
        Err(self.fail(Error::KeysWornOut { records }))
    }

    fn write_library(&mut self, piece: Gather<'_>) -> Result<Progress<usize>, Error> {
        if let Some(want) = self.cannot_speak()? {
            return Ok(Progress::Want(want));
        }
        let outcome = match piece.as_one() {
            Some(plain) => {
                let needed = plain.len() + LIBRARY_ROOM;
                if self.backend.room(needed).is_empty() {
                    return Ok(Progress::Want(Want::Drain));
                }
                self.native_with(needed, |tls, border| tls.write(border, plain))
            }
            None => match self.write_joined(piece) {
                Some(outcome) => outcome,
                // Not even one piece, then.
                None => {
                    let first = piece.pieces().next().unwrap_or_default();
                    return self.write_library(Gather::one(first));
                }
            },
        };
        match outcome {
            Ok(Outcome::Done(n)) => Ok(Progress::Done(n)),
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

    /// From here on a write finds no room (`Want::Drain`), until [`resume_writes`](Self::resume_writes). For a backend that
    /// is in the middle of something long, so that nothing gets into it. Control records go on.
    pub fn hold_writes(&mut self) {
        self.held.get_or_insert(false);
    }

    /// Ends [`hold_writes`](Self::hold_writes). True if a write was refused meanwhile.
    pub fn resume_writes(&mut self) -> bool {
        self.held.take().unwrap_or(false)
    }

    /// Whether a write that was tried now is refused for that.
    pub(super) fn is_held(&mut self) -> bool {
        if let Some(refused) = &mut self.held {
            *refused = true;
        }
        self.held.is_some()
    }

    /// Replaces our sending keys (RFC 8446 §4.6.3), and asks the peer to replace its own if `ask_peer`. The KeyUpdate
    /// is in the backend when this is done, behind everything written before.
    ///
    /// # Errors
    ///
    /// [`Error::Illegal`] outside of traffic or after [`close`](Self::close), [`Error::Misuse`] before TLS 1.3 and where
    /// the keys are in a kernel that takes no others, both with nothing changed; else the cause for which the connection failed.
    pub fn key_update(&mut self, ask_peer: bool) -> Result<Progress<()>, Error> {
        self.check(Trigger::KeyUpdate)?;
        if !self.is_tls13() {
            return Err(Error::Misuse("KeyUpdate needs TLS 1.3"));
        }
        if !self.outbound.keys.rekeys() || (ask_peer && !self.inbound.keys.rekeys()) {
            return Err(Error::Misuse("this kernel cannot replace the keys it has"));
        }
        if let Some(want) = self.cannot_speak()? {
            return Ok(Progress::Want(want));
        }
        match self.native(|tls, border| tls.key_update(border, ask_peer)) {
            Ok(Outcome::Done(_)) => {
                // What comes next is for the key that the kernel has still to be given.
                self.blocked = self.outbound.keys.awaits_kernel().then_some(Want::Drain);
                Ok(Progress::Done(()))
            }
            Ok(Outcome::Wants(want)) => {
                self.blocked = Some(want);
                Ok(Progress::Done(()))
            }
            Ok(Outcome::PeerClosed) => Err(self.bug("a KeyUpdate cannot bring the peer's close_notify")),
            Err(error) => Err(self.fail(error)),
        }
    }

    /// What keeps OpenSSL from sending something new: what it has to finish first, no room for a control record, or a
    /// handshake message of the peer's of which only a part is here.
    pub(super) fn cannot_speak(&mut self) -> Result<Option<Want>, Error> {
        Ok(self.held_up()?.or_else(|| self.tls.in_init().then_some(Want::Input)))
    }
}
