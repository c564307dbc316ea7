//! `explain=true` and `POST /v1/explain`: what a score was made from, and why a query returns a memory or does not.

use serde_json::{Value, json};

use crate::support::working_copy::WorkingCopy;
use crate::support::{Server, fresh, wait_for};

/// A sum may differ this much from the log-odds: scores have single precision, and the parts are rounded.
const TOLERANCE: f64 = 1e-3;
const QUESTION: &str = "What does the ferry to the island cost?";

/// Starts a server with memories about a ferry: four of one conversation, a tagged one, and an expired one.
fn with_ferry(data: &std::path::Path) -> Server {
    let server = Server::start_configured(data, "[git]\naccept_push = true\n");
    for (path, body) in [
        ("facts/ferry/price.md", json!({"content": "# Price\n\nThe ferry to the island costs three crowns.\n"})),
        ("facts/ferry/hull.md", json!({"content": "# Hull\n\nThe ferry is green.\n", "tags": ["paint"]})),
        (
            "incidents/ferry/delay.md",
            json!({"content": "# Delay\n\nThe ferry to the island is late.\n", "expires_at": "2020-01-01"}),
        ),
    ] {
        assert_eq!(server.post(&format!("/v1/memories/{path}"), &body).status, 201, "{path}");
    }
    server.remember(
        "default",
        &[
            "My sister lives on the island",
            "The ferry to the island leaves at nine every day",
            "On the island I always rent a bicycle",
            "The bicycle costs seven crowns a day",
        ],
    );
    server.settle("default");
    server
}

fn retrieved(server: &Server, query: &str) -> Vec<Value> {
    let question = QUESTION.replace(' ', "+").replace('?', "%3F");
    server.get(&format!("/v1/retrieve?q={question}&{query}")).hits()
}

/// Explains a memory for the question, with further fields in the body.
fn explained(server: &Server, path: &str, more: Value) -> Value {
    let mut body = more;
    body["q"] = json!(QUESTION);
    body["path"] = json!(path);
    let answer = server.post("/v1/explain", &body);
    assert_eq!(answer.status, 200, "{answer:?}");
    answer.body
}

/// Asserts that base and contributions are the log-odds of a score.
fn check_sum(score: &Value, explanation: &Value) {
    let score = score.as_f64().expect("a score");
    let mut sum = explanation["base_log_odds"].as_f64().expect("a number");
    for contribution in explanation["contributions"].as_array().expect("contributions") {
        sum += contribution["log_odds"].as_f64().expect("a number");
    }
    let expected = (score / (1.0 - score)).ln();
    assert!((sum - expected).abs() < TOLERANCE, "{sum} instead of {expected}: {explanation}");
}

fn path_of(hit: &Value) -> &str {
    hit["path"].as_str().expect("a path")
}

#[test]
fn the_contributions_of_every_hit_sum_to_the_log_odds_of_its_score() {
    let (_folder, data) = fresh();
    let server = with_ferry(&data);
    let hits = retrieved(&server, "explain=true");
    assert!(hits.len() >= 4, "{hits:?}");
    for hit in &hits {
        check_sum(&hit["score"], &hit["explanation"]);
        let matched: Vec<&Value> = hit["matched"].as_array().expect("arms").iter().collect();
        let arms = hit["explanation"]["arms"].as_array().expect("arms");
        assert_eq!(arms.iter().map(|arm| &arm["arm"]).collect::<Vec<&Value>>(), matched, "{hit}");
    }
    let price = hits.iter().find(|hit| path_of(hit) == "facts/ferry/price.md").expect("a hit");
    let mut terms: Vec<&str> = Vec::new();
    for part in price["explanation"]["terms"].as_array().expect("terms") {
        assert!(part["bm25"].as_f64().is_some_and(|bm25| bm25 > 0.0), "{part}");
        terms.push(part["term"].as_str().expect("a word"));
    }
    terms.sort_unstable();
    assert_eq!(terms, ["cost", "ferry", "island"], "as the question has them");
    assert!(price["explanation"]["cue"]["cosine"].as_f64().is_some_and(|cosine| cosine > 0.0), "{price}");
}

#[test]
fn hits_are_explained_only_when_asked() {
    let (_folder, data) = fresh();
    let server = with_ferry(&data);
    for query in ["", "explain=false"] {
        assert!(retrieved(&server, query).iter().all(|hit| hit.get("explanation").is_none()), "{query}");
    }
    let listed = server.get("/v1/retrieve?tiers=facts&explain=true").hits();
    assert!(listed.iter().all(|hit| hit.get("explanation").is_none()), "a listing has no scores to explain");
    let refused = server.get("/v1/retrieve?q=x&explain=maybe");
    assert_eq!((refused.status, &refused.body["error"]), (400, &json!("invalid_parameter")));
}

#[test]
fn every_hit_is_found_with_its_score_and_explanation() {
    let (_folder, data) = fresh();
    let server = with_ferry(&data);
    let hits = retrieved(&server, "explain=true");
    let mut before: Vec<&str> = Vec::new();
    for hit in &hits {
        let explained = explained(&server, path_of(hit), json!({}));
        assert_eq!((&explained["found"], &explained["excluded_by"]), (&json!(true), &json!([])), "{explained}");
        assert_eq!(explained["score"], hit["score"]);
        assert_eq!(explained["explanation"], hit["explanation"]);
        let outranked_by = explained["outranked_by"].as_array().expect("paths");
        assert_eq!(explained["rank"], json!(outranked_by.len() + 1));
        for path in &before {
            assert!(outranked_by.contains(&json!(path)), "{explained}");
        }
        before.push(path_of(hit));
    }
}

#[test]
fn a_memory_that_is_not_found_has_the_reason() {
    let (_folder, data) = fresh();
    let server = with_ferry(&data);
    let hits = retrieved(&server, "");
    let last = path_of(hits.last().expect("hits"));
    for (path, more, expected) in [
        ("facts/ferry/price.md", json!({"tags": ["paint"]}), "filter"),
        ("facts/ferry/price.md", json!({"as_of": "2020-01-01"}), "filter"),
        ("incidents/ferry/delay.md", json!({}), "expired"),
        (last, json!({"min_score": 0.999}), "min_score"),
        (last, json!({"limit": 1}), "limit"),
    ] {
        let explained = explained(&server, path, more);
        assert_eq!(
            (&explained["found"], &explained["excluded_by"]),
            (&json!(false), &json!([expected])),
            "{explained}"
        );
        assert!(explained["rank"].as_u64().is_some_and(|rank| rank >= 1), "{explained}");
        check_sum(&explained["score"], &explained["explanation"]);
    }
    let unknown = explained(&server, "facts/ferry/none.md", json!({}));
    let expected = json!({
        "path": "facts/ferry/none.md", "found": false, "excluded_by": ["unknown_path"], "repeats": null, "rank": null,
        "score": null, "explanation": null, "outranked_by": [],
    });
    assert_eq!(unknown, expected);
}

#[test]
fn a_superseded_memory_ranks_behind_its_successor_or_is_excluded() {
    let (folder, data) = fresh();
    let server = with_ferry(&data);
    let (old, new) = ("facts/ferry/price.md", "facts/ferry/new-price.md");
    let copy = WorkingCopy::of(&server, "default", &folder.path().join("copy"));
    let front = format!("---\noccurred_at: 2026-01-10T12:00:00Z\nsupersedes: [{old}]\n---\n");
    copy.commit(new, &format!("{front}\n# New price\n\nThe ferry to the island costs four crowns.\n"));
    assert!(copy.push());
    wait_for("the pushed memory", || retrieved(&server, "").iter().any(|hit| path_of(hit) == new));

    let only = explained(&server, old, json!({"current": "only"}));
    assert_eq!((&only["found"], &only["excluded_by"]), (&json!(false), &json!(["superseded"])), "{only}");
    let behind = explained(&server, old, json!({}));
    assert_eq!(behind["found"], json!(true), "{behind}");
    assert!(behind["outranked_by"].as_array().expect("paths").contains(&json!(new)), "{behind}");
    check_sum(&behind["score"], &behind["explanation"]);
    let parts = behind["explanation"]["contributions"].as_array().expect("contributions");
    let validity = parts.iter().find(|part| part["feature"] == "validity").expect("the group");
    assert!(validity["log_odds"].as_f64().is_some_and(|part| part < 0.0), "{behind}");
}

#[test]
fn a_request_that_names_no_memory_or_no_query_is_refused() {
    let (_folder, data) = fresh();
    let server = Server::start(&data);
    for (body, expected) in [
        (json!({"q": "x", "path": "facts/a.md", "namespace": "none"}), (404, "namespace_not_found")),
        (json!({"q": "x"}), (400, "invalid_path")),
        (json!({"q": "x", "path": "../etc/passwd"}), (400, "invalid_path")),
        (json!({"q": "x", "path": 5}), (400, "invalid_path")),
        (json!({"path": "facts/a.md"}), (400, "missing_query")),
        (json!({"path": "facts/a.md", "tags": ["a"]}), (400, "missing_query")),
        (json!({"q": "x", "path": "facts/a.md", "limit": 0}), (400, "invalid_limit")),
    ] {
        let answer = server.post("/v1/explain", &body);
        assert_eq!((answer.status, answer.code()), expected, "{body}");
    }
}
