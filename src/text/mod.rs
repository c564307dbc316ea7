//! Analysis of natural-language text: sentences, words, questions and small talk.
//!
//! Every function that reads a text of unbounded length counts its work in [`steps::Steps`], so a deadline or a stop
//! interrupts it. Nothing here knows what a memory is. Start with [`sentences`] and [`words`].

pub mod filler;
pub mod questions;
pub mod sentences;
pub mod small_talk;
pub mod steps;
pub mod words;
