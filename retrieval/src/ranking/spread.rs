//! Mean and standard deviation of a few hundred values.

/// Lower limit of the deviation. Rows are rounded, so cosines that differ by less differ by chance.
const DEVIATION_MIN: f64 = 0.02;

/// Returns the mean and the standard deviation, at least [`DEVIATION_MIN`]. Sorts the values first, so that the result
/// does not depend on their order.
pub(super) fn spread(values: &mut [f32]) -> (f32, f32) {
    if values.is_empty() {
        return (0.0, 1.0);
    }
    values.sort_by(f32::total_cmp);
    let count = values.len() as f64;
    let mean = values.iter().map(|value| f64::from(*value)).sum::<f64>() / count;
    let variance = values.iter().map(|value| (f64::from(*value) - mean).powi(2)).sum::<f64>() / count;
    (mean as f32, variance.sqrt().max(DEVIATION_MIN) as f32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_spread_does_not_depend_on_the_order() {
        let (mean, deviation) = spread(&mut [3.0, 1.0]);
        assert!((mean - 2.0).abs() < 1e-6 && (deviation - 1.0).abs() < 1e-3);
        assert_eq!(spread(&mut []), (0.0, 1.0));
        let values: Vec<f32> = (0..100u16).map(|n| (f32::from(n) * 0.37).sin()).collect();
        let reversed: Vec<f32> = values.iter().rev().copied().collect();
        assert_eq!(spread(&mut values.clone()), spread(&mut reversed.clone()));
    }
}
