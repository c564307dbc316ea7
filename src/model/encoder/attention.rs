//! Attention among the tokens of one text (Vaswani et al., 2017).

use ndarray::linalg::general_mat_mul;
use ndarray::{Array2, s};
use pulp::Arch;

use super::activation::exp_of_negative;

/// Applies attention to the tokens of each text. `rows` holds the query, the key and the value of every token, one after
/// the other, and `lengths` the number of tokens of each text. Returns a row per token.
pub(super) fn attend(rows: &Array2<f32>, lengths: &[usize], heads: usize) -> Array2<f32> {
    let hidden = rows.ncols() / 3;
    let size = hidden / heads;
    let scale = 1.0 / (size as f32).sqrt();
    let mut attended = Array2::zeros((rows.nrows(), hidden));
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
    attended
}

/// Replaces each row of a matrix by its softmax.
fn softmax(matrix: &mut Array2<f32>) {
    let width = matrix.ncols();
    if let Some(rows) = matrix.as_slice_mut() {
        Arch::new().dispatch(|| rows.chunks_exact_mut(width).for_each(softmax_of_row));
    }
}

#[inline(always)]
fn softmax_of_row(row: &mut [f32]) {
    let mut largest = f32::NEG_INFINITY;
    for value in row.iter() {
        largest = largest.max(*value);
    }
    let mut sum = 0.0;
    for value in row.iter_mut() {
        *value = exp_of_negative(*value - largest);
        sum += *value;
    }
    let inverse = 1.0 / sum;
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
        let numbers = vec![0.0, 0.0, 2.0, 0.0, 0.0, 4.0, 0.0, 0.0, 9.0];
        let rows = Array2::from_shape_vec((3, 3), numbers).expect("a matrix");
        let attended = attend(&rows, &[2, 1], 1);
        assert_eq!(attended.into_raw_vec_and_offset().0, [3.0, 3.0, 9.0]);
    }
}
