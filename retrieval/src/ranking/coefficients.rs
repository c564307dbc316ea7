/// The intercept of the fit.
const INTERCEPT: f32 = -9.804;
/// One coefficient a feature, in the order of their names.
const COEFFICIENTS: [f32; 35] = [
    // bm25_of_ceiling
    -1.8349,
    // bm25_of_best
    0.1067,
    // cosine
    1.9117,
    // cosine_of_best
    0.5925,
    // cosine_standardised
    0.5430,
    // agreement
    0.1187,
    // previous_bm25
    0.7467,
    // previous_cosine
    1.5605,
    // next_bm25
    -0.0968,
    // next_cosine
    0.8294,
    // session_bm25
    0.0785,
    // session_cosine
    0.3453,
    // speaker_named
    1.0498,
    // other_speaker_named
    -1.4370,
    // entity_named
    0.0868,
    // length
    2.2492,
    // asks
    -0.2577,
    // previous_asks
    0.2637,
    // query_terms
    -0.0356,
    // lexical_rank
    1.4632,
    // cue_rank
    0.6723,
    // coverage
    -0.2995,
    // coverage_with_previous
    0.6303,
    // coverage_with_neighbours
    0.9060,
    // coverage_of_session
    0.9518,
    // rarest_term
    0.2430,
    // soft_match
    3.4238,
    // soft_match_squared
    -0.2582,
    // soft_match_of_best
    1.0166,
    // previous_soft_match
    -1.1957,
    // next_soft_match
    -0.1587,
    // query_best_bm25_of_ceiling
    -1.3403,
    // query_best_cosine
    -1.4753,
    // query_best_soft_match
    -0.2400,
    // query_unknown
    -0.4450,
];
