//! Attention among the tokens of one text (Vaswani et al., 2017).

use ndarray::linalg::general_mat_mul;
use ndarray::{Array2, ArrayView2, ArrayViewMut2, ShapeError, s};
use pulp::{Arch, NullaryFnOnce};

use super::activation::exp_of_negative;
use super::lanes::{lowest_and_highest, sum};

/// Applies attention to the tokens of each text. `rows` holds the query, the key and the value of every token, one after
/// the other, `hidden` numbers each, and `lengths` the number of tokens of each text. Writes `hidden` numbers for each token.
pub(super) fn attend(
    rows: &[f32],
    hidden: usize,
    lengths: &[usize],
    heads: usize,
    attended: &mut [f32],
) -> Result<(), ShapeError> {
    let count = attended.len() / hidden;
    let rows = ArrayView2::from_shape((count, 3 * hidden), rows)?;
    let mut attended = ArrayViewMut2::from_shape((count, hidden), attended)?;
    let size = hidden / heads;
    let scale = 1.0 / (size as f32).sqrt();
    let mut start = 0;
    for length in lengths {
        let tokens = start..start + length;
        start += length;
        let mut weights = Array2::zeros((*length, *length));
        for head in 0..heads {
            let first = head * size;
            let query = rows.slice(s![tokens.clone(), first..first + size]);
            let key = rows.slice(s![tokens.clone(), hidden + first..hidden + first + size]);
            let value = rows.slice(s![tokens.clone(), 2 * hidden + first..2 * hidden + first + size]);
            general_mat_mul(scale, &query, &key.t(), 0.0, &mut weights);
            softmax(&mut weights);
            let mut mixed = attended.slice_mut(s![tokens.clone(), first..first + size]);
            general_mat_mul(1.0, &weights, &value, 0.0, &mut mixed);
        }
    }
    Ok(())
}

/// Replaces each row of a matrix by its softmax.
fn softmax(matrix: &mut Array2<f32>) {
    let width = matrix.ncols();
    if let Some(rows) = matrix.as_slice_mut() {
        Arch::new().dispatch(Softmax { rows, width });
    }
}

/// The arguments of [`softmax`]. A closure would not be inlined into the code for the processor.
struct Softmax<'a> {
    rows: &'a mut [f32],
    width: usize,
}

impl NullaryFnOnce for Softmax<'_> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        for row in self.rows.chunks_exact_mut(self.width) {
            softmax_of_row(row);
        }
    }
}

#[inline(always)]
fn softmax_of_row(row: &mut [f32]) {
    let (_, highest) = lowest_and_highest(row);
    for value in row.iter_mut() {
        *value = exp_of_negative(*value - highest);
    }
    let inverse = 1.0 / sum(row);
    for value in row.iter_mut() {
        *value *= inverse;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_in_proportion_to_the_exponentials_and_sum_to_one() {
        let numbers = vec![0.0_f32, 2_f32.ln(), 90.0, 0.0];
        let mut matrix = Array2::from_shape_vec((2, 2), numbers).expect("a matrix");
        softmax(&mut matrix);
        assert!((matrix[[0, 0]] - 1.0 / 3.0).abs() < 1e-6 && (matrix[[0, 1]] - 2.0 / 3.0).abs() < 1e-6, "{matrix}");
        assert!(matrix[[1, 0]] == 1.0 && matrix[[1, 1]] < 1e-30, "{matrix}");
    }

    #[test]
    fn tokens_attend_to_those_of_their_text_only() {
        // Queries and keys are zeros, so each token gets the mean of the values of its text.
        let rows = [0.0, 0.0, 2.0, 0.0, 0.0, 4.0, 0.0, 0.0, 9.0];
        let mut attended = [0.0; 3];
        attend(&rows, 1, &[2, 1], 1, &mut attended).expect("a matrix");
        assert_eq!(attended, [3.0, 3.0, 9.0]);
    }
}
