/// The intercept of the fit.
const INTERCEPT: f32 = -8.479;
/// One coefficient a feature, in the order of their names.
const COEFFICIENTS: [f32; 38] = [
    // bm25_of_ceiling
    -1.6367,
    // bm25_of_best
    0.1381,
    // cosine
    1.5195,
    // cosine_standardised
    0.9654,
    // agreement
    0.3993,
    // previous_bm25
    0.6598,
    // previous_cosine
    1.2097,
    // next_bm25
    -0.0286,
    // next_cosine
    0.9733,
    // session_cosine
    0.3406,
    // speaker_named
    1.2030,
    // other_speaker_named
    -1.4143,
    // entity_named
    0.0863,
    // length
    2.6011,
    // asks
    -0.2264,
    // previous_asks
    0.4713,
    // query_terms
    -0.5462,
    // lexical_rank
    1.5491,
    // cue_rank
    0.5250,
    // coverage
    -0.1637,
    // coverage_with_previous
    0.4972,
    // coverage_with_neighbours
    0.1276,
    // coverage_of_session
    0.5493,
    // rarest_term
    0.2853,
    // soft_match
    2.0406,
    // soft_match_squared
    -1.0987,
    // soft_match_of_best
    1.2543,
    // previous_soft_match
    -0.5845,
    // next_soft_match
    -0.5353,
    // soft_match_with_neighbours
    3.5579,
    // soft_match_of_session
    1.0605,
    // previous_length
    -1.4511,
    // next_length
    -0.8310,
    // next_asks
    -0.0895,
    // query_best_bm25_of_ceiling
    -1.0576,
    // query_best_cosine
    -2.4407,
    // query_best_soft_match
    -1.3487,
    // query_unknown
    0.0458,
];
