//! `POST /v1/erase`: who may call it, and which bodies it accepts. `tests/erase.rs` checks what it does.

use crate::support::Api;

#[test]
fn only_a_dashboard_session_erases() {
    let api = Api::open_with_scoped_key();
    for caller in ["", "scoped "] {
        let request = format!("{caller}POST /v1/erase\n{{\"session_id\": \"s1\"}}");
        api.assert_refused(&request, 403, "dashboard_only");
    }
}

#[test]
fn exactly_one_selection_is_accepted() {
    let api = Api::open();
    for body in [
        "{}",
        r#"{"session_id": "s1", "subject": "Ann"}"#,
        r#"{"paths": ["facts/a.md"], "session_id": "s1"}"#,
        r#"{"paths": []}"#,
        r#"{"session_id": ""}"#,
        r#"{"subject": " "}"#,
        r#"{"paths": "facts/a.md"}"#,
    ] {
        api.assert_refused(&format!("session POST /v1/erase\n{body}"), 400, "invalid_body");
    }
    api.assert_refused("session POST /v1/erase\n{\"paths\": [\"../x\"]}", 400, "invalid_path");
}

#[test]
fn an_unknown_namespace_is_not_found() {
    let api = Api::open();
    let request = "session POST /v1/erase\n{\"namespace\": \"none\", \"session_id\": \"s1\"}";
    api.assert_refused(request, 404, "namespace_not_found");
}

#[test]
fn text_that_never_existed_is_accepted_and_counts_no_write() {
    let api = Api::open();
    for body in [r#"{"paths": ["facts/a.md"]}"#, r#"{"session_id": "s1"}"#, r#"{"subject": "Ann"}"#] {
        let answer = api.answer(&format!("session POST /v1/erase\n{body}"));
        assert_eq!(answer.status, 202, "{body}");
        let answer = answer.json();
        assert_eq!((&answer["namespace"], &answer["status"]), (&"default".into(), &"accepted".into()), "{answer}");
    }
    api.assert_nothing_counted();
}
