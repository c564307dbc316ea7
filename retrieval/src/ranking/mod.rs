//! From what the arms found to one honest number: [`features`] of a candidate, with [`naming`] to tell whom a query names,
//! and [`calibration`], the fitted map from features to the probability that the memory answers the query. One model ranks
//! and calibrates, so that a higher score is always a higher place.

pub(crate) mod calibration;
pub(crate) mod features;
pub(crate) mod naming;
