//! The results of a search, best first.

use std::fmt::Write;

use super::{CLOSING_CHARS, day};
use crate::agent_text::escaped;
use crate::mcp::budget::{Fitted, Passage, grouped, lines, passages};
use crate::mcp::responses::SkillList;
use crate::service::retrieval::{Definition, DocumentPlaceView, HitView, RetrievalResponse};
use crate::service::skills::SkillView;

/// Which hits of a search are shown.
pub(in crate::mcp) struct HitSelection {
    /// Most hits.
    pub(in crate::mcp) limit: usize,
    /// Hits requested from the API. More than the limit, so that further hits can be counted.
    pub(in crate::mcp) requested: usize,
    /// Hits with a lower score are left out.
    pub(in crate::mcp) min_score: f64,
    /// Most characters of the text.
    pub(in crate::mcp) max_characters: usize,
}

/// Nouns for the results of a search.
struct Nouns {
    thing: &'static str,
    hit: &'static str,
}

const MEMORIES: Nouns = Nouns { thing: "memory", hit: "hit" };
const SKILLS: Nouns = Nouns { thing: "skill", hit: "skill" };

/// A result of a search as it is laid out, with its score.
struct ScoredPassage<'a> {
    score: f32,
    passage: Passage<'a>,
}

/// Renders the hits of a search, best first, and the definitions of the query's terms.
pub(in crate::mcp) fn hits(response: &RetrievalResponse, selection: &HitSelection) -> String {
    let results: Vec<ScoredPassage<'_>> = response.hits.iter().map(passage_of_hit).collect();
    let mut out = scored(results, selection, &MEMORIES);
    let definitions: Vec<String> = response.defined.iter().map(definition).collect();
    if definitions.is_empty() {
        return out;
    }
    let room = selection.max_characters.saturating_sub(out.chars().count() + CLOSING_CHARS);
    let Fitted { text, shown } = lines(&definitions, room);
    if shown > 0 {
        let _ = write!(out, "\n\n{text}");
    }
    if shown < definitions.len() {
        let more = definitions.len() - shown;
        let _ = write!(out, "\n\n{more} more definitions of terms: ask with a higher max_characters.");
    }
    out
}

fn definition(term: &Definition) -> String {
    // Its first word is the term, which could be the name of a role.
    escaped(&format!("{}: {}", term.term, term.definition))
}

/// Renders the skills found for a task.
pub(in crate::mcp) fn skills_for_task(response: &SkillList, selection: &HitSelection) -> String {
    scored(response.skills.iter().map(passage_of_skill).collect(), selection, &SKILLS)
}

fn passage_of_hit(hit: &HitView) -> ScoredPassage<'_> {
    let mut heading = heading(hit.score, &hit.path);
    let happened = day(hit.times.occurred_at.as_deref());
    if !happened.is_empty() {
        let _ = write!(heading, " ({happened})");
    }
    if let Some(document) = &hit.document {
        let _ = write!(heading, " in {}", place_in_document(document));
    }
    if let Some(namespace) = &hit.found.namespace {
        let _ = write!(heading, " in namespace {namespace}");
    }
    ScoredPassage { score: hit.score, passage: Passage { heading, text: hit.content.trim(), path: &hit.path } }
}

/// Returns the name of a document and the page or line, as a reader would cite it.
fn place_in_document(document: &DocumentPlaceView) -> String {
    match (document.page, document.line) {
        (Some(page), _) => format!("{}, page {page}", document.name),
        (None, Some(line)) => format!("{}, line {line}", document.name),
        (None, None) => document.name.clone(),
    }
}

fn passage_of_skill(skill: &SkillView) -> ScoredPassage<'_> {
    let score = skill.score.unwrap_or(0.0);
    let heading = heading(score, &skill.path);
    ScoredPassage { score, passage: Passage { heading, text: skill.content.trim(), path: &skill.path } }
}

fn heading(score: f32, path: &str) -> String {
    format!("[{score:.2}] {path}")
}

/// Renders the results of a search, and counts those that are not shown.
fn scored(results: Vec<ScoredPassage<'_>>, selection: &HitSelection, nouns: &Nouns) -> String {
    let found = results.len();
    // Scores have single precision, so a bound such as 0.02 is rounded as they are.
    let min_score = selection.min_score as f32;
    let mut relevant = Vec::new();
    for result in results {
        if result.score >= min_score {
            relevant.push(result.passage);
        }
    }
    let page_is_full = found >= selection.requested;
    if relevant.is_empty() {
        return nothing_relevant(found, page_is_full, selection.min_score, nouns);
    }
    let within_limit = &relevant[..relevant.len().min(selection.limit)];
    let Fitted { text: mut out, shown } =
        passages(within_limit, selection.max_characters.saturating_sub(CLOSING_CHARS));
    if shown < relevant.len() {
        // There may be entries after a full page, unless the page ends below the lowest score.
        let open_end = page_is_full && relevant.len() == found;
        let more = counted(relevant.len() - shown, &format!("more {}", nouns.hit), open_end);
        let _ = write!(out, "\n\n{more}: ask with a higher limit or max_characters.");
    }
    out
}

fn nothing_relevant(found: usize, page_is_full: bool, min_score: f64, nouns: &Nouns) -> String {
    if found == 0 {
        return format!("No {} matches this.", nouns.thing);
    }
    let below = counted(found, nouns.hit, page_is_full);
    format!(
        "No {} scores {min_score} or more for this; below that: {below}. Ask in other words, or with a lower min_score.",
        nouns.thing
    )
}

/// Returns a number with its noun: `1 hit`, `at least 24 hits`.
fn counted(number: usize, noun: &str, open_end: bool) -> String {
    let plural = if number == 1 && !open_end { "" } else { "s" };
    let at_least = if open_end { "at least " } else { "" };
    format!("{at_least}{} {noun}{plural}", grouped(number))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::mcp::budget::CHARACTERS_DEFAULT;

    fn selection(min_score: f64) -> HitSelection {
        HitSelection { limit: 8, requested: 24, min_score, max_characters: CHARACTERS_DEFAULT }
    }

    fn response(body: Value) -> RetrievalResponse {
        serde_json::from_value(body).expect("a response")
    }

    fn scores(scores: &[f64]) -> RetrievalResponse {
        let mut hits = Vec::new();
        for (index, score) in scores.iter().enumerate() {
            hits.push(json!({"path": format!("facts/{index}.md"), "score": score, "content": "x"}));
        }
        response(json!({"hits": hits}))
    }

    #[test]
    fn a_hit_has_its_score_path_and_day() {
        let answer = response(json!({"hits": [{"path": "facts/a.md", "score": 0.817, "content": "# A\n\nb\n",
            "occurred_at": "2026-05-04T09:00:00Z", "created": "x"}]}));
        assert_eq!(hits(&answer, &selection(0.02)), "[0.82] facts/a.md (2026-05-04)\n# A\n\nb");
        assert_eq!(hits(&response(json!({})), &selection(0.02)), "No memory matches this.");
    }

    #[test]
    fn a_hit_of_several_namespaces_names_its_own() {
        let answer =
            response(json!({"hits": [{"path": "facts/a.md", "score": 0.5, "content": "b", "namespace": "team",
            "occurred_at": "2026-05-04T09:00:00Z"}]}));
        assert_eq!(hits(&answer, &selection(0.02)), "[0.50] facts/a.md (2026-05-04) in namespace team\nb");
    }

    #[test]
    fn hits_below_the_lowest_score_are_left_out() {
        let response = scores(&[0.6, 0.02, 0.019, 0.0]);
        let text = hits(&response, &selection(0.02));
        assert!(text.contains("facts/1.md") && !text.contains("facts/2.md"), "{text}");
        assert!(!text.contains("more hits"), "{text}");
        let text = hits(&response, &selection(0.7));
        assert!(text.starts_with("No memory scores 0.7 or more for this; below that: 4 hits."), "{text}");
        let text = hits(&scores(&[0.1; 24]), &selection(0.7));
        assert!(text.contains("below that: at least 24 hits."), "{text}");
        assert_eq!(hits(&response, &selection(0.0)).matches("[0.").count(), 4);
    }

    #[test]
    fn hits_beyond_the_limit_are_counted_in_the_last_line() {
        let text = hits(&scores(&[0.5; 11]), &selection(0.02));
        assert_eq!(text.lines().next_back(), Some("3 more hits: ask with a higher limit or max_characters."));
        let text = hits(&scores(&[0.5; 24]), &selection(0.02));
        assert_eq!(text.lines().next_back(), Some("at least 16 more hits: ask with a higher limit or max_characters."));
        // The API's page is full, but it ends below the lowest score.
        let mut some = [0.5; 24];
        some[20..].fill(0.0);
        let text = hits(&scores(&some), &selection(0.02));
        assert_eq!(text.lines().next_back(), Some("12 more hits: ask with a higher limit or max_characters."));
    }

    #[test]
    fn hits_and_definitions_stay_within_the_budget() {
        let content = "One more sentence about the ferry. ".repeat(1_000);
        let hit = json!({"path": "facts/ferry.md", "score": 0.5, "content": content});
        let short = json!({"path": "facts/short.md", "score": 0.4, "content": "The ferry is green."});
        let term = json!({"term": "ferry", "definition": "d".repeat(1_900)});
        let response = response(json!({"hits": [hit, short, hit, hit], "defined": vec![term; 50]}));
        for max_characters in [1_000, 8_000, 100_000] {
            let text = hits(&response, &HitSelection { max_characters, ..selection(0.02) });
            assert!(text.chars().count() <= max_characters, "{}", text.chars().count());
            assert!(text.contains("more definitions of terms"), "{text}");
        }
        let text = hits(&response, &selection(0.02));
        assert!(text.contains("facts/short.md\nThe ferry is green.\n"), "{text}");
        assert!(text.contains(" more characters: memory_read facts/ferry.md\n"), "{text}");
    }
}
