/// The intercept of the fit.
const INTERCEPT: f32 = -8.428;
/// One coefficient a feature, in the order of their names.
const COEFFICIENTS: [f32; 39] = [
    // bm25_of_ceiling
    -1.7872,
    // bm25_of_best
    0.1906,
    // cosine
    1.8913,
    // cosine_standardised
    0.9397,
    // agreement
    0.3342,
    // previous_bm25
    0.6103,
    // previous_cosine
    1.1874,
    // next_bm25
    -0.0784,
    // next_cosine
    1.0742,
    // session_cosine
    0.4531,
    // speaker_named
    1.2189,
    // other_speaker_named
    -1.3756,
    // entity_named
    0.0727,
    // length
    2.7359,
    // asks
    -0.2573,
    // previous_asks
    0.4594,
    // query_terms
    -0.8043,
    // lexical_rank
    1.5283,
    // cue_rank
    0.5464,
    // coverage
    0.0180,
    // coverage_with_previous
    0.5421,
    // coverage_with_neighbours
    0.2106,
    // coverage_of_session
    0.6367,
    // rarest_term
    0.2573,
    // soft_match
    2.0230,
    // soft_match_squared
    -1.6037,
    // soft_match_of_best
    1.4116,
    // previous_soft_match
    -0.7356,
    // next_soft_match
    -0.7781,
    // soft_match_with_neighbours
    3.8443,
    // soft_match_of_session
    0.4060,
    // previous_length
    -1.4177,
    // next_length
    -0.7102,
    // next_asks
    -0.1098,
    // time_named
    0.8945,
    // query_best_bm25_of_ceiling
    -1.0538,
    // query_best_cosine
    -2.4023,
    // query_best_soft_match
    -1.2201,
    // query_unknown
    -0.1844,
];
