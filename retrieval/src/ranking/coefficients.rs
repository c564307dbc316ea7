/// The intercept of the fit.
const INTERCEPT: f32 = -9.722;
/// One coefficient a feature, in the order of their names.
const COEFFICIENTS: [f32; 35] = [
    // bm25_of_ceiling
    -1.9366,
    // bm25_of_best
    0.1152,
    // cosine
    1.9489,
    // cosine_of_best
    0.5842,
    // cosine_standardised
    0.5651,
    // agreement
    0.0821,
    // previous_bm25
    0.7080,
    // previous_cosine
    1.5312,
    // next_bm25
    -0.1293,
    // next_cosine
    0.8236,
    // session_bm25
    0.0952,
    // session_cosine
    0.3738,
    // speaker_named
    1.0882,
    // other_speaker_named
    -1.3488,
    // entity_named
    0.0554,
    // length
    2.2354,
    // asks
    -0.2438,
    // previous_asks
    0.2669,
    // query_terms
    -0.0308,
    // lexical_rank
    1.4847,
    // cue_rank
    0.6692,
    // coverage
    -0.3005,
    // coverage_with_previous
    0.6547,
    // coverage_with_neighbours
    0.9284,
    // coverage_of_session
    0.9645,
    // rarest_term
    0.2559,
    // soft_match
    3.2488,
    // soft_match_squared
    -0.1555,
    // soft_match_of_best
    0.9739,
    // previous_soft_match
    -1.1011,
    // next_soft_match
    -0.0909,
    // query_best_bm25_of_ceiling
    -1.3613,
    // query_best_cosine
    -1.5185,
    // query_best_soft_match
    -0.3327,
    // query_unknown
    -0.4447,
];
