/// The intercept of the fit.
const INTERCEPT: f32 = -7.554;
/// One coefficient a feature, in the order of their names.
const COEFFICIENTS: [f32; 37] = [
    // bm25_of_ceiling
    -1.3386,
    // bm25_of_best
    0.0645,
    // cosine
    2.0987,
    // cosine_standardised
    0.6961,
    // agreement
    0.3221,
    // previous_bm25
    0.6259,
    // previous_cosine
    1.1187,
    // next_cosine
    0.8810,
    // session_cosine
    0.3113,
    // speaker_named
    1.1697,
    // other_speaker_named
    -1.3851,
    // entity_named
    0.0346,
    // length
    2.5952,
    // asks
    -0.2626,
    // previous_asks
    0.4554,
    // query_terms
    -0.9064,
    // lexical_rank
    1.4590,
    // cue_rank
    0.5575,
    // coverage_with_previous
    0.4024,
    // coverage_of_session
    0.6563,
    // rarest_term
    0.2602,
    // soft_match
    1.9878,
    // soft_match_squared
    -1.1113,
    // soft_match_of_best
    0.9613,
    // previous_soft_match
    -0.7333,
    // next_soft_match
    -0.7564,
    // soft_match_with_neighbours
    1.4399,
    // soft_match_with_neighbours_standing
    1.6487,
    // soft_match_of_session
    0.6229,
    // previous_length
    -1.4567,
    // next_length
    -0.7837,
    // next_asks
    -0.1100,
    // time_named
    0.9324,
    // query_best_bm25_of_ceiling
    -0.8012,
    // query_best_cosine
    -2.2493,
    // query_best_soft_match
    -1.1308,
    // query_unknown
    -0.2475,
];
