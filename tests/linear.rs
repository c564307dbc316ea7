//! Extraction takes time linear in the length of any text. The tests count steps instead of measuring time.

use std::cell::Cell;
use std::time::Instant;

use cuebase::ingest::extraction::extract;
use cuebase::memory::conversation::{Conversation, Message, Role};
use cuebase_language::extract::draft::Draft;
use cuebase_language::text::steps::{Interrupted, Steps};
use jiff::Timestamp;
use proptest::prelude::*;
use proptest::sample::select;

/// Length of the shorter of two compared texts, characters.
const CHARS: usize = 64 << 10;
/// Limit for the steps per byte of text.
const STEPS_PER_BYTE_MAX: u64 = 500;
/// Allowance for steps that do not grow with the text: two texts may be cut at points that differ by one statement.
const STEPS_FIXED: u64 = 200_000;
/// Limit for the growth of the steps when the text doubles, in tenths.
const DOUBLING_TENTHS_MAX: u64 = 22;

/// Fragments that the tests repeat to build texts: abbreviations, ends of sentences, brackets and quotes after a full
/// stop, lists, code, questions, dates, names, combining marks, emoji, and scripts without spaces.
const FRAGMENTS: [&str; 52] = [
    "Mr. ",
    "Mr.\n",
    "e.g. i.e. ",
    "U.S.A. ",
    ". ",
    ".",
    "...",
    ".((((((((((((((((",
    ".\"\"\"\"\"\"\"\"",
    ".)]}",
    ".                ",
    ". 1 2 3 4 ",
    ".\u{301}",
    ".\u{93e}((((((((",
    "\"",
    "'",
    "(",
    "[",
    "[[",
    "[[facts/a.md]] ",
    "[a](b.md) ",
    "```",
    "`",
    "\n",
    "\n\n",
    "\r\n",
    " ",
    "1. ",
    "1.\n",
    "12. Mix.\n",
    "- item\n",
    "# A\n",
    "0123456789.",
    "3.14 ",
    "? ",
    "What is it, Ann? ",
    "yesterday ",
    "last Friday ",
    "3 May 2023 ",
    "A",
    "a ",
    "Ann Bo, ",
    "always use ",
    "e\u{301}",
    "\u{301}",
    "👩‍👩‍👧",
    "🇫🇷",
    "ﾞ",
    "日本語",
    "我们昨天去了海边。",
    "แมวดื่มนม",
    "كِتَاب ",
];

fn message(name: &str, text: String) -> Message {
    Message {
        role: Role::User,
        name: Some(name.to_owned()),
        text,
        references: Vec::new(),
        occurred_at: None,
        store: true,
    }
}

fn conversation(messages: Vec<Message>) -> Conversation {
    Conversation { messages, ..Conversation::default() }
}

fn bytes(conversation: &Conversation) -> u64 {
    conversation.messages.iter().map(|message| message.text.len() as u64).sum()
}

/// Extracts a conversation and returns the drafts and the number of steps.
fn extract_and_count(conversation: &Conversation) -> (Vec<Draft>, u64) {
    let steps = Steps::unlimited();
    let extracted = extract(conversation, Timestamp::UNIX_EPOCH, &steps).expect("nothing interrupts");
    (extracted.drafts, steps.taken())
}

/// Checks that the steps grow at most linearly with the length of `begin` followed by repetitions of `fragment`.
fn assert_linear(begin: &str, fragment: &str) {
    let text = |chars: usize| {
        let repeated: String = fragment.chars().cycle().take(chars).collect();
        conversation(vec![message("Ann", format!("{begin}{repeated}"))])
    };
    let (once, twice) = (text(CHARS), text(2 * CHARS));
    let (_, steps) = extract_and_count(&once);
    let (_, doubled) = extract_and_count(&twice);
    assert!(steps >= bytes(&once), "{fragment:?}: {steps} steps are fewer than the bytes of the text");
    assert!(doubled <= steps * DOUBLING_TENTHS_MAX / 10 + STEPS_FIXED, "{fragment:?}: {steps}, then {doubled} steps");
    let bound = STEPS_PER_BYTE_MAX * bytes(&twice) + STEPS_FIXED;
    assert!(doubled <= bound, "{fragment:?}: {doubled} steps, limit {bound}");
}

#[test]
fn doubling_the_text_at_most_about_doubles_the_steps() {
    for fragment in FRAGMENTS {
        assert_linear("", fragment);
    }
}

#[test]
fn a_full_stop_before_a_long_run_takes_linear_steps() {
    for (run, rest) in [("(", ""), (" ", ""), ("\"", "1"), ("\u{301}", "("), ("\n", "")] {
        let text = |chars: usize| format!("I moved to Lisbon.{}{}", run.repeat(chars), rest.repeat(chars));
        let (once, twice) = (text(CHARS), text(2 * CHARS));
        let (_, steps) = extract_and_count(&conversation(vec![message("Ann", once)]));
        let (_, doubled) = extract_and_count(&conversation(vec![message("Ann", twice)]));
        assert!(doubled <= steps * DOUBLING_TENTHS_MAX / 10 + STEPS_FIXED, "{run:?}: {steps}, then {doubled} steps");
    }
}

#[test]
fn doubling_the_messages_at_most_about_doubles_the_steps() {
    for text in ["I met Ada, Bo and Cy in Porto on 3 May.", "Where did you buy the green kayak?", "Mr. ", "I moved."] {
        let messages = |count: usize| {
            let names = ["Ann", "Bo"].into_iter().cycle().take(count);
            conversation(names.map(|name| message(name, text.to_owned())).collect())
        };
        let (_, steps) = extract_and_count(&messages(2000));
        let (_, doubled) = extract_and_count(&messages(4000));
        assert!(doubled <= steps * DOUBLING_TENTHS_MAX / 10 + STEPS_FIXED, "{text:?}: {steps}, then {doubled} steps");
    }
}

#[test]
fn a_long_question_is_not_copied_into_every_statement() {
    let question = format!("{}?", "and then ".repeat(CHARS / 8));
    let answer = "We paddled to the island and slept there. ".repeat(CHARS / 32);
    let dialogue = conversation(vec![message("Ann", question), message("Bo", answer)]);
    let (drafts, _) = extract_and_count(&dialogue);
    let cues: usize = drafts.iter().flat_map(|draft| &draft.cues).map(String::len).sum();
    assert!(drafts.len() > 50, "{} drafts", drafts.len());
    assert!(cues as u64 <= 4 * bytes(&dialogue), "{cues} bytes of cues for {} of text", bytes(&dialogue));
}

#[test]
fn a_deadline_in_the_past_interrupts_a_text_of_a_mebibyte() {
    let long_text = conversation(vec![message("Ann", "Mr. ".repeat(1 << 18))]);
    let steps = Steps::until(Instant::now());
    assert_eq!(extract(&long_text, Timestamp::UNIX_EPOCH, &steps), Err(Interrupted::TimedOut));
}

#[test]
fn a_stop_interrupts_extraction_early() {
    let messages = (0..64).map(|_| message("Ann", "We met Ann. ".repeat(1 << 11)));
    let long_text = conversation(messages.collect());
    let (_, all) = extract_and_count(&long_text);
    let checks = Cell::new(0);
    let stopping = || {
        checks.set(checks.get() + 1);
        checks.get() > 10
    };
    let steps = Steps::unlimited().or_when(&stopping);
    assert_eq!(extract(&long_text, Timestamp::UNIX_EPOCH, &steps), Err(Interrupted::Stopped));
    assert!(steps.taken() < all / 2, "{} of {all} steps", steps.taken());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_mixture_of_fragments_takes_linear_steps(
        fragments in prop::collection::vec(select(FRAGMENTS.to_vec()), 1..6),
        times in 1usize..40,
    ) {
        // Each fragment is repeated before the next one, so runs of different kinds meet.
        let mixture: String = fragments.iter().map(|fragment| fragment.repeat(times)).collect();
        // The first 500 words make the text long enough to be cut into statements, even without white space after them.
        assert_linear(&"barometer ".repeat(500), &mixture);
    }
}
