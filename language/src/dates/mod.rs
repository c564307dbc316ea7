//! Dates in words, read relative to a day: the day on which a [`statement`] was said or a [`question`] is asked.
//!
//! English has a grammar of its own ([`english`]). All other languages share one ([`grammar`]), which works over their
//! tables in [`languages`]. To add a language, add a table. [`words`] splits a text and guesses its language.

mod english;
mod grammar;
mod languages;
mod lexicon;
mod normal;
mod period;
pub mod question;
mod span;
pub mod statement;
mod words;

pub(crate) use lexicon::foreign_month_number;
pub use span::DateSpan;

/// Milliseconds since the Unix epoch, UTC.
pub type Millis = i64;

#[cfg(test)]
mod tests;
