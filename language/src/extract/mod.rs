//! The built-in extractor: extracts memories from the text itself, without a model.
//!
//! A turn becomes one statement, and a long one several ([`statements`]). Small talk and reactions are left out
//! ([`crate::text::small_talk`], [`crate::text::reactions`]). A turn that only asks is quoted by the memory that answers it
//! ([`turns`]), and what is corrected by its correction ([`corrected`]). In a chat with an assistant, a question without an
//! answer is left out, and so is what the assistant says without adding anything ([`assistant`]). Relative dates are
//! resolved ([`crate::dates`]), the words decide the tier ([`tiers`], [`procedure`]), and names ([`entities`]) and cues
//! ([`cues`]) are found. The drafts are linked ([`drafts`]). Wording and speaker are kept: no text is paraphrased.
//!
//! The time is linear in the conversation's length, for any text. Each step reports the characters that it examines to
//! [`Steps`], which can interrupt it.

mod assistant;
mod corrected;
pub mod cues;
pub mod draft;
pub mod drafts;
pub mod entities;
pub mod procedure;
pub mod statements;
pub mod tiers;
mod turns;
pub mod window;

use std::ops::Range;

use self::assistant::Asked;
use self::draft::Draft;
use self::drafts::Drafts;
use self::turns::{Corrected, Question, Turn};
use self::window::{Present, is_assistant};
use crate::claims::reader::ClaimReader;
use crate::conversation::{Message, Role};
use crate::standing::request::is_request;
use crate::text::questions::last_question;
use crate::text::reactions::Reaction;
use crate::text::sentences::sentences;
use crate::text::small_talk::{Position, is_small_talk};
use crate::text::steps::{Interrupted, Steps};

/// Steps of a message, whatever its length.
const STEPS_PER_MESSAGE: usize = 64;
/// How often a message is read in addition to the searches for statements and questions: for small talk, and to find
/// out whether it answers a question.
const MESSAGE_PASSES: usize = 6;

/// A longer statement is read as a whole: it is not a reaction.
const REACTION_BYTES_MAX: usize = 600;
/// How often such a statement is read to find reactions.
const REACTION_PASSES: usize = 6;
/// Memories of one message. A message with more statements is a document or has no meaning; the rest stays in the kept
/// conversation.
pub const MESSAGE_MEMORIES_MAX: usize = 200;

/// Messages of one speaker after each other that can react to the same message.
const TURNS_BEFORE_MAX: usize = 4;

/// The memories of a conversation.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ExtractedDrafts {
    /// The memories, in the order in which they were said.
    pub drafts: Vec<Draft>,
    /// Indexes of the messages of which only the first [`MESSAGE_MEMORIES_MAX`] statements are memories.
    pub too_long: Vec<usize>,
    /// Indexes of the messages of an assistant that add nothing to what was said before.
    pub adds_nothing: Vec<usize>,
    /// Index of the message before the conversation that needs no memory of its own any more: a question that the
    /// conversation answers.
    pub answered: Option<usize>,
}

/// The messages of the same session around a conversation. They make no memories.
#[derive(Clone, Debug, Default)]
pub struct Surroundings<'a> {
    /// The last messages before it, which it may answer and correct.
    pub before: Vec<Message<'a>>,
    /// The message after it, if it is known, which may answer its last question.
    pub after: Option<Message<'a>>,
}

/// Extracts the memories of messages.
///
/// # Errors
///
/// [`Interrupted`] if the steps are interrupted.
pub fn extract(
    around: &Surroundings<'_>,
    messages: &[Message<'_>],
    steps: &Steps<'_>,
) -> Result<ExtractedDrafts, Interrupted> {
    let first = around.before.len();
    let end = first + messages.len();
    let messages = [around.before.as_slice(), messages, around.after.as_slice()].concat();
    let mut reading = Reading {
        messages: &messages,
        starts: window::starts(&messages),
        made: first..end,
        steps,
        present: Present::default(),
        drafts: Drafts::default(),
        claims: ClaimReader::default(),
        extracted: ExtractedDrafts::default(),
        asked: None,
        unanswered: None,
    };
    for index in 0..messages.len() {
        reading.read(index)?;
    }
    reading.finish()
}

/// The state while the messages of a conversation are read, one after another.
struct Reading<'a, 'm> {
    messages: &'a [Message<'m>],
    /// The index of the first message that is read with each message.
    starts: Vec<usize>,
    /// The indexes of the messages that make memories.
    made: Range<usize>,
    steps: &'a Steps<'a>,
    present: Present,
    drafts: Drafts,
    claims: ClaimReader,
    /// The results so far, without the drafts. Indexes are those of `messages`.
    extracted: ExtractedDrafts,
    /// The last question of the message before.
    asked: Option<Question>,
    /// A turn that only asks waits here for the next turn, which may answer it.
    unanswered: Option<Turn>,
}

impl Reading<'_, '_> {
    /// Reads a message.
    fn read(&mut self, index: usize) -> Result<(), Interrupted> {
        let message = &self.messages[index];
        let start = self.starts[index];
        self.steps.take(STEPS_PER_MESSAGE + message.speaker().len() + MESSAGE_PASSES * message.text.len())?;
        if message.role == Role::System || message.text.trim().is_empty() {
            return Ok(());
        }
        let mut turn = self.turn(index)?;
        let only_asks = turn.only_asks(self.steps)?;
        if is_assistant(message) && !only_asks && !turn.statements.is_empty() {
            let is_asked = turn.question.is_some() || is_request(said_before(&self.messages[start..=index]));
            let asked = if is_asked { Asked::Yes } else { Asked::No };
            if !assistant::is_worth_keeping(message.text, &self.messages[start..index], asked, self.steps)? {
                turn.statements.clear();
                if self.made.contains(&index) {
                    self.extracted.adds_nothing.push(index);
                }
            }
        }
        match self.unanswered.take() {
            Some(asking) if asking.message >= start && self.answers(&turn, &asking)? => {
                self.note_answered(&asking, index + 1);
                turn.quoted = Some(Box::new(asking));
            }
            Some(asking) => self.settle(asking, index + 1)?,
            None => {}
        }
        if turn.quoted.is_none() && only_asks {
            self.unanswered = Some(turn);
            return Ok(());
        }
        self.add(turn)
    }

    /// Returns the turn of a message.
    fn turn(&mut self, index: usize) -> Result<Turn, Interrupted> {
        let message = &self.messages[index];
        let start = self.starts[index];
        let speaker = message.speaker().trim().to_owned();
        let role = if message.name.is_some() { Role::User } else { message.role };
        let question = self.asked.take().filter(|question| question.message >= start && question.asker != speaker);
        let position = match &question {
            Some(question) if !question.is_offer() => Position::AfterQuestion,
            _ => Position::Elsewhere,
        };
        let statements = self.statements(index, position)?;
        if let Some(text) = last_question(message.text, self.steps)? {
            self.asked = Some(Question {
                asker: speaker.clone(),
                text,
                message: index,
                role,
                said: message.said,
                is_stored: message.is_stored,
            });
        }
        let mut corrected = None;
        if role == Role::User
            && message.is_stored
            && let Some(found) = corrected::find(&self.messages[start..=index], self.steps)?
        {
            corrected = Some(Corrected { message: start + found.message, ..found });
        }
        Ok(Turn { message: index, speaker, role, said: message.said, question, quoted: None, corrected, statements })
    }

    /// Returns the statements of a message that are not small talk. There are none in a message that is not stored.
    fn statements(&mut self, index: usize, position: Position) -> Result<Vec<String>, Interrupted> {
        let message = &self.messages[index];
        let seen = self.starts[index]..index + 1;
        let before = said_before(&self.messages[seen.clone()]);
        let reaction = Reaction { position, participants: self.present.in_range(self.messages, seen), before };
        let mut statements = Vec::new();
        for statement in statements::split(message.text, self.steps)? {
            if only_reacts(&statement, reaction, self.steps)? {
                continue;
            }
            if statements.len() == MESSAGE_MEMORIES_MAX {
                if self.made.contains(&index) {
                    self.extracted.too_long.push(index);
                }
                break;
            }
            statements.push(statement);
        }
        if !message.is_stored {
            statements.clear();
        }
        Ok(statements)
    }

    /// Whether a turn answers the turn before it, which only asks. An assistant that asks back answers nothing.
    fn answers(&self, turn: &Turn, asking: &Turn) -> Result<bool, Interrupted> {
        let asks_back = self.has_assistant(asking, turn.message + 1) && turn.only_asks(self.steps)?;
        Ok(turn.answers(asking) && !asks_back)
    }

    /// Adds a turn that only asks and has no answer. In a chat with an assistant it is left out, unless it states something.
    /// `end` is the index after the message that does not answer it.
    fn settle(&mut self, asking: Turn, end: usize) -> Result<(), Interrupted> {
        if !self.has_assistant(&asking, end) || asking.states_something(self.steps)? {
            return self.add(asking);
        }
        self.note_answered(&asking, end);
        Ok(())
    }

    /// Notes that a question before the conversation needs no memory of its own. `end` is the index after the message that
    /// decided it.
    fn note_answered(&mut self, asking: &Turn, end: usize) {
        if asking.message < self.made.start && end > self.made.start {
            self.extracted.answered = Some(asking.message);
        }
    }

    /// Whether an assistant takes part in the messages from those that are read with a question up to an index.
    fn has_assistant(&self, asking: &Turn, end: usize) -> bool {
        self.messages[self.starts[asking.message]..end].iter().any(is_assistant)
    }

    /// Adds the drafts of a turn. Of a turn around the conversation, only the claims are read, so that the conversation can
    /// correct them.
    fn add(&mut self, turn: Turn) -> Result<(), Interrupted> {
        self.claims.begin_message(turn.message, self.starts[turn.message]);
        if self.made.contains(&turn.message) {
            return turn.add_drafts(&mut self.drafts, &mut self.claims, self.steps);
        }
        if let Some(asking) = &turn.quoted {
            asking.claims_of_all(&mut self.claims, self.steps)?;
        }
        turn.claims_of_all(&mut self.claims, self.steps)?;
        Ok(())
    }

    /// Returns what was read, with the indexes of messages in the conversation.
    fn finish(mut self) -> Result<ExtractedDrafts, Interrupted> {
        if let Some(asking) = self.unanswered.take()
            && self.made.contains(&asking.message)
        {
            self.settle(asking, self.messages.len())?;
        }
        let mut extracted = self.extracted;
        extracted.drafts = self.drafts.into_list();
        for draft in &mut extracted.drafts {
            for message in std::mem::take(&mut draft.messages) {
                match message.checked_sub(self.made.start) {
                    Some(message) => draft.messages.push(message),
                    None => draft.before.push(message),
                }
            }
        }
        for message in extracted.too_long.iter_mut().chain(&mut extracted.adds_nothing) {
            *message -= self.made.start;
        }
        Ok(extracted)
    }
}

/// Returns what another speaker said last before the last of some messages. Empty if there is nothing.
fn said_before<'a>(messages: &[Message<'a>]) -> &'a str {
    let Some((last, before)) = messages.split_last() else { return "" };
    for message in before.iter().rev().take(TURNS_BEFORE_MAX) {
        if message.speaker() != last.speaker() {
            return message.text;
        }
    }
    ""
}

/// Whether a statement consists of courtesies and reactions.
fn only_reacts(statement: &str, reaction: Reaction<'_>, steps: &Steps<'_>) -> Result<bool, Interrupted> {
    if is_small_talk(statement, reaction.position, reaction.participants) {
        return Ok(true);
    }
    if statement.len() > REACTION_BYTES_MAX {
        return Ok(false);
    }
    steps.take(REACTION_PASSES * (statement.len() + reaction.before.len().min(REACTION_BYTES_MAX)))?;
    let sentences = sentences(statement, steps)?;
    Ok(!sentences.is_empty() && sentences.into_iter().all(|sentence| reaction.is_made_by(sentence)))
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use jiff::tz::TimeZone;

    use super::*;
    use crate::conversation::SaidAt;
    use crate::memory::{Moment, OccurredPrecision, OccurredSource};

    pub(super) fn message<'a>(name: Option<&'a str>, text: &'a str) -> Message<'a> {
        let moment = Moment { at: Timestamp::UNIX_EPOCH, precision: OccurredPrecision::Instant };
        let said = SaidAt::new(moment, OccurredSource::Written, &TimeZone::UTC);
        Message { role: Role::User, name, text, said, is_stored: true }
    }

    fn bodies(turns: &[(&str, &str)]) -> Vec<String> {
        let messages: Vec<Message> = turns.iter().map(|(name, text)| message(Some(name), text)).collect();
        let extracted = extract(&Surroundings::default(), &messages, &Steps::unlimited()).expect("not interrupted");
        extracted.drafts.into_iter().map(|draft| draft.body).collect()
    }

    #[test]
    fn a_question_without_an_answer_is_a_memory() {
        let question = ("Ann", "Wow! Where did you buy the green kayak?");
        let answer = "# Bo: At the harbour market in Porto.\n\n> Ann: Wow! Where did you buy the green kayak?\n";
        assert_eq!(bodies(&[question, ("Bo", "At the harbour market in Porto.")]), [answer]);
        let alone = "# Ann: Wow!\n\nWhere did you buy the green kayak?\n";
        assert_eq!(bodies(&[question]), [alone]);
        assert_eq!(bodies(&[question, ("Bo", "Thanks!")]), [alone], "thanks are not an answer");
        let own = bodies(&[question, ("Ann", "I want to paddle to the island.")]);
        assert_eq!(
            own,
            [alone, "# Ann: I want to paddle to the island.\n"],
            "speakers do not answer their own questions"
        );
        let long = "We paddled on. ".repeat(30);
        assert_eq!(bodies(&[question, ("Bo", &long)]).len(), 2);
        let two = bodies(&[("Ann", "I sold my old boat to Tom. Where did you buy yours?"), ("Bo", "At the market.")]);
        assert_eq!(two.len(), 2, "a turn that also states something is a separate memory: {two:?}");
        assert_eq!(two[1], "# Bo: At the market.\n\n> Ann: Where did you buy yours?\n", "a short answer quotes it too");
    }

    /// Returns the number of memories of a chat without names.
    fn memories_of_chat(turns: &[(Role, &str)]) -> usize {
        let messages: Vec<Message> =
            turns.iter().map(|(role, text)| Message { role: *role, ..message(None, text) }).collect();
        extract(&Surroundings::default(), &messages, &Steps::unlimited()).expect("not interrupted").drafts.len()
    }

    #[test]
    fn in_a_chat_with_an_assistant_questions_without_an_answer_are_left_out() {
        let asked = (Role::User, "Could you find a fitter for the boiler?");
        assert_eq!(memories_of_chat(&[asked, (Role::Assistant, "Of course. Which days suit you?")]), 0);
        assert_eq!(memories_of_chat(&[asked, (Role::Assistant, "Hallam Heating has time on Thursday at nine.")]), 1);
        let requested = (Role::User, "Please recommend a boiler.");
        assert_eq!(memories_of_chat(&[requested, (Role::Assistant, "The Vaillant is quiet and cheap.")]), 2);
        assert_eq!(
            memories_of_chat(&[(Role::User, "My gym is Flex, do you know it?"), (Role::Assistant, "Thanks!")]),
            1
        );
    }

    #[test]
    fn a_bare_yes_to_an_offer_of_an_assistant_is_no_memory() {
        let offered = (Role::Assistant, "The mill in Porto delivers for 9 euros a kilo. Shall I draft a mail?");
        assert_eq!(memories_of_chat(&[offered, (Role::User, "yes please")]), 1);
        assert_eq!(memories_of_chat(&[offered, (Role::User, "yes, to Jonas in Faro")]), 2);
        for question in ["Do you eat gluten?", "Shall I order 20 kilos?", "Shall I write to Jonas?"] {
            let asked = format!("The mill in Porto delivers for 9 euros a kilo. {question}");
            assert_eq!(memories_of_chat(&[(Role::Assistant, &asked), (Role::User, "no")]), 2, "{question}");
        }
    }

    #[test]
    fn earlier_messages_of_a_session_are_answered_and_make_no_memories() {
        let before = vec![message(Some("Ann"), "I sold my old boat to Tom. Where did you buy yours?")];
        let around = Surroundings { before, after: None };
        let extracted =
            extract(&around, &[message(Some("Bo"), "In Porto.")], &Steps::unlimited()).expect("not interrupted");
        let [draft] = extracted.drafts.as_slice() else { panic!("one memory: {extracted:?}") };
        assert_eq!(draft.body, "# Bo: In Porto.\n\n> Ann: Where did you buy yours?\n");
        assert_eq!((draft.messages.as_slice(), draft.before.as_slice()), (&[0][..], &[0][..]));
    }

    #[test]
    fn a_question_that_the_message_after_answers_is_no_memory() {
        let asked = [message(Some("Ann"), "Where did you buy the green kayak?")];
        for (after, expected) in [("In Porto.", 0), ("Thanks!", 1)] {
            let around = Surroundings { before: Vec::new(), after: Some(message(Some("Bo"), after)) };
            let extracted = extract(&around, &asked, &Steps::unlimited()).expect("not interrupted");
            assert_eq!(extracted.drafts.len(), expected, "{after}: {extracted:?}");
        }
    }

    #[test]
    fn a_message_that_is_not_stored_is_read_and_not_quoted() {
        let asked = Message { is_stored: false, ..message(Some("Ann"), "Where did you buy your boat?") };
        let told = Message { is_stored: false, ..message(Some("Bo"), "My PIN is 4711.") };
        let messages = [asked, message(Some("Bo"), "In Porto."), told, message(Some("Bo"), "No wait, in Faro.")];
        let extracted = extract(&Surroundings::default(), &messages, &Steps::unlimited()).expect("not interrupted");
        let text: Vec<String> =
            extracted.drafts.iter().map(|draft| format!("{}{:?}", draft.body, draft.cues)).collect();
        assert_eq!(extracted.drafts.len(), 2, "{text:?}");
        assert!(!text.concat().contains("boat") && !text.concat().contains("4711"), "{text:?}");
    }

    #[test]
    fn a_question_that_is_not_stored_makes_no_claim() {
        let asked = |is_stored| Message { is_stored, ..message(Some("Ann"), "My gym is Flex, do you know it?") };
        for (is_stored, expected) in [(true, 1), (false, 0)] {
            let messages = [asked(is_stored), message(Some("Bo"), "The one at the harbour.")];
            let extracted = extract(&Surroundings::default(), &messages, &Steps::unlimited()).expect("not interrupted");
            let claims: usize = extracted.drafts.iter().map(|draft| draft.inferred.claims.len()).sum();
            assert_eq!(claims, expected, "stored: {is_stored}");
        }
    }

    #[test]
    fn a_message_becomes_at_most_200_memories() {
        let long = "We met Ann at the pier. ".repeat(20_000);
        assert_eq!(bodies(&[("Bo", &long)]).len(), MESSAGE_MEMORIES_MAX);
        assert_eq!(bodies(&[("Bo", &long), ("Ann", "I sold my boat.")]).len(), MESSAGE_MEMORIES_MAX + 1);
    }

    #[test]
    fn a_deadline_in_the_past_interrupts_a_long_text() {
        let text = "Mr. ".repeat(1 << 18);
        let steps = Steps::until(std::time::Instant::now());
        assert_eq!(extract(&Surroundings::default(), &[message(None, &text)], &steps), Err(Interrupted::TimedOut));
        assert!(steps.taken() < 1 << 24, "{}", steps.taken());
    }
}
