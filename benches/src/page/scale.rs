//! Axes: from figures to places, and where to put numbers.

/// A linear axis.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Scale {
    low: f64,
    high: f64,
    width: f64,
}

impl Scale {
    /// An axis of `width` that has 0 and all of `values` on it. Without any it ends at 1.
    pub(super) fn over(values: impl IntoIterator<Item = f64>, width: f64) -> Scale {
        let finite = values.into_iter().filter(|value| value.is_finite());
        let (low, high) = finite.fold((0.0_f64, 0.0_f64), |(low, high), value| (low.min(value), high.max(value)));
        let high = if low == high { 1.0 } else { high };
        Scale { low, high, width }
    }

    /// Where `value` is; what lies beyond an end is at that end.
    pub(super) fn place(&self, value: f64) -> f64 {
        (value.clamp(self.low, self.high) - self.low) / (self.high - self.low) * self.width
    }

    /// The number at the upper end.
    pub(super) fn high(&self) -> f64 {
        self.high
    }

    /// Whether `value` is on the axis.
    pub(super) fn holds(&self, value: f64) -> bool {
        (self.low..=self.high).contains(&value)
    }

    /// Round numbers on the axis, about `wanted` of them.
    pub(super) fn ticks(&self, wanted: u32) -> Vec<f64> {
        let step = round_step((self.high - self.low) / f64::from(wanted.max(1)));
        let (first, last) = ((self.low / step).ceil() as i64, (self.high / step + 1e-9).floor() as i64);
        (first..=last).map(|index| index as f64 * step).collect()
    }
}

/// The least of 1, 2 and 5 times a power of ten that is not less than `least`.
fn round_step(least: f64) -> f64 {
    let power = 10_f64.powf(least.log10().floor());
    let factors = [1.0, 2.0, 5.0, 10.0];
    factors.map(|factor| factor * power).into_iter().find(|step| *step >= least * (1.0 - 1e-9)).unwrap_or(10.0 * power)
}

/// A number for an axis: short.
pub(super) fn short(number: f64) -> String {
    const SIZES: [(f64, &str); 3] = [(1e9, "G"), (1e6, "M"), (1e4, "k")];
    let found = SIZES.into_iter().find(|(size, _)| number.abs() >= *size);
    let (size, letter) = found.map_or((1.0, ""), |(size, letter)| (if letter == "k" { 1e3 } else { size }, letter));
    let digits = format!("{:.6}", number / size);
    // What is left of the places behind the point.
    let digits = digits.trim_end_matches('0').trim_end_matches('.');
    format!("{digits}{letter}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_go_from_end_to_end() {
        let scale = Scale::over([50.0, 200.0], 100.0);
        assert_eq!([0.0, 50.0, 200.0, 999.0, -1.0].map(|value| scale.place(value)), [0.0, 25.0, 100.0, 100.0, 0.0]);
        assert!(scale.holds(200.0) && !scale.holds(200.1));
        let scale = Scale::over([-50.0, 50.0, f64::NAN, f64::INFINITY], 100.0);
        assert_eq!([-50.0, 0.0, 50.0].map(|value| scale.place(value)), [0.0, 50.0, 100.0]);
    }

    #[test]
    fn nothing_to_show_is_no_division_by_nothing() {
        let scale = Scale::over([], 100.0);
        assert_eq!((scale.place(0.0), scale.ticks(2)), (0.0, vec![0.0, 0.5, 1.0]));
        assert_eq!(Scale::over([0.0], 100.0).place(0.0), 0.0);
    }

    #[test]
    fn ticks_are_round_and_few() {
        let ticks = |high, wanted| Scale::over([high], 100.0).ticks(wanted);
        assert_eq!(ticks(100.0, 4), [0.0, 50.0, 100.0]);
        assert_eq!(ticks(76_433.0, 4), [0.0, 20_000.0, 40_000.0, 60_000.0]);
        assert_eq!(ticks(0.3, 3), [0.0, 0.1, 0.2, 0.30000000000000004]);
        for exponent in -9_i32..12 {
            for start in [1.0, 1.3, 2.6, 4.9, 9.99] {
                let ticks = ticks(start * 10_f64.powi(exponent), 4);
                assert!((2..=5).contains(&ticks.len()), "{ticks:?}");
            }
        }
        assert_eq!(Scale::over([-3.0, 5.0], 1.0).ticks(4), [-2.0, 0.0, 2.0, 4.0]);
    }

    #[test]
    fn numbers_on_an_axis_are_short() {
        let read = [0.0, 0.05, 0.30000000000000004, 250.0, 5000.0, 20_000.0, 2_500_000.0, 3e9, -20_000.0].map(short);
        assert_eq!(read, ["0", "0.05", "0.3", "250", "5000", "20k", "2.5M", "3G", "-20k"]);
    }
}
