//! Finding records in a stream of bytes.

use super::{APPLICATION_DATA, CHANGE_CIPHER_SPEC, HEADER};
use crate::error::BadRecord;

/// What lies at the start of the input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Frame {
    /// Less than one record; there is one once the input holds `needed` bytes (5, while the header is not all there).
    Partial {
        /// Bytes from the start of the input.
        needed: usize,
    },
    /// One whole record.
    Whole {
        /// Its content type, as its header claims.
        content_type: u8,
        /// Its length, header included (bytes).
        len: usize,
    },
    /// Not a TLS record, or one longer than any may be.
    Broken(BadRecord),
}

impl Frame {
    /// Looks at `input`; a record's body may have at most `limit` bytes.
    pub fn parse(input: &[u8], limit: usize) -> Frame {
        let Some(&content_type) = input.first() else { return Frame::Partial { needed: HEADER } };
        if !(CHANGE_CIPHER_SPEC..=APPLICATION_DATA).contains(&content_type) {
            return Frame::Broken(BadRecord::ContentType(content_type));
        }
        let Some(&[_, major, minor, high, low]) = input.first_chunk::<HEADER>() else {
            return Frame::Partial { needed: HEADER };
        };
        if major != 3 {
            return Frame::Broken(BadRecord::Version(u16::from_be_bytes([major, minor])));
        }
        let body = usize::from(u16::from_be_bytes([high, low]));
        if body > limit {
            return Frame::Broken(BadRecord::Overflow { length: body, limit });
        }
        let len = HEADER + body;
        if input.len() < len { Frame::Partial { needed: len } } else { Frame::Whole { content_type, len } }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_prefix_of_a_record_is_partial_until_the_last_byte() {
        let record = [22, 3, 1, 0, 3, 1, 2, 3];
        for k in 0..record.len() {
            let needed = if k < HEADER { HEADER } else { record.len() };
            assert_eq!(Frame::parse(&record[..k], 16), Frame::Partial { needed });
        }
        assert_eq!(Frame::parse(&record, 16), Frame::Whole { content_type: 22, len: 8 });
    }

    #[test]
    fn what_is_no_record_is_told_from_one_at_the_first_byte_that_shows_it() {
        assert_eq!(Frame::parse(b"G", 16), Frame::Broken(BadRecord::ContentType(b'G')));
        assert_eq!(Frame::parse(&[0x80, 46], 16), Frame::Broken(BadRecord::ContentType(0x80)));
        assert_eq!(Frame::parse(&[23, 2, 0, 0, 1], 16), Frame::Broken(BadRecord::Version(0x0200)));
        let overflow = BadRecord::Overflow { length: 17, limit: 16 };
        assert_eq!(Frame::parse(&[23, 3, 3, 0, 17], 16), Frame::Broken(overflow));
    }
}
