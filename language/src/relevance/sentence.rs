//! Splits a sentence into the things that it asks for.
//!
//! A sentence can be split at its commas and conjunctions. Where a question follows, it is. Elsewhere it depends on the
//! words around the place: "our React setup and the CI" are two things, "salt and pepper" and "Tom and Ana" are one.

use std::ops::Range;

use super::part::Part;
use super::words::{Word, has_substance, words};

/// The most parts of a query.
pub const PARTS_MAX: usize = 8;
/// Words of an item of an enumeration. What is longer between two commas is prose.
const ITEM_WORDS_MAX: usize = 12;
/// Words of an item that may share the end of the last one: "start, stop and restart the service".
const SHORT_ITEM_WORDS: usize = 2;
/// Words by which the last item must be longer than such items to have an end that they share.
const SHARED_END_WORDS: usize = 2;
/// Words before a conjunction among which "between" binds it: "between the bridge and the church".
const BINDING_WORDS: usize = 6;
/// Words of both sides of a conjunction between nouns without articles: "phone number and email address".
const BARE_NOUN_WORDS: usize = 2;

/// The conjunctions, longer ones first.
const CONJUNCTIONS: [&[&str]; 6] =
    [&["as", "well", "as"], &["along", "with"], &["and", "also"], &["plus", "also"], &["and"], &["plus"]];

/// How the commas of a sentence are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Style {
    /// They may separate things, or not.
    Prose,
    /// They separate the items of a list.
    List,
}

/// The parts that were found so far, and the last name in them.
#[derive(Default)]
pub(super) struct Splitter<'a> {
    pub(super) parts: Vec<Part<'a>>,
    /// A later part may refer to the name with a pronoun.
    name: Option<&'a str>,
}

/// A place at which a sentence may be split.
#[derive(Clone, Copy, Debug)]
struct Break {
    /// The number of words before it.
    left: usize,
    /// The index of the first word after it and its conjunction.
    right: usize,
    has_comma: bool,
    has_conjunction: bool,
    /// Whether the conjunction is a plus sign.
    has_sign: bool,
}

/// The words between two places at which a question begins.
struct Clause {
    words: Range<usize>,
    /// The places inside of it.
    breaks: Vec<Break>,
    /// The place at which it ends.
    end: Option<Break>,
}

/// What later items of an enumeration share with the first one, as ranges of words.
struct SharedLead {
    /// For an item that begins with a noun: "what is my".
    before_noun: Range<usize>,
    /// For an item that begins with an article or an owner: "what is".
    before_determiner: Range<usize>,
}

struct Sentence<'a> {
    text: &'a str,
    words: Vec<Word<'a>>,
    style: Style,
    /// The number of places at which it may be split.
    breaks: usize,
}

impl<'a> Splitter<'a> {
    /// Adds the parts of a sentence. `lead` belongs to each of them.
    pub(super) fn add(&mut self, text: &'a str, lead: &[&'a str], style: Style) {
        let words = words(text);
        if words.is_empty() {
            return;
        }
        let breaks = breaks(&words);
        let sentence = Sentence { text, words, style, breaks: breaks.len() };
        let mut lead = lead.to_vec();
        let mut clauses = sentence.clauses(breaks);
        if sentence.is_introduction(&clauses[0]) {
            let introduction = clauses.remove(0);
            self.remember_name(&sentence, &introduction.words);
            lead.push(sentence.slice(&introduction.words));
        }
        for clause in &clauses {
            self.add_clause(&sentence, clause, &lead);
        }
    }

    /// Adds the items of a clause, or the whole clause if it is no enumeration.
    fn add_clause(&mut self, sentence: &Sentence<'a>, clause: &Clause, lead: &[&'a str]) {
        let breaks = sentence.enumeration_breaks(clause);
        let first_end = match breaks.first() {
            Some(first) => first.left,
            None => clause.words.end,
        };
        let first = clause.words.start..first_end;
        let shared = sentence.shared_lead(&first);
        self.add_part(sentence, first, lead.to_vec());
        for (index, one) in breaks.iter().enumerate() {
            let end = match breaks.get(index + 1) {
                Some(next) => next.left,
                None => clause.words.end,
            };
            let begins_with_noun = !sentence.words[one.right].is_determiner();
            let share = if begins_with_noun { &shared.before_noun } else { &shared.before_determiner };
            let mut lead = lead.to_vec();
            if !share.is_empty() {
                lead.push(sentence.slice(share));
            }
            self.add_part(sentence, one.right..end, lead);
        }
    }

    fn add_part(&mut self, sentence: &Sentence<'a>, range: Range<usize>, mut lead: Vec<&'a str>) {
        let words = &sentence.words[range.clone()];
        if self.parts.len() < PARTS_MAX && has_substance(words) {
            let refers = words.iter().any(Word::refers);
            let has_name = words.iter().skip(1).any(Word::is_capitalised);
            if let Some(name) = self.name
                && refers
                && !has_name
                && !self.parts.is_empty()
                && !lead.iter().any(|piece| piece.contains(name))
            {
                lead.push(name);
            }
            self.parts.push(Part::new(lead, sentence.slice(&range)));
        }
        self.remember_name(sentence, &range);
    }

    /// Keeps the last name among some words. The first word of a sentence is a name only in a possessive.
    fn remember_name(&mut self, sentence: &Sentence<'a>, range: &Range<usize>) {
        for index in range.clone() {
            let word = &sentence.words[index];
            let possessor = word.possessor();
            if word.is_capitalised() && word.is_content() && (index > 0 || possessor.is_some()) {
                self.name = Some(possessor.unwrap_or(word.text));
            }
        }
    }
}

impl<'a> Sentence<'a> {
    /// Returns the text of some words, without a comma at its end.
    fn slice(&self, range: &Range<usize>) -> &'a str {
        let (first, last) = (&self.words[range.start], &self.words[range.end - 1]);
        self.text[first.range.start..last.range.end].trim_end_matches([',', '，', '、', '،'])
    }

    /// Divides the sentence at the places at which a question begins.
    fn clauses(&self, breaks: Vec<Break>) -> Vec<Clause> {
        let mut clauses = Vec::new();
        let mut begin = 0;
        let mut inner = Vec::new();
        for one in breaks {
            if self.begins_question(&one) {
                clauses.push(Clause { words: begin..one.left, breaks: std::mem::take(&mut inner), end: Some(one) });
                begin = one.right;
            } else {
                inner.push(one);
            }
        }
        clauses.push(Clause { words: begin..self.words.len(), breaks: inner, end: None });
        clauses
    }

    /// Whether a question follows a place: "and when is", "tell me", "and did she".
    fn begins_question(&self, one: &Break) -> bool {
        let word = &self.words[one.right];
        if word.is_question_word() {
            return !self.begins_relative_clause(one);
        }
        let Some(next) = self.words.get(one.right + 1) else { return false };
        if word.is_preposition() && next.is_question_word() {
            return true;
        }
        if word.asks() && (next.is("me") || next.is("us")) {
            return true;
        }
        if !word.is_auxiliary() {
            return false;
        }
        let is_noun = next.is_capitalised() || next.is("there") || (next.is_determiner() && !next.is("a"));
        next.is_pronoun() || (is_noun && !word.is_verb_auxiliary())
    }

    /// Whether a relative clause follows a place: "Ana, who lives in Oslo".
    fn begins_relative_clause(&self, one: &Break) -> bool {
        if one.has_conjunction || one.left < 2 || !self.words[one.right].is_relative() {
            return false;
        }
        let is_direct = self.words.get(one.right + 1).is_some_and(Word::is_auxiliary);
        self.words[one.left - 1].is_capitalised() && !is_direct
    }

    /// Whether a clause only introduces the question that follows: "In March, where did Ana go".
    fn is_introduction(&self, clause: &Clause) -> bool {
        let Some(end) = clause.end else { return false };
        let first = &self.words[clause.words.start];
        if end.has_conjunction || !first.introduces() {
            return false;
        }
        if clause.words.len() > 1 && self.words[clause.words.start + 1].is_auxiliary() {
            return false;
        }
        // "When we met, where did we go" has an introduction, "when we met, what we said" has none.
        let follows_direct_question =
            self.words[end.right].is_question_word() && self.words.get(end.right + 1).is_some_and(Word::is_auxiliary);
        !first.is_question_word() || follows_direct_question
    }

    /// Returns the places at which a clause is divided into items.
    fn enumeration_breaks(&self, clause: &Clause) -> Vec<Break> {
        if let [only] = clause.breaks.as_slice() {
            let is_list = self.style == Style::List && only.has_comma;
            return if is_list || self.joins_two_things(clause, only) { vec![*only] } else { Vec::new() };
        }
        if clause.breaks.iter().any(|one| self.words[one.right].is_question_word()) {
            // A relative clause between two commas.
            return Vec::new();
        }
        let mut longest = 0;
        for pair in clause.breaks.windows(2) {
            longest = longest.max(pair[1].left - pair[0].right);
        }
        let Some(last) = clause.breaks.last() else { return Vec::new() };
        let last_words = clause.words.end - last.right;
        let shares_end = self.style == Style::Prose
            && longest <= SHORT_ITEM_WORDS
            && last_words > longest + SHARED_END_WORDS
            && !self.words[last.right].is_determiner();
        if longest > ITEM_WORDS_MAX || shares_end {
            return Vec::new();
        }
        let are_names = self.are_names(clause);
        let mut kept = Vec::with_capacity(clause.breaks.len());
        for one in &clause.breaks {
            let joins_names = self.joins_names(one) && !one.has_comma && !are_names;
            if !joins_names && !self.is_bound(clause, one) {
                kept.push(*one);
            }
        }
        match kept.as_slice() {
            [only] if !self.joins_two_things(clause, only) => Vec::new(),
            _ => kept,
        }
    }

    /// Whether the only place of a clause stands between two things.
    fn joins_two_things(&self, clause: &Clause, one: &Break) -> bool {
        if one.has_sign {
            return true;
        }
        if self.is_bound(clause, one) {
            return false;
        }
        let is_enumeration = self.breaks > 1;
        if !one.has_conjunction && is_enumeration {
            return true;
        }
        let right = &self.words[one.right];
        if right.is_third_person_owner() && self.words[one.left - 1].is_capitalised() {
            return false;
        }
        let left = &self.words[clause.words.start..one.left];
        if right.is_determiner() {
            return one.has_conjunction && left.iter().any(Word::is_content);
        }
        if !one.has_conjunction || self.joins_names(one) {
            return false;
        }
        let left_run = left.iter().rev().take_while(|word| word.is_content()).count();
        let right_words = &self.words[one.right..clause.words.end];
        let right_run = right_words.iter().take_while(|word| word.is_content()).count();
        left_run >= BARE_NOUN_WORDS && right_run >= BARE_NOUN_WORDS
    }

    /// Whether a conjunction stands between two capitalised words.
    fn joins_names(&self, one: &Break) -> bool {
        one.has_conjunction
            && self.words[one.left - 1].is_capitalised()
            && self.words[one.right].is_capitalised()
            && !self.words[one.right].is_owner()
    }

    /// Whether every item after the first is one capitalised word.
    fn are_names(&self, clause: &Clause) -> bool {
        for (index, one) in clause.breaks.iter().enumerate() {
            let end = match clause.breaks.get(index + 1) {
                Some(next) => next.left,
                None => clause.words.end,
            };
            if end - one.right != 1 || !self.words[one.right].is_capitalised() {
                return false;
            }
        }
        true
    }

    /// Whether a word before a place binds its two sides together.
    fn is_bound(&self, clause: &Clause, one: &Break) -> bool {
        let begin = clause.words.start.max(one.left.saturating_sub(BINDING_WORDS));
        self.words[begin..one.left].iter().any(|word| word.is("between") || word.is("both"))
    }

    /// Returns what later items share with the first one, whose words are given.
    fn shared_lead(&self, first: &Range<usize>) -> SharedLead {
        let lead_end = self.lead_end(first);
        if self.shares_beginning(first) {
            return SharedLead {
                before_noun: first.start..lead_end.before_noun,
                before_determiner: first.start..lead_end.before_determiner,
            };
        }
        // Only whose they are is shared: "my" of "my door code and locker number".
        let owner_end = lead_end.before_noun;
        let mut owner = owner_end..owner_end;
        if owner_end > first.start && self.words[owner_end - 1].is_owner() {
            owner.start = owner_end - 1;
        }
        SharedLead { before_noun: owner, before_determiner: first.start..first.start }
    }

    /// Whether the beginning of the first item belongs to all items, as that of a question does.
    fn shares_beginning(&self, first: &Range<usize>) -> bool {
        let words = &self.words[first.clone()];
        let Some(word) = words.first() else { return false };
        if word.is_question_word() {
            // "What they want, the price" is not a question about the price.
            let is_contracted = word.folded.contains('\'');
            return is_contracted || words.iter().skip(1).take(2).any(Word::is_auxiliary);
        }
        word.is_auxiliary()
            || word.asks()
            || word.is_preposition()
            || word.is_pronoun()
            || word.folded.starts_with("i'")
    }

    /// Returns where the noun phrase at the end of the first item begins.
    fn lead_end(&self, first: &Range<usize>) -> LeadEnd {
        let words = &self.words[first.clone()];
        let run = words.iter().rev().take_while(|word| word.is_content()).count();
        let noun = first.end - run;
        let from = first.start.max(noun.saturating_sub(1));
        for at in (from..first.end.saturating_sub(1)).rev() {
            let word = &self.words[at];
            if word.is_owner() {
                return LeadEnd { before_noun: at + 1, before_determiner: at.min(noun) };
            }
            if word.is_determiner() {
                return LeadEnd { before_noun: at, before_determiner: at };
            }
        }
        LeadEnd { before_noun: noun, before_determiner: noun }
    }
}

/// Where the noun phrase at the end of an item begins, as indexes of words.
struct LeadEnd {
    /// After the owner, if there is one.
    before_noun: usize,
    /// Before the article or the owner.
    before_determiner: usize,
}

/// Returns the places at which a sentence may be split.
fn breaks(words: &[Word<'_>]) -> Vec<Break> {
    let mut breaks = Vec::new();
    let mut at = 1;
    while at < words.len() {
        let has_comma = words[at - 1].has_comma && !is_year(&words[at]);
        let mut conjunction = conjunction_words(&words[at..]);
        if conjunction == 0 && has_comma && words[at].is("also") {
            conjunction = 1;
        }
        let right = at + conjunction;
        if right >= words.len() || (!has_comma && conjunction == 0) {
            at += 1;
            continue;
        }
        let has_sign = words[at].raw == "+";
        breaks.push(Break { left: at, right, has_comma, has_conjunction: conjunction > 0, has_sign });
        at = right + 1;
    }
    breaks
}

/// Returns the number of words of the conjunction that some words begin with; zero if there is none.
fn conjunction_words(words: &[Word<'_>]) -> usize {
    for phrase in CONJUNCTIONS {
        if words.len() >= phrase.len() && words.iter().zip(phrase).all(|(word, expected)| word.is(expected)) {
            return phrase.len();
        }
    }
    match words.first() {
        Some(word) if matches!(word.raw, "+" | "&") => 1,
        _ => 0,
    }
}

/// Whether a word is the year of a date: "May 3, 2025".
fn is_year(word: &Word<'_>) -> bool {
    word.text.len() == 4 && word.text.bytes().all(|byte| byte.is_ascii_digit())
}
