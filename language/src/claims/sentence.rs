//! A sentence on its way to claims, and what is found in it.

use std::ops::Range;

use crate::claims::Polarity;

use super::clause::Subject;
use super::words::{self, Word};

/// A sentence with its words.
pub(super) struct Sentence<'a> {
    /// The text.
    pub(super) text: &'a str,
    /// The person who speaks.
    pub(super) speaker: &'a str,
    pub(super) words: Vec<Word>,
    /// The bytes of dates in the text.
    pub(super) dates: Vec<Range<usize>>,
}

impl<'a> Sentence<'a> {
    pub(super) fn new(text: &'a str, speaker: &'a str, dates: Vec<Range<usize>>) -> Self {
        Self { text, speaker, words: words::split(text), dates }
    }

    /// Returns the dates, except those that begin a value at a word: a value may be a date.
    pub(super) fn dates_outside(&self, value: usize) -> Vec<Range<usize>> {
        let begin = self.words.get(value).map_or(0, |word| word.range.start);
        self.dates.iter().filter(|date| date.start != begin).cloned().collect()
    }
}

/// A claim in a sentence, before its subject and its time are known.
#[derive(Clone, Debug)]
pub(super) struct Found {
    pub(super) subject: Subject,
    pub(super) attribute: String,
    pub(super) value: String,
    pub(super) polarity: Polarity,
    /// Whether it is an event, which a date in the sentence may belong to.
    pub(super) is_event: bool,
    /// Whether it is said to come true later.
    pub(super) is_future: bool,
    /// The index of its verb.
    pub(super) at: usize,
    /// The index after its value.
    pub(super) end: usize,
}

impl Found {
    /// A value that holds, found in a range of words: from the verb to the end of the value.
    pub(super) fn stated(subject: Subject, attribute: String, value: String, words: Range<usize>) -> Self {
        Self {
            subject,
            attribute,
            value,
            polarity: Polarity::Positive,
            is_event: false,
            is_future: false,
            at: words.start,
            end: words.end,
        }
    }

    /// A value that no longer holds.
    pub(super) fn ended(subject: Subject, attribute: &str, value: String, at: usize) -> Self {
        Self {
            subject,
            attribute: attribute.to_owned(),
            value,
            polarity: Polarity::Negative,
            is_event: true,
            is_future: false,
            at,
            end: at + 1,
        }
    }
}
