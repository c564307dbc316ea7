/// The intercept of the fit.
const INTERCEPT: f32 = -9.782;
/// One coefficient a feature, in the order of their names.
const COEFFICIENTS: [f32; 35] = [
    // bm25_of_ceiling
    -1.8656,
    // bm25_of_best
    0.0918,
    // cosine
    1.9423,
    // cosine_of_best
    0.5692,
    // cosine_standardised
    0.5489,
    // agreement
    0.1169,
    // previous_bm25
    0.7138,
    // previous_cosine
    1.5640,
    // next_bm25
    -0.0809,
    // next_cosine
    0.8151,
    // session_bm25
    0.1251,
    // session_cosine
    0.3384,
    // speaker_named
    1.0423,
    // other_speaker_named
    -1.4458,
    // entity_named
    0.0830,
    // length
    2.2779,
    // asks
    -0.2529,
    // previous_asks
    0.2602,
    // query_terms
    -0.0931,
    // lexical_rank
    1.4779,
    // cue_rank
    0.6754,
    // coverage
    -0.3013,
    // coverage_with_previous
    0.6128,
    // coverage_with_neighbours
    0.8930,
    // coverage_of_session
    0.9569,
    // rarest_term
    0.2455,
    // soft_match
    3.4874,
    // soft_match_squared
    -0.2807,
    // soft_match_of_best
    1.0137,
    // previous_soft_match
    -1.1308,
    // next_soft_match
    -0.2015,
    // query_best_bm25_of_ceiling
    -1.2893,
    // query_best_cosine
    -1.5187,
    // query_best_soft_match
    -0.2664,
    // query_unknown
    -0.4601,
];
