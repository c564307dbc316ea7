//! Answers of the API as text for an agent: what it needs to go on, and no more.

use std::fmt::Write;

use serde_json::Value;

use super::api::Answered;

fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    value[name].as_str().unwrap_or_default()
}

fn list<'a>(value: &'a Value, name: &str) -> &'a [Value] {
    value[name].as_array().map(Vec::as_slice).unwrap_or_default()
}

/// The day of a time.
fn day(value: &Value, name: &str) -> String {
    text(value, name).get(..10).unwrap_or_default().to_owned()
}

/// Hits, best first: score, path, day, and the text.
pub(super) fn hits(answer: &Value) -> String {
    let mut out = String::new();
    for hit in list(answer, "hits") {
        let _ = write!(out, "[{:.2}] {}", hit["score"].as_f64().unwrap_or_default(), text(hit, "path"));
        let happened = day(hit, "occurred_at");
        if !happened.is_empty() {
            let _ = write!(out, " ({happened})");
        }
        let _ = writeln!(out, "\n{}\n", text(hit, "content").trim());
    }
    for term in list(answer, "defined") {
        let _ = writeln!(out, "{}: {}", text(term, "term"), text(term, "definition"));
    }
    if out.is_empty() { "Nothing relevant is remembered.".into() } else { out.trim_end().to_owned() }
}

/// One memory.
pub(super) fn memory(memory: &Value) -> String {
    let mut out = text(memory, "content").trim().to_owned();
    let _ = write!(out, "\n\n({}, changed {}", text(memory, "path"), day(memory, "updated_at"));
    let happened = day(memory, "occurred_at");
    if !happened.is_empty() {
        let _ = write!(out, ", happened {happened}");
    }
    out.push(')');
    out
}

/// An answer with what it rests on.
pub(super) fn answer(answer: &Value) -> String {
    let mut out = text(answer, "answer").trim().to_owned();
    for citation in list(answer, "citations") {
        let _ = write!(out, "\n- {}: \"{}\"", text(citation, "path"), text(citation, "quote"));
    }
    out
}

/// Skills; their whole text where they were searched for.
pub(super) fn skills(answer: &Value) -> String {
    let mut out = String::new();
    for skill in list(answer, "skills") {
        match skill["score"].as_f64() {
            Some(score) => {
                let _ = writeln!(out, "[{score:.2}] {}\n{}\n", text(skill, "path"), text(skill, "content").trim());
            }
            None => {
                let _ =
                    writeln!(out, "{}: {} {}", text(skill, "path"), text(skill, "name"), text(skill, "description"));
            }
        }
    }
    if out.is_empty() { "No skill is known for that.".into() } else { out.trim_end().to_owned() }
}

/// Topics by tier.
pub(super) fn topics(answer: &Value) -> String {
    let mut out = String::new();
    for topic in list(answer, "topics") {
        let place = format!("{}/{}", text(topic, "tier"), text(topic, "topic"));
        let _ = writeln!(out, "{} ({})", place.trim_end_matches('/'), topic["memories"]);
    }
    if out.is_empty() { "Nothing is remembered yet.".into() } else { out.trim_end().to_owned() }
}

/// A directory's entries.
pub(super) fn tree(answer: &Value) -> String {
    let mut out = String::new();
    for entry in list(answer, "entries") {
        match entry["memories"].as_u64() {
            Some(memories) => {
                let _ = writeln!(out, "{}/ ({memories})", text(entry, "path"));
            }
            None => {
                let _ = writeln!(out, "{}", text(entry, "path"));
            }
        }
    }
    if out.is_empty() {
        "Nothing is there. Without path, topics lists what there is.".into()
    } else {
        out.trim_end().to_owned()
    }
}

/// What went wrong and what can be done about it.
pub(super) fn failure(answered: &Answered) -> String {
    let Answered { status, body } = answered;
    let envelope = if body["error"].is_object() { &body["error"] } else { body };
    let code = envelope["code"].as_str().or(body["error"].as_str()).unwrap_or("unauthorized");
    let message = text(envelope, "message");
    let advice = match (*status, code) {
        (401 | 403, "unauthorized") => "The key is missing, wrong or revoked. Only the user can give another.",
        (403, "forbidden_namespace") | (400, "invalid_namespace") => "Leave namespace out to use the key's own.",
        (404, "namespace_not_found") => "Leave namespace out, or ask the user which one is meant.",
        (404, "not_found") => "Find the path with recall or topics.",
        (404, "no_answer") => "Nothing remembered answers this. Try recall with other words.",
        (400, "invalid_path") => "A path is facts/…, incidents/…, rules/… or skills/… and ends in .md.",
        (429, "quota_exceeded") => "Do not try again: the plan's limit for this month is reached.",
        (429 | 503, _) => "Try again in a few seconds.",
        (500.., _) => "It is safe to try again.",
        _ => "",
    };
    format!("{code}: {message} {advice}").trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_hit_is_told_in_few_words() {
        let answer = json!({"hits": [{"path": "facts/a.md", "score": 0.817, "content": "# A\n\nb\n",
            "occurred_at": "2026-05-04T09:00:00Z", "created": "x"}]});
        assert_eq!(hits(&answer), "[0.82] facts/a.md (2026-05-04)\n# A\n\nb");
        assert_eq!(hits(&json!({})), "Nothing relevant is remembered.");
    }

    #[test]
    fn every_shape_of_failure_is_told_with_what_to_do() {
        let told = |status, body| failure(&Answered { status, body });
        assert!(told(403, json!({"message": "Forbidden"})).starts_with("unauthorized: Forbidden The key"));
        let envelope = json!({"error": {"code": "invalid_path", "message": "no"}});
        assert!(told(400, envelope).starts_with("invalid_path: no A path is"));
        let retrieve = json!({"error": "namespace_not_found", "namespace": "x", "message": "none"});
        assert!(told(404, retrieve).starts_with("namespace_not_found: none Leave"));
        assert!(told(503, json!({"message": "Service Unavailable"})).ends_with("Try again in a few seconds."));
    }
}
