//! The built-in extractor: memories from the text itself, with no model.
//!
//! A turn becomes one statement, a long one several ([`statements`]); small talk is left out ([`small_talk`]); relative
//! dates are resolved against when it was said ([`dates`]); the words decide the tier ([`tiers`]); names are picked out
//! ([`entities`]); cues are written, among them the question that a statement answers ([`cues`]). Wording and speaker
//! are kept: nothing is paraphrased, so nothing is made up.

pub mod cues;
pub mod dates;
pub mod entities;
pub mod small_talk;
pub mod statements;
pub mod tiers;

use cuebase_storage::memory_file::{OccurredPrecision, OccurredSource, Tier};
use jiff::Timestamp;
use jiff::civil::Date;

use super::conversation::{Conversation, Moment, Role};

/// A memory on its way: everything but its path.
#[derive(Clone, Debug, PartialEq)]
pub struct Draft {
    /// Where it belongs.
    pub tier: Tier,
    /// Whose words.
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
    /// The index of the message it came from.
    pub message: usize,
    /// The drafts that it is linked to.
    pub links: Vec<Link>,
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
/// Words of a statement that go into its file's name.
const NAME_WORDS: usize = 6;

/// Extracts the memories of a conversation that was accepted at a time.
pub fn extract(conversation: &Conversation, accepted_at: Timestamp) -> Vec<Draft> {
    let zone = conversation.zone();
    let mut drafts: Vec<Draft> = Vec::new();
    let mut asked: Option<(String, String)> = None;
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
        for statement in statements::split(&message.text) {
            if small_talk::is_small_talk(&statement, question.is_some()) {
                continue;
            }
            let place = drafts.len();
            let mut draft = draft(&statement, &speaker, day, question.as_deref());
            draft.message = index;
            match draft_date(&statement, day) {
                Some(date) => {
                    draft.occurred = Moment { at: noon(date).unwrap_or(said.at), precision: OccurredPrecision::Day };
                    draft.occurred_source = OccurredSource::Extracted;
                }
                None => {
                    draft.occurred = said;
                    draft.occurred_source = source;
                }
            }
            if place > 0 {
                let snippet = lead(&drafts[place - 1].body);
                draft.links.push(Link { draft: place - 1, kind: "follows", snippet });
            }
            link_by_names(&mut draft, &drafts);
            drafts.push(draft);
        }
        if let Some(question) = statements::last_question(&message.text) {
            asked = Some((speaker, question));
        }
    }
    drafts
}

fn draft(statement: &str, speaker: &str, day: Date, question: Option<&str>) -> Draft {
    let found = dates::find(statement, day);
    let annotated = dates::annotate(statement, &found);
    let entities = entities::find(statement, speaker);
    Draft {
        tier: tiers::sort(statement, !found.is_empty()),
        speaker: speaker.to_owned(),
        body: statements::body(speaker, &annotated),
        name: name(statement),
        cues: cues::write(speaker, &annotated, question),
        entities,
        occurred: Moment { at: Timestamp::UNIX_EPOCH, precision: OccurredPrecision::Instant },
        occurred_source: OccurredSource::Written,
        message: 0,
        links: Vec::new(),
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
