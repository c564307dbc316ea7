//! Terms: how the texts of memories and queries become comparable words.
//!
//! [`terms`] is the way from a text to its terms, and the place to start reading. [`segments`] splits a text into
//! words. [`mod@fold`] removes from a word what does not distinguish it. The [`script`] of a word decides how it is
//! stemmed, and [`detection`] finds the languages of a text in Latin script. Function words are removed
//! ([`stop_words`]). [`stems`] reduces a word to its stem: with [`english`], [`arabic`], [`hebrew`], and the Snowball
//! stemmers. Korean and Chinese words are also found by parts ([`korean`], [`characters`]), as are [`identifiers`], and
//! [`numbers`] are found however they are written. [`forms`] holds what comes of a word, and [`near`] finds what a misspelt
//! one may have meant.

#![expect(clippy::disallowed_types, reason = "this folder hides the stemmer")]

mod arabic;
mod characters;
mod detection;
mod english;
mod fold;
mod forms;
mod hebrew;
mod identifiers;
mod korean;
mod language;
#[cfg(test)]
mod language_tests;
mod near;
mod numbers;
mod script;
mod segments;
mod stems;
mod stop_words;
mod terms;

pub use fold::fold;
pub use forms::Place;
pub use near::for_each_near_term;
pub use script::is_in_other_script;
pub use segments::{QUESTION_MARKS, writes_no_spaces};
pub use stop_words::{is_stop_word, is_stop_word_in};
pub use terms::{any_term, content_terms, for_each_term, may_be_english};
