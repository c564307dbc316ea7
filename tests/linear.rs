//! Extraction takes time in proportion to the text, whatever the text is: counted in steps, not by a clock.

use std::cell::Cell;
use std::time::Instant;

use cuebase::ingest::extract::extract;
use cuebase::memory::conversation::{Conversation, Message, Role};
use cuebase::memory::draft::Draft;
use cuebase::text::steps::{Interrupted, Steps};
use jiff::Timestamp;
use proptest::prelude::*;
use proptest::sample::select;

/// Characters of the shorter of two texts.
const CHARS: usize = 64 << 10;
/// Steps for a byte of any text.
const STEPS_PER_BYTE_MAX: u64 = 500;
/// Steps that do not grow with the text: where it is cut differs by up to a statement.
const STEPS_FIXED: u64 = 200_000;
/// Growth of the steps, in tenths, when the text doubles.
const DOUBLING_TENTHS_MAX: u64 = 22;

/// What texts are repeated from: abbreviations, ends of sentences, brackets and quotes behind a full stop, lists, code,
/// questions, dates, names, marks, emoji, and scripts without spaces.
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
    Message { role: Role::User, name: Some(name.to_owned()), text, references: Vec::new(), occurred_at: None }
}

fn conversation(messages: Vec<Message>) -> Conversation {
    Conversation { messages, session_id: None, tags: Vec::new(), occurred_at: None, timezone: None }
}

fn bytes(conversation: &Conversation) -> u64 {
    conversation.messages.iter().map(|message| message.text.len() as u64).sum()
}

/// The drafts of a conversation, and the steps that they took.
fn extracted(conversation: &Conversation) -> (Vec<Draft>, u64) {
    let steps = Steps::unlimited();
    let drafts = extract(conversation, Timestamp::UNIX_EPOCH, &steps).expect("nothing interrupts");
    (drafts, steps.taken())
}

/// Checks that the steps grow with the length of a text that begins in some way, and no faster.
fn check(begin: &str, fragment: &str) {
    let text = |chars: usize| {
        let repeated: String = fragment.chars().cycle().take(chars).collect();
        conversation(vec![message("Ann", format!("{begin}{repeated}"))])
    };
    let (once, twice) = (text(CHARS), text(2 * CHARS));
    let (_, steps) = extracted(&once);
    let (_, doubled) = extracted(&twice);
    assert!(steps >= bytes(&once), "{fragment:?}: {steps} steps are fewer than its bytes");
    assert!(doubled <= steps * DOUBLING_TENTHS_MAX / 10 + STEPS_FIXED, "{fragment:?}: {steps}, then {doubled} steps");
    let bound = STEPS_PER_BYTE_MAX * bytes(&twice) + STEPS_FIXED;
    assert!(doubled <= bound, "{fragment:?}: {doubled} steps, at most {bound} are due");
}

#[test]
fn twice_the_text_takes_at_most_about_twice_the_steps() {
    for fragment in FRAGMENTS {
        check("", fragment);
    }
}

#[test]
fn one_full_stop_before_a_long_run_takes_steps_in_proportion() {
    for (run, rest) in [("(", ""), (" ", ""), ("\"", "1"), ("\u{301}", "("), ("\n", "")] {
        let text = |chars: usize| format!("I moved to Lisbon.{}{}", run.repeat(chars), rest.repeat(chars));
        let (once, twice) = (text(CHARS), text(2 * CHARS));
        let (_, steps) = extracted(&conversation(vec![message("Ann", once)]));
        let (_, doubled) = extracted(&conversation(vec![message("Ann", twice)]));
        assert!(doubled <= steps * DOUBLING_TENTHS_MAX / 10 + STEPS_FIXED, "{run:?}: {steps}, then {doubled} steps");
    }
}

#[test]
fn twice_the_messages_take_at_most_about_twice_the_steps() {
    for text in ["I met Ada, Bo and Cy in Porto on 3 May.", "Where did you buy the green kayak?", "Mr. ", "I moved."] {
        let messages = |count: usize| {
            let names = ["Ann", "Bo"].into_iter().cycle().take(count);
            conversation(names.map(|name| message(name, text.to_owned())).collect())
        };
        let (_, steps) = extracted(&messages(2000));
        let (_, doubled) = extracted(&messages(4000));
        assert!(doubled <= steps * DOUBLING_TENTHS_MAX / 10 + STEPS_FIXED, "{text:?}: {steps}, then {doubled} steps");
    }
}

#[test]
fn a_long_question_is_not_repeated_by_every_statement_of_a_long_answer() {
    let question = format!("{}?", "and then ".repeat(CHARS / 8));
    let answer = "We paddled to the island and slept there. ".repeat(CHARS / 32);
    let told = conversation(vec![message("Ann", question), message("Bo", answer)]);
    let (drafts, _) = extracted(&told);
    let cues: usize = drafts.iter().flat_map(|draft| &draft.cues).map(String::len).sum();
    assert!(drafts.len() > 50, "{} drafts", drafts.len());
    assert!(cues as u64 <= 4 * bytes(&told), "{cues} bytes of cues for {} of text", bytes(&told));
}

#[test]
fn a_deadline_in_the_past_interrupts_a_text_of_a_mebibyte() {
    let told = conversation(vec![message("Ann", "Mr. ".repeat(1 << 18))]);
    let steps = Steps::until(Instant::now());
    assert_eq!(extract(&told, Timestamp::UNIX_EPOCH, &steps), Err(Interrupted::TimedOut));
}

#[test]
fn a_stop_interrupts_a_text_long_before_its_end() {
    let told = conversation(vec![message("Ann", "We met Ann. ".repeat(1 << 17))]);
    let (_, all) = extracted(&told);
    let checks = Cell::new(0);
    let stopping = || {
        checks.set(checks.get() + 1);
        checks.get() > 10
    };
    let steps = Steps::unlimited().or_when(&stopping);
    assert_eq!(extract(&told, Timestamp::UNIX_EPOCH, &steps), Err(Interrupted::Stopped));
    assert!(steps.taken() < all / 2, "{} of {all} steps", steps.taken());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_mixture_takes_steps_in_proportion(
        fragments in prop::collection::vec(select(FRAGMENTS.to_vec()), 1..6),
        times in 1usize..40,
    ) {
        // Each fragment alone many times, then the next: runs of one kind meet those of another.
        let mixture: String = fragments.iter().map(|fragment| fragment.repeat(times)).collect();
        // After so many words it is cut into statements, whether or not it holds white space.
        check(&"barometer ".repeat(500), &mixture);
    }
}
