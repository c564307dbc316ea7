/// The intercept of the fit.
const INTERCEPT: f32 = -9.857;
/// One coefficient a feature, in the order of their names.
const COEFFICIENTS: [f32; 35] = [
    // bm25_of_ceiling
    -1.9329,
    // bm25_of_best
    0.1095,
    // cosine
    1.9678,
    // cosine_of_best
    0.5996,
    // cosine_standardised
    0.5342,
    // agreement
    0.0940,
    // previous_bm25
    0.7556,
    // previous_cosine
    1.5670,
    // next_bm25
    -0.1163,
    // next_cosine
    0.8266,
    // session_bm25
    0.1016,
    // session_cosine
    0.3619,
    // speaker_named
    1.0791,
    // other_speaker_named
    -1.3488,
    // entity_named
    0.0517,
    // length
    2.2355,
    // asks
    -0.2538,
    // previous_asks
    0.2733,
    // query_terms
    -0.0471,
    // lexical_rank
    1.4787,
    // cue_rank
    0.6636,
    // coverage
    -0.3032,
    // coverage_with_previous
    0.6481,
    // coverage_with_neighbours
    0.9355,
    // coverage_of_session
    0.9627,
    // rarest_term
    0.2480,
    // soft_match
    3.6223,
    // soft_match_squared
    -0.4115,
    // soft_match_of_best
    1.0131,
    // previous_soft_match
    -1.2509,
    // next_soft_match
    -0.1450,
    // query_best_bm25_of_ceiling
    -1.3608,
    // query_best_cosine
    -1.4961,
    // query_best_soft_match
    -0.2708,
    // query_unknown
    -0.4540,
];
