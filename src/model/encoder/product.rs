//! Products of rows of signed bytes and a matrix of unsigned bytes, summed in 32 bits.
//!
//! The matrix is packed into panels: a vector register holds the weights of 16 outputs for four inputs, and a row's four
//! values are copied to every lane. No sum is taken across lanes. The forms for AVX-512 VNNI and for AVX2 and the portable
//! one return the same sums.

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::{
    __m256i, _mm256_add_epi32, _mm256_and_si256, _mm256_madd_epi16, _mm256_set1_epi32, _mm256_setzero_si256,
    _mm256_slli_epi16, _mm256_srai_epi16, _mm256_srli_epi16, _mm512_dpbusd_epi32, _mm512_set1_epi32,
    _mm512_setzero_si512,
};

/// Inputs that are multiplied in one step.
pub(super) const INPUTS: usize = 4;
/// Outputs of a panel: the lanes of the widest register.
pub(super) const OUTPUTS: usize = 16;
/// Weights of a step.
const STEP: usize = INPUTS * OUTPUTS;
/// Rows that the vector forms multiply at a time, so that their sums stay in registers.
const ROWS: usize = 8;

/// The values of a row for one step.
pub(super) type Values = [i8; INPUTS];

/// The weights of a panel for one step: those of the first output, of the second, and so on.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
pub(super) struct Step(pub(super) [u8; STEP]);

/// The sums of a row for the outputs of a panel.
pub(super) type Sums = [i32; OUTPUTS];

/// Multiplies rows with a panel. `rows` holds as many values per row as the panel has steps, and `sums` one element per
/// row.
pub(super) fn multiply(rows: &[Values], panel: &[Step], sums: &mut [Sums]) {
    for (rows, sums) in rows.chunks(panel.len() * ROWS).zip(sums.chunks_mut(ROWS)) {
        match sums.len() {
            1 => multiply_rows::<1>(rows, panel, sums),
            2 => multiply_rows::<2>(rows, panel, sums),
            3 => multiply_rows::<3>(rows, panel, sums),
            4 => multiply_rows::<4>(rows, panel, sums),
            5 => multiply_rows::<5>(rows, panel, sums),
            6 => multiply_rows::<6>(rows, panel, sums),
            7 => multiply_rows::<7>(rows, panel, sums),
            _ => multiply_rows::<ROWS>(rows, panel, sums),
        }
    }
}

/// Multiplies `R` rows with a panel.
fn multiply_rows<const R: usize>(rows: &[Values], panel: &[Step], sums: &mut [Sums]) {
    let mut of_rows = rows.chunks_exact(panel.len());
    let rows: [&[Values]; R] = std::array::from_fn(|_| of_rows.next().unwrap_or_default());
    #[cfg(target_arch = "x86_64")]
    {
        if is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512vnni") {
            // SAFETY: the processor has the instructions that the function was compiled for.
            #[allow(unsafe_code, reason = "without the instructions a text takes three times as long")]
            return unsafe { with_vnni(rows, panel, sums) };
        }
        if is_x86_feature_detected!("avx2") {
            // SAFETY: the processor has the instructions that the function was compiled for.
            #[allow(unsafe_code, reason = "without the instructions a text takes nine times as long")]
            return unsafe { with_avx2(rows, panel, sums) };
        }
    }
    portable(rows, panel, sums);
}

fn portable<const R: usize>(rows: [&[Values]; R], panel: &[Step], sums: &mut [Sums]) {
    for (row, sums) in rows.into_iter().zip(sums) {
        // One sum for each weight of a step, so that the compiler emits vector instructions.
        let mut parts = [0_i32; STEP];
        for (values, step) in row.iter().zip(panel) {
            let mut products = [0_i16; STEP];
            for (products, weights) in products.chunks_exact_mut(INPUTS).zip(step.0.chunks_exact(INPUTS)) {
                for ((product, value), weight) in products.iter_mut().zip(values).zip(weights) {
                    *product = i16::from(*value) * i16::from(*weight);
                }
            }
            for (part, product) in parts.iter_mut().zip(products) {
                *part += i32::from(product);
            }
        }
        for (sum, parts) in sums.iter_mut().zip(parts.chunks_exact(INPUTS)) {
            *sum = parts.iter().sum();
        }
    }
}

/// The 32 bits of a step's values.
#[cfg(target_arch = "x86_64")]
fn word(values: Values) -> i32 {
    bytemuck::cast(values)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512vnni")]
fn with_vnni<const R: usize>(rows: [&[Values]; R], panel: &[Step], sums: &mut [Sums]) {
    let rows = rows.map(|row| &row[..panel.len()]);
    let mut all = [_mm512_setzero_si512(); R];
    for (number, step) in panel.iter().enumerate() {
        let weights = bytemuck::cast(step.0);
        for (sum, row) in all.iter_mut().zip(rows) {
            *sum = _mm512_dpbusd_epi32(*sum, weights, _mm512_set1_epi32(word(row[number])));
        }
    }
    for (sums, all) in sums.iter_mut().zip(all) {
        *sums = bytemuck::cast(all);
    }
}

/// Widens weights and values to 16 bits, the even ones and the odd ones apart, since products of two pairs of bytes
/// can exceed 16 bits.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn with_avx2<const R: usize>(rows: [&[Values]; R], panel: &[Step], sums: &mut [Sums]) {
    let rows = rows.map(|row| &row[..panel.len()]);
    let even_bytes = _mm256_set1_epi32(0x00ff_00ff);
    let mut all = [[_mm256_setzero_si256(); 2]; R];
    for (number, step) in panel.iter().enumerate() {
        let halves: [[u8; STEP / 2]; 2] = bytemuck::cast(step.0);
        let weights = halves.map(|half| {
            let weights: __m256i = bytemuck::cast(half);
            [_mm256_and_si256(weights, even_bytes), _mm256_srli_epi16::<8>(weights)]
        });
        for (sums, row) in all.iter_mut().zip(rows) {
            let values = _mm256_set1_epi32(word(row[number]));
            let even = _mm256_srai_epi16::<8>(_mm256_slli_epi16::<8>(values));
            let odd = _mm256_srai_epi16::<8>(values);
            for (sum, [even_weights, odd_weights]) in sums.iter_mut().zip(weights) {
                let products = _mm256_madd_epi16(even_weights, even);
                let products = _mm256_add_epi32(products, _mm256_madd_epi16(odd_weights, odd));
                *sum = _mm256_add_epi32(*sum, products);
            }
        }
    }
    for (sums, halves) in sums.iter_mut().zip(all) {
        let halves: [[i32; OUTPUTS / 2]; 2] = halves.map(bytemuck::cast);
        *sums = bytemuck::cast(halves);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The form of [`multiply_rows`] and its sums.
    type NamedSums = Vec<(&'static str, Vec<Sums>)>;

    /// Returns the sums of two rows in every form that this processor can run.
    fn sums_of_every_form(rows: [&[Values]; 2], panel: &[Step]) -> NamedSums {
        let mut all: NamedSums = Vec::new();
        let mut sums = vec![Sums::default(); 2];
        portable(rows, panel, &mut sums);
        all.push(("portable", sums.clone()));
        multiply(&rows.concat(), panel, &mut sums);
        all.push(("chosen", sums.clone()));
        #[cfg(target_arch = "x86_64")]
        if is_x86_feature_detected!("avx2") {
            // SAFETY: the processor has the instructions that the function was compiled for.
            #[allow(unsafe_code, reason = "calls the form under test")]
            unsafe {
                with_avx2(rows, panel, &mut sums);
            }
            all.push(("avx2", sums));
        }
        all
    }

    fn expected(row: &[Values], panel: &[Step]) -> Sums {
        let mut sums = Sums::default();
        for (output, sum) in sums.iter_mut().enumerate() {
            for (values, step) in row.iter().zip(panel) {
                for (input, value) in values.iter().enumerate() {
                    *sum += i32::from(*value) * i32::from(step.0[INPUTS * output + input]);
                }
            }
        }
        sums
    }

    proptest! {
        #[test]
        fn every_form_returns_the_sums_of_the_products(
            steps in proptest::collection::vec(proptest::array::uniform32(any::<(u8, u8)>()), 1..40),
            values in proptest::collection::vec(any::<(Values, Values)>(), 40),
        ) {
            let panel: Vec<Step> = steps
                .iter()
                .map(|step| Step(bytemuck::cast(step.map(|(a, b)| [a, b]))))
                .collect();
            let (a, b): (Vec<Values>, Vec<Values>) = values[..panel.len()].iter().copied().unzip();
            let expected = [expected(&a, &panel), expected(&b, &panel)];
            for (form, sums) in sums_of_every_form([&a, &b], &panel) {
                prop_assert_eq!(&sums[..], &expected[..], "{}", form);
            }
        }
    }

    #[test]
    fn the_largest_values_do_not_overflow() {
        let panel = vec![Step([u8::MAX; STEP]); 400];
        let rows = [vec![[i8::MIN; INPUTS]; 400], vec![[i8::MAX; INPUTS]; 400]];
        for (form, sums) in sums_of_every_form([&rows[0], &rows[1]], &panel) {
            assert_eq!(sums[0], [-128 * 255 * 1600; OUTPUTS], "{form}");
            assert_eq!(sums[1], [127 * 255 * 1600; OUTPUTS], "{form}");
        }
    }

    #[test]
    fn any_number_of_rows_is_multiplied() {
        let mut panel = Vec::new();
        for number in 0..3_u8 {
            panel.push(Step(std::array::from_fn(|weight| weight as u8 ^ number)));
        }
        let mut rows: Vec<Values> = Vec::new();
        for number in 0..3 * 20_i32 {
            rows.push([number as i8, -3, 5, 7 - number as i8]);
        }
        for count in 1..=20 {
            let mut sums = vec![Sums::default(); count];
            multiply(&rows[..3 * count], &panel, &mut sums);
            for (row, sums) in rows.chunks(3).zip(&sums) {
                assert_eq!(*sums, expected(row, &panel), "{count} rows");
            }
        }
    }
}
