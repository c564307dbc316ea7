//! Claims: what statements say about the attributes of persons and things, and which claims a question asks for.
//!
//! [`reader`] reads the claims of statements; start there. It splits sentences into [`words`] and finds who does what in
//! a [`clause`]. These files find claims in a sentence:
//!
//! - [`phrases`]: verbs, by the [`frames`] of the table of [`attributes`];
//! - [`general`]: statements such as "my gym is Flex", and [`changed`]: verbs of change;
//! - [`amounts`], [`counts`] and [`doses`];
//! - [`uses`]: what somebody uses, keeps and prefers; [`things`]: what a thing does;
//! - [`ends`], [`contacts`], [`corrections`], and templates of other [`languages`].
//!
//! [`numbers`] reads numbers in words. [`named`] says what a noun names, and [`values`] where a value ends. [`names`]
//! makes subjects, attributes and values comparable, and [`question`] finds what a question asks.

mod amounts;
mod asked;
pub mod attributes;
mod changed;
mod claim;
mod clause;
mod contacts;
mod corrections;
mod counts;
mod doses;
mod ends;
pub mod frames;
mod general;
mod languages;
mod lists;
mod named;
pub mod names;
mod numbers;
mod phrases;
pub mod question;
pub mod reader;
mod sentence;
mod things;
mod uses;
mod values;
mod words;

pub use asked::{AskedClaims, AskedKind, AskedPeriod};
pub use claim::{Claim, Polarity};
