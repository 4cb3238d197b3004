//! Records and hellos as bytes.

/// Splits `bytes` into records, headers included.
///
/// # Panics
///
/// If the last record is not whole.
#[must_use]
pub fn records(mut bytes: &[u8]) -> Vec<&[u8]> {
    let mut records = Vec::new();
    while !bytes.is_empty() {
        let len = 5 + usize::from(u16::from_be_bytes([bytes[3], bytes[4]]));
        let (record, rest) = bytes.split_at(len);
        records.push(record);
        bytes = rest;
    }
    records
}

/// The content types of the records in `bytes`.
///
/// # Panics
///
/// As [`records`].
#[must_use]
pub fn content_types(bytes: &[u8]) -> Vec<u8> {
    records(bytes).iter().map(|record| record[0]).collect()
}

/// A record that is not protected.
///
/// # Panics
///
/// If `body` is longer than a length field can say.
#[must_use]
pub fn plain_record(content_type: u8, body: &[u8]) -> Vec<u8> {
    let mut record = vec![content_type, 3, 3];
    record.extend(u16_len(body));
    record.extend(body);
    record
}

/// The compatibility `ChangeCipherSpec` (RFC 8446 appendix D.4).
pub const CCS: [u8; 6] = [20, 3, 3, 0, 1, 1];

/// The records of `bytes` cut into records of at most `piece` bytes of body each.
///
/// # Panics
///
/// As [`records`].
#[must_use]
pub fn recut(bytes: &[u8], piece: usize) -> Vec<u8> {
    let cut = |record: &[u8]| {
        let (head, body) = record.split_at(5);
        body.chunks(piece).map(|part| plain_record(head[0], part)).collect::<Vec<_>>().concat()
    };
    records(bytes).into_iter().flat_map(cut).collect()
}

/// The parts of a client hello that tests care for.
#[derive(Debug, Clone, Default)]
pub struct Hello {
    /// `legacy_version`.
    pub version: u16,
    /// Cipher suites.
    pub suites: Vec<u16>,
    /// Extensions: type and body.
    pub extensions: Vec<(u16, Vec<u8>)>,
}

impl Hello {
    /// A hello of today's form that offers TLS 1.0 and nothing later.
    #[must_use]
    pub fn tls10() -> Hello {
        let extensions = vec![(43, list8(&u16s(&[0x0301])))];
        Hello { version: 0x0303, suites: vec![0xc009, 0x002f], extensions }
    }

    /// A hello of TLS 1.3 (and 1.2, if `and_12`) that offers X25519 and, in every list it has, an unknown value of
    /// RFC 8701 (GREASE) first.
    #[must_use]
    pub fn grease(and_12: bool) -> Hello {
        const GREASE: [u16; 5] = [0x0a0a, 0x1a1a, 0x2a2a, 0x3a3a, 0xfafa];
        let versions: &[u16] = if and_12 { &[0x4a4a, 0x0304, 0x0303] } else { &[0x4a4a, 0x0304] };
        let mut share = u16s(&[GREASE[2]]);
        share.extend([0, 1, 0]);
        share.extend(u16s(&[29, 32]));
        share.extend([9; 1].iter().chain(&[0; 31]));
        let alpn = [&[2, 0x5a, 0x5a][..], &[8], b"http/1.1"].concat();
        Hello {
            version: 0x0303,
            suites: vec![GREASE[0], 0x1301, 0xc02b, 0xc02f],
            extensions: vec![
                (GREASE[1], Vec::new()),
                (10, list16(&u16s(&[GREASE[2], 29, 23]))),
                (13, list16(&u16s(&[GREASE[3], 0x0403, 0x0804]))),
                (16, list16(&alpn)),
                (43, list8(&u16s(versions))),
                (45, list8(&[0x0b, 1])),
                (51, list16(&share)),
                (GREASE[4], vec![0]),
            ],
        }
    }

    /// One record with the hello in it.
    ///
    /// # Panics
    ///
    /// If a part is longer than its length field can say.
    #[must_use]
    pub fn record(&self) -> Vec<u8> {
        let mut body = self.version.to_be_bytes().to_vec();
        body.extend([7; 32]);
        body.extend(list8(if self.extensions.is_empty() { &[] } else { &[5; 32] }));
        body.extend(list16(&u16s(&self.suites)));
        body.extend(list8(&[0]));
        if !self.extensions.is_empty() {
            let extension = |(kind, body): &(u16, Vec<u8>)| [&u16s(&[*kind])[..], &list16(body)].concat();
            body.extend(list16(&self.extensions.iter().flat_map(extension).collect::<Vec<_>>()));
        }
        let mut message = vec![1, 0];
        message.extend(list16(&body));
        let mut record = plain_record(22, &message);
        record[2] = 1;
        record
    }
}

/// The extensions of the client hello in `record`: type and body.
///
/// # Panics
///
/// If there is no client hello in it.
#[must_use]
pub fn hello_extensions(record: &[u8]) -> Vec<(u16, Vec<u8>)> {
    let mut rest = &record[5 + 4 + 2 + 32..];
    let _session = take_list(&mut rest, 1);
    let _suites = take_list(&mut rest, 2);
    let _compression = take_list(&mut rest, 1);
    let mut extensions = take_list(&mut rest, 2);
    let mut found = Vec::new();
    while !extensions.is_empty() {
        let kind = u16::from_be_bytes([extensions[0], extensions[1]]);
        extensions = &extensions[2..];
        found.push((kind, take_list(&mut extensions, 2).to_vec()));
    }
    found
}

fn take_list<'a>(rest: &mut &'a [u8], width: usize) -> &'a [u8] {
    let len = rest[..width].iter().fold(0, |len, byte| len << 8 | usize::from(*byte));
    let (list, after) = rest[width..].split_at(len);
    *rest = after;
    list
}

fn u16s(values: &[u16]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_be_bytes()).collect()
}

fn u16_len(body: &[u8]) -> [u8; 2] {
    u16::try_from(body.len()).expect("it fits its length field").to_be_bytes()
}

fn list8(body: &[u8]) -> Vec<u8> {
    let len = u8::try_from(body.len()).expect("it fits its length field");
    [&[len][..], body].concat()
}

fn list16(body: &[u8]) -> Vec<u8> {
    [&u16_len(body)[..], body].concat()
}
