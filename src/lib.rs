#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod build_info;

pub use arenatls_engine::*;
#[cfg(feature = "fd-owner")]
pub use arenatls_fd_owner as fd_owner;
pub use arenatls_memory_bio::*;
pub use build_info::{BuildInfo, Offer, build_info};
pub use openssl;
