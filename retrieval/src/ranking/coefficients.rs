/// The intercept of the fit.
const INTERCEPT: f32 = -9.78;
/// One coefficient a feature, in the order of their names.
const COEFFICIENTS: [f32; 39] = [
    // bm25_of_ceiling
    -1.8991,
    // bm25_of_best
    0.0652,
    // cosine
    1.9108,
    // cosine_of_best
    0.5349,
    // cosine_standardised
    0.5933,
    // agreement
    0.1300,
    // previous_bm25
    0.5952,
    // previous_cosine
    1.5443,
    // next_bm25
    -0.0219,
    // next_cosine
    0.7538,
    // second_previous_bm25
    0.7047,
    // second_previous_cosine
    -0.1514,
    // second_next_bm25
    -0.3512,
    // second_next_cosine
    0.3730,
    // session_bm25
    -0.0121,
    // session_cosine
    0.2501,
    // speaker_named
    1.0370,
    // other_speaker_named
    -1.4328,
    // entity_named
    0.1007,
    // length
    2.4024,
    // asks
    -0.2168,
    // previous_asks
    0.2336,
    // query_terms
    -0.1161,
    // lexical_rank
    1.5164,
    // cue_rank
    0.7078,
    // coverage
    -0.2762,
    // coverage_with_previous
    0.6122,
    // coverage_with_neighbours
    0.9093,
    // coverage_of_session
    0.9359,
    // rarest_term
    0.2460,
    // soft_match
    3.4407,
    // soft_match_squared
    -0.2336,
    // soft_match_of_best
    1.0059,
    // previous_soft_match
    -1.1576,
    // next_soft_match
    -0.1508,
    // query_best_bm25_of_ceiling
    -1.3232,
    // query_best_cosine
    -1.5226,
    // query_best_soft_match
    -0.2772,
    // query_unknown
    -0.4707,
];
