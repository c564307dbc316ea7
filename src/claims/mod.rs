//! Claims: what statements say about the attributes of persons and things, and which claims a question asks for.
//!
//! [`reader`] reads the claims of statements; start there. It splits sentences into [`words`] and finds who does what in
//! a [`clause`]. Claims come from verbs ([`phrases`], by the [`frames`] of the table of [`attributes`]), from general
//! statements such as "my gym is Flex" ([`general`]), from verbs of change ([`changed`]), from [`amounts`] and [`counts`],
//! from what somebody [`uses`], from what [`things`] do, from [`ends`], [`contacts`], templates of other [`languages`] and
//! from [`corrections`]. [`named`] says what a noun names, and [`values`] where a value ends. [`names`] makes subjects,
//! attributes and values comparable, and [`question`] finds what a question asks.

mod amounts;
pub mod attributes;
mod changed;
mod clause;
mod contacts;
mod corrections;
mod counts;
mod ends;
pub mod frames;
mod general;
mod languages;
mod lists;
mod named;
pub mod names;
mod phrases;
pub mod question;
pub mod reader;
mod sentence;
mod things;
mod uses;
mod values;
mod words;
