//! Who does what in a clause: the subject before a verb, and whether the verb says what is, was, will be or might be.

use super::lists::{ADVERBS, AUXILIARIES, EVENTS, HYPOTHETICAL, NOT_PRESENT, RELATIONS, REPORTING, TIMES};
use super::words::{Break, Word};

/// Words of a noun that names a thing.
const THING_WORDS_MAX: usize = 4;
/// Words of a noun without a determiner.
const BARE_WORDS_MAX: usize = 3;

/// The subject of a verb.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Subject {
    /// The person who speaks.
    Speaker,
    /// The person or thing that was named last.
    Last,
    /// A name: "Ana", "Ana's sister", "billing service".
    Named(String),
    /// No subject stands before the verb.
    Missing,
}

/// What a verb says about the time and the truth of what it states.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mood {
    /// It is so, or it happened.
    Fact,
    /// It was so: "used to work".
    Ended,
    /// It will be so.
    Future,
    /// It is denied, wished, guessed or somebody else's words.
    Unreal,
}

/// A verb with what stands before it.
pub(super) struct Verb {
    pub(super) subject: Subject,
    pub(super) mood: Mood,
    /// Whether an auxiliary of the perfect stands before the verb: "have worked".
    pub(super) is_perfect: bool,
    /// Whether a form of "be" stands before the verb.
    pub(super) has_be: bool,
}

/// Reads what stands before the verb at an index.
pub(super) fn before(words: &[Word], verb: usize) -> Verb {
    let mut begin = verb;
    while begin > 0 {
        let word = &words[begin - 1];
        let is_between = (AUXILIARIES.has(&word.text) || ADVERBS.has(&word.text)) && !word.capital;
        if !is_between || word.after == Break::Clause || word.possessive {
            break;
        }
        begin -= 1;
    }
    let auxiliaries = &words[begin..verb];
    let has = |text: &str| auxiliaries.iter().any(|word| word.text == text);
    let has_be = ["am", "is", "are", "was", "were", "be", "been", "being"].iter().any(|form| has(form));
    let possessive_before = begin > 0 && words[begin - 1].possessive;
    Verb {
        subject: subject(words, begin),
        mood: mood(words, begin, verb),
        is_perfect: has("have") || has("has") || has("had"),
        has_be: has_be || possessive_before,
    }
}

/// Returns the mood of a verb whose auxiliaries begin at an index.
fn mood(words: &[Word], begin: usize, verb: usize) -> Mood {
    let auxiliaries = &words[begin..verb];
    let has = |text: &str| auxiliaries.iter().any(|word| word.text == text);
    if is_unreal(words, begin) || has("never") {
        return Mood::Unreal;
    }
    let later = &words[verb..words.len().min(verb + 12)];
    let any_more =
        later.windows(2).any(|pair| pair[0].text == "any" && matches!(pair[1].text.as_str(), "more" | "longer"))
            || later.iter().any(|word| word.text == "anymore");
    let no_longer = has("no") && has("longer");
    let used_to = has("used") && has("to");
    if no_longer || used_to || has("stopped") || has("quit") || (has("not") && any_more) {
        return Mood::Ended;
    }
    if has("not") || has("no") {
        return Mood::Unreal;
    }
    if has("will") || (has("going") && has("to")) {
        return Mood::Future;
    }
    // "to work at" without "going to" or "used to" is a purpose or a wish.
    if has("to") || (has("had") && !has("have")) {
        return Mood::Unreal;
    }
    Mood::Fact
}

/// Whether the words before a verb make it a wish, a condition, a guess or somebody else's words.
pub(super) fn is_unreal(words: &[Word], verb: usize) -> bool {
    let mut is_apart = false;
    for index in (0..verb).rev() {
        let word = &words[index];
        if (index + 1 < verb && word.after == Break::Clause) || matches!(word.text.as_str(), "but" | "so" | "because") {
            break;
        }
        // A new subject after a comma begins a statement, unless it depends on a condition: "I could drive, I have a car".
        is_apart |= index + 1 < verb && word.after == Break::Comma && is_pronoun(&words[index + 1].text);
        if HYPOTHETICAL.has(&word.text) && !word.capital && (!is_apart || is_condition(&word.text)) {
            return true;
        }
        if is_apart {
            continue;
        }
        let by_speaker = index > 0 && words[index - 1].text == "i";
        let is_own_report = index > 1 && words[index - 1].text == "did" || word.text == "told" && by_speaker;
        let is_meant = index > 1 && words[index - 1].text == "to" && words[index - 2].text == "meant";
        let is_news = word.text == "guess" && words.get(index + 1).is_some_and(|next| next.text == "what");
        if is_meant || is_news {
            continue;
        }
        if REPORTING.has(&word.text) && !is_own_report && !(by_speaker && word.text == "said") {
            return true;
        }
    }
    false
}

fn is_pronoun(word: &str) -> bool {
    matches!(word, "i" | "we" | "he" | "she" | "they" | "it")
}

fn is_condition(word: &str) -> bool {
    matches!(
        word,
        "if" | "unless"
            | "would"
            | "wish"
            | "imagine"
            | "suppose"
            | "supposing"
            | "whether"
            | "pretend"
            | "hypothetically"
    )
}

/// Returns how many of a sentence's words state something. A question states nothing, but it may follow a statement:
/// "we're on the Pro plan, does it include exports?". Neither do conditions and wishes.
pub(super) fn stating_words(sentence: &str, words: &[Word]) -> usize {
    let is_condition =
        matches!(words.first(), Some(first) if matches!(first.text.as_str(), "if" | "imagine" | "suppose" | "what"));
    if is_condition {
        return 0;
    }
    if !sentence.trim_end().ends_with(['?', '？']) {
        return words.len();
    }
    let last_break = words[..words.len().saturating_sub(1)].iter().rposition(|word| word.after != Break::None);
    let Some(last_break) = last_break else { return 0 };
    let begins_as_question = words.first().is_some_and(|word| is_question_word(&word.text));
    let ends_in_tag = words.len() - last_break <= 3;
    if begins_as_question || ends_in_tag { 0 } else { last_break + 1 }
}

fn is_question_word(word: &str) -> bool {
    matches!(
        word,
        "do" | "does"
            | "did"
            | "is"
            | "are"
            | "was"
            | "were"
            | "can"
            | "could"
            | "will"
            | "would"
            | "should"
            | "have"
            | "has"
            | "what"
            | "which"
            | "who"
            | "where"
            | "when"
            | "why"
            | "how"
            | "isn't"
            | "am"
            | "may"
            | "so"
    )
}

/// Reads the subject that ends before an index.
pub(super) fn subject(words: &[Word], end: usize) -> Subject {
    let Some(last) = end.checked_sub(1) else { return Subject::Missing };
    let word = &words[last];
    let is_apposition = word.after == Break::Comma && word.capital && last > 0 && words[last - 1].after == Break::Comma;
    if is_apposition {
        return Subject::Named(word.written.clone());
    }
    if word.after == Break::Clause || (word.after == Break::Comma && word.text != "who") {
        return Subject::Missing;
    }
    match word.text.as_str() {
        "i" | "we" => return Subject::Speaker,
        "he" | "she" | "they" => return Subject::Last,
        "you" | "it" | "that" | "this" | "there" | "what" | "everyone" | "nobody" | "who's" => {
            return Subject::Named(String::new());
        }
        "who" | "which" => return noun_ending_at(words, last),
        "and" | "but" | "so" | "then" | "because" | "since" | "when" | "after" | "or" | "as" => {
            return Subject::Missing;
        }
        _ => {}
    }
    noun_ending_at(words, end)
}

/// Reads the noun that ends before an index: a name, somebody's relative, or a thing.
fn noun_ending_at(words: &[Word], end: usize) -> Subject {
    let Some(last) = end.checked_sub(1) else { return Subject::Missing };
    let mut begin = last;
    if words[last].capital {
        while begin > 0 && is_part_of_name(words, begin - 1) {
            begin -= 1;
        }
        let is_sentence_start = begin == 0 && ADVERBS.has(&words[begin].text);
        if begin + 1 < end && is_sentence_start {
            begin += 1;
        }
        if !is_sentence_start || begin + 1 < end {
            return Subject::Named(text_of(&words[begin..end]));
        }
    }
    match noun_with_owner(words, end) {
        Some(noun) => Subject::Named(noun.full_name()),
        None => bare_noun(words, end),
    }
}

/// Whether a word before a name is part of it. "My" at the begin of a sentence is not.
fn is_part_of_name(words: &[Word], index: usize) -> bool {
    let word = &words[index];
    let is_function_word = crate::tokenize::is_stop_word(&word.text) && word.text != "the";
    let is_time = TIMES.has(&word.text);
    word.capital && word.after == Break::None && !is_function_word && !is_time && word.text != "i" && !word.possessive
}

/// Reads a noun without a determiner between the begin of a clause and an index: "staging listens on".
fn bare_noun(words: &[Word], end: usize) -> Subject {
    let mut begin = end;
    while begin > 0 && words[begin - 1].after == Break::None || begin == end {
        let word = &words[begin - 1];
        let is_noun =
            !crate::tokenize::is_stop_word(&word.text) && !AUXILIARIES.has(&word.text) && !ADVERBS.has(&word.text);
        if !is_noun || end - begin == BARE_WORDS_MAX {
            return Subject::Missing;
        }
        begin -= 1;
        if begin == 0 {
            break;
        }
    }
    if begin == end { Subject::Missing } else { Subject::Named(text_of(&words[begin..end])) }
}

/// A noun with what stands before it: "my gym", "Ana's phone number", "the door code".
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Noun {
    /// Whose it is.
    pub(super) owner: Owner,
    /// The words of the noun, folded.
    pub(super) name: String,
    /// The index of its first word, with the determiner.
    pub(super) begin: usize,
}

/// Whose a thing is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Owner {
    /// The speaker's: "my".
    Speaker,
    /// Of the person or thing that was named last: "his", "its".
    Last,
    /// Somebody's or something's: "Ana's".
    Named(String),
    /// Everybody's: "the", "our".
    Shared,
}

/// Marks the speaker in a name until the speaker is known.
pub(super) const SPEAKER: &str = "\u{1}";
/// Marks the person who was named last in a value, until that person is known.
pub(super) const LAST: &str = "\u{2}";

impl Noun {
    /// Returns the name of the noun as a subject of its own.
    fn full_name(&self) -> String {
        match &self.owner {
            Owner::Speaker => format!("{SPEAKER}'s {}", self.name),
            Owner::Named(owner) => format!("{owner}'s {}", self.name),
            Owner::Last | Owner::Shared => self.name.clone(),
        }
    }
}

/// Reads the noun that ends before an index, back to its determiner. Returns `None` if it has none, or if it means
/// something other than the present: "my old phone".
pub(super) fn noun_with_owner(words: &[Word], end: usize) -> Option<Noun> {
    let mut begin = end;
    while begin > 0 && end - begin < THING_WORDS_MAX + 1 {
        let word = &words[begin - 1];
        if begin < end && word.after != Break::None {
            return None;
        }
        let owner = match word.text.as_str() {
            "my" => Some(Owner::Speaker),
            "our" | "the" | "this" => Some(Owner::Shared),
            "his" | "her" | "their" | "its" => Some(Owner::Last),
            _ if word.possessive => Some(owner_ending_at(words, begin)),
            _ => None,
        };
        if let Some(owner) = owner {
            let first = begin - 1;
            return finish_noun(owner, &words[begin..end], first);
        }
        if AUXILIARIES.has(&word.text)
            || matches!(word.text.as_str(), "and" | "but" | "that" | "of" | "for" | "i" | "you")
        {
            return None;
        }
        begin -= 1;
    }
    None
}

/// Returns the owner whose possessive form ends before an index: "Ana's", "my sister's".
fn owner_ending_at(words: &[Word], end: usize) -> Owner {
    let mut plain: Vec<Word> = words[..end].to_vec();
    if let Some(last) = plain.last_mut() {
        last.possessive = false;
    }
    match noun_ending_at(&plain, end) {
        Subject::Named(name) if !name.is_empty() => Owner::Named(name),
        _ => Owner::Named(plain.last().map(|word| word.text.clone()).unwrap_or_default()),
    }
}

fn finish_noun(owner: Owner, words: &[Word], begin: usize) -> Option<Noun> {
    let first = words.first()?;
    // "My old sneakers" are still there; "my old phone number" is not.
    let is_thing =
        first.text == "old" && words.len() == 2 && words[1].text.ends_with('s') && !is_relation(&words[1].text);
    let is_name = words.last().is_some_and(|last| last.text == "name");
    let last = words.last()?;
    // The next release is the one whose date changes.
    let is_next = first.text == "next" && words.len() > 1 && EVENTS.has(&last.text);
    if NOT_PRESENT.has(&first.text) && words.len() > 1 && !is_thing && !is_name && !is_next {
        return None;
    }
    let is_acronym = last.written.len() > 1 && last.written.chars().all(char::is_uppercase);
    let is_person =
        last.capital && !is_acronym && !matches!(owner, Owner::Named(_)) && !super::lists::SLOTS.has(&last.text);
    if is_person && words.len() == 1 {
        return None;
    }
    let is_skipped = is_next || matches!(first.text.as_str(), "new" | "current" | "present" | "old");
    let skip = usize::from(is_skipped && words.len() > 1);
    let name = text_of_folded(&words[skip..]);
    Some(Noun { owner, name, begin })
}

/// Whether a noun names a person by a relation: "sister", "older brother".
pub(super) fn is_relation(noun: &str) -> bool {
    let last = noun.rsplit(' ').next().unwrap_or(noun);
    RELATIONS.has(last)
}

/// Returns words as they are written.
fn text_of(words: &[Word]) -> String {
    let texts: Vec<&str> = words.iter().map(|word| word.written.as_str()).collect();
    texts.join(" ")
}

fn text_of_folded(words: &[Word]) -> String {
    let texts: Vec<&str> = words.iter().map(|word| word.text.as_str()).collect();
    texts.join(" ")
}
