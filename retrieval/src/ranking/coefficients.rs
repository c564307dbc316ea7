/// The intercept of the fit.
const INTERCEPT: f32 = -8.488;
/// One coefficient a feature, in the order of their names.
const COEFFICIENTS: [f32; 38] = [
    // bm25_of_ceiling
    -1.5620,
    // bm25_of_best
    0.1451,
    // cosine
    1.5539,
    // cosine_standardised
    0.8983,
    // agreement
    0.3372,
    // previous_bm25
    0.6508,
    // previous_cosine
    1.2782,
    // next_bm25
    0.0245,
    // next_cosine
    0.9188,
    // session_cosine
    0.3328,
    // speaker_named
    1.1969,
    // other_speaker_named
    -1.3921,
    // entity_named
    0.0745,
    // length
    2.4993,
    // asks
    -0.2204,
    // previous_asks
    0.4489,
    // query_terms
    -0.5457,
    // lexical_rank
    1.5276,
    // cue_rank
    0.5626,
    // coverage
    -0.1836,
    // coverage_with_previous
    0.5321,
    // coverage_with_neighbours
    0.1240,
    // coverage_of_session
    0.5211,
    // rarest_term
    0.2839,
    // soft_match
    2.4485,
    // soft_match_squared
    -1.4746,
    // soft_match_of_best
    1.2641,
    // previous_soft_match
    -0.6855,
    // next_soft_match
    -0.6089,
    // soft_match_with_neighbours
    3.5128,
    // soft_match_of_session
    1.0982,
    // previous_length
    -1.5259,
    // next_length
    -0.7252,
    // next_asks
    -0.0998,
    // query_best_bm25_of_ceiling
    -1.1041,
    // query_best_cosine
    -2.3674,
    // query_best_soft_match
    -1.2818,
    // query_unknown
    0.0369,
];
