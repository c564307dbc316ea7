/// The intercept of the fit.
const INTERCEPT: f32 = -9.274;
/// One coefficient a feature, in the order of their names.
const COEFFICIENTS: [f32; 27] = [
    // bm25_of_ceiling
    -0.2457,
    // bm25_of_best
    1.3011,
    // cosine
    2.0891,
    // cosine_of_best
    1.2922,
    // cosine_standardised
    1.1296,
    // agreement
    -0.5835,
    // previous_bm25
    0.7785,
    // previous_cosine
    0.6251,
    // next_bm25
    0.5054,
    // next_cosine
    0.6338,
    // second_previous_bm25
    0.6411,
    // second_previous_cosine
    0.6187,
    // second_next_bm25
    -0.2095,
    // second_next_cosine
    0.0199,
    // session_bm25
    1.1200,
    // session_cosine
    -0.1983,
    // speaker_named
    0.8431,
    // other_speaker_named
    -1.4698,
    // entity_named
    0.0724,
    // length
    5.1392,
    // asks
    -0.5133,
    // previous_asks
    0.2952,
    // query_terms
    -2.5013,
    // lexical_rank
    2.3152,
    // cue_rank
    1.3337,
    // query_best_bm25_of_ceiling
    0.0310,
    // query_best_cosine
    -2.5843,
];
