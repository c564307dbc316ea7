//! Analysis of natural-language text: sentences, words, questions and small talk.
//!
//! Every function that reads a text of unbounded length counts its work in [`steps::Steps`], so that a deadline or a
//! stop can interrupt it. This folder does not depend on memories or conversations. Start with [`sentences`] and
//! [`words`].

pub mod filler;
pub mod questions;
pub mod reactions;
pub mod sentences;
pub mod small_talk;
pub mod steps;
pub mod words;
