//! Answers without a model: the best passages of the best hits, word for word.
//!
//! A passage is a sentence of prose, or a whole block ([`blocks`](super::blocks)): a list is quoted with all its steps,
//! a table by its rows, code with its fences. Long passages are cut with a mark ([`passage`](super::passage)).

use std::ops::Range;

use cuebase_storage::memory_file::markdown;
use jiff::tz::TimeZone;

use super::blocks::{Block, BlockKind, blocks};
use super::citation::{Citation, section_at};
use super::lines::sentences_of;
use super::passage::{self, QuotedPassage};
use super::question::{MatchedTerms, QuestionTerms};
use super::spoken::{self, SpokenPassage};
use super::table::{self, MarkdownTable};
use crate::memory::quotations::Quotations;
use crate::service::retrieval::FoundMemory;
use crate::service::search_threads::{ClientLeft, pause};

/// A hit with a lower probability of answering the question is not quoted.
const SCORE_MIN: f32 = 0.02;
/// A hit with at least this probability is quoted whatever its words are.
const SCORE_SURE: f32 = 0.5;
/// A passage of any other hit must contain this share of the question's content words.
const SHARE_MIN: f32 = 0.3;
/// Hits that are quoted.
const HITS_QUOTED: usize = 5;
/// Passages in an answer.
const PASSAGES_MAX: usize = 3;
/// A passage whose value is below this share of the best passage's value is left out.
const SHARE_OF_BEST: f32 = 0.5;
/// The headings above a block count towards it when together with the block they contain this share of the question:
/// then they say what the block is for.
const HEADINGS_SHARE_MIN: f32 = 0.5;
/// Weight of a word in the headings above a block; a word in the block has weight 1.
const HEADING_WEIGHT: f32 = 0.5;

/// An answer made of quotes.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ExtractiveAnswer {
    /// The passages in reading order, those of the best memory first.
    pub(super) answer: String,
    /// The citations of the passages, the best passage first.
    pub(super) citations: Vec<Citation>,
}

/// A passage that may be quoted.
struct PassageCandidate<'a, 'q> {
    hit: &'a FoundMemory,
    value: f32,
    content: CandidateContent<'q>,
}

enum CandidateContent<'q> {
    /// The bytes of a sentence.
    Sentence(Range<usize>),
    /// What somebody said.
    Statement(SpokenPassage<'q>),
    Block(Block),
}

/// A passage that was chosen for the answer.
struct ChosenPassage<'a> {
    hit: &'a FoundMemory,
    start: usize,
    is_block: bool,
    text: String,
}

/// A heading above a block, with the question's words that its title contains.
struct OpenHeading<'q> {
    level: usize,
    matched: MatchedTerms<'q>,
}

/// Answers from hits, the best first; `None` when they hold no answer. `terms` are the question's content words. What has
/// ended is marked with its last day in `zone`, or in UTC.
///
/// # Errors
///
/// If the client has left.
pub(super) fn answer(
    hits: &[FoundMemory],
    terms: &[String],
    zone: Option<&TimeZone>,
) -> Result<Option<ExtractiveAnswer>, ClientLeft> {
    let question = QuestionTerms::of(terms);
    let mut candidates = Vec::new();
    let quotations = Quotations::of(hits.iter().map(|hit| hit.memory.content.as_str()));
    let is_candidate = |hit: &&FoundMemory| hit.score >= SCORE_MIN && !quotations.contain(&hit.memory.content);
    for hit in hits.iter().filter(is_candidate).take(HITS_QUOTED) {
        pause()?;
        add_candidates(&mut candidates, hit, &question);
    }
    candidates.sort_by(|a, b| b.value.total_cmp(&a.value));
    let Some(best) = candidates.first().map(|candidate| candidate.value) else { return Ok(None) };
    candidates.retain(|candidate| candidate.value >= best * SHARE_OF_BEST);
    leave_out_known(&mut candidates);
    candidates.truncate(PASSAGES_MAX);

    let mut chosen = Vec::new();
    let mut citations = Vec::new();
    for candidate in candidates {
        let hit = candidate.hit;
        let memory = &hit.memory;
        let start = candidate.start();
        let is_block = matches!(candidate.content, CandidateContent::Block(_));
        let passage = candidate.quote(&question);
        for quote in passage.quotes {
            citations.push(Citation {
                path: memory.path.clone(),
                section: section_at(&memory.content, quote.start),
                quote: memory.content.get(quote).unwrap_or_default().to_owned(),
                namespace: hit.namespace_text(),
            });
        }
        let mut text = passage.text;
        if !is_block {
            text.push_str(&hit.former_mark(zone));
        }
        chosen.push(ChosenPassage { hit, start, is_block, text });
    }
    Ok(Some(ExtractiveAnswer { answer: join(chosen), citations }))
}

/// Leaves out statements that contain no word of the question that a better statement lacks: one answer is enough, and the
/// next one may be a former one.
fn leave_out_known(candidates: &mut Vec<PassageCandidate<'_, '_>>) {
    let mut known = MatchedTerms::new();
    let mut has_statement = false;
    candidates.retain(|candidate| {
        let CandidateContent::Statement(SpokenPassage { matched, .. }) = &candidate.content else { return true };
        let is_new = !has_statement || matched.is_empty() || !matched.is_subset(&known);
        has_statement = true;
        known.extend(matched);
        is_new
    });
}

/// Joins passages in reading order: memory by memory, the memory with the best passage first.
fn join(mut passages: Vec<ChosenPassage<'_>>) -> String {
    let mut hits: Vec<&FoundMemory> = Vec::new();
    for passage in &passages {
        if !hits.iter().any(|hit| std::ptr::eq(*hit, passage.hit)) {
            hits.push(passage.hit);
        }
    }
    passages.sort_by_key(|passage| (hits.iter().position(|hit| std::ptr::eq(*hit, passage.hit)), passage.start));
    let mut answer = String::new();
    let mut after_block = false;
    for passage in &passages {
        if !answer.is_empty() {
            answer.push_str(if after_block || passage.is_block { "\n\n" } else { " " });
        }
        answer.push_str(&passage.text);
        after_block = passage.is_block;
    }
    answer
}

/// Adds the passages of a memory that may be quoted.
fn add_candidates<'a, 'q>(
    candidates: &mut Vec<PassageCandidate<'a, 'q>>,
    hit: &'a FoundMemory,
    question: &QuestionTerms<'q>,
) {
    let (content, score) = (hit.memory.content.as_str(), hit.score);
    if hit.memory.speaker.is_some()
        && let Some(passages) = spoken::passages(content, question)
    {
        for passage in passages {
            let share = question.share(&passage.matched);
            if is_quotable(score, share) {
                let value = passage_value(score, share);
                candidates.push(PassageCandidate { hit, value, content: CandidateContent::Statement(passage) });
            }
        }
        return;
    }
    // The outermost heading first.
    let mut headings: Vec<OpenHeading<'_>> = Vec::new();
    for block in blocks(content) {
        if let Some(level) = block.heading {
            let title = content[block.range.start..].lines().next().unwrap_or_default();
            headings.retain(|above| above.level < level);
            headings.push(OpenHeading { level, matched: question.matched(title).unwrap_or_default() });
        }
        if block.kind != BlockKind::Line {
            if let Some(share) = block_share(content, &block, &headings, question)
                && is_quotable(score, share)
            {
                let value = passage_value(score, share);
                candidates.push(PassageCandidate { hit, value, content: CandidateContent::Block(block) });
            }
            continue;
        }
        for range in sentences_of(content, &block.range) {
            if let Some(matched) = question.matched(&content[range.clone()]) {
                let share = question.share(&matched);
                if is_quotable(score, share) {
                    let value = passage_value(score, share);
                    candidates.push(PassageCandidate { hit, value, content: CandidateContent::Sentence(range) });
                }
            }
        }
    }
}

/// Returns whether a passage may be quoted, by its hit's score and the share of the question that it contains.
fn is_quotable(score: f32, share: f32) -> bool {
    share >= SHARE_MIN || score >= SCORE_SURE
}

fn passage_value(score: f32, share: f32) -> f32 {
    score * (0.5 + share)
}

/// The texts of a block that are compared with the question: the texts above all parts, and each part.
struct BlockTexts<'a> {
    lead_in: &'a str,
    table_header: &'a str,
    /// Steps, rows, or the whole block.
    parts: Vec<&'a str>,
}

impl<'a> BlockTexts<'a> {
    fn of(content: &'a str, block: &Block) -> Option<Self> {
        let whole = block.body..block.range.end;
        let mut lead_end = block.body;
        let mut table_header = "";
        let mut parts: Vec<&str> = Vec::new();
        match &block.kind {
            BlockKind::List { steps, .. } => {
                lead_end = steps.first().copied().unwrap_or(block.body);
                for range in passage::step_ranges(block, steps) {
                    parts.push(content.get(range)?);
                }
            }
            BlockKind::Table => {
                let table = MarkdownTable::read(content, whole);
                table_header = table.header_text;
                parts = table.row_texts();
            }
            BlockKind::Line | BlockKind::Code => parts.push(content.get(whole)?),
        }
        let lead_in = content.get(block.range.start..lead_end).unwrap_or_default();
        Some(Self { lead_in, table_header, parts })
    }
}

/// Returns the share of the question that a block contains: in its lead-in together with the best of its steps or rows,
/// and in the headings above it. Returns `None` for a block without any content word.
fn block_share<'q>(
    content: &str,
    block: &Block,
    headings: &[OpenHeading<'q>],
    question: &QuestionTerms<'q>,
) -> Option<f32> {
    let texts = BlockTexts::of(content, block)?;
    let mut has_words = false;
    let mut above = MatchedTerms::new();
    for text in [texts.lead_in, texts.table_header] {
        if let Some(matched) = question.matched(text) {
            has_words = true;
            above.extend(&matched);
        }
    }
    let mut best = above.clone();
    for part in texts.parts {
        let Some(mut matched) = question.matched(part) else { continue };
        has_words = true;
        matched.extend(&above);
        if question.share(&matched) > question.share(&best) {
            best = matched;
        }
    }
    if !has_words {
        return None;
    }
    let own = question.share(&best);
    for heading in headings {
        best.extend(&heading.matched);
    }
    let with_headings = question.share(&best);
    if with_headings < HEADINGS_SHARE_MIN {
        return Some(own);
    }
    Some(own + HEADING_WEIGHT * (with_headings - own))
}

impl PassageCandidate<'_, '_> {
    /// Returns the offset of the passage's first byte.
    fn start(&self) -> usize {
        match &self.content {
            CandidateContent::Sentence(range) => range.start,
            CandidateContent::Statement(passage) => passage.range.start,
            CandidateContent::Block(block) => block.range.start,
        }
    }

    /// Returns the passage as the answer shows it.
    fn quote(&self, question: &QuestionTerms<'_>) -> QuotedPassage {
        let (content, path) = (self.hit.memory.content.as_str(), self.hit.memory.path.as_str());
        let block = match &self.content {
            CandidateContent::Sentence(range) => return QuotedPassage::verbatim(content, range.clone()),
            CandidateContent::Statement(passage) => {
                return passage.quote(content, self.hit.memory.speaker.as_deref().unwrap_or_default());
            }
            CandidateContent::Block(block) => block,
        };
        match &block.kind {
            BlockKind::List { .. } => passage::quote_list(content, block, path, question),
            BlockKind::Table => table::quote(content, block, path, question, &headings_at(content, block.body)),
            BlockKind::Code => passage::quote_code(content, block, path),
            BlockKind::Line => QuotedPassage::verbatim(content, block.range.clone()),
        }
    }
}

/// Returns the headings of the sections that contain an offset, the outermost first.
fn headings_at(content: &str, offset: usize) -> Vec<String> {
    let mut headings = Vec::new();
    for section in markdown::sections(content) {
        if section.range.contains(&offset) {
            headings.push(section.name);
        }
    }
    headings
}

#[cfg(test)]
mod tests {
    use cuebase_language::tokenize::content_terms;
    use cuebase_retrieval::{Arms, Memory};
    use cuebase_storage::NamespaceName;

    use super::*;

    fn hit(path: &str, content: &str, score: f32) -> FoundMemory {
        use cuebase_retrieval::ValidityState;

        let memory = Memory { path: path.to_owned(), content: content.to_owned(), ..Memory::default() };
        FoundMemory {
            memory,
            score,
            arms: Arms::default(),
            via: None,
            validity: ValidityState { current: true, ..ValidityState::default() },
            also: Vec::new(),
            namespace: None,
            explanation: None,
        }
    }

    fn answer_to(question: &str, hits: &[FoundMemory]) -> ExtractiveAnswer {
        let extract = answer(hits, &content_terms(question), None).expect("the client waits").expect("an answer");
        for citation in &extract.citations {
            let cited = hits.iter().find(|hit| hit.memory.path == citation.path).expect("a hit");
            assert!(cited.memory.content.contains(&citation.quote), "{citation:?}");
        }
        extract
    }

    #[test]
    fn sentences_have_their_offsets_in_the_content() {
        let content = "# Tea. Green.\n\n- Boil it. Wait 3.5 minutes!\n\n## Cups\n\nFour\n";
        let mut found: Vec<(usize, &str)> = Vec::new();
        for block in blocks(content) {
            for range in sentences_of(content, &block.range) {
                found.push((range.start, &content[range]));
            }
        }
        let texts: Vec<&str> = found.iter().map(|(_, text)| *text).collect();
        assert_eq!(texts, ["Tea.", "Green.", "Boil it.", "Wait 3.5 minutes!", "Cups", "Four"]);
        assert_eq!(section_at(content, found[5].0).as_deref(), Some("Cups"));
        assert_eq!(section_at(content, found[2].0).as_deref(), Some("Tea. Green."));
    }

    #[test]
    fn prose_is_quoted_by_its_best_sentences_on_one_line() {
        let greenhouse = "# Greenhouse\n\nThe thermostat is a Brandt 400. It sits by the door.\n\n## Service\n\nThe thermostat battery lasts nine months.\n";
        let hits = [
            hit("facts/shed.md", "# Shed\n\nThe shed thermostat has a spare battery that lasts.\n", 0.4),
            hit("facts/greenhouse.md", greenhouse, 0.4),
        ];
        let extract = answer_to("How long does the thermostat battery last?", &hits);
        let expected = "The shed thermostat has a spare battery that lasts. The thermostat battery lasts nine months.";
        assert_eq!(extract.answer, expected);
        let sections: Vec<Option<&str>> =
            extract.citations.iter().map(|citation| citation.section.as_deref()).collect();
        assert_eq!(sections, [Some("Shed"), Some("Service")]);
    }

    #[test]
    fn sentences_keep_their_order_and_the_best_is_cited_first() {
        let hits = [hit("facts/a.md", "The kiln is old. The kiln reaches cone ten.\n", 0.9)];
        let extract = answer_to("Which cone does the kiln reach?", &hits);
        assert_eq!(extract.answer, "The kiln is old. The kiln reaches cone ten.");
        assert_eq!(extract.citations[0].quote, "The kiln reaches cone ten.");
    }

    #[test]
    fn memories_of_two_namespaces_at_one_path_are_quoted_one_after_the_other() {
        let mut hits = [
            hit("facts/kiln.md", "The kiln is old. The kiln reaches cone ten.\n", 0.9),
            hit("facts/kiln.md", "The kiln reaches cone six.\n", 0.9),
        ];
        for (hit, name) in hits.iter_mut().zip(["a", "b"]) {
            hit.namespace = NamespaceName::new(name);
        }
        let extract = answer(&hits, &content_terms("Which cone does the kiln reach?"), None)
            .expect("the client waits")
            .expect("an answer");
        assert_eq!(extract.answer, "The kiln is old. The kiln reaches cone ten. The kiln reaches cone six.");
        for citation in &extract.citations {
            let expected = if citation.quote.contains("six") { "b" } else { "a" };
            assert_eq!(citation.namespace.as_deref(), Some(expected), "{citation:?}");
        }
    }

    #[test]
    fn a_procedure_is_quoted_whole_when_any_part_matches() {
        let steps = "1. Announce the change.\n2. Stop the writers.\n3. Create the new key.\n4. Revoke the old key.";
        for content in [
            format!("# Rotate the api keys\n\n{steps}\n"),
            format!("# Rotate the api keys\n\nOnce a year.\n\n## Steps\n\n{steps}\n\nTell Ann.\n"),
            format!("# Ann\n\n{steps}\n"),
        ] {
            let extract = answer_to("How do I rotate the api keys?", &[hit("skills/rotate.md", &content, 0.8)]);
            assert!(extract.answer.contains(steps), "{}", extract.answer);
        }
    }

    #[test]
    fn blocks_are_separated_from_sentences_by_blank_lines() {
        let hits = [
            hit("facts/a.md", "# Ovens\n\nThe oven code is below.\n\n```sh\noven code --heat\n```\n", 0.6),
            hit("facts/b.md", "The oven code is 42.\n", 0.5),
        ];
        // The three best passages; the title is the fourth.
        let extract = answer_to("What is the oven code?", &hits);
        let expected = "The oven code is below.\n\n```sh\noven code --heat\n```\n\nThe oven code is 42.";
        assert_eq!(extract.answer, expected);
    }

    #[test]
    fn a_table_row_is_quoted_as_a_sentence() {
        let content = "# Acme\n\n| field | value |\n|---|---|\n| Renewal | 2027-02-01 |\n| Owner | Mara |\n";
        let extract = answer_to("When is the renewal of Acme?", &[hit("facts/acme.md", content, 0.7)]);
        assert_eq!(extract.answer, "Acme — Renewal: 2027-02-01.");
        assert_eq!(extract.citations[0].quote, "| Renewal | 2027-02-01 |");
        assert_eq!(extract.citations[0].section.as_deref(), Some("Acme"));
    }
}
