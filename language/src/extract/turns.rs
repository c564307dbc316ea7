//! Turns of a conversation: when each was said, which question it answers, and the drafts of its statements.

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;

use super::cues::{self, QUESTION_BYTES_MAX};
use super::draft::{Draft, Inferred};
use super::drafts::Drafts;
use super::statements::{self, Statement};
use super::{entities, tiers};
use crate::claims::Claim;
use crate::claims::reader::{ClaimReader, Saying};
use crate::conversation::{Role, SaidAt};
use crate::dates::DateSpan;
use crate::dates::statement as dates;
use crate::dates::statement::DateMention;
use crate::memory::{Moment, OccurredPrecision, OccurredSource};
use crate::standing::STANDING_TAG;
use crate::standing::statement::is_standing;
use crate::text::filler::is_filler;
use crate::text::questions::only_asks;
use crate::text::small_talk::folded_words;
use crate::text::steps::{Interrupted, Steps};
use crate::text::words::{flat, words};

/// A question and its answer become one memory up to this many words.
const ANSWER_WORDS_MAX: usize = 80;
/// An answer of at most this many words quotes its question even if the question's turn is a separate memory. "Rome."
/// alone has no meaning.
const SHORT_ANSWER_WORDS_MAX: usize = 8;
/// Words of a statement in its file's name.
const NAME_WORDS: usize = 6;
/// Words of at most this many bytes are not used in a file's name.
const SHORT_WORD_BYTES: usize = 2;
/// Steps of a draft, whatever its length.
const STEPS_PER_DRAFT: usize = 64;
/// How often a statement is read in addition to functions that count their own steps: for dates, names and its file's
/// name.
const DRAFT_PASSES: usize = 8;
/// How often a statement with resolved dates is read: to write and compare it, and for the memory's body.
const ANNOTATED_PASSES: usize = 6;

/// The last question of a message.
pub(super) struct Question {
    pub(super) asker: String,
    pub(super) text: String,
    /// The index of the message.
    pub(super) message: usize,
    /// The role of the asker.
    pub(super) role: Role,
    /// When it was asked.
    pub(super) said: SaidAt,
    /// Whether a memory may quote it.
    pub(super) is_stored: bool,
}

/// How an assistant offers to do something, in English, German, French, Spanish, Portuguese, Italian and Dutch, folded.
const OFFERS: [&str; 30] = [
    "shall i",
    "should i",
    "want me to",
    "do you want me to",
    "would you like me to",
    "can i",
    "may i",
    "soll ich",
    "sollen wir",
    "mochtest du dass ich",
    "mochten sie dass ich",
    "darf ich",
    "dois je",
    "puis je",
    "veux tu que je",
    "voulez vous que je",
    "souhaitez vous que je",
    "quieres que",
    "quiere que",
    "te gustaria que",
    "quer que",
    "queres que",
    "posso",
    "devo",
    "vuoi che",
    "vuole che",
    "zal ik",
    "moet ik",
    "mag ik",
    "wil je dat ik",
];

impl Question {
    /// Whether an assistant offers to do something, without a number or a name. "Yes, please" is then no statement of its
    /// own. "Shall I book Thursday at nine?" asks for a decision.
    pub(super) fn is_offer(&self) -> bool {
        let names =
            self.text.split_whitespace().skip(1).any(|word| word != "I" && word.starts_with(char::is_uppercase));
        if self.role != Role::Assistant || names || self.text.contains(char::is_numeric) {
            return false;
        }
        let words = folded_words(&self.text).join(" ");
        OFFERS
            .iter()
            .any(|offer| words.strip_prefix(offer).is_some_and(|rest| rest.is_empty() || rest.starts_with(' ')))
    }

    /// Returns the claims of a question that also states something: "My gym is Flex, do you know it?"
    fn claims(&self, steps: &Steps<'_>) -> Result<Vec<Claim>, Interrupted> {
        if self.role == Role::Assistant {
            return Ok(Vec::new());
        }
        let saying = Saying { speaker: &self.asker, day: self.said.day, at: self.said.moment.at };
        ClaimReader::default().read(&self.text, saying, steps)
    }
}

/// A message that a later one of the same speaker corrects.
pub(super) struct Corrected {
    pub(super) text: String,
    /// The index of the message.
    pub(super) message: usize,
    /// The day on which it was said.
    pub(super) day: Date,
}

/// The statements of one message, with their context.
pub(super) struct Turn {
    /// The index of the message.
    pub(super) message: usize,
    pub(super) speaker: String,
    /// The role of the speaker; a speaker with a name is a user.
    pub(super) role: Role,
    pub(super) said: SaidAt,
    /// The last question of the previous turn, if somebody else asked it.
    pub(super) question: Option<Question>,
    /// The message that the turn corrects.
    pub(super) corrected: Option<Corrected>,
    /// The previous turn, if it only asked that question. It becomes no memory of its own.
    pub(super) quoted: Option<Box<Turn>>,
    pub(super) statements: Vec<String>,
}

impl Turn {
    /// Whether the turn is one statement that only asks.
    pub(super) fn only_asks(&self, steps: &Steps<'_>) -> Result<bool, Interrupted> {
        match self.statements.as_slice() {
            [statement] => only_asks(statement, steps),
            _ => Ok(false),
        }
    }

    /// Whether the turn claims something: "My gym is Flex, do you know it?"
    pub(super) fn states_something(&self, steps: &Steps<'_>) -> Result<bool, Interrupted> {
        Ok(!self.claims_of_all(&mut ClaimReader::default(), steps)?.is_empty())
    }

    /// Whether this turn answers the previous one, and both are short enough for one memory.
    pub(super) fn answers(&self, asking: &Turn) -> bool {
        let Some(first) = self.statements.first() else { return false };
        if self.speaker == asking.speaker {
            return false;
        }
        let mut words = first.split_whitespace().count();
        for question in &asking.statements {
            words += question.split_whitespace().count();
        }
        words <= ANSWER_WORDS_MAX
    }

    /// Adds a draft of each statement.
    pub(super) fn add_drafts(
        self,
        drafts: &mut Drafts,
        claims: &mut ClaimReader,
        steps: &Steps<'_>,
    ) -> Result<(), Interrupted> {
        let mut quoted = self.quoted.as_deref();
        let mut corrected = self.corrected.as_ref();
        // What the asking turn claims belongs to the memory that quotes it.
        let mut made = match quoted {
            Some(asking) => asking.claims_of_all(claims, steps)?,
            None => Vec::new(),
        };
        for statement in &self.statements {
            made.extend(self.claims_of(statement, claims, steps)?);
            let mut draft = self.draft_of(statement, std::mem::take(&mut made), steps)?;
            if let Some(asking) = quoted.take() {
                for question in &asking.statements {
                    quote(&mut draft, &asking.speaker, question, asking.said.day, steps)?;
                }
                draft.messages.insert(0, asking.message);
            } else if let Some(question) = self.question_of_short_answer() {
                quote(&mut draft, &question.asker, &question.text, question.said.day, steps)?;
                draft.inferred.claims.extend(question.claims(steps)?);
                draft.messages.insert(0, question.message);
            } else if let Some(corrected) = corrected.take() {
                quote(&mut draft, &self.speaker, &corrected.text, corrected.day, steps)?;
                draft.messages.insert(0, corrected.message);
            }
            drafts.add(draft);
        }
        Ok(())
    }

    /// Returns the question that this turn answers, if the turn is too short to be understood without it.
    fn question_of_short_answer(&self) -> Option<&Question> {
        if self.quoted.is_some() {
            return None;
        }
        let question = self.question.as_ref().filter(|question| question.is_stored)?;
        let [answer] = self.statements.as_slice() else { return None };
        if words(answer) > SHORT_ANSWER_WORDS_MAX || question.text.len() > QUESTION_BYTES_MAX {
            return None;
        }
        Some(question)
    }

    /// Returns the claims of a statement. What an assistant says about the user is not the user's claim.
    fn claims_of(&self, text: &str, reader: &mut ClaimReader, steps: &Steps<'_>) -> Result<Vec<Claim>, Interrupted> {
        if self.role == Role::Assistant {
            return Ok(Vec::new());
        }
        let saying = Saying { speaker: &self.speaker, day: self.said.day, at: self.said.moment.at };
        reader.read(text, saying, steps)
    }

    /// Returns the claims of all statements.
    pub(super) fn claims_of_all(&self, reader: &mut ClaimReader, steps: &Steps<'_>) -> Result<Vec<Claim>, Interrupted> {
        let mut claims = Vec::new();
        for statement in &self.statements {
            claims.extend(self.claims_of(statement, reader, steps)?);
        }
        Ok(claims)
    }

    /// Returns a draft of a statement, without links.
    fn draft_of(&self, text: &str, claims: Vec<Claim>, steps: &Steps<'_>) -> Result<Draft, Interrupted> {
        steps.take(STEPS_PER_DRAFT + self.speaker.len() + DRAFT_PASSES * text.len())?;
        let found = dates::find(text, self.said.day);
        let annotated = dates::annotate(text, &found);
        steps.take(ANNOTATED_PASSES * annotated.len())?;
        let plain = Statement::read(text, steps)?;
        let entities = entities::find(&plain, &self.speaker);
        // The sentences are searched again only if dates were annotated.
        let shown = if annotated == text { plain } else { Statement::read(&annotated, steps)? };
        let Occurred { moment: occurred, until: occurred_until, source: occurred_source } = self.occurred(&found);
        let said_at = match occurred_source {
            OccurredSource::Extracted => Some(self.said.moment.at),
            _ => None,
        };
        let question = self.question.as_ref().filter(|question| question.is_stored);
        let question = question.map(|question| question.text.as_str());
        let mut tags = Vec::new();
        if self.role == Role::User && is_standing(text, steps)? {
            tags.push(STANDING_TAG.to_owned());
        }
        Ok(Draft {
            tier: tiers::sort(text, self.role, !found.is_empty(), steps)?,
            topic: self.speaker.clone(),
            speaker: self.speaker.clone(),
            body: statements::body(&self.speaker, &shown),
            name: name(text),
            cues: cues::write(&self.speaker, &shown, question, steps)?,
            entities,
            occurred,
            occurred_source,
            messages: vec![self.message],
            before: Vec::new(),
            links: Vec::new(),
            inferred: Inferred { claims, said_at, occurred_until, tags, ..Inferred::default() },
        })
    }

    /// Returns when a statement with these dates happened: on the days that it is about, else when it was said.
    fn occurred(&self, found: &[DateMention]) -> Occurred {
        match dates::main_span(found).and_then(Occurred::on) {
            Some(occurred) => occurred,
            None => Occurred { moment: self.said.moment, until: None, source: self.said.source },
        }
    }
}

/// When a statement happened, and how that is known.
struct Occurred {
    moment: Moment,
    /// The end of the month or year that begins at `moment`. `None` for a day or an instant.
    until: Option<Timestamp>,
    source: OccurredSource,
}

impl Occurred {
    /// Returns the time of a statement about some days. `None` if they are outside the calendar.
    fn on(span: DateSpan) -> Option<Self> {
        let days = span.days()?;
        let until = match span {
            DateSpan::Day(_) => None,
            _ => Some(days.end.to_zoned(TimeZone::UTC).ok()?.timestamp()),
        };
        let moment = Moment { at: noon(days.start)?, precision: OccurredPrecision::Day };
        Some(Self { moment, until, source: OccurredSource::Extracted })
    }
}

/// Adds the question that a draft answers: to its body, and as a cue.
fn quote(draft: &mut Draft, asker: &str, question: &str, day: Date, steps: &Steps<'_>) -> Result<(), Interrupted> {
    steps.take(DRAFT_PASSES * question.len())?;
    let question = dates::annotate(question, &dates::find(question, day));
    let quoted = format!("{asker}: {}", flat(&question));
    draft.body.push_str(&format!("\n> {quoted}\n"));
    draft.cues.push(quoted);
    Ok(())
}

fn noon(date: Date) -> Option<Timestamp> {
    let zoned = date.at(12, 0, 0, 0).to_zoned(TimeZone::UTC).ok()?;
    Some(zoned.timestamp())
}

/// Returns a name for the file of a statement, from its first distinctive words.
fn name(statement: &str) -> String {
    let folded = crate::tokenize::fold(statement);
    let mut words = Vec::with_capacity(NAME_WORDS);
    for word in folded.split(|c: char| !c.is_ascii_alphanumeric()) {
        if word.len() > SHORT_WORD_BYTES && !is_filler(word) {
            words.push(word);
            if words.len() == NAME_WORDS {
                break;
            }
        }
    }
    words.join("-")
}
