//! Nothing but the wire: bytes of a record's length pushed and pulled, so that its share in every time can be seen.
//!
//! The bytes are those of [`payload::of`], whatever the payload: the wire is to be paid once.

use super::{Contender, Look, MAX_RECORD};
use crate::payload;
use crate::setting::{Setting, Version};
use crate::wire::Wire;

struct Pair {
    record: Box<[u8]>,
    received: Box<[u8]>,
    expansion: usize,
}

/// Makes a pair that protects nothing.
pub(super) fn connect(setting: &Setting<'_>) -> Box<dyn Contender> {
    let expansion = match setting.suite.version {
        Version::Tls13 => 5 + 1 + 16,
        Version::Tls12 => 5 + 8 + 16,
    };
    Box::new(Pair { record: payload::of(MAX_RECORD), received: vec![0; MAX_RECORD].into_boxed_slice(), expansion })
}

impl Contender for Pair {
    fn write(&mut self, payload: &[u8], wire: &mut Wire) {
        wire.push(&self.record[..payload.len() + self.expansion]);
    }

    fn read(&mut self, wire: &mut Wire, look: &mut Look<'_>) -> usize {
        let length = wire.pull(&mut self.received);
        let payload = &self.received[..length - self.expansion];
        look(payload);
        payload.len()
    }
}
