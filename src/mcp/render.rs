//! Renders responses of the API as text for an agent.
//!
//! Each text has a maximum length, within which [`budget`](super::budget) decides what is shown. The last line counts
//! what is left out and names the call that returns it.

use std::fmt::Write;

use serde_json::Value;

use super::api::ApiResponse;
use super::budget::{CHARACTERS_DEFAULT, Fitted, Passage, cut, excerpt, grouped, lines, passages};
use crate::error_codes::ErrorCode;

/// Characters reserved for the last line, which counts what is left out.
const CLOSING_CHARS: usize = 200;
/// Most characters of an answer's text. The rest of the result is for its citations.
const ANSWER_CHARS: usize = 6_000;
/// Most characters of a citation's quote.
const QUOTE_CHARS: usize = 300;
/// Most characters of a skill's description in a list.
const DESCRIPTION_CHARS: usize = 200;
/// Most characters of the names of a memory's sections.
const SECTIONS_CHARS: usize = 400;
/// The names of the sections take at most the room divided by this.
const SECTIONS_DIVISOR: usize = 8;
/// Most warnings that are shown.
const WARNINGS_MAX: usize = 10;
/// Most characters of a warning.
const WARNING_CHARS: usize = 400;
/// The code of a response of the gateway, which has only a message.
const UNAUTHORIZED: &str = "unauthorized";
/// Most characters of an error's message.
const MESSAGE_CHARS: usize = 1_000;

/// Which hits of a search are shown.
pub(super) struct HitsView {
    /// Most hits.
    pub(super) limit: usize,
    /// Hits requested from the API. More than the limit, so that further hits can be counted.
    pub(super) requested: usize,
    /// Hits with a lower score are left out.
    pub(super) min_score: f64,
    /// Most characters of the text.
    pub(super) max_characters: usize,
}

/// Nouns for the results of a search.
struct Nouns {
    thing: &'static str,
    hit: &'static str,
}

const MEMORIES: Nouns = Nouns { thing: "memory", hit: "hit" };
const SKILLS: Nouns = Nouns { thing: "skill", hit: "skill" };

/// Which part of a long text or list is shown.
pub(super) struct Page {
    /// Characters or entries to skip.
    pub(super) offset: usize,
    /// Most characters of the text.
    pub(super) max_characters: usize,
}

/// An error response of the API.
pub(super) struct Refusal {
    /// Error code of the API.
    pub(super) code: String,
    /// Text of the tool's error: the code, the message, and what to do.
    pub(super) text: String,
}

impl From<Refusal> for String {
    fn from(refusal: Refusal) -> Self {
        refusal.text
    }
}

fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    value[name].as_str().unwrap_or("")
}

fn list<'a>(value: &'a Value, name: &str) -> &'a [Value] {
    match &value[name] {
        Value::Array(values) => values,
        _ => &[],
    }
}

/// Returns the date of a time; empty where the time is absent.
fn day<'a>(value: &'a Value, name: &str) -> &'a str {
    text(value, name).get(..10).unwrap_or("")
}

fn score(entry: &Value) -> f64 {
    entry["score"].as_f64().unwrap_or(0.0)
}

/// Renders the hits of a search, best first, and the definitions of the query's terms.
pub(super) fn hits(response: &Value, view: &HitsView) -> String {
    let mut out = scored(list(response, "hits"), view, &MEMORIES);
    let definitions: Vec<String> = list(response, "defined").iter().map(definition).collect();
    if definitions.is_empty() {
        return out;
    }
    let room = view.max_characters.saturating_sub(out.chars().count() + CLOSING_CHARS);
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

fn definition(term: &Value) -> String {
    format!("{}: {}", text(term, "term"), text(term, "definition"))
}

/// Renders the skills found for a task.
pub(super) fn skills_for_task(response: &Value, view: &HitsView) -> String {
    scored(list(response, "skills"), view, &SKILLS)
}

/// Renders entries with a score, a path and content, and counts the entries that are not shown.
fn scored(entries: &[Value], view: &HitsView, nouns: &Nouns) -> String {
    let mut relevant = Vec::new();
    for entry in entries {
        if score(entry) >= view.min_score {
            relevant.push(entry);
        }
    }
    let page_is_full = entries.len() >= view.requested;
    if relevant.is_empty() {
        return nothing_relevant(&counted(entries.len(), nouns.hit, page_is_full), entries, view, nouns);
    }
    let within_limit: Vec<Passage<'_>> = relevant.iter().take(view.limit).map(|entry| passage(entry)).collect();
    let Fitted { text: mut out, shown } = passages(&within_limit, view.max_characters.saturating_sub(CLOSING_CHARS));
    if shown < relevant.len() {
        // There may be entries after a full page, unless the page ends below the lowest score.
        let open_end = page_is_full && relevant.len() == entries.len();
        let more = counted(relevant.len() - shown, &format!("more {}", nouns.hit), open_end);
        let _ = write!(out, "\n\n{more}: ask with a higher limit or max_characters.");
    }
    out
}

fn nothing_relevant(below: &str, entries: &[Value], view: &HitsView, nouns: &Nouns) -> String {
    if entries.is_empty() {
        return format!("No {} matches this.", nouns.thing);
    }
    format!(
        "No {} scores {} or more for this; below that: {below}. Ask in other words, or with a lower min_score.",
        nouns.thing, view.min_score
    )
}

/// Returns a number with its noun: `1 hit`, `at least 24 hits`.
fn counted(number: usize, noun: &str, open_end: bool) -> String {
    let plural = if number == 1 && !open_end { "" } else { "s" };
    let at_least = if open_end { "at least " } else { "" };
    format!("{at_least}{} {noun}{plural}", grouped(number))
}

fn passage(entry: &Value) -> Passage<'_> {
    let path = text(entry, "path");
    let mut heading = format!("[{:.2}] {path}", score(entry));
    let happened = day(entry, "occurred_at");
    if !happened.is_empty() {
        let _ = write!(heading, " ({happened})");
    }
    Passage { heading, text: text(entry, "content").trim(), path }
}

/// Renders one memory, starting at an offset.
pub(super) fn memory(memory: &Value, page: &Page) -> String {
    let path = text(memory, "path");
    let content = text(memory, "content").trim();
    let length = content.chars().count();
    if page.offset > 0 && page.offset >= length {
        return format!("{path} has {} characters; offset {} is past its end.", grouped(length), page.offset);
    }
    let mut about = format!("({path}, changed {}", day(memory, "updated_at"));
    let happened = day(memory, "occurred_at");
    if !happened.is_empty() {
        let _ = write!(about, ", happened {happened}");
    }
    about.push(')');
    let room = page.max_characters.saturating_sub(about.chars().count() + 2);
    format!("{}\n\n{about}", part(memory, content, length, page.offset, room))
}

/// Returns the characters of a memory after an offset, as far as they fit, and the call that continues.
fn part(memory: &Value, content: &str, length: usize, offset: usize, room: usize) -> String {
    let start = match content.char_indices().nth(offset) {
        Some((start, _)) => start,
        None => content.len(),
    };
    let rest = &content[start..];
    if length - offset <= room {
        return rest.to_owned();
    }
    let sections = sections(memory, (room / SECTIONS_DIVISOR).min(SECTIONS_CHARS));
    // The mark is longest for the greatest numbers.
    let mark = continuation(length, length, &sections).chars().count() + 1;
    let shown = cut(rest, room.saturating_sub(mark));
    let next = offset + shown.chars().count();
    format!("{}\n{}", shown.trim_end(), continuation(length - next, next, &sections))
}

fn continuation(left: usize, offset: usize, sections: &str) -> String {
    format!("… {} more characters: memory_read with offset {offset}{sections}", grouped(left))
}

/// Lists the sections of a memory, as far as they fit. Empty where there is only one.
fn sections(memory: &Value, room: usize) -> String {
    let names = list(memory, "sections");
    if names.len() < 2 {
        return String::new();
    }
    let mut out = ", or with one of its sections:".to_owned();
    for (index, name) in names.iter().enumerate() {
        let separator = if index == 0 { " " } else { ", " };
        let name = format!("{separator}{name}");
        if out.chars().count() + name.chars().count() + 20 > room {
            if index == 0 {
                return String::new();
            }
            let _ = write!(out, ", and {} more", names.len() - index);
            break;
        }
        out.push_str(&name);
    }
    out
}

/// Renders an answer with its citations. A quote of several lines is a list, a table or code that the answer contains, so
/// its citation has only the path and the section.
pub(super) fn answer(response: &Value) -> String {
    let citations = list(response, "citations");
    let path = match citations.first() {
        Some(citation) => text(citation, "path"),
        None => "",
    };
    let mut out = excerpt(text(response, "answer").trim(), ANSWER_CHARS, path);
    let cited: Vec<String> = citations.iter().map(citation).collect();
    let room = CHARACTERS_DEFAULT.saturating_sub(out.chars().count() + CLOSING_CHARS);
    let Fitted { text, shown } = lines(&cited, room);
    if shown > 0 {
        // In markdown, citations right after a list or a table would become part of it.
        let separator = if out.contains('\n') { "\n\n" } else { "\n" };
        let _ = write!(out, "{separator}{text}");
    }
    if shown < cited.len() {
        let _ = write!(out, "\n{} more citations.", cited.len() - shown);
    }
    out
}

fn citation(citation: &Value) -> String {
    let path = text(citation, "path");
    let quote = text(citation, "quote");
    if quote.contains('\n') {
        return match citation["section"].as_str() {
            Some(section) => format!("- {path}, section \"{section}\""),
            None => format!("- {path}"),
        };
    }
    let words: Vec<&str> = quote.split_whitespace().collect();
    let quote = words.join(" ");
    let shown = cut(&quote, QUOTE_CHARS);
    let mark = if shown.len() < quote.len() { " …" } else { "" };
    format!("- {path}: \"{shown}{mark}\"")
}

/// Renders a list of skills by name.
pub(super) fn skills(response: &Value, page: &Page, listed_max: usize) -> String {
    let skills = list(response, "skills");
    if skills.is_empty() {
        return "No skills are stored.".into();
    }
    let mut entries = Vec::new();
    for skill in skills {
        let description = text(skill, "description");
        let shown = cut(description, DESCRIPTION_CHARS);
        let mark = if shown.len() < description.len() { " …" } else { "" };
        entries.push(format!("{}: {} {shown}{mark}", text(skill, "path"), text(skill, "name")));
    }
    if skills.len() >= listed_max {
        entries.push(format!("The list ends at {listed_max} skills: memory_skills with a task finds any."));
    }
    paged(&entries, page, "memory_skills")
}

/// Renders topics by tier.
pub(super) fn topics(response: &Value, page: &Page) -> String {
    let mut entries = Vec::new();
    for topic in list(response, "topics") {
        let path = format!("{}/{}", text(topic, "tier"), text(topic, "topic"));
        entries.push(format!("{} ({})", path.trim_end_matches('/'), topic["memories"]));
    }
    if entries.is_empty() {
        return "No memories are stored.".into();
    }
    paged(&entries, page, "memory_topics")
}

/// Renders the entries of a directory.
pub(super) fn tree(response: &Value, page: &Page) -> String {
    let mut entries = Vec::new();
    for entry in list(response, "entries") {
        match entry["memories"].as_u64() {
            Some(memories) => entries.push(format!("{}/ ({memories})", text(entry, "path"))),
            None => entries.push(text(entry, "path").to_owned()),
        }
    }
    if entries.is_empty() {
        return "No memories are stored there. memory_topics without a path lists all topics.".into();
    }
    paged(&entries, page, "memory_topics")
}

/// Returns the entries after an offset, as far as they fit, and the call that lists the others.
fn paged(entries: &[String], page: &Page, tool: &str) -> String {
    if page.offset >= entries.len() {
        return format!("The list has {} entries; offset {} is past its end.", entries.len(), page.offset);
    }
    let rest = &entries[page.offset..];
    let Fitted { text, shown } = lines(rest, page.max_characters.saturating_sub(CLOSING_CHARS));
    if shown == rest.len() {
        return text;
    }
    let next = page.offset + shown;
    format!("{text}\n… {} more entries: {tool} with offset {next}", grouped(rest.len() - shown))
}

/// Adds the warnings of a response as last lines.
pub(super) fn with_warnings(mut out: String, response: &Value) -> String {
    let warnings = list(response, "warnings");
    for warning in warnings.iter().take(WARNINGS_MAX) {
        if let Some(warning) = warning.as_str() {
            add_warning(&mut out, cut(warning, WARNING_CHARS));
        }
    }
    if warnings.len() > WARNINGS_MAX {
        add_warning(&mut out, &format!("{} more", warnings.len() - WARNINGS_MAX));
    }
    out
}

/// Adds a warning as the last line.
pub(super) fn add_warning(out: &mut String, warning: &str) {
    let _ = write!(out, "\nwarning: {warning}");
}

/// Renders an error response: its code, its message, and advice to the agent.
pub(super) fn refusal(response: &ApiResponse) -> Refusal {
    let ApiResponse { status, body } = response;
    let envelope = if body["error"].is_object() { &body["error"] } else { body };
    let code = envelope["code"].as_str().or(body["error"].as_str()).unwrap_or(UNAUTHORIZED);
    let message = cut(text(envelope, "message"), MESSAGE_CHARS);
    let advice = match (*status, ErrorCode::from_text(code)) {
        (401 | 403, None) if code == UNAUTHORIZED => {
            "The key is missing, wrong or revoked. Only the user can give another."
        }
        (403, Some(ErrorCode::ForbiddenNamespace)) | (400, Some(ErrorCode::InvalidNamespace)) => {
            "Leave namespace out to use the key's own."
        }
        (404, Some(ErrorCode::NamespaceNotFound)) => "Leave namespace out, or ask the user for its name.",
        (400, Some(ErrorCode::InvalidPath)) => "A path is facts/…, incidents/…, rules/… or skills/… and ends in .md.",
        (429, Some(ErrorCode::QuotaExceeded)) => "Do not try again: the plan's limit for this month is reached.",
        (429 | 503, _) => "Try again in a few seconds.",
        (500.., _) => "It is safe to try again.",
        _ => "",
    };
    let mut text = format!("{code}: {}", message.trim_end_matches('.'));
    if !advice.is_empty() {
        text.push_str(". ");
        text.push_str(advice);
    }
    Refusal { code: code.to_owned(), text }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn view(min_score: f64) -> HitsView {
        HitsView { limit: 8, requested: 24, min_score, max_characters: CHARACTERS_DEFAULT }
    }

    fn page(offset: usize, max_characters: usize) -> Page {
        Page { offset, max_characters }
    }

    fn scores(scores: &[f64]) -> Value {
        let mut hits = Vec::new();
        for (index, score) in scores.iter().enumerate() {
            hits.push(json!({"path": format!("facts/{index}.md"), "score": score, "content": "x"}));
        }
        json!({"hits": hits})
    }

    #[test]
    fn a_hit_has_its_score_path_and_day() {
        let answer = json!({"hits": [{"path": "facts/a.md", "score": 0.817, "content": "# A\n\nb\n",
            "occurred_at": "2026-05-04T09:00:00Z", "created": "x"}]});
        assert_eq!(hits(&answer, &view(0.02)), "[0.82] facts/a.md (2026-05-04)\n# A\n\nb");
        assert_eq!(hits(&json!({}), &view(0.02)), "No memory matches this.");
    }

    #[test]
    fn hits_below_the_lowest_score_are_left_out_and_counted_when_no_others_exist() {
        let response = scores(&[0.6, 0.02, 0.019, 0.0]);
        let text = hits(&response, &view(0.02));
        assert!(text.contains("facts/1.md") && !text.contains("facts/2.md"), "{text}");
        assert!(!text.contains("more hits"), "{text}");
        let text = hits(&response, &view(0.7));
        assert!(text.starts_with("No memory scores 0.7 or more for this; below that: 4 hits."), "{text}");
        let text = hits(&scores(&[0.1; 24]), &view(0.7));
        assert!(text.contains("below that: at least 24 hits."), "{text}");
        assert_eq!(hits(&response, &view(0.0)).matches("[0.").count(), 4);
    }

    #[test]
    fn hits_beyond_the_limit_are_counted_in_the_last_line() {
        let text = hits(&scores(&[0.5; 11]), &view(0.02));
        assert_eq!(text.lines().next_back(), Some("3 more hits: ask with a higher limit or max_characters."));
        let text = hits(&scores(&[0.5; 24]), &view(0.02));
        assert_eq!(text.lines().next_back(), Some("at least 16 more hits: ask with a higher limit or max_characters."));
        // The API's page is full, but it ends below the lowest score.
        let mut some = [0.5; 24];
        some[20..].fill(0.0);
        let text = hits(&scores(&some), &view(0.02));
        assert_eq!(text.lines().next_back(), Some("12 more hits: ask with a higher limit or max_characters."));
    }

    #[test]
    fn hits_and_definitions_stay_within_the_budget() {
        let content = "One more sentence about the ferry. ".repeat(1_000);
        let hit = json!({"path": "facts/ferry.md", "score": 0.5, "content": content});
        let short = json!({"path": "facts/short.md", "score": 0.4, "content": "The ferry is green."});
        let term = json!({"term": "ferry", "definition": "d".repeat(1_900)});
        let response = json!({"hits": [hit, short, hit, hit], "defined": vec![term; 50]});
        for max_characters in [1_000, 8_000, 100_000] {
            let text = hits(&response, &HitsView { max_characters, ..view(0.02) });
            assert!(text.chars().count() <= max_characters, "{}", text.chars().count());
            assert!(text.contains("more definitions of terms"), "{text}");
        }
        let text = hits(&response, &view(0.02));
        assert!(text.contains("facts/short.md\nThe ferry is green.\n"), "{text}");
        assert!(text.contains(" more characters: memory_read facts/ferry.md\n"), "{text}");
    }

    #[test]
    fn a_long_memory_is_read_in_parts_without_a_gap() {
        let content = (0..3_000).map(|n| format!("Line {n} of it.")).collect::<Vec<_>>().join("\n");
        let memory_of = |content: &str| json!({"path": "facts/x.md", "content": content, "sections": ["A", "B \"b\""]});
        let response = memory_of(&content);
        let (mut offset, mut read) = (0, String::new());
        loop {
            let text = memory(&response, &page(offset, 8_000));
            assert!(text.chars().count() <= 8_000);
            let (shown, rest) = match text.split_once("\n… ") {
                Some((shown, rest)) => (shown, Some(rest)),
                None => (text.split_once("\n\n(facts/x.md, ").expect("about it").0, None),
            };
            read.push_str(shown);
            read.push('\n');
            let Some(rest) = rest else { break };
            assert!(rest.contains(", or with one of its sections: \"A\", \"B \\\"b\\\"\""), "{rest}");
            let next = rest.split_once("memory_read with offset ").expect("an offset").1;
            let digits: String = next.chars().take_while(char::is_ascii_digit).collect();
            offset = digits.parse().expect("a number");
        }
        let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(words(&read), words(&content));
        let behind = memory(&memory_of("short"), &page(5, 8_000));
        assert_eq!(behind, "facts/x.md has 5 characters; offset 5 is past its end.");
    }

    #[test]
    fn a_long_list_says_how_many_more_and_from_which_offset() {
        let topic = |n: usize| json!({"tier": "facts", "topic": format!("topic-{n}"), "memories": 1});
        let response = json!({"topics": (0..2_000).map(topic).collect::<Vec<_>>()});
        let mut offset = 0;
        let mut seen = 0;
        loop {
            let text = topics(&response, &page(offset, 8_000));
            assert!(text.chars().count() <= 8_000);
            seen += text.lines().filter(|line| line.starts_with("facts/topic-")).count();
            let Some((_, next)) = text.split_once("more entries: memory_topics with offset ") else { break };
            offset = next.parse().expect("a number");
            assert_eq!(offset, seen);
        }
        assert_eq!(seen, 2_000);
        assert_eq!(topics(&response, &page(2_000, 8_000)), "The list has 2000 entries; offset 2000 is past its end.");
    }

    #[test]
    fn an_answer_stays_within_the_default_budget() {
        let citation = json!({"path": "facts/a.md", "quote": "quoted words ".repeat(2_000)});
        let response = json!({"answer": "Words of it. ".repeat(5_000), "citations": vec![citation; 40]});
        let text = answer(&response);
        assert!(text.chars().count() <= CHARACTERS_DEFAULT, "{}", text.chars().count());
        assert!(text.contains(" more characters: memory_read facts/a.md\n\n- facts/a.md: \"quoted words"), "{text}");
        assert!(text.ends_with(" more citations."), "{text}");
    }

    #[test]
    fn the_citations_of_an_answer_repeat_no_block() {
        let citation = |quote: &str| json!({"path": "skills/a.md", "section": "Rotate", "quote": quote});
        let sentence = json!({"answer": "It is green.", "citations": [citation("It is green.")]});
        assert_eq!(answer(&sentence), "It is green.\n- skills/a.md: \"It is green.\"");
        let steps = json!({"answer": "1. Stop.\n2. Start.", "citations": [citation("1. Stop.\n2. Start.")]});
        assert_eq!(answer(&steps), "1. Stop.\n2. Start.\n\n- skills/a.md, section \"Rotate\"");
    }

    #[test]
    fn warnings_are_the_last_lines() {
        let text = with_warnings("Accepted.".into(), &json!({"warnings": ["unknown field \"a\" ignored", "b"]}));
        assert_eq!(text, "Accepted.\nwarning: unknown field \"a\" ignored\nwarning: b");
        assert_eq!(with_warnings("Accepted.".into(), &json!({})), "Accepted.");
        let many = with_warnings(String::new(), &json!({"warnings": vec!["x".repeat(5_000); 50]}));
        assert!(many.chars().count() < 5_000 && many.ends_with("warning: 40 more"), "{many}");
    }

    #[test]
    fn every_shape_of_refusal_has_a_code_and_advice() {
        let refused = |status, body| refusal(&ApiResponse { status, body }).text;
        assert!(refused(403, json!({"message": "Forbidden"})).starts_with("unauthorized: Forbidden. The key"));
        let envelope = json!({"error": {"code": "invalid_path", "message": "no"}});
        assert!(refused(400, envelope).starts_with("invalid_path: no. A path is"));
        let retrieve = json!({"error": "namespace_not_found", "namespace": "x", "message": "none"});
        assert!(refused(404, retrieve).starts_with("namespace_not_found: none. Leave"));
        assert!(refused(503, json!({"message": "Service Unavailable"})).ends_with("Try again in a few seconds."));
    }
}
