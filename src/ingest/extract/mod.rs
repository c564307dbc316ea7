//! The built-in extractor: memories from the text itself, with no model.
//!
//! A turn becomes one statement, a long one several ([`statements`]); small talk is left out ([`small_talk`]); a turn
//! that only asks is quoted by the memory that answers it; relative dates are resolved against when it was said
//! ([`crate::dates`]); the words decide the tier ([`tiers`], [`procedure`]); names are picked out ([`entities`]); cues are
//! written, among them the question that a statement answers ([`cues`]). Wording and speaker are kept: nothing is
//! paraphrased, so nothing is made up.

pub mod cues;
pub mod entities;
pub mod procedure;
pub mod small_talk;
pub mod statements;
pub mod tiers;

use cuebase_storage::memory_file::{OccurredPrecision, OccurredSource, Relation, Tier};
use jiff::Timestamp;
use jiff::civil::Date;

use super::conversation::{Conversation, Moment, Role};
use crate::dates::statement as dates;

/// A memory on its way: everything but its path.
#[derive(Clone, Debug, PartialEq)]
pub struct Draft {
    /// Where it belongs.
    pub tier: Tier,
    /// Whom or what it is about; empty where that is not known.
    pub topic: String,
    /// Whose words; empty where that does not matter.
    pub speaker: String,
    /// Markdown: `# Speaker: lead`, then the rest.
    pub body: String,
    /// A few words for the file's name.
    pub name: String,
    /// What should bring it to mind.
    pub cues: Vec<String>,
    /// Names in it.
    pub entities: Vec<String>,
    /// When it happened.
    pub occurred: Moment,
    /// How that is known.
    pub occurred_source: OccurredSource,
    /// The indexes of the messages it came from.
    pub messages: Vec<usize>,
    /// The drafts that it is linked to.
    pub links: Vec<Link>,
    /// The memories that it is linked to.
    pub relations: Vec<Relation>,
    /// Tags for its subject, lowercase and sorted.
    pub inferred_tags: Vec<String>,
    /// How sure it is, from 0 to 1.
    pub confidence: Option<f64>,
    /// From when on an incident is no longer retrieved.
    pub expires_at: Option<Timestamp>,
}

/// A link to an earlier draft of the same conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// Which draft.
    pub draft: usize,
    /// `follows` or `shares`.
    pub kind: &'static str,
    /// What shows it.
    pub snippet: String,
}

/// Links by shared names from one statement, at most.
const SHARED_LINKS_MAX: usize = 3;
/// Statements back in which a shared name is looked for.
const SHARED_LINKS_WITHIN: usize = 100;
/// A question and its answer are one memory up to so many words.
const ANSWER_WORDS_MAX: usize = 80;
/// Words of a statement that go into its file's name.
const NAME_WORDS: usize = 6;

/// Extracts the memories of a conversation that was accepted at a time.
pub fn extract(conversation: &Conversation, accepted_at: Timestamp) -> Vec<Draft> {
    let zone = conversation.zone();
    let mut drafts: Vec<Draft> = Vec::new();
    let mut asked: Option<(String, String)> = None;
    let mut held: Option<Turn> = None;
    for (index, message) in conversation.messages.iter().enumerate() {
        if message.role == Role::System {
            continue;
        }
        let (said, source) = match (message.occurred_at, conversation.occurred_at) {
            (Some(at), _) => (at, OccurredSource::Said),
            (None, Some(at)) => (at, OccurredSource::User),
            (None, None) => {
                (Moment { at: accepted_at, precision: OccurredPrecision::Instant }, OccurredSource::Written)
            }
        };
        // A calendar date is noon UTC, whatever the zone: its day must not shift.
        let day = match said.precision {
            OccurredPrecision::Day => said.at.to_zoned(jiff::tz::TimeZone::UTC).date(),
            OccurredPrecision::Instant => said.at.to_zoned(zone.clone()).date(),
        };
        let speaker = message.speaker().trim().to_owned();
        let question = asked.take().filter(|(asker, _)| *asker != speaker).map(|(_, question)| question);
        let mut statements = statements::split(&message.text);
        statements.retain(|statement| !small_talk::is_small_talk(statement, question.is_some()));
        if let Some(question) = statements::last_question(&message.text) {
            asked = Some((speaker.clone(), question));
        }
        let mut turn = Turn { message: index, speaker, said, source, day, question, quoted: None, statements };
        if let Some(before) = held.take() {
            if turn.answers(&before) {
                turn.quoted = Some(Box::new(before));
            } else {
                before.draft(&mut drafts);
            }
        }
        // A question by itself waits for its answer.
        if turn.quoted.is_none() && turn.only_asks() {
            held = Some(turn);
        } else {
            turn.draft(&mut drafts);
        }
    }
    held.into_iter().for_each(|turn| turn.draft(&mut drafts));
    drafts
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
    question: Option<String>,
    /// The turn that asked it, where that did nothing else and is no memory of its own.
    quoted: Option<Box<Turn>>,
    statements: Vec<String>,
}

impl Turn {
    fn only_asks(&self) -> bool {
        matches!(self.statements.as_slice(), [statement] if statements::only_asks(statement))
    }

    /// Whether this turn and a question before it are short enough to be one memory.
    fn answers(&self, asking: &Turn) -> bool {
        let words = |text: &String| text.split_whitespace().count();
        let first = self.statements.first();
        let together = |first| words(first) + asking.statements.iter().map(words).sum::<usize>();
        self.speaker != asking.speaker && first.is_some_and(|first| together(first) <= ANSWER_WORDS_MAX)
    }

    /// Adds a draft for each of its statements.
    fn draft(self, drafts: &mut Vec<Draft>) {
        let mut quoted = self.quoted.as_deref();
        for statement in &self.statements {
            let mut draft = draft(statement, &self.speaker, self.day, self.question.as_deref());
            draft.messages = vec![self.message];
            if let Some(asking) = quoted.take() {
                draft.quote(asking);
            }
            match draft_date(statement, self.day) {
                Some(date) => {
                    let at = noon(date).unwrap_or(self.said.at);
                    draft.occurred = Moment { at, precision: OccurredPrecision::Day };
                    draft.occurred_source = OccurredSource::Extracted;
                }
                None => {
                    draft.occurred = self.said;
                    draft.occurred_source = self.source;
                }
            }
            if let Some(before) = drafts.last() {
                let snippet = lead(&before.body);
                draft.links.push(Link { draft: drafts.len() - 1, kind: "follows", snippet });
            }
            link_by_names(&mut draft, drafts);
            drafts.push(draft);
        }
    }
}

impl Draft {
    /// Takes in the turn that asked for it: below its own words, and as one more cue.
    fn quote(&mut self, asking: &Turn) {
        for statement in &asking.statements {
            let question = dates::annotate(statement, &dates::find(statement, asking.day));
            let said = format!("{}: {}", asking.speaker, cues::flat(&question));
            self.body.push_str(&format!("\n> {said}\n"));
            self.cues.push(said);
        }
        self.messages.insert(0, asking.message);
    }
}

fn draft(statement: &str, speaker: &str, day: Date, question: Option<&str>) -> Draft {
    let found = dates::find(statement, day);
    let annotated = dates::annotate(statement, &found);
    let entities = entities::find(statement, speaker);
    Draft {
        tier: tiers::sort(statement, !found.is_empty()),
        topic: speaker.to_owned(),
        speaker: speaker.to_owned(),
        body: statements::body(speaker, &annotated),
        name: name(statement),
        cues: cues::write(speaker, &annotated, question),
        entities,
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

/// The day that a statement is about, when it names one.
fn draft_date(statement: &str, day: Date) -> Option<Date> {
    dates::find(statement, day).into_iter().find_map(|found| found.exact_day())
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
    let telling = words.filter(|word| !small_talk::is_filler(word));
    telling.take(NAME_WORDS).collect::<Vec<_>>().join("-")
}

/// Links a draft to the latest earlier ones that name the same things.
fn link_by_names(draft: &mut Draft, earlier: &[Draft]) {
    for (place, other) in earlier.iter().enumerate().rev().take(SHARED_LINKS_WITHIN) {
        if draft.links.len() > SHARED_LINKS_MAX {
            return;
        }
        let linked = draft.links.iter().any(|link| link.draft == place);
        let shared = draft.entities.iter().find(|name| other.entities.contains(name));
        if let Some(name) = shared.filter(|_| !linked) {
            draft.links.push(Link { draft: place, kind: "shares", snippet: name.clone() });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bodies(turns: &[(&str, &str)]) -> Vec<String> {
        let message = |(name, text): &(&str, &str)| serde_json::json!({"role": "user", "name": name, "content": text});
        let messages: Vec<_> = turns.iter().map(message).collect();
        let body = serde_json::json!({ "messages": messages });
        let conversation = crate::api::memories::conversation(body.as_object().expect("an object")).expect("valid");
        extract(&conversation, Timestamp::UNIX_EPOCH).into_iter().map(|draft| draft.body).collect()
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
    }
}
