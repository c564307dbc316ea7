/// The intercept of the fit.
const INTERCEPT: f32 = -8.304;
/// One coefficient a feature, in the order of their names.
const COEFFICIENTS: [f32; 39] = [
    // bm25_of_ceiling
    -1.7643,
    // bm25_of_best
    0.1856,
    // cosine
    1.8750,
    // cosine_standardised
    0.9387,
    // agreement
    0.3190,
    // previous_bm25
    0.6345,
    // previous_cosine
    1.1964,
    // next_bm25
    -0.0752,
    // next_cosine
    1.0677,
    // session_cosine
    0.4252,
    // speaker_named
    1.2176,
    // other_speaker_named
    -1.3830,
    // entity_named
    0.0795,
    // length
    2.6964,
    // asks
    -0.2591,
    // previous_asks
    0.4625,
    // query_terms
    -0.8545,
    // lexical_rank
    1.5296,
    // cue_rank
    0.5452,
    // coverage
    -0.0115,
    // coverage_with_previous
    0.5374,
    // coverage_with_neighbours
    0.2105,
    // coverage_of_session
    0.6363,
    // rarest_term
    0.2616,
    // soft_match
    1.9963,
    // soft_match_squared
    -1.4953,
    // soft_match_of_best
    1.4147,
    // previous_soft_match
    -0.7470,
    // next_soft_match
    -0.7319,
    // soft_match_with_neighbours
    3.7762,
    // soft_match_of_session
    0.4430,
    // previous_length
    -1.4028,
    // next_length
    -0.7335,
    // next_asks
    -0.1066,
    // time_named
    0.8948,
    // query_best_bm25_of_ceiling
    -1.0092,
    // query_best_cosine
    -2.4105,
    // query_best_soft_match
    -1.3085,
    // query_unknown
    -0.2516,
];
