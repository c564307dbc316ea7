/// The intercept of the fit.
const INTERCEPT: f32 = -7.554;
/// One coefficient per feature, in the order of `FEATURE_NAMES`.
const COEFFICIENTS: [f32; 38] = [
    // bm25_of_ceiling
    -1.3381,
    // bm25_of_best
    0.0642,
    // cosine
    2.0986,
    // cosine_standardised
    0.6953,
    // agreement
    0.3222,
    // previous_bm25
    0.6259,
    // previous_cosine
    1.1194,
    // next_cosine
    0.8810,
    // session_cosine
    0.3120,
    // speaker_named
    1.1698,
    // other_speaker_named
    -1.3851,
    // entity_named
    0.0346,
    // length
    2.5961,
    // asks
    -0.2627,
    // previous_asks
    0.4554,
    // query_terms
    -0.9071,
    // lexical_rank
    1.4591,
    // cue_rank
    0.5577,
    // coverage_with_previous
    0.4024,
    // coverage_of_session
    0.6564,
    // rarest_term
    0.2601,
    // soft_match
    1.9877,
    // soft_match_squared
    -1.1110,
    // soft_match_of_best
    0.9611,
    // previous_soft_match
    -0.7338,
    // next_soft_match
    -0.7565,
    // soft_match_with_neighbours
    1.4398,
    // soft_match_with_neighbours_standing
    1.6488,
    // soft_match_of_session
    0.6229,
    // previous_length
    -1.4566,
    // next_length
    -0.7835,
    // next_asks
    -0.1101,
    // time_named
    0.9325,
    // query_best_bm25_of_ceiling
    -0.8020,
    // query_best_cosine
    -2.2492,
    // query_best_soft_match
    -1.1309,
    // query_unknown
    -0.2476,
    // query_others_stand_out
    -5.5494,
];
