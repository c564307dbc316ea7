//! Answers without a model: the passages of the best hits that say most about the question, word for word.
//!
//! A passage is a sentence of prose, or a whole block ([`blocks`](super::blocks)): a list is quoted with all its steps, a
//! table by its rows, code with its fences. Long ones are cut with a mark ([`passage`](super::passage)).

use cuebase_retrieval::Memory;
use cuebase_storage::memory_file::markdown;

use super::blocks::{Block, Kind, blocks};
use super::passage::{self, Passage};
use super::question::{Held, Question};
use super::table::{self, Table};
use super::{Citation, section_at};
use crate::service::retrieval::Found;
use crate::text::sentences::sentences;
use crate::text::steps::Steps;

/// A hit that is less likely than this to answer the question is not quoted.
const SCORE_MIN: f32 = 0.02;
/// From a hit at least this likely a passage is quoted whatever its words.
const SCORE_SURE: f32 = 0.5;
/// From any other, a passage must hold this share of the question's telling words.
const SHARE_MIN: f32 = 0.3;
/// Hits that are quoted from.
const HITS_QUOTED: usize = 5;
/// Passages in an answer.
const PASSAGES_MAX: usize = 3;
/// A passage that says less than this share of what the best one says is left out.
const SHARE_OF_BEST: f32 = 0.5;
/// Headings above a block count for it when they hold this share of the question: then they say what the block is for.
const HEADINGS_SHARE_MIN: f32 = 0.5;
/// What a word in the headings above a block weighs; one in the block itself weighs 1.
const HEADING_WEIGHT: f32 = 0.5;

/// An answer made of quotes.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Extract {
    /// The passages in reading order, from the best memory first.
    pub(super) answer: String,
    /// Where they stand, the most telling first.
    pub(super) citations: Vec<Citation>,
}

/// A passage that may be quoted.
struct Candidate<'a> {
    memory: &'a Memory,
    value: f32,
    /// Where it begins.
    start: usize,
    source: Source,
}

enum Source {
    /// A sentence that ends there.
    Sentence(usize),
    Block(Block),
}

/// A passage that is quoted.
struct Piece<'a> {
    memory: &'a Memory,
    start: usize,
    is_block: bool,
    text: String,
}

/// Answers from hits, the best first; none when they hold no answer. `terms` are the question's telling words.
pub(super) fn answer(hits: &[Found], terms: &[String]) -> Option<Extract> {
    let question = Question::of(terms);
    let mut candidates = Vec::new();
    for hit in hits.iter().filter(|hit| hit.score >= SCORE_MIN).take(HITS_QUOTED) {
        add_candidates(&mut candidates, &hit.memory, hit.score, &question);
    }
    candidates.sort_by(|a, b| b.value.total_cmp(&a.value));
    let best = candidates.first()?.value;
    candidates.retain(|candidate| candidate.value >= best * SHARE_OF_BEST);
    candidates.truncate(PASSAGES_MAX);

    let mut pieces = Vec::new();
    let mut citations = Vec::new();
    for candidate in candidates {
        let (memory, start) = (candidate.memory, candidate.start);
        let is_block = matches!(candidate.source, Source::Block(_));
        let passage = candidate.passage(&question);
        for quote in passage.quotes {
            citations.push(Citation {
                path: memory.path.clone(),
                section: section_at(&memory.content, quote.start),
                quote: memory.content.get(quote).unwrap_or_default().to_owned(),
            });
        }
        pieces.push(Piece { memory, start, is_block, text: passage.text });
    }
    Some(Extract { answer: joined(pieces), citations })
}

/// The pieces in reading order: memory by memory, the one with the best piece first.
fn joined(mut pieces: Vec<Piece<'_>>) -> String {
    let mut memories: Vec<String> = Vec::new();
    for piece in &pieces {
        if !memories.contains(&piece.memory.path) {
            memories.push(piece.memory.path.clone());
        }
    }
    pieces.sort_by_key(|piece| (memories.iter().position(|path| *path == piece.memory.path), piece.start));
    let mut answer = String::new();
    let mut after_block = false;
    for piece in &pieces {
        if !answer.is_empty() {
            answer.push_str(if after_block || piece.is_block { "\n\n" } else { " " });
        }
        answer.push_str(&piece.text);
        after_block = piece.is_block;
    }
    answer
}

/// Adds what may be quoted from a memory.
fn add_candidates<'a>(candidates: &mut Vec<Candidate<'a>>, memory: &'a Memory, score: f32, question: &Question<'_>) {
    let content = memory.content.as_str();
    // The headings above, the outermost first, with their levels.
    let mut headings: Vec<(usize, Held<'_>)> = Vec::new();
    for block in blocks(content) {
        if let Some(level) = block.heading {
            let title = content[block.range.start..].lines().next().unwrap_or_default();
            headings.retain(|(above, _)| *above < level);
            headings.push((level, question.held(title).unwrap_or_default()));
        }
        if block.kind != Kind::Line {
            if let Some(value) = value(score, block_share(content, &block, &headings, question)) {
                let start = block.range.start;
                candidates.push(Candidate { memory, value, start, source: Source::Block(block) });
            }
            continue;
        }
        for (start, sentence) in sentences_of(content, block.range.start, block.range.end) {
            let share = question.held(sentence).map(|held| question.share(&held));
            if let Some(value) = value(score, share) {
                let source = Source::Sentence(start + sentence.len());
                candidates.push(Candidate { memory, value, start, source });
            }
        }
    }
}

/// What a passage of a hit is worth by the share of the question that it holds; none where it is not quoted.
fn value(score: f32, share: Option<f32>) -> Option<f32> {
    let share = share.filter(|share| *share >= SHARE_MIN || score >= SCORE_SURE)?;
    Some(score * (0.5 + share))
}

/// How much of the question a block holds: its lead-in with the best of its steps or rows, and the headings above it.
/// None for a block without any telling word.
fn block_share<'q>(
    content: &str,
    block: &Block,
    headings: &[(usize, Held<'q>)],
    question: &Question<'q>,
) -> Option<f32> {
    let whole = block.body..block.range.end;
    let mut lead_end = block.body;
    let mut header = "";
    let mut parts: Vec<&str> = Vec::new();
    match &block.kind {
        Kind::List { steps, .. } => {
            lead_end = steps.first().copied().unwrap_or(block.body);
            for range in passage::step_ranges(block, steps) {
                parts.push(content.get(range)?);
            }
        }
        Kind::Table => {
            let table = Table::read(content, whole);
            header = table.header_text;
            parts = table.row_texts();
        }
        Kind::Line | Kind::Code => parts.push(content.get(whole)?),
    }
    let lead = content.get(block.range.start..lead_end).unwrap_or_default();
    let mut has_words = false;
    let mut above = Held::new();
    for text in [lead, header] {
        if let Some(held) = question.held(text) {
            has_words = true;
            above.extend(&held);
        }
    }
    let mut best = above.clone();
    for part in parts {
        let Some(mut held) = question.held(part) else { continue };
        has_words = true;
        held.extend(&above);
        if question.share(&held) > question.share(&best) {
            best = held;
        }
    }
    if !has_words {
        return None;
    }
    let own = question.share(&best);
    for (_, held) in headings {
        best.extend(held);
    }
    let with_headings = question.share(&best);
    if with_headings < HEADINGS_SHARE_MIN {
        return Some(own);
    }
    Some(own + HEADING_WEIGHT * (with_headings - own))
}

impl Candidate<'_> {
    /// What the answer shows of it.
    fn passage(&self, question: &Question<'_>) -> Passage {
        let (content, path) = (self.memory.content.as_str(), self.memory.path.as_str());
        let block = match &self.source {
            Source::Sentence(end) => return Passage::verbatim(content, self.start..*end),
            Source::Block(block) => block,
        };
        match &block.kind {
            Kind::List { .. } => passage::list(content, block, path, question),
            Kind::Table => table::quote(content, block, path, question, &headings_at(content, block.body)),
            Kind::Code => passage::code(content, block, path),
            Kind::Line => Passage::verbatim(content, block.range.clone()),
        }
    }
}

/// The headings above a place, the outermost first.
fn headings_at(content: &str, at: usize) -> Vec<String> {
    let mut headings = Vec::new();
    for section in markdown::sections(content) {
        if section.range.contains(&at) {
            headings.push(section.name);
        }
    }
    headings
}

/// The sentences of a line with where they begin, markdown's line marks left out.
fn sentences_of(content: &str, start: usize, end: usize) -> Vec<(usize, &str)> {
    let line = content.get(start..end).unwrap_or_default();
    let text = line.trim_start_matches(['#', '-', '*', '>', ' ', '\t']);
    // Nothing interrupts steps that are unlimited.
    let sentences = sentences(text, &Steps::unlimited()).unwrap_or_default();
    let mut placed = Vec::with_capacity(sentences.len());
    for sentence in sentences {
        // Sentences are slices of the text, so their addresses tell where they stand.
        let at = sentence.as_ptr() as usize - text.as_ptr() as usize;
        placed.push((end - text.len() + at, sentence));
    }
    placed
}

#[cfg(test)]
mod tests {
    use cuebase_retrieval::{Arms, content_terms};

    use super::*;

    fn hit(path: &str, content: &str, score: f32) -> Found {
        let memory = Memory { path: path.to_owned(), content: content.to_owned(), ..Memory::default() };
        Found { memory, score, arms: Arms::default(), via: None }
    }

    fn asked(question: &str, hits: &[Found]) -> Extract {
        let extract = answer(hits, &content_terms(question)).expect("an answer");
        for citation in &extract.citations {
            let cited = hits.iter().find(|hit| hit.memory.path == citation.path).expect("a hit");
            assert!(cited.memory.content.contains(&citation.quote), "{citation:?}");
        }
        extract
    }

    #[test]
    fn sentences_keep_their_place() {
        let content = "# Tea. Green.\n\n- Boil it. Wait 3.5 minutes!\n\n## Cups\n\nFour\n";
        let mut found: Vec<(usize, &str)> = Vec::new();
        for block in blocks(content) {
            found.extend(sentences_of(content, block.range.start, block.range.end));
        }
        let texts: Vec<&str> = found.iter().map(|(_, text)| *text).collect();
        assert_eq!(texts, ["Tea.", "Green.", "Boil it.", "Wait 3.5 minutes!", "Cups", "Four"]);
        assert!(found.iter().all(|(at, text)| content[*at..].starts_with(text)));
        assert_eq!(section_at(content, found[5].0).as_deref(), Some("Cups"));
        assert_eq!(section_at(content, found[2].0).as_deref(), Some("Tea. Green."));
    }

    #[test]
    fn prose_is_quoted_by_its_most_telling_sentences_on_one_line() {
        let greenhouse = "# Greenhouse\n\nThe thermostat is a Brandt 400. It sits by the door.\n\n## Service\n\nThe thermostat battery lasts nine months.\n";
        let hits = [
            hit("facts/shed.md", "# Shed\n\nThe shed thermostat has a spare battery that lasts.\n", 0.4),
            hit("facts/greenhouse.md", greenhouse, 0.4),
        ];
        let extract = asked("How long does the thermostat battery last?", &hits);
        let expected = "The shed thermostat has a spare battery that lasts. The thermostat battery lasts nine months.";
        assert_eq!(extract.answer, expected);
        let sections: Vec<Option<&str>> =
            extract.citations.iter().map(|citation| citation.section.as_deref()).collect();
        assert_eq!(sections, [Some("Shed"), Some("Service")]);
    }

    #[test]
    fn sentences_of_one_memory_are_in_its_order_and_the_best_is_cited_first() {
        let hits = [hit("facts/a.md", "The kiln is old. The kiln reaches cone ten.\n", 0.9)];
        let extract = asked("Which cone does the kiln reach?", &hits);
        assert_eq!(extract.answer, "The kiln is old. The kiln reaches cone ten.");
        assert_eq!(extract.citations[0].quote, "The kiln reaches cone ten.");
    }

    #[test]
    fn a_procedure_is_quoted_whole_when_any_step_or_its_title_matches() {
        let steps = "1. Announce the change.\n2. Stop the writers.\n3. Create the new key.\n4. Revoke the old key.";
        for content in [
            format!("# Rotate the api keys\n\n{steps}\n"),
            format!("# Rotate the api keys\n\nOnce a year.\n\n## Steps\n\n{steps}\n\nTell Ann.\n"),
            format!("# Ann\n\n{steps}\n"),
        ] {
            let extract = asked("How do I rotate the api keys?", &[hit("skills/rotate.md", &content, 0.8)]);
            assert!(extract.answer.contains(steps), "{}", extract.answer);
        }
    }

    #[test]
    fn blocks_stand_by_themselves_between_pieces() {
        let hits = [
            hit("facts/a.md", "# Ovens\n\nThe oven code is below.\n\n```sh\noven code --heat\n```\n", 0.6),
            hit("facts/b.md", "The oven code is 42.\n", 0.5),
        ];
        // The three most telling; the title is the fourth.
        let extract = asked("What is the oven code?", &hits);
        let expected = "The oven code is below.\n\n```sh\noven code --heat\n```\n\nThe oven code is 42.";
        assert_eq!(extract.answer, expected);
    }

    #[test]
    fn a_table_is_no_line_of_bars() {
        let content = "# Acme\n\n| field | value |\n|---|---|\n| Renewal | 2027-02-01 |\n| Owner | Mara |\n";
        let extract = asked("When is the renewal of Acme?", &[hit("facts/acme.md", content, 0.7)]);
        assert_eq!(extract.answer, "Acme — Renewal: 2027-02-01.");
        assert_eq!(extract.citations[0].quote, "| Renewal | 2027-02-01 |");
        assert_eq!(extract.citations[0].section.as_deref(), Some("Acme"));
    }
}
