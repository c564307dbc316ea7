//! Products of rows of 7-bit numbers and a matrix of signed bytes, summed in 32 bits.
//!
//! The matrix is packed into panels: a vector register holds the weights of 16 outputs for four inputs, and a row's four
//! values are copied to every lane. No sum is taken across lanes. Values have 7 bits because two products of a value and a
//! weight then fit in 16 bits, so that AVX2 adds them in one instruction (`vpmaddubsw`). The forms for AVX-512 VNNI and for
//! AVX2 and the portable one return the same sums. On other processors the compiler makes vector instructions of the
//! portable form.

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::{
    __m256i, _mm256_add_epi32, _mm256_madd_epi16, _mm256_maddubs_epi16, _mm256_set1_epi16, _mm256_set1_epi32,
    _mm256_setzero_si256, _mm512_dpbusd_epi32, _mm512_set1_epi32, _mm512_setzero_si512,
};

/// Inputs that are multiplied in one step.
pub(super) const INPUTS: usize = 4;
/// Outputs of a panel: the lanes of the widest register.
pub(super) const OUTPUTS: usize = 16;
/// Weights of a step.
const STEP: usize = INPUTS * OUTPUTS;
/// Rows that are multiplied at a time at most, so that their sums stay in registers.
const ROWS_MAX: usize = 8;
/// The same without AVX-512, which has more and wider registers.
const ROWS_MAX_NARROW: usize = 4;

/// The largest value of a row.
pub(super) const VALUE_MAX: u8 = 127;
/// The lowest weight. The lowest number of a byte would not fit: two products of it exceed 16 bits.
pub(super) const WEIGHT_MIN: i8 = -127;

/// The values of a row for one step, each at most [`VALUE_MAX`].
pub(super) type Values = [u8; INPUTS];

/// The weights of a panel for one step: those of the first output, of the second, and so on; each at least
/// [`WEIGHT_MIN`].
#[derive(Clone, Copy)]
#[repr(C, align(64))]
pub(super) struct Step(pub(super) [i8; STEP]);

/// The sums of a row for the outputs of a panel.
pub(super) type Sums = [i32; OUTPUTS];

/// What takes the sums of each row. Its method is inlined into the form that the processor runs.
pub(super) trait Sink {
    /// Takes the sums of a row.
    fn take(&mut self, row: usize, sums: &Sums);
}

/// Multiplies `count` rows with a panel. `rows` holds as many values per row as the panel has steps.
pub(super) fn multiply(rows: &[Values], panel: &[Step], count: usize, sink: &mut impl Sink) {
    let at_a_time = if has_vnni() { ROWS_MAX } else { ROWS_MAX_NARROW };
    let mut first = 0;
    for rows in rows.chunks(panel.len() * at_a_time) {
        match at_a_time.min(count - first) {
            1 => multiply_rows::<1>(rows, panel, first, sink),
            2 => multiply_rows::<2>(rows, panel, first, sink),
            3 => multiply_rows::<3>(rows, panel, first, sink),
            4 => multiply_rows::<4>(rows, panel, first, sink),
            5 => multiply_rows::<5>(rows, panel, first, sink),
            6 => multiply_rows::<6>(rows, panel, first, sink),
            7 => multiply_rows::<7>(rows, panel, first, sink),
            _ => multiply_rows::<ROWS_MAX>(rows, panel, first, sink),
        }
        first += at_a_time;
    }
}

/// Whether the processor multiplies four pairs of bytes in one instruction, in registers of 512 bits.
fn has_vnni() -> bool {
    #[cfg(target_arch = "x86_64")]
    {
        is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512vnni")
    }
    #[cfg(not(target_arch = "x86_64"))]
    false
}

/// Multiplies `R` rows with a panel. `first` is the number of the first of them.
fn multiply_rows<const R: usize>(rows: &[Values], panel: &[Step], first: usize, sink: &mut impl Sink) {
    let rows_of_panel = rows.chunks_exact(panel.len());
    let mut rows: [&[Values]; R] = [&[]; R];
    for (row, of_rows) in rows.iter_mut().zip(rows_of_panel) {
        *row = of_rows;
    }
    #[cfg(target_arch = "x86_64")]
    {
        if has_vnni() {
            // SAFETY: the processor has the instructions that the function was compiled for.
            #[allow(unsafe_code, reason = "without the instructions a text takes three times as long")]
            return unsafe { with_vnni(rows, panel, first, sink) };
        }
        if is_x86_feature_detected!("avx2") {
            // SAFETY: the processor has the instructions that the function was compiled for.
            #[allow(unsafe_code, reason = "without the instructions a text takes nine times as long")]
            return unsafe { with_avx2(rows, panel, first, sink) };
        }
    }
    portable(rows, panel, first, sink);
}

fn portable<const R: usize>(rows: [&[Values]; R], panel: &[Step], first: usize, sink: &mut impl Sink) {
    for (number, row) in rows.into_iter().enumerate() {
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
        let mut sums = Sums::default();
        for (sum, parts) in sums.iter_mut().zip(parts.chunks_exact(INPUTS)) {
            *sum = parts.iter().sum();
        }
        sink.take(first + number, &sums);
    }
}

/// Returns the rows as slices of a length that the compiler knows to be that of the panel.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn of_length<const R: usize>(mut rows: [&[Values]; R], length: usize) -> [&[Values]; R] {
    for row in &mut rows {
        *row = &row[..length];
    }
    rows
}

/// The 32 bits of a step's values.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn word(values: Values) -> i32 {
    bytemuck::cast(values)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512vnni")]
fn with_vnni<const R: usize>(rows: [&[Values]; R], panel: &[Step], first: usize, sink: &mut impl Sink) {
    let rows = of_length(rows, panel.len());
    let mut all = [_mm512_setzero_si512(); R];
    for (number, step) in panel.iter().enumerate() {
        let weights = bytemuck::cast(step.0);
        for (sum, row) in all.iter_mut().zip(rows) {
            *sum = _mm512_dpbusd_epi32(*sum, _mm512_set1_epi32(word(row[number])), weights);
        }
    }
    for (number, sums) in all.into_iter().enumerate() {
        sink.take(first + number, &bytemuck::cast(sums));
    }
}

/// Multiplies four values with four weights of each output: adds the products of two in 16 bits, and two of these sums in
/// 32.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn with_avx2<const R: usize>(rows: [&[Values]; R], panel: &[Step], first: usize, sink: &mut impl Sink) {
    let rows = of_length(rows, panel.len());
    let ones = _mm256_set1_epi16(1);
    let mut all = [[_mm256_setzero_si256(); 2]; R];
    for (number, step) in panel.iter().enumerate() {
        let weights: [__m256i; 2] = bytemuck::cast(step.0);
        for (sums, row) in all.iter_mut().zip(rows) {
            let values = _mm256_set1_epi32(word(row[number]));
            for (sum, weights) in sums.iter_mut().zip(weights) {
                let products = _mm256_madd_epi16(_mm256_maddubs_epi16(values, weights), ones);
                *sum = _mm256_add_epi32(*sum, products);
            }
        }
    }
    for (number, halves) in all.into_iter().enumerate() {
        sink.take(first + number, &bytemuck::cast(halves));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The form of [`multiply_rows`] and its sums.
    type NamedSums = Vec<(&'static str, Vec<Sums>)>;

    impl Sink for Vec<Sums> {
        fn take(&mut self, row: usize, sums: &Sums) {
            assert_eq!(row, self.len(), "rows come in order");
            self.push(*sums);
        }
    }

    /// Returns the sums of two rows in every form that this processor can run.
    fn sums_of_every_form(rows: [&[Values]; 2], panel: &[Step]) -> NamedSums {
        let mut all: NamedSums = Vec::new();
        let mut sums = Vec::new();
        portable(rows, panel, 0, &mut sums);
        all.push(("portable", std::mem::take(&mut sums)));
        multiply(&rows.concat(), panel, 2, &mut sums);
        all.push(("chosen", std::mem::take(&mut sums)));
        #[cfg(target_arch = "x86_64")]
        if is_x86_feature_detected!("avx2") {
            // SAFETY: the processor has the instructions that the function was compiled for.
            #[allow(unsafe_code, reason = "calls the form under test")]
            unsafe {
                with_avx2(rows, panel, 0, &mut sums);
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

    /// Any value.
    fn value() -> impl Strategy<Value = u8> {
        0..=VALUE_MAX
    }

    /// Any weight.
    fn weight() -> impl Strategy<Value = i8> {
        WEIGHT_MIN..=i8::MAX
    }

    proptest! {
        #[test]
        fn every_form_returns_the_sums_of_the_products(
            weights in proptest::collection::vec(proptest::collection::vec(weight(), STEP), 1..40),
            values in proptest::collection::vec(proptest::array::uniform8(value()), 40),
        ) {
            let mut panel = Vec::new();
            for step in &weights {
                panel.push(Step(std::array::from_fn(|number| step[number])));
            }
            let halves = values[..panel.len()].iter().map(|eight| bytemuck::cast::<_, [Values; 2]>(*eight));
            let (a, b): (Vec<Values>, Vec<Values>) = halves.map(|[a, b]| (a, b)).unzip();
            let expected = [expected(&a, &panel), expected(&b, &panel)];
            for (form, sums) in sums_of_every_form([&a, &b], &panel) {
                prop_assert_eq!(&sums[..], &expected[..], "{}", form);
            }
        }
    }

    #[test]
    fn the_largest_values_do_not_overflow() {
        let largest = vec![[VALUE_MAX; INPUTS]; 400];
        for weight in [i8::MAX, WEIGHT_MIN] {
            let panel = vec![Step([weight; STEP]); 400];
            for (form, sums) in sums_of_every_form([&largest, &largest], &panel) {
                assert_eq!(sums, [[127 * i32::from(weight) * 1600; OUTPUTS]; 2], "{form}");
            }
        }
    }

    #[test]
    fn any_number_of_rows_is_multiplied() {
        let mut panel = Vec::new();
        for number in 0..3_i8 {
            panel.push(Step(std::array::from_fn(|weight| weight as i8 ^ number)));
        }
        let mut rows: Vec<Values> = Vec::new();
        for number in 0..3 * 20_u8 {
            rows.push([number, 3, 5, 127 - number]);
        }
        for count in 1..=20 {
            let mut sums = Vec::new();
            multiply(&rows[..3 * count], &panel, count, &mut sums);
            assert_eq!(sums.len(), count);
            for (row, sums) in rows.chunks(3).zip(&sums) {
                assert_eq!(*sums, expected(row, &panel), "{count} rows");
            }
        }
    }
}
