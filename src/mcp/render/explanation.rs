//! Why a query returns a memory, or why it does not.

use std::fmt::Write;

use super::CLOSING_CHARS;
use crate::mcp::budget::{CHARACTERS_DEFAULT, cut, lines};
use crate::service::retrieval::{ArmRankView, ContributionView, ExcludedBy, ExplainResponse, ExplanationView};

/// Most characters of a cue's text.
const CUE_CHARS: usize = 300;

/// Renders the place of a memory in the result of a query, and what its score was made from.
pub(in crate::mcp) fn explanation(response: &ExplainResponse) -> String {
    let mut out = vec![verdict(response)];
    if let Some(explanation) = &response.explanation {
        add_explanation(&mut out, explanation);
    }
    if !response.outranked_by.is_empty() {
        out.push("Ranks higher:".to_owned());
    }
    for path in &response.outranked_by {
        out.push(format!("- {path}"));
    }
    lines(&out, CHARACTERS_DEFAULT.saturating_sub(CLOSING_CHARS)).text
}

fn verdict(response: &ExplainResponse) -> String {
    let path = &response.path;
    let (Some(rank), Some(score)) = (response.rank, response.score) else {
        return format!("{path}: no memory is stored there. memory_recall and memory_topics return paths.");
    };
    let place = format!("score {score:.3}, rank {rank}");
    if response.found {
        return format!("{path} is found: {place}.");
    }
    if let Some(hit) = &response.repeats {
        return format!("{path} says the same as {hit}, which is found in its place: {place}.");
    }
    let reasons: Vec<&str> = response.excluded_by.iter().map(|excluded| reason(*excluded)).collect();
    format!("{path} is not found, because {}: {place}.", reasons.join(", and "))
}

fn reason(excluded: ExcludedBy) -> &'static str {
    match excluded {
        ExcludedBy::Filter => "a filter leaves it out",
        ExcludedBy::Expired => "it has expired",
        ExcludedBy::Superseded => "it no longer holds",
        ExcludedBy::NoArm => "neither its words nor its cues nor its relations match",
        ExcludedBy::MinScore => "its score is too low",
        ExcludedBy::Limit => "enough other memories rank higher",
        ExcludedBy::Admit => "its score is too low for the level of admission",
        ExcludedBy::UnknownPath => "no memory is stored there",
    }
}

fn add_explanation(out: &mut Vec<String>, explanation: &ExplanationView) {
    let arms: Vec<String> = explanation.arms.iter().map(arm).collect();
    if !arms.is_empty() {
        out.push(format!("Found by: {}", arms.join("; ")));
    }
    if let Some(cue) = &explanation.cue {
        let text = cut(cue.text.as_deref().unwrap_or("(unknown)"), CUE_CHARS);
        out.push(format!("Nearest cue: {text} (cosine {:.2})", cue.cosine));
    }
    if !explanation.terms.is_empty() {
        let terms: Vec<String> =
            explanation.terms.iter().map(|part| format!("{} {:.2}", part.term, part.bm25)).collect();
        out.push(format!("Words of the query in it, by BM25: {}", terms.join(", ")));
    }
    if let Some(relation) = &explanation.relation {
        out.push(format!("Related to: {} ({})", relation.from, relation.kind));
    }
    let parts: Vec<String> = explanation.contributions.iter().filter(|part| part.log_odds != 0.0).map(part).collect();
    out.push(format!("Log-odds: {:.2} without evidence; {}", explanation.base_log_odds, parts.join(", ")));
}

fn arm(found: &ArmRankView) -> String {
    let name: &'static str = found.arm.into();
    let mut text = name.to_owned();
    if let Some(rank) = found.rank {
        let _ = write!(text, ", rank {rank}");
    }
    if let Some(score) = found.score {
        let _ = write!(text, ", score {score:.2}");
    }
    text
}

fn part(contribution: &ContributionView) -> String {
    format!("{} {:+.2}", contribution.feature, contribution.log_odds)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn rendered(body: Value) -> String {
        explanation(&serde_json::from_value(body).expect("a response"))
    }

    #[test]
    fn a_found_memory_has_its_place_and_the_parts_of_its_score() {
        let text = rendered(json!({
            "path": "facts/a.md", "found": true, "rank": 2, "score": 0.4126, "outranked_by": ["facts/b.md"],
            "explanation": {
                "arms": [{"arm": "lexical", "rank": 1, "score": 3.204}, {"arm": "graph", "rank": 4, "score": null}],
                "cue": {"text": "Where is the ferry?", "cosine": 0.613},
                "terms": [{"term": "ferry", "bm25": 3.204}],
                "relation": {"from": "facts/b.md", "kind": "follows"},
                "base_log_odds": -7.554,
                "contributions": [{"feature": "words", "log_odds": 1.5}, {"feature": "time", "log_odds": 0.0},
                    {"feature": "form", "log_odds": -0.25}],
            },
        }));
        let expected = "facts/a.md is found: score 0.413, rank 2.\n\
            Found by: lexical, rank 1, score 3.20; graph, rank 4\n\
            Nearest cue: Where is the ferry? (cosine 0.61)\n\
            Words of the query in it, by BM25: ferry 3.20\n\
            Related to: facts/b.md (follows)\n\
            Log-odds: -7.55 without evidence; words +1.50, form -0.25\n\
            Ranks higher:\n\
            - facts/b.md";
        assert_eq!(text, expected);
    }

    #[test]
    fn a_missing_memory_has_every_reason() {
        let text = rendered(json!({
            "path": "facts/a.md", "rank": 9, "score": 0.001, "excluded_by": ["expired", "min_score"],
        }));
        assert_eq!(
            text,
            "facts/a.md is not found, because it has expired, and its score is too low: score 0.001, rank 9."
        );
        let text = rendered(json!({"path": "facts/a.md", "rank": 2, "score": 0.5, "repeats": "facts/b.md"}));
        assert!(text.starts_with("facts/a.md says the same as facts/b.md"), "{text}");
        let text = rendered(json!({"path": "facts/a.md", "excluded_by": ["unknown_path"]}));
        assert!(text.starts_with("facts/a.md: no memory is stored there."), "{text}");
    }

    #[test]
    fn an_explanation_stays_within_the_default_budget() {
        let paths = vec!["p".repeat(1_000); 24];
        let text = rendered(json!({"path": "facts/a.md", "rank": 25, "score": 0.1, "outranked_by": paths}));
        assert!(text.chars().count() <= CHARACTERS_DEFAULT, "{}", text.chars().count());
    }
}
