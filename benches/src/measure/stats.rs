//! Medians, and ratios taken round by round.

use serde::{Deserialize, Serialize};

/// The spread of one quantity over the rounds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// The least of all rounds.
    pub min: f64,
    /// The median of all rounds.
    pub median: f64,
    /// The most of all rounds.
    pub max: f64,
}

impl Summary {
    /// The spread of `values`.
    ///
    /// # Panics
    ///
    /// Panics if there are none.
    #[must_use]
    pub fn of(values: &[f64]) -> Self {
        Self {
            min: values.iter().copied().fold(f64::INFINITY, f64::min),
            median: median(values),
            max: values.iter().copied().fold(f64::NEG_INFINITY, f64::max),
        }
    }
}

/// The middle of `values`, or the mean of the middle two.
///
/// # Panics
///
/// Panics if there are none.
#[must_use]
pub fn median(values: &[f64]) -> f64 {
    assert!(!values.is_empty(), "a median is of something");
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    if sorted.len().is_multiple_of(2) { f64::midpoint(sorted[middle - 1], sorted[middle]) } else { sorted[middle] }
}

/// How many times faster than `reference` the other is: the ratio of the times of each round.
#[must_use]
pub fn ratios(reference: &[f64], times: &[f64]) -> Vec<f64> {
    let pairs = reference.iter().zip(times);
    pairs.map(|(reference, time)| reference / time).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians_of_odd_and_even_many() {
        assert_eq!(median(&[3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), 2.5);
    }

    #[test]
    fn a_ratio_forgives_a_slow_round() {
        let reference = [200.0, 2000.0, 200.0];
        let times = [100.0, 1000.0, 100.0];
        assert_eq!(ratios(&reference, &times), [2.0; 3]);
        assert_eq!(Summary::of(&times).max, 1000.0);
    }
}
