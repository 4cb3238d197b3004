//! Asking a ring, and trying to make one.

use std::io;

use io_uring::{Builder, IoUring, Probe, opcode};

use crate::kernel::{Surroundings, release_text};
use crate::ulp::Layer;
use crate::{Capabilities, DriverError, Feature, Unsupported};

/// Entries of the rings that are made only to be asked.
const ENTRIES: u32 = 4;

pub(crate) fn probe() -> Result<Capabilities, Unsupported> {
    let here = Surroundings::read();
    let ring = IoUring::new(ENTRIES).map_err(|error| Unsupported::setup(errno(&error), &here))?;
    let mut known = Probe::new();
    ring.submitter().register_probe(&mut known).map_err(|error| Unsupported::probe(errno(&error), &here))?;
    // A filter may let a ring be made and not be used.
    ring.submit().map_err(|error| Unsupported::setup(errno(&error), &here))?;
    let kernel = release_text().unwrap_or_else(|| "(unnamed)".to_owned());
    Ok(Capabilities::new(kernel, |feature| has(feature, &ring, &known)))
}

/// Why a ring cannot be made, or not be entered, which failed with `cause`.
pub(crate) fn why_not(cause: io::Error) -> DriverError {
    let Err(why) = probe() else {
        // A small ring may be had where a greater one is not.
        return match Unsupported::setup(errno(&cause), &Surroundings::read()) {
            Unsupported::Other { .. } => DriverError::System { doing: "make a ring", cause },
            why => why.into(),
        };
    };
    why.into()
}

fn has(feature: Feature, ring: &IoUring, known: &Probe) -> bool {
    let knows = |code| known.is_supported(code);
    match feature {
        Feature::SendRecv => knows(opcode::Send::CODE) && knows(opcode::Recv::CODE),
        Feature::Timeout => knows(opcode::Timeout::CODE),
        Feature::LinkTimeout => knows(opcode::LinkTimeout::CODE),
        Feature::Cancel => knows(opcode::AsyncCancel::CODE),
        Feature::WaitTimeout => ring.params().is_feature_ext_arg(),
        Feature::MsgRing => knows(opcode::MsgRingData::CODE),
        Feature::AcceptMultishot | Feature::BufferRing => knows(opcode::Socket::CODE),
        Feature::RecvMultishot | Feature::SendZeroCopy => knows(opcode::SendZc::CODE),
        Feature::CoopTaskrun => can_be_made(Builder::setup_coop_taskrun),
        Feature::SingleIssuer => can_be_made(Builder::setup_single_issuer),
        Feature::DeferTaskrun => can_be_made(|ring| ring.setup_single_issuer().setup_defer_taskrun()),
        Feature::TlsUlp => Layer::probe().is_some(),
        Feature::TlsRekey => Layer::probe().is_some_and(|layer| layer.rekeys),
    }
}

/// Whether a ring with these flags can be made; a kernel that does not know one refuses.
fn can_be_made(flags: impl Fn(&mut Builder) -> &mut Builder) -> bool {
    flags(&mut IoUring::builder()).build(ENTRIES).is_ok()
}

fn errno(error: &io::Error) -> i32 {
    error.raw_os_error().unwrap_or(0)
}
