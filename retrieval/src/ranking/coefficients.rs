/// The intercept of the fit.
const INTERCEPT: f32 = -8.884;
/// One coefficient a feature, in the order of their names.
const COEFFICIENTS: [f32; 27] = [
    // bm25_of_ceiling
    0.4941,
    // bm25_of_best
    1.3425,
    // cosine
    0.1929,
    // cosine_of_best
    0.8063,
    // cosine_standardised
    2.1429,
    // agreement
    0.1261,
    // previous_bm25
    0.6353,
    // previous_cosine
    0.4911,
    // next_bm25
    0.6240,
    // next_cosine
    0.3495,
    // second_previous_bm25
    0.7532,
    // second_previous_cosine
    0.3560,
    // second_next_bm25
    0.1037,
    // second_next_cosine
    0.1001,
    // session_bm25
    0.9353,
    // session_cosine
    0.6191,
    // speaker_named
    0.8535,
    // other_speaker_named
    -1.1595,
    // entity_named
    0.0482,
    // length
    4.4881,
    // asks
    -0.4776,
    // previous_asks
    0.2424,
    // query_terms
    -2.0528,
    // lexical_rank
    1.7615,
    // cue_rank
    0.7469,
    // query_best_bm25_of_ceiling
    -0.2651,
    // query_best_cosine
    -2.3716,
];
