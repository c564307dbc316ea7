/// The intercept of the fit.
const INTERCEPT: f32 = -8.229;
/// One coefficient a feature, in the order of their names.
const COEFFICIENTS: [f32; 38] = [
    // bm25_of_ceiling
    -1.6503,
    // bm25_of_best
    0.1413,
    // cosine
    1.5298,
    // cosine_standardised
    0.9248,
    // agreement
    0.4449,
    // previous_bm25
    0.6117,
    // previous_cosine
    1.2740,
    // next_bm25
    0.0232,
    // next_cosine
    1.0617,
    // session_cosine
    0.3057,
    // speaker_named
    1.1890,
    // other_speaker_named
    -1.3801,
    // entity_named
    0.1011,
    // length
    2.3754,
    // asks
    -0.5259,
    // previous_asks
    0.4160,
    // query_terms
    -0.6541,
    // lexical_rank
    1.5117,
    // cue_rank
    0.5324,
    // coverage
    -0.1819,
    // coverage_with_previous
    0.5231,
    // coverage_with_neighbours
    0.0951,
    // coverage_of_session
    0.5584,
    // rarest_term
    0.2831,
    // soft_match
    2.0890,
    // soft_match_squared
    -1.1531,
    // soft_match_of_best
    1.2497,
    // previous_soft_match
    -0.5855,
    // next_soft_match
    -0.6219,
    // soft_match_with_neighbours
    3.5883,
    // soft_match_of_session
    1.0354,
    // previous_length
    -1.6818,
    // next_length
    -0.6389,
    // next_asks
    -0.0452,
    // query_best_bm25_of_ceiling
    -1.0720,
    // query_best_cosine
    -2.3865,
    // query_best_soft_match
    -1.3238,
    // query_unknown
    0.0458,
];
