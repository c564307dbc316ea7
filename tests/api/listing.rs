//! Lists of memories in pages, and their counts by day, tag and topic.

use serde_json::{Value, json};

use crate::support::Api;

/// Writes memories with their titles, days and tags.
fn write(api: &Api, memories: &[(&str, &str, &str, &[&str])]) {
    for (path, title, occurred_at, tags) in memories {
        let body = json!({"content": format!("# {title}\n\nSome text."), "occurred_at": occurred_at, "tags": tags});
        let answer = api.post(&format!("/v1/memories/{path}"), &body);
        assert_eq!(answer.status, 201, "{answer:?}");
    }
}

fn open_with_harbour() -> Api {
    let api = Api::open();
    write(
        &api,
        &[
            ("facts/harbour/crane.md", "Crane", "2026-03-01T08:00:00Z", &["steel"]),
            ("facts/harbour/anchor.md", "anchor", "2026-03-02T08:00:00Z", &["steel", "boat"]),
            ("facts/bakery.md", "Bakery", "2026-03-02T23:30:00Z", &["food"]),
            ("rules/mooring/lines.md", "Lines", "2026-04-05T08:00:00Z", &["boat"]),
        ],
    );
    api
}

fn paths(answer: &Value) -> Vec<&str> {
    let memories = answer["memories"].as_array().expect("memories");
    memories.iter().map(|memory| memory["path"].as_str().expect("a path")).collect()
}

#[test]
fn memories_are_listed_in_each_order() {
    let api = open_with_harbour();
    let newest = ["rules/mooring/lines.md", "facts/bakery.md", "facts/harbour/anchor.md", "facts/harbour/crane.md"];
    let list = |query: &str| api.get(&format!("/v1/memories?time_field=occurred&{query}")).json();
    assert_eq!(paths(&list("")), newest);
    let oldest: Vec<&str> = newest.iter().rev().copied().collect();
    assert_eq!(paths(&list("order=oldest")), oldest);
    let by_title = ["facts/harbour/anchor.md", "facts/bakery.md", "facts/harbour/crane.md", "rules/mooring/lines.md"];
    assert_eq!(paths(&list("order=title")), by_title, "case does not matter");
}

#[test]
fn a_page_has_its_part_and_the_number_of_all() {
    let api = open_with_harbour();
    for order in ["newest", "oldest", "title"] {
        let list = |query: &str| api.get(&format!("/v1/memories?time_field=occurred&order={order}&{query}")).json();
        let whole = list("");
        let (first, second, beyond) = (list("limit=3"), list("limit=3&offset=3"), list("offset=9"));
        assert_eq!([paths(&first), paths(&second)].concat(), paths(&whole), "{order}");
        for page in [&first, &second, &beyond] {
            assert_eq!(page["total"], 4, "{order}");
        }
        assert!(paths(&beyond).is_empty(), "{order}");
    }
}

#[test]
fn filters_choose_what_is_listed_and_counted() {
    let api = open_with_harbour();
    for (filter, expected) in [
        ("tags=boat", 2),
        ("tags_all=boat,steel", 1),
        ("tiers=rules", 1),
        ("paths=facts/harbour", 2),
        ("time_field=occurred&since=2026-03-02&until=2026-03-02", 2),
        ("time_field=occurred&since=2026-03-02&until=2026-03-02&timezone=Europe/Berlin", 1),
    ] {
        assert_eq!(api.get(&format!("/v1/memories?{filter}")).list_length("memories"), expected, "{filter}");
        assert_eq!(api.get(&format!("/v1/facets?{filter}")).json()["total"], expected, "{filter}");
    }
}

#[test]
fn facets_count_memories_by_day_tag_and_topic() {
    let api = open_with_harbour();
    let counted = api.get("/v1/facets?time_field=occurred").json();
    let expected = json!({
        "total": 4,
        "days": [
            {"day": "2026-04-05", "memories": 1},
            {"day": "2026-03-02", "memories": 2},
            {"day": "2026-03-01", "memories": 1},
        ],
        "tags": [{"tag": "boat", "memories": 2}, {"tag": "steel", "memories": 2}, {"tag": "food", "memories": 1}],
        "topics": [
            {"tier": "facts", "topic": "", "memories": 1},
            {"tier": "facts", "topic": "harbour", "memories": 2},
            {"tier": "rules", "topic": "mooring", "memories": 1},
        ],
    });
    assert_eq!(counted, expected);
    let zoned = api.get("/v1/facets?time_field=occurred&timezone=Europe/Berlin").json();
    assert_eq!(zoned["days"][1], json!({"day": "2026-03-03", "memories": 1}), "23:30 UTC is the next day in Berlin");
}

#[test]
fn a_listing_has_memories_that_no_longer_hold() {
    let api = Api::open();
    let ended = json!({"content": "# Old quay\n\nClosed.", "valid_until": "2026-02-01"});
    assert_eq!(api.post("/v1/memories/facts/old-quay.md", &ended).status, 201);
    let listed = api.get("/v1/memories").json();
    assert_eq!((paths(&listed), &listed["memories"][0]["current"]), (vec!["facts/old-quay.md"], &json!(false)));
    assert_eq!(api.get("/v1/memories?current=only").list_length("memories"), 0);
}

#[test]
fn a_bad_parameter_of_a_listing_is_refused() {
    let api = Api::open();
    for (query, code) in [
        ("order=random", "invalid_parameter"),
        ("offset=-1", "invalid_parameter"),
        ("limit=0", "invalid_limit"),
        ("timezone=Nowhere", "invalid_timezone"),
        ("tiers=wishes", "invalid_tier"),
    ] {
        api.assert_refused(&format!("GET /v1/memories?{query}"), 400, code);
    }
    api.assert_refused("GET /v1/memories?namespace=none", 404, "namespace_not_found");
    api.assert_refused("GET /v1/facets?namespace=none", 404, "namespace_not_found");
}
