//! From what the arms found to one probability per candidate.
//!
//! [`signals`] gathers what the arms know about the candidates, their neighbours and their [`session`]s. [`speakers`]
//! finds the speakers that a query names, [`claims`] which candidates say what held at the time in question, and [`premise`] measures whether other speakers match the query better.
//! [`features`] turns the signals into numbers, in [`groups`] that an explanation names, and [`calibration`] is the
//! fitted map from these numbers to the probability that the memory answers the query. The same model ranks and calibrates, so a higher score is always a
//! higher rank.

pub(crate) mod calibration;
pub(crate) mod claims;
pub(crate) mod features;
pub(crate) mod groups;
mod premise;
mod session;
pub(crate) mod signals;
pub(crate) mod speakers;
mod spread;
