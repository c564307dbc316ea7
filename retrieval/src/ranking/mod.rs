//! From what the arms found to one honest number: [`signals`] gathers what they say about the candidates, their neighbours
//! and their [`session`], with [`naming`] to tell whom a query names and [`premise`] whether it was somebody else who told
//! it; [`features`] makes numbers of it, and [`calibration`] is the fitted map from these to the probability that the memory
//! answers the query. One model ranks and calibrates, so that a higher score is always a higher place.

pub(crate) mod calibration;
pub(crate) mod features;
pub(crate) mod naming;
mod premise;
mod session;
pub(crate) mod signals;
