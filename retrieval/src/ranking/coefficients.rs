/// The intercept of the fit.
const INTERCEPT: f32 = -7.206;
/// One coefficient a feature, in the order of their names.
const COEFFICIENTS: [f32; 39] = [
    // bm25_of_ceiling
    -3.2819,
    // bm25_of_best
    0.2194,
    // cosine
    1.4360,
    // cosine_of_best
    0.5336,
    // cosine_standardised
    0.3901,
    // agreement
    0.4641,
    // previous_bm25
    0.7754,
    // previous_cosine
    0.9493,
    // next_bm25
    0.0143,
    // next_cosine
    0.8760,
    // second_previous_bm25
    0.6627,
    // second_previous_cosine
    0.5388,
    // second_next_bm25
    -0.4255,
    // second_next_cosine
    0.1706,
    // session_bm25
    0.1794,
    // session_cosine
    -0.1633,
    // speaker_named
    0.8902,
    // other_speaker_named
    -1.2177,
    // entity_named
    -0.0298,
    // length
    2.2403,
    // asks
    -0.4550,
    // previous_asks
    0.3442,
    // query_terms
    -2.2845,
    // lexical_rank
    1.4886,
    // cue_rank
    1.1303,
    // coverage
    0.3950,
    // coverage_with_previous
    0.5456,
    // coverage_with_neighbours
    1.0261,
    // coverage_of_session
    1.1316,
    // rarest_term
    0.4084,
    // soft_match
    2.2730,
    // soft_match_squared
    -0.8968,
    // soft_match_of_best
    1.2633,
    // previous_soft_match
    -1.4258,
    // next_soft_match
    0.0794,
    // query_best_bm25_of_ceiling
    -1.3326,
    // query_best_cosine
    -2.1440,
    // query_best_soft_match
    -0.6298,
    // query_unknown
    -0.1214,
];
