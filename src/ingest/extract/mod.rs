//! The built-in extractor: memories from the text itself, with no model.
//!
//! A turn becomes one statement, a long one several ([`statements`]); small talk is left out ([`crate::text::small_talk`]); a turn
//! that only asks is quoted by the memory that answers it; relative dates are resolved against when it was said
//! ([`crate::dates`]); the words decide the tier ([`tiers`], [`procedure`]); names are picked out ([`entities`]); cues are
//! written, among them the question that a statement answers ([`cues`]). Wording and speaker are kept: nothing is
//! paraphrased, so nothing is made up.
//!
//! The time is linear in the conversation's length, whatever it holds. Each part reports the characters that it examines
//! to [`Steps`], which also interrupt it.

pub mod cues;
pub mod entities;
pub mod procedure;
pub mod statements;
pub mod tiers;

use std::collections::{BTreeMap, HashMap};

use cuebase_storage::memory_file::{OccurredPrecision, OccurredSource};
use jiff::Timestamp;
use jiff::civil::Date;

use self::cues::QUESTION_BYTES_MAX;
use self::statements::Statement;
use crate::dates::statement as dates;
use crate::dates::statement::DateMention;
use crate::memory::conversation::{Conversation, Message, Moment, Role};
use crate::memory::draft::{Draft, Link};
use crate::text::filler::is_filler;
use crate::text::questions::{last_question, only_asks};
use crate::text::small_talk::{Participants, Position, is_small_talk};
use crate::text::steps::{Interrupted, Steps};
use crate::text::words::{flat, words};

/// Links by shared names from one statement, at most.
const SHARED_LINKS_MAX: usize = 3;
/// Statements back in which a shared name is looked for.
const SHARED_LINKS_WITHIN: usize = 100;
/// A question and its answer are one memory up to so many words.
const ANSWER_WORDS_MAX: usize = 80;
/// An answer of at most this many words shows the question that it answers, also where the message that asked it says more
/// and is a memory of its own: "Rome." alone says nothing.
const SHORT_ANSWER_WORDS_MAX: usize = 8;
/// Words of a statement that go into its file's name.
const NAME_WORDS: usize = 6;
/// Steps of a message or a draft, whatever its length.
const STEPS_EACH: usize = 64;
/// How often a message is read beside where statements and questions are found: for small talk, and to see whether it
/// answers.
const MESSAGE_PASSES: usize = 6;
/// How often a statement is read beside what counts its own steps: for dates, names and its file's name.
const DRAFT_PASSES: usize = 8;
/// How often a statement with its notes is read: to write and compare it, and for the memory's body.
const NOTED_PASSES: usize = 6;

/// Extracts the memories of a conversation that was accepted at a time.
///
/// # Errors
///
/// [`Interrupted`] when the steps are.
pub fn extract(
    conversation: &Conversation,
    accepted_at: Timestamp,
    steps: &Steps<'_>,
) -> Result<Vec<Draft>, Interrupted> {
    let zone = conversation.zone();
    let mut drafts = Drafts::default();
    let mut asked: Option<Question> = None;
    let mut participants = Participants::default();
    for message in &conversation.messages {
        steps.take(message.speaker().len())?;
        participants.add(message.speaker());
    }
    let mut held: Option<Turn> = None;
    for (index, message) in conversation.messages.iter().enumerate() {
        steps.take(STEPS_EACH + message.speaker().len() + MESSAGE_PASSES * message.text.len())?;
        if message.role == Role::System {
            continue;
        }
        let (said, source) = when_said(message, conversation, accepted_at);
        // A calendar date is noon UTC, whatever the zone: its day must not shift.
        let day = match said.precision {
            OccurredPrecision::Day => said.at.to_zoned(jiff::tz::TimeZone::UTC).date(),
            OccurredPrecision::Instant => said.at.to_zoned(zone.clone()).date(),
        };
        let speaker = message.speaker().trim().to_owned();
        let question = asked.take().filter(|question| question.asker != speaker);
        let mut statements = statements::split(&message.text, steps)?;
        let position = if question.is_some() { Position::AfterQuestion } else { Position::Elsewhere };
        statements.retain(|statement| !is_small_talk(statement, position, &participants));
        if let Some(text) = last_question(&message.text, steps)? {
            asked = Some(Question { asker: speaker.clone(), text, message: index, day });
        }
        let mut turn = Turn { message: index, speaker, said, source, day, question, quoted: None, statements };
        if let Some(before) = held.take() {
            if turn.answers(&before) {
                turn.quoted = Some(Box::new(before));
            } else {
                before.draft(&mut drafts, steps)?;
            }
        }
        // A question by itself waits for its answer.
        if turn.quoted.is_none() && turn.only_asks(steps)? {
            held = Some(turn);
        } else {
            turn.draft(&mut drafts, steps)?;
        }
    }
    if let Some(turn) = held {
        turn.draft(&mut drafts, steps)?;
    }
    Ok(drafts.list)
}

/// When a message was said, and how that is known.
fn when_said(message: &Message, conversation: &Conversation, accepted_at: Timestamp) -> (Moment, OccurredSource) {
    match (message.occurred_at, conversation.occurred_at) {
        (Some(at), _) => (at, OccurredSource::Said),
        (None, Some(at)) => (at, OccurredSource::User),
        (None, None) => (Moment { at: accepted_at, precision: OccurredPrecision::Instant }, OccurredSource::Written),
    }
}

/// The last question of a message.
struct Question {
    asker: String,
    text: String,
    message: usize,
    /// The day on which it was asked.
    day: Date,
}

/// One message with what matters of it.
struct Turn {
    message: usize,
    speaker: String,
    said: Moment,
    source: OccurredSource,
    /// The day on which it was said.
    day: Date,
    /// What somebody else had just asked.
    question: Option<Question>,
    /// The turn that asked it, where that did nothing else and is no memory of its own.
    quoted: Option<Box<Turn>>,
    statements: Vec<String>,
}

impl Turn {
    fn only_asks(&self, steps: &Steps<'_>) -> Result<bool, Interrupted> {
        match self.statements.as_slice() {
            [statement] => only_asks(statement, steps),
            _ => Ok(false),
        }
    }

    /// Whether this turn and a question before it are short enough to be one memory.
    fn answers(&self, asking: &Turn) -> bool {
        let words = |text: &String| text.split_whitespace().count();
        let first = self.statements.first();
        let together = |first| words(first) + asking.statements.iter().map(words).sum::<usize>();
        self.speaker != asking.speaker && first.is_some_and(|first| together(first) <= ANSWER_WORDS_MAX)
    }

    /// Adds a draft for each of its statements.
    fn draft(self, drafts: &mut Drafts, steps: &Steps<'_>) -> Result<(), Interrupted> {
        let mut quoted = self.quoted.as_deref();
        for statement in &self.statements {
            let mut draft = self.draft_of(statement, steps)?;
            if let Some(asking) = quoted.take() {
                for question in &asking.statements {
                    draft.quote(&asking.speaker, question, asking.day, steps)?;
                }
                draft.messages.insert(0, asking.message);
            } else if let Some(question) = self.question_of_short_answer() {
                draft.quote(&question.asker, &question.text, question.day, steps)?;
                draft.messages.insert(0, question.message);
            }
            drafts.add(draft);
        }
        Ok(())
    }

    /// The question that this turn answers, where the turn is too short to be understood without it.
    fn question_of_short_answer(&self) -> Option<&Question> {
        let question = self.question.as_ref().filter(|_| self.quoted.is_none())?;
        let [answer] = self.statements.as_slice() else { return None };
        let is_short = words(answer) <= SHORT_ANSWER_WORDS_MAX;
        (is_short && question.text.len() <= QUESTION_BYTES_MAX).then_some(question)
    }

    /// A draft of one of its statements, linked to none.
    fn draft_of(&self, text: &str, steps: &Steps<'_>) -> Result<Draft, Interrupted> {
        steps.take(STEPS_EACH + self.speaker.len() + DRAFT_PASSES * text.len())?;
        let found = dates::find(text, self.day);
        let annotated = dates::annotate(text, &found);
        steps.take(NOTED_PASSES * annotated.len())?;
        let plain = Statement::read(text, steps)?;
        let entities = entities::find(&plain, &self.speaker);
        // Notes make other sentences only where there are any.
        let shown = if annotated == text { plain } else { Statement::read(&annotated, steps)? };
        let (occurred, occurred_source) = self.occurred(&found);
        let question = self.question.as_ref().map(|question| question.text.as_str());
        Ok(Draft {
            tier: tiers::sort(text, !found.is_empty(), steps)?,
            topic: self.speaker.clone(),
            speaker: self.speaker.clone(),
            body: statements::body(&self.speaker, &shown),
            name: name(text),
            cues: cues::write(&self.speaker, &shown, question, steps)?,
            entities,
            occurred,
            occurred_source,
            messages: vec![self.message],
            links: Vec::new(),
            relations: Vec::new(),
            inferred_tags: Vec::new(),
            confidence: None,
            expires_at: None,
        })
    }

    /// When a statement with these dates happened, and how that is known: on the first day that it names, else when it was
    /// said.
    fn occurred(&self, found: &[DateMention]) -> (Moment, OccurredSource) {
        match found.iter().find_map(DateMention::exact_day) {
            Some(date) => {
                let at = noon(date).unwrap_or(self.said.at);
                (Moment { at, precision: OccurredPrecision::Day }, OccurredSource::Extracted)
            }
            None => (self.said, self.source),
        }
    }
}

impl Draft {
    /// Adds the question that it answers: below its own words, and as one more cue.
    fn quote(&mut self, asker: &str, question: &str, day: Date, steps: &Steps<'_>) -> Result<(), Interrupted> {
        steps.take(DRAFT_PASSES * question.len())?;
        let question = dates::annotate(question, &dates::find(question, day));
        let said = format!("{asker}: {}", flat(&question));
        self.body.push_str(&format!("\n> {said}\n"));
        self.cues.push(said);
        Ok(())
    }
}

/// The drafts of a conversation, each linked to earlier ones.
#[derive(Default)]
struct Drafts {
    list: Vec<Draft>,
    /// For each name, the drafts that hold it, ascending.
    by_name: HashMap<String, Vec<usize>>,
}

impl Drafts {
    /// Adds a draft with its links: to the one before, and to the latest ones that name the same things.
    fn add(&mut self, mut draft: Draft) {
        let place = self.list.len();
        if let Some(before) = self.list.last() {
            draft.links.push(Link { draft: place - 1, kind: "follows", snippet: lead(&before.body) });
        }
        // At most NAMES_MAX times SHARED_LINKS_MAX places, so the links of a draft cost the same after any number.
        let mut shared: BTreeMap<usize, &String> = BTreeMap::new();
        for name in &draft.entities {
            let Some(places) = self.by_name.get(name) else { continue };
            // One of them may be linked already.
            for other in places.iter().rev().take(SHARED_LINKS_MAX + 1) {
                if other + SHARED_LINKS_WITHIN >= place {
                    shared.entry(*other).or_insert(name);
                }
            }
        }
        for (other, name) in shared.into_iter().rev() {
            if draft.links.len() > SHARED_LINKS_MAX {
                break;
            }
            if !draft.links.iter().any(|link| link.draft == other) {
                draft.links.push(Link { draft: other, kind: "shares", snippet: name.clone() });
            }
        }
        for name in &draft.entities {
            self.by_name.entry(name.clone()).or_default().push(place);
        }
        self.list.push(draft);
    }
}

fn noon(date: Date) -> Option<Timestamp> {
    let zoned = date.at(12, 0, 0, 0).to_zoned(jiff::tz::TimeZone::UTC).ok()?;
    Some(zoned.timestamp())
}

fn lead(body: &str) -> String {
    let words: Vec<&str> = body.trim_start_matches(['#', ' ']).split_whitespace().take(12).collect();
    words.join(" ")
}

fn name(statement: &str) -> String {
    let words = cuebase_retrieval::fold(statement);
    let words = words.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| word.len() > 2);
    let telling = words.filter(|word| !is_filler(word));
    telling.take(NAME_WORDS).collect::<Vec<_>>().join("-")
}

#[cfg(test)]
mod tests {
    use cuebase_storage::memory_file::Tier;

    use super::*;

    fn bodies(turns: &[(&str, &str)]) -> Vec<String> {
        let message = |(name, text): &(&str, &str)| serde_json::json!({"role": "user", "name": name, "content": text});
        let messages: Vec<_> = turns.iter().map(message).collect();
        let body = serde_json::json!({ "messages": messages });
        let conversation = crate::memory::request::conversation(body.as_object().expect("an object")).expect("valid");
        let drafts = extract(&conversation, Timestamp::UNIX_EPOCH, &Steps::unlimited()).expect("nothing interrupts");
        drafts.into_iter().map(|draft| draft.body).collect()
    }

    #[test]
    fn a_question_is_quoted_by_its_answer_and_stands_alone_without_one() {
        let question = ("Ann", "Wow! Where did you buy the green kayak?");
        let answer = "# Bo: At the harbour market in Porto.\n\n> Ann: Wow! Where did you buy the green kayak?\n";
        assert_eq!(bodies(&[question, ("Bo", "At the harbour market in Porto.")]), [answer]);
        let alone = "# Ann: Wow!\n\nWhere did you buy the green kayak?\n";
        assert_eq!(bodies(&[question]), [alone]);
        assert_eq!(bodies(&[question, ("Bo", "Thanks!")]), [alone], "courtesy answers nothing");
        let own = bodies(&[question, ("Ann", "I want to paddle to the island.")]);
        assert_eq!(own, [alone, "# Ann: I want to paddle to the island.\n"], "nobody answers their own question");
        let long = "We paddled on. ".repeat(30);
        assert_eq!(bodies(&[question, ("Bo", &long)]).len(), 2);
        let told = bodies(&[("Ann", "I sold my old boat to Tom. Where did you buy yours?"), ("Bo", "At the market.")]);
        assert_eq!(told.len(), 2, "what also tells something is a memory of its own: {told:?}");
        assert_eq!(told[1], "# Bo: At the market.\n\n> Ann: Where did you buy yours?\n", "a short answer shows it too");
    }

    /// A draft that holds names and nothing else.
    fn naming(names: &[&str]) -> Draft {
        Draft {
            tier: Tier::Facts,
            topic: String::new(),
            speaker: String::new(),
            body: "# A\n".to_owned(),
            name: String::new(),
            cues: Vec::new(),
            entities: names.iter().map(|name| (*name).to_owned()).collect(),
            occurred: Moment { at: Timestamp::UNIX_EPOCH, precision: OccurredPrecision::Instant },
            occurred_source: OccurredSource::Written,
            messages: Vec::new(),
            links: Vec::new(),
            relations: Vec::new(),
            inferred_tags: Vec::new(),
            confidence: None,
            expires_at: None,
        }
    }

    /// The drafts that the last of some is linked to, with what shows it.
    fn links_of_last(drafts: &[&[&str]]) -> Vec<(usize, &'static str, String)> {
        let mut added = Drafts::default();
        for names in drafts {
            added.add(naming(names));
        }
        let last = added.list.pop().expect("a draft");
        last.links.into_iter().map(|link| (link.draft, link.kind, link.snippet)).collect()
    }

    #[test]
    fn a_draft_is_linked_to_the_latest_that_share_a_name() {
        let shares = |draft: usize, name: &str| (draft, "shares", name.to_owned());
        let drafts: [&[&str]; 6] = [&["Ann"], &["Bo", "Ann"], &["Ann"], &["Porto"], &["Bo"], &["Ann", "Bo"]];
        let expected = [(4, "follows", "A".to_owned()), shares(2, "Ann"), shares(1, "Ann"), shares(0, "Ann")];
        assert_eq!(links_of_last(&drafts), expected);
    }

    #[test]
    fn a_name_that_was_shared_long_ago_links_nothing() {
        let (ann, nobody): (&[&str], &[&str]) = (&["Ann"], &[]);
        let mut drafts = vec![ann];
        drafts.extend(std::iter::repeat_n(nobody, SHARED_LINKS_WITHIN));
        drafts.push(ann);
        let last = SHARED_LINKS_WITHIN;
        assert_eq!(links_of_last(&drafts), [(last, "follows", "A".to_owned())]);
    }

    #[test]
    fn a_deadline_in_the_past_interrupts_a_long_text() {
        let message = serde_json::json!({"role": "user", "content": "Mr. ".repeat(1 << 18)});
        let body = serde_json::json!({"messages": [message]});
        let conversation = crate::memory::request::conversation(body.as_object().expect("an object")).expect("valid");
        let steps = Steps::until(std::time::Instant::now());
        assert_eq!(extract(&conversation, Timestamp::UNIX_EPOCH, &steps), Err(Interrupted::TimedOut));
        assert!(steps.taken() < 1 << 24, "{}", steps.taken());
    }
}
