//! What a driver of sockets would like to have of its kernel.

use std::fmt;

use crate::Release;

/// Something that io_uring, or TCP, may have or lack.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Feature {
    /// `IORING_OP_SEND` and `IORING_OP_RECV`.
    SendRecv,
    /// `IORING_OP_TIMEOUT`.
    Timeout,
    /// `IORING_OP_LINK_TIMEOUT`: a time limit on another operation.
    LinkTimeout,
    /// `IORING_OP_ASYNC_CANCEL`.
    Cancel,
    /// `IORING_FEAT_EXT_ARG`: a time limit on waiting for completions.
    WaitTimeout,
    /// `IORING_OP_MSG_RING`: one ring wakes another.
    MsgRing,
    /// `IORING_ACCEPT_MULTISHOT`: one submission, many connections. There is no opcode to ask for; told by
    /// `IORING_OP_SOCKET`, which came in the same release.
    AcceptMultishot,
    /// `IORING_REGISTER_PBUF_RING`: receive buffers that the kernel picks. There is no opcode to ask for; told as
    /// [`AcceptMultishot`](Feature::AcceptMultishot) is.
    BufferRing,
    /// `IORING_RECV_MULTISHOT`: one submission, many receptions. There is no opcode to ask for; told by
    /// `IORING_OP_SEND_ZC`, which came in the same release.
    RecvMultishot,
    /// `IORING_OP_SEND_ZC`: sending without a copy into the kernel.
    SendZeroCopy,
    /// `IORING_SETUP_COOP_TASKRUN`, tried.
    CoopTaskrun,
    /// `IORING_SETUP_SINGLE_ISSUER`, tried.
    SingleIssuer,
    /// `IORING_SETUP_DEFER_TASKRUN` (with `SINGLE_ISSUER`), tried.
    DeferTaskrun,
    /// TCP's `tls` upper layer protocol, which protects records in the kernel; tried on a connection over loopback. A
    /// kernel that has it as a module loads it then only for a process with `CAP_NET_ADMIN`.
    TlsUlp,
    /// That layer takes a new key in the place of one it has, as a KeyUpdate asks; tried.
    TlsRekey,
}

impl Feature {
    /// All of them, in the order of the kernels that brought them, those of TCP last.
    pub const ALL: [Feature; 15] = [
        Feature::Timeout,
        Feature::Cancel,
        Feature::LinkTimeout,
        Feature::SendRecv,
        Feature::WaitTimeout,
        Feature::MsgRing,
        Feature::AcceptMultishot,
        Feature::BufferRing,
        Feature::CoopTaskrun,
        Feature::RecvMultishot,
        Feature::SendZeroCopy,
        Feature::SingleIssuer,
        Feature::DeferTaskrun,
        Feature::TlsUlp,
        Feature::TlsRekey,
    ];

    /// The first release of Linux that has it. Distributions carry some of it back to older ones.
    pub const fn since(self) -> Release {
        let (major, minor) = match self {
            Feature::TlsUlp => (4, 13),
            Feature::Timeout => (5, 4),
            Feature::Cancel | Feature::LinkTimeout => (5, 5),
            Feature::SendRecv => (5, 6),
            Feature::WaitTimeout => (5, 11),
            Feature::MsgRing => (5, 18),
            Feature::AcceptMultishot | Feature::BufferRing | Feature::CoopTaskrun => (5, 19),
            Feature::RecvMultishot | Feature::SendZeroCopy | Feature::SingleIssuer => (6, 0),
            Feature::DeferTaskrun => (6, 1),
            Feature::TlsRekey => (6, 14),
        };
        Release { major, minor }
    }

    const fn name(self) -> &'static str {
        match self {
            Feature::SendRecv => "send, receive",
            Feature::Timeout => "timeout",
            Feature::LinkTimeout => "linked timeout",
            Feature::Cancel => "cancel",
            Feature::WaitTimeout => "wait with a time limit",
            Feature::MsgRing => "message to another ring",
            Feature::AcceptMultishot => "accept, multishot",
            Feature::BufferRing => "ring of provided buffers",
            Feature::RecvMultishot => "receive, multishot",
            Feature::SendZeroCopy => "send without copy",
            Feature::CoopTaskrun => "setup COOP_TASKRUN",
            Feature::SingleIssuer => "setup SINGLE_ISSUER",
            Feature::DeferTaskrun => "setup DEFER_TASKRUN",
            Feature::TlsUlp => "TCP's tls layer",
            Feature::TlsRekey => "tls layer takes new keys",
        }
    }
}

impl fmt::Display for Feature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_are_told_apart_and_in_order() {
        let mut names: Vec<_> = Feature::ALL.map(Feature::name).to_vec();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), Feature::ALL.len());
        let of_rings = &Feature::ALL[..Feature::ALL.len() - 2];
        assert!(of_rings.is_sorted_by_key(|feature| feature.since()));
    }
}
