//! Alert descriptions (RFC 8446 §6).

use std::fmt;

/// The description byte of a TLS alert; `Display` gives the RFC's name.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Alert(pub u8);

impl Alert {
    /// close_notify (0).
    pub const CLOSE_NOTIFY: Alert = Alert(0);
    /// unexpected_message (10).
    pub const UNEXPECTED_MESSAGE: Alert = Alert(10);
    /// bad_record_mac (20).
    pub const BAD_RECORD_MAC: Alert = Alert(20);
    /// record_overflow (22).
    pub const RECORD_OVERFLOW: Alert = Alert(22);
    /// protocol_version (70).
    pub const PROTOCOL_VERSION: Alert = Alert(70);
    /// internal_error (80).
    pub const INTERNAL_ERROR: Alert = Alert(80);
    /// certificate_required (116).
    pub const CERTIFICATE_REQUIRED: Alert = Alert(116);

    /// The RFC's name, where the IANA registry has one.
    pub const fn name(self) -> Option<&'static str> {
        Some(match self.0 {
            0 => "close_notify",
            10 => "unexpected_message",
            20 => "bad_record_mac",
            21 => "decryption_failed",
            22 => "record_overflow",
            30 => "decompression_failure",
            40 => "handshake_failure",
            41 => "no_certificate",
            42 => "bad_certificate",
            43 => "unsupported_certificate",
            44 => "certificate_revoked",
            45 => "certificate_expired",
            46 => "certificate_unknown",
            47 => "illegal_parameter",
            48 => "unknown_ca",
            49 => "access_denied",
            50 => "decode_error",
            51 => "decrypt_error",
            60 => "export_restriction",
            70 => "protocol_version",
            71 => "insufficient_security",
            80 => "internal_error",
            86 => "inappropriate_fallback",
            90 => "user_canceled",
            100 => "no_renegotiation",
            109 => "missing_extension",
            110 => "unsupported_extension",
            111 => "certificate_unobtainable",
            112 => "unrecognized_name",
            113 => "bad_certificate_status_response",
            114 => "bad_certificate_hash_value",
            115 => "unknown_psk_identity",
            116 => "certificate_required",
            120 => "no_application_protocol",
            121 => "ech_required",
            _ => return None,
        })
    }
}

impl fmt::Display for Alert {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => write!(f, "{name} ({})", self.0),
            None => write!(f, "{}", self.0),
        }
    }
}

impl fmt::Debug for Alert {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Alert({self})")
    }
}
