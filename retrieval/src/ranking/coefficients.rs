/// The intercept of the fit.
const INTERCEPT: f32 = -7.876;
/// One coefficient a feature, in the order of their names.
const COEFFICIENTS: [f32; 37] = [
    // bm25_of_ceiling
    -1.5372,
    // bm25_of_best
    0.1306,
    // cosine
    2.0480,
    // cosine_standardised
    0.7942,
    // agreement
    0.3103,
    // previous_bm25
    0.6376,
    // previous_cosine
    1.1496,
    // next_cosine
    0.9423,
    // session_cosine
    0.3526,
    // speaker_named
    1.1957,
    // other_speaker_named
    -1.3829,
    // entity_named
    0.0560,
    // length
    2.6160,
    // asks
    -0.2628,
    // previous_asks
    0.4559,
    // query_terms
    -0.8069,
    // lexical_rank
    1.4867,
    // cue_rank
    0.5253,
    // coverage_with_previous
    0.4503,
    // coverage_of_session
    0.6374,
    // rarest_term
    0.2598,
    // soft_match
    2.1107,
    // soft_match_squared
    -1.1589,
    // soft_match_of_best
    0.9469,
    // previous_soft_match
    -0.7370,
    // next_soft_match
    -0.7630,
    // soft_match_with_neighbours
    2.3652,
    // soft_match_with_neighbours_standing
    1.0584,
    // soft_match_of_session
    0.6389,
    // previous_length
    -1.4492,
    // next_length
    -0.7894,
    // next_asks
    -0.1103,
    // time_named
    0.9069,
    // query_best_bm25_of_ceiling
    -0.9096,
    // query_best_cosine
    -2.2769,
    // query_best_soft_match
    -1.2067,
    // query_unknown
    -0.2728,
];
