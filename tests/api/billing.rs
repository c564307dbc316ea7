//! Usage, plans, the wallet, payments and the notifications of a payment provider.

use cuebase::webhook::WebhookSecret;
use insta::assert_snapshot;
use jiff::SignedDuration;
use serde_json::json;

use crate::support::{Answer, Api};

/// Key that notifications are signed with.
const SECRET: &str = "whsec_Y3VlYmFzZSB0ZXN0cyBzaWduIHdpdGggdGhpcw==";
/// Settings for a payment provider that no test calls.
const DODO: &str = "[payments]\nprovider = 'dodo'\nurl = 'http://127.0.0.1:9'\napi_key = 'dodo-key'\n\
    webhook_secret = 'whsec_Y3VlYmFzZSB0ZXN0cyBzaWduIHdpdGggdGhpcw=='\n\
    products = { recharge = 'pdt_r', growth = 'pdt_g' }\n";
/// Settings for the payment provider that takes no money.
const SANDBOX: &str = "[payments]\nprovider = 'sandbox'\n";

/// Settings for that provider with the secret of the tests.
const SIGNED_SANDBOX: &str = "[payments]\nprovider = 'sandbox'\n\
    webhook_secret = 'whsec_Y3VlYmFzZSB0ZXN0cyBzaWduIHdpdGggdGhpcw=='\n";

/// A write that is counted.
const WRITE: &str = "POST /v1/memories/facts/a.md\n{\"content\": \"x\"}";

/// Sends a notification with a signature that is made at a time in seconds since the epoch.
fn notify(api: &Api, id: &str, sent_at: i64, body: &str) -> Answer {
    let secret = WebhookSecret::parse(SECRET).expect("a secret");
    let signature = secret.sign(id, &sent_at.to_string(), body.as_bytes());
    api.answer(&format!(
        "nobody POST /v1/billing/notifications\nwebhook-id: {id}\nwebhook-timestamp: {sent_at}\nwebhook-signature: {signature}\n{body}"
    ))
}

/// Returns the body of a notification about a subscription to the plan `growth`.
fn subscription(kind: &str, at: &str) -> String {
    format!(
        r#"{{"type": "subscription.{kind}", "timestamp": "{at}", "data": {{"subscription_id": "sub_1", "product_id": "pdt_g", "metadata": {{"cuebase_account": "default"}}}}}}"#
    )
}

#[test]
fn usage_is_counted_by_meter() {
    let mut api = Api::open();
    api.send(WRITE);
    api.send(
        "GET /v1/retrieve?q=x

        GET /v1/skills?q=x

        POST /v1/media
        content-type: text/plain
        12345

        GET /v1/usage",
    );
    assert_snapshot!(api.transcript());
}

#[test]
fn usage_begins_again_with_the_next_month() {
    let mut api = Api::open();
    api.send(WRITE);
    api.send("GET /v1/retrieve?q=x\n\nGET /v1/usage");
    api.advance(SignedDuration::from_hours(27 * 24 + 14));
    api.send("GET /v1/usage");
    api.advance(SignedDuration::from_hours(1));
    api.send("GET /v1/usage");
    assert_snapshot!(api.transcript());
}

#[test]
fn requests_above_the_quota_wait_for_the_next_month() {
    let mut api = Api::open_with("[plans]\npayg = 'writes=1,reads=1,memories=9,chats=0'\n");
    api.send(WRITE);
    api.send(WRITE);
    api.send(
        "GET /v1/retrieve?q=x

        GET /v1/retrieve?q=x

        POST /v1/answer
        {\"q\": \"x\"}

        GET /v1/usage",
    );
    api.advance(SignedDuration::from_hours(28 * 24));
    api.send(WRITE);
    api.send("GET /v1/retrieve?q=x");
    assert_snapshot!(api.transcript());
    let conversation = r#"{"messages": [{"role": "user", "content": "x"}]}"#;
    api.assert_refused(&format!("POST /v1/memories\n{conversation}"), 429, "quota_exceeded");
}

#[test]
fn an_empty_wallet_refuses_writes_but_not_reads() {
    let mut api = Api::open_with("[billing]\nenforce_balance = true\n");
    api.send(WRITE);
    api.send(
        r#"POST /v1/memories
        {"messages": [{"role": "user", "content": "x"}]}

        GET /v1/retrieve?q=x"#,
    );
    assert_snapshot!(api.transcript());
}

#[test]
fn without_a_provider_the_wallet_is_empty() {
    let mut api = Api::open();
    api.send(WRITE);
    api.send("GET /v1/billing");
    assert_snapshot!(api.transcript());
}

#[test]
fn without_a_provider_payments_are_not_live() {
    let mut api = Api::open();
    for paise in ["49999", "50000", "10000000", "10000001", "1e30", "-1"] {
        api.send(&format!("session POST /v1/billing/recharge\n{{\"amount_paise\": {paise}}}"));
    }
    api.send("session POST /v1/billing/subscribe\n{\"plan\": \"starter\"}");
    assert_snapshot!(api.transcript());
    for body in ["{\"amount_paise\": \"50000\"}", "{\"amount_paise\": 50000.5}", "{}"] {
        api.assert_refused(&format!("session POST /v1/billing/recharge\n{body}"), 400, "invalid_body");
    }
    for body in ["{\"plan\": \"payg\"}", "{\"plan\": \"gold\"}", "{}"] {
        api.assert_refused(&format!("session POST /v1/billing/subscribe\n{body}"), 400, "unknown_plan");
    }
    let unsigned = api.answer("nobody POST /v1/billing/notifications\n{}");
    assert_eq!((unsigned.status, unsigned.json()), (401, json!({"message": "Unauthorized"})));
    api.assert_nothing_counted();
}

#[test]
fn each_field_of_a_payment_is_checked() {
    let mut api = Api::open_with(SANDBOX);
    for body in [r#"{}"#, r#"{"amount_paise": "50000"}"#, r#"{"amount_paise": 50000.5}"#, r#"{"amount_paise": null}"#] {
        api.send(&format!("session POST /v1/billing/recharge\n{body}"));
    }
    for body in [r#"{}"#, r#"{"plan": 1}"#, r#"{"plan": "gold"}"#, r#"{"plan": "payg"}"#] {
        api.send(&format!("session POST /v1/billing/subscribe\n{body}"));
    }
    assert_snapshot!(api.transcript());
}

#[test]
fn a_payment_begins_with_a_link_to_its_checkout() {
    let mut api = Api::open_with(SANDBOX);
    api.send(
        r#"session POST /v1/billing/recharge
        {"amount_paise": 50000}

        session POST /v1/billing/subscribe
        {"plan": "scale"}

        GET /v1/billing"#,
    );
    assert_snapshot!(api.transcript());
}

#[test]
fn a_notification_changes_the_plan_once() {
    let mut api = Api::open_with(DODO);
    let now = api.now().as_second();
    let begun = subscription("active", "2026-05-04T09:00:00Z");
    for processed in [true, false] {
        let answer = notify(&api, "n1", now, &begun);
        assert_eq!((answer.status, answer.json()), (200, json!({"received": true, "processed": processed})));
    }
    api.send("GET /v1/usage");
    let ended = subscription("cancelled", "2026-05-04T09:01:00Z");
    assert_eq!(notify(&api, "n2", now, &ended).json()["processed"], true);
    api.send("GET /v1/usage");
    assert_snapshot!(api.transcript());
}

#[test]
fn a_notification_that_is_unsigned_or_old_is_refused() {
    let mut api = Api::open_with(DODO);
    api.send("nobody POST /v1/billing/notifications\n{\"type\": \"subscription.active\"}");
    let body = subscription("active", "2026-05-04T09:00:00Z");
    let now = api.now().as_second();
    assert_eq!(notify(&api, "n1", now - 301, &body).status, 401);
    assert_eq!(notify(&api, "n1", now + 301, &body).status, 401);
    let unreadable = notify(&api, "n1", now, "not JSON");
    assert_eq!((unreadable.status, &unreadable.json()["error"]["code"]), (400, &json!("invalid_body")));
    api.send("GET /v1/usage");
    assert_snapshot!(api.transcript());
}

/// Sends a notification of a payment for which some paise were requested. `paid` holds the fields of what was paid.
/// Returns whether it was processed.
fn pay(api: &Api, payment: &str, requested: i64, paid: &str) -> bool {
    let body = format!(
        r#"{{"type": "payment.succeeded", "data": {{"payment_id": "{payment}", {paid}, "metadata": {{"cuebase_account": "default", "cuebase_recharge_paise": "{requested}"}}}}}}"#
    );
    let answer = notify(api, &format!("event of {payment}"), api.now().as_second(), &body);
    // With any other status, the provider sends the notification again.
    assert_eq!((answer.status, &answer.json()["received"]), (200, &json!(true)), "{body}");
    answer.json()["processed"].as_bool().expect("a boolean")
}

fn balance(api: &Api) -> i64 {
    api.get("/v1/billing").json()["balance_paise"].as_i64().expect("paise")
}

#[test]
fn a_payment_that_is_not_in_the_currency_of_the_wallet_is_refused() {
    let api = Api::open_with(SIGNED_SANDBOX);
    let fields = [
        r#""total_amount": 1, "currency": "JPY""#,
        r#""total_amount": 1000000, "currency": "JPY""#,
        r#""total_amount": 1000000, "currency": "inr""#,
        r#""total_amount": 1000000, "currency": null"#,
        r#""total_amount": 1000000, "currency": 356"#,
        r#""total_amount": 1000000"#,
        r#""total_amount": 0, "currency": "INR""#,
        r#""total_amount": -5, "currency": "INR""#,
        r#""total_amount": "1000000", "currency": "INR""#,
        r#""total_amount": 1e30, "currency": "INR""#,
        r#""currency": "INR""#,
    ];
    for (number, paid) in fields.into_iter().enumerate() {
        assert!(!pay(&api, &format!("pay_{number}"), 1_000_000, paid), "{paid}");
        assert_eq!(balance(&api), 0, "{paid}");
    }
    // A refused notification leaves nothing behind that would refuse a correct one.
    assert!(pay(&api, "pay_0", 1_000_000, r#""total_amount": 1000000, "currency": "INR""#));
    assert_eq!(balance(&api), 1_000_000);
}

#[test]
fn what_was_paid_is_credited_up_to_what_was_requested() {
    let api = Api::open_with(SIGNED_SANDBOX);
    let mut expected = 0;
    for (number, (paid, credited)) in [(1, 1), (999_999, 999_999), (1_180_000, 1_000_000)].into_iter().enumerate() {
        let fields = format!(r#""total_amount": {paid}, "currency": "INR""#);
        assert!(pay(&api, &format!("pay_{number}"), 1_000_000, &fields));
        expected += credited;
        assert_eq!(balance(&api), expected, "{paid} paise were paid");
    }
}

#[test]
fn a_payment_that_would_overflow_the_balance_is_refused() {
    let api = Api::open_with(SIGNED_SANDBOX);
    let paid = |amount: i64| format!(r#""total_amount": {amount}, "currency": "INR""#);
    assert!(pay(&api, "pay_1", i64::MAX, &paid(i64::MAX)));
    assert_eq!(balance(&api), i64::MAX);
    assert!(!pay(&api, "pay_2", 1, &paid(1)));
    assert_eq!(balance(&api), i64::MAX);
    api.assert_refused("session POST /v1/billing/recharge\n{\"amount_paise\": 50000}", 400, "above_maximum");
}
