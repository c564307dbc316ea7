//! The statistics of an account: its requests, its retrievals, and the state of storage and models.

use jiff::SignedDuration;
use serde_json::{Value, json};

use crate::support::Api;

/// Returns the statistics of the account, for a session.
fn statistics(api: &Api) -> Value {
    let answer = api.answer("session GET /v1/statistics");
    assert_eq!(answer.status, 200, "{answer:?}");
    answer.json()
}

fn remember(api: &Api, text: &str) {
    let body = json!({"messages": [{"role": "user", "content": text}]});
    assert_eq!(api.post("/v1/memories?wait=30", &body).status, 200);
}

#[test]
fn requests_are_counted_by_route_with_their_times() {
    let api = Api::open();
    let before = statistics(&api)["requests"]["count"].as_u64().expect("a count");
    for _ in 0..3 {
        assert_eq!(api.get("/v1/tree").status, 200);
    }
    assert_eq!(api.get("/v1/memories/facts/none.md").status, 404);
    let found = statistics(&api);
    assert_eq!((&found["requests"]["count"], &found["requests"]["errors"]), (&json!(before + 4), &json!(0)));
    let tree = &found["routes"][0];
    assert_eq!((&tree["method"], &tree["route"], &tree["count"]), (&json!("GET"), &json!("/v1/tree"), &json!(3)));
    assert!(tree["p50_ms"].as_f64().expect("a time") <= tree["p99_ms"].as_f64().expect("a time"));
    let routes = found["routes"].as_array().expect("routes");
    assert!(routes.iter().any(|each| each["route"] == "/v1/memories/{*path}"), "a path of a client is not shown");
}

#[test]
fn intervals_follow_each_other_for_a_day() {
    let mut api = Api::open();
    assert_eq!(api.get("/v1/tree").status, 200);
    api.advance(SignedDuration::from_mins(30));
    assert_eq!(api.get("/v1/tree").status, 200);
    let found = statistics(&api);
    let intervals = found["intervals"].as_array().expect("intervals");
    let times: Vec<&Value> = intervals.iter().map(|interval| &interval["at"]).collect();
    assert_eq!(times, ["2026-05-04T09:00:00Z", "2026-05-04T09:15:00Z", "2026-05-04T09:30:00Z"]);
    let counts: Vec<u64> = intervals.iter().map(|each| each["requests"].as_u64().expect("a count")).collect();
    assert!(counts[0] > 0 && counts[1..] == [0, 1], "{counts:?}");
    api.advance(SignedDuration::from_hours(25));
    let later = statistics(&api);
    assert_eq!((&later["requests"]["count"], later["intervals"].as_array().map(Vec::len)), (&json!(0), Some(96)));
}

#[test]
fn retrievals_are_counted_by_what_they_found() {
    let api = Api::open();
    remember(&api, "The lighthouse keeper of Oban is called Agatha.");
    assert_eq!(api.get("/v1/retrieve?q=Who+is+the+lighthouse+keeper+of+Oban").hits().len(), 1);
    assert_eq!(api.get("/v1/retrieve?q=quarterly+tax+forms+in+Peru&admit=strict").hits().len(), 0);
    // A listing has no query.
    assert_eq!(api.get("/v1/retrieve?tags=none").hits().len(), 0);
    let retrieval = statistics(&api)["retrieval"].clone();
    assert_eq!((&retrieval["count"], &retrieval["empty"]), (&json!(2), &json!(1)), "{retrieval}");
    let bins = retrieval["top_scores"].as_array().expect("bins");
    let counted: u64 = bins.iter().map(|bin| bin["count"].as_u64().expect("a count")).sum();
    assert_eq!((bins.len(), counted), (20, 1), "{retrieval}");
    assert_eq!((&bins[0]["from"], &bins[19]["to"]), (&json!(0.0), &json!(1.0)));
}

#[test]
fn storage_and_models_are_described() {
    let api = Api::open();
    remember(&api, "The lighthouse keeper of Oban is called Agatha.");
    let found = statistics(&api);
    assert_eq!((&found["storage"]["memories"], &found["storage"]["damaged_namespaces"]), (&json!(1), &json!(0)));
    let total = found["storage"]["disk_total_bytes"].as_u64().expect("a size");
    assert!(found["storage"]["disk_free_bytes"].as_u64().expect("a size") <= total);
    let expected = json!([
        {"role": "embedding", "name": "built-in", "state": "ready"},
        {"role": "chat", "name": null, "state": "off"},
    ]);
    assert_eq!(found["models"], expected);
    assert_eq!(found.get("nodes"), None, "a single process has no nodes");
}

#[test]
fn statistics_belong_to_the_whole_account() {
    let api = Api::open_with_scoped_key();
    assert_eq!(api.get("/v1/tree").status, 200);
    assert_eq!(api.answer("stranger GET /v1/statistics").json()["requests"]["count"], 0);
    api.assert_refused("scoped GET /v1/statistics", 403, "scoped_key");
}
