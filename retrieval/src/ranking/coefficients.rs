/// The intercept of the fit.
const INTERCEPT: f32 = -3.0;
/// One coefficient a feature, in the order of their names.
const COEFFICIENTS: [f32; 39] = [
    // bm25_of_ceiling
    0.0,
    // bm25_of_best
    1.0,
    // cosine
    0.0,
    // cosine_of_best
    1.0,
    // cosine_standardised
    0.0,
    // agreement
    0.0,
    // previous_bm25
    0.0,
    // previous_cosine
    0.0,
    // next_bm25
    0.0,
    // next_cosine
    0.0,
    // second_previous_bm25
    0.0,
    // second_previous_cosine
    0.0,
    // second_next_bm25
    0.0,
    // second_next_cosine
    0.0,
    // session_bm25
    0.0,
    // session_cosine
    0.0,
    // speaker_named
    0.0,
    // other_speaker_named
    0.0,
    // entity_named
    0.0,
    // length
    0.0,
    // asks
    0.0,
    // previous_asks
    0.0,
    // query_terms
    0.0,
    // lexical_rank
    0.0,
    // cue_rank
    0.0,
    // coverage
    0.0,
    // coverage_with_previous
    0.0,
    // coverage_with_neighbours
    0.0,
    // coverage_of_session
    0.0,
    // rarest_term
    0.0,
    // soft_match
    1.0,
    // soft_match_squared
    0.0,
    // soft_match_of_best
    0.0,
    // previous_soft_match
    0.0,
    // next_soft_match
    0.0,
    // query_best_bm25_of_ceiling
    0.0,
    // query_best_cosine
    0.0,
    // query_best_soft_match
    0.0,
    // query_unknown
    0.0,
];
