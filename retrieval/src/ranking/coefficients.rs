/// The intercept of the fit.
const INTERCEPT: f32 = -8.456;
/// One coefficient a feature, in the order of their names.
const COEFFICIENTS: [f32; 38] = [
    // bm25_of_ceiling
    -1.6212,
    // bm25_of_best
    0.1437,
    // cosine
    1.4852,
    // cosine_standardised
    1.0022,
    // agreement
    0.3919,
    // previous_bm25
    0.6547,
    // previous_cosine
    1.2173,
    // next_bm25
    -0.0176,
    // next_cosine
    0.9545,
    // session_cosine
    0.3432,
    // speaker_named
    1.2023,
    // other_speaker_named
    -1.4137,
    // entity_named
    0.0897,
    // length
    2.5742,
    // asks
    -0.2257,
    // previous_asks
    0.4574,
    // query_terms
    -0.5455,
    // lexical_rank
    1.5417,
    // cue_rank
    0.5149,
    // coverage
    -0.1800,
    // coverage_with_previous
    0.5154,
    // coverage_with_neighbours
    0.1270,
    // coverage_of_session
    0.5469,
    // rarest_term
    0.2810,
    // soft_match
    2.0319,
    // soft_match_squared
    -1.0796,
    // soft_match_of_best
    1.2528,
    // previous_soft_match
    -0.5871,
    // next_soft_match
    -0.5139,
    // soft_match_with_neighbours
    3.5583,
    // soft_match_of_session
    1.0467,
    // previous_length
    -1.5650,
    // next_length
    -0.8101,
    // next_asks
    -0.0877,
    // query_best_bm25_of_ceiling
    -1.0610,
    // query_best_cosine
    -2.4245,
    // query_best_soft_match
    -1.3453,
    // query_unknown
    0.0452,
];
