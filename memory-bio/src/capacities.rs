//! How a connection's memory is shared out between its two directions.

use crate::BudgetExceeded;
use arenatls_engine::record::{CONTROL_RESERVE, MAX_RECORD_IN, MAX_RECORD_OUT};

/// How many bytes of ciphertext a connection can hold in each direction.
///
/// Neither is ever less than one record of maximal size; outbound also has the engine's reserve for alerts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Capacities {
    inbound: usize,
    outbound: usize,
}

impl Capacities {
    /// The least a connection works with: 18,437 bytes inbound and 17,157 bytes outbound.
    pub const MINIMUM: Self = Self { inbound: MAX_RECORD_IN, outbound: MAX_RECORD_OUT + CONTROL_RESERVE };

    /// `inbound` and `outbound` bytes, each raised to its minimum.
    pub const fn new(inbound: usize, outbound: usize) -> Self {
        let least = Self::MINIMUM;
        Self {
            inbound: if inbound > least.inbound { inbound } else { least.inbound },
            outbound: if outbound > least.outbound { outbound } else { least.outbound },
        }
    }

    /// Shares `budget_bytes` out, to the last byte.
    ///
    /// What is above the minimum goes outbound first, until a second record fits there (the engine can then seal
    /// one while the other waits for the wire); what is above that goes to both alike.
    ///
    /// # Errors
    ///
    /// If `budget_bytes` is less than the [`MINIMUM`](Capacities::MINIMUM).
    pub const fn split(budget_bytes: usize) -> Result<Self, BudgetExceeded> {
        let least = Self::MINIMUM;
        let Some(surplus) = budget_bytes.checked_sub(least.total()) else {
            return Err(BudgetExceeded { requested: least.total(), remaining: budget_bytes });
        };
        let second_record = if surplus < MAX_RECORD_OUT { surplus } else { MAX_RECORD_OUT };
        let outbound = least.outbound + second_record + (surplus - second_record) / 2;
        Ok(Self { inbound: budget_bytes - outbound, outbound })
    }

    /// Ciphertext received that a connection can hold (bytes).
    pub const fn inbound(self) -> usize {
        self.inbound
    }

    /// Ciphertext to send that a connection can hold (bytes).
    pub const fn outbound(self) -> usize {
        self.outbound
    }

    /// Both directions together (bytes).
    pub const fn total(self) -> usize {
        self.inbound.saturating_add(self.outbound)
    }
}

impl Default for Capacities {
    /// The [`MINIMUM`](Capacities::MINIMUM).
    fn default() -> Self {
        Self::MINIMUM
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_minimum_is_what_its_doc_says() {
        let least = Capacities::MINIMUM;
        assert_eq!((least.inbound(), least.outbound()), (18_437, 17_157));
    }

    #[test]
    fn a_split_spends_the_whole_budget_and_keeps_the_minimums() {
        let least = Capacities::MINIMUM;
        for budget in (least.total()..200_000).step_by(97) {
            let split = Capacities::split(budget).unwrap();
            assert_eq!(split.total(), budget);
            assert!(split.inbound() >= least.inbound(), "{split:?}");
            assert!(split.outbound() >= least.outbound(), "{split:?}");
        }
        let usual = Capacities::split(64 * 1024).unwrap();
        assert!(usual.outbound() >= 2 * MAX_RECORD_OUT + CONTROL_RESERVE);
    }

    #[test]
    fn too_small_a_budget_is_refused() {
        let refusal = BudgetExceeded { requested: 35_594, remaining: 35_593 };
        assert_eq!(Capacities::split(35_593), Err(refusal));
        assert_eq!(Capacities::split(35_594), Ok(Capacities::MINIMUM));
    }

    #[test]
    fn too_small_capacities_are_raised() {
        assert_eq!(Capacities::new(0, 0), Capacities::MINIMUM);
        assert_eq!(Capacities::new(50_000, 0).inbound(), 50_000);
    }
}
