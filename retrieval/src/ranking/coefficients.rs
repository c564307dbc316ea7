/// The intercept of the fit.
const INTERCEPT: f32 = -8.467;
/// One coefficient a feature, in the order of their names.
const COEFFICIENTS: [f32; 38] = [
    // bm25_of_ceiling
    -1.6200,
    // bm25_of_best
    0.1409,
    // cosine
    1.5078,
    // cosine_standardised
    0.9763,
    // agreement
    0.4002,
    // previous_bm25
    0.6527,
    // previous_cosine
    1.2207,
    // next_bm25
    -0.0161,
    // next_cosine
    0.9623,
    // session_cosine
    0.3398,
    // speaker_named
    1.2019,
    // other_speaker_named
    -1.4124,
    // entity_named
    0.0898,
    // length
    2.6439,
    // asks
    -0.2275,
    // previous_asks
    0.4547,
    // query_terms
    -0.5445,
    // lexical_rank
    1.5455,
    // cue_rank
    0.5208,
    // coverage
    -0.1791,
    // coverage_with_previous
    0.5116,
    // coverage_with_neighbours
    0.1251,
    // coverage_of_session
    0.5488,
    // rarest_term
    0.2819,
    // soft_match
    2.0451,
    // soft_match_squared
    -1.1007,
    // soft_match_of_best
    1.2510,
    // previous_soft_match
    -0.5908,
    // next_soft_match
    -0.5361,
    // soft_match_with_neighbours
    3.5628,
    // soft_match_of_session
    1.0530,
    // previous_length
    -1.6242,
    // next_length
    -0.7907,
    // next_asks
    -0.0872,
    // query_best_bm25_of_ceiling
    -1.0555,
    // query_best_cosine
    -2.4314,
    // query_best_soft_match
    -1.3439,
    // query_unknown
    0.0466,
];
