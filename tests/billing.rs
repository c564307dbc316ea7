//! Metering, plans, wallets and payments. The tests imitate the payment provider.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use cuebase::webhook::WebhookSecret;
use cuebase_storage::records::{BillingChange, Meter, PlanName, PricesRecord, TransactionRecord, WalletRecord};
use cuebase_storage::{AccountId, Store};
use parking_lot::Mutex;
use reqwest::blocking::Client;
use serde_json::{Value, json};
use ulid::Ulid;

use crate::support::fake::{FakeRequest, FakeResponse, serve};
use crate::support::{Answer, Server, fresh, stdout, wait_for};

const SECRET: &str = "whsec_Y3VlYmFzZSB0ZXN0cyBzaWduIHdpdGggdGhpcw==";

/// An imitation of the payment provider, with its ledger.
#[derive(Default)]
struct PaymentProvider {
    /// Amounts by idempotency key; debits are negative.
    entries: Mutex<BTreeMap<String, i64>>,
    /// Method, path and body of each request.
    requests: Mutex<Vec<(String, Value)>>,
    customers: AtomicU32,
    payments: AtomicU32,
}

impl PaymentProvider {
    fn sum(&self) -> i64 {
        self.entries.lock().values().sum()
    }

    /// Answers a request as the documented API does without faults.
    fn answer(&self, request: &FakeRequest) -> FakeResponse {
        assert_eq!(request.authorization, "Bearer dodo-key");
        self.requests.lock().push((format!("{} {}", request.method, request.path), request.body.clone()));
        let body = &request.body;
        match (request.method.as_str(), request.path.as_str()) {
            ("POST", "/customers") => {
                let number = self.customers.fetch_add(1, Ordering::SeqCst);
                FakeResponse::Json(
                    200,
                    json!({"customer_id": format!("cus_{number}"), "email": body["email"], "name": body["name"]}),
                )
            }
            ("POST", "/payments") => {
                let id = format!("pay_{}", self.payments.fetch_add(1, Ordering::SeqCst));
                FakeResponse::Json(
                    200,
                    json!({"payment_id": id, "payment_link": format!("https://pay.example/{id}"), "client_secret": "x", "total_amount": body["product_cart"][0]["amount"]}),
                )
            }
            ("POST", "/subscriptions") => FakeResponse::Json(
                200,
                json!({"subscription_id": "sub_1", "payment_link": "https://pay.example/sub_1", "recurring_pre_tax_amount": 1}),
            ),
            ("POST", path) if path.starts_with("/customers/") && path.ends_with("/wallets/ledger-entries") => {
                let amount = body["amount"].as_i64().expect("a whole amount");
                let amount = if body["entry_type"] == "debit" { -amount } else { amount };
                let key = body["idempotency_key"].as_str().expect("a key").to_owned();
                self.entries.lock().entry(key).or_insert(amount);
                FakeResponse::Json(200, json!({"balance": self.sum(), "currency": body["currency"]}))
            }
            _ => FakeResponse::Json(404, json!({"code": "NOT_FOUND"})),
        }
    }
}

/// Returns settings for a provider at a URL.
fn dodo_settings(url: &str) -> String {
    format!(
        "[payments]\nprovider = 'dodo'\nurl = '{url}'\napi_key = 'dodo-key'\nwebhook_secret = '{SECRET}'\ntimeout_ms = 1000\n\
         products = {{ recharge = 'pdt_r', starter = 'pdt_s', growth = 'pdt_g' }}\n[billing]\nrates = {{ writes = 7, reads = 3, chats = 11 }}\n"
    )
}

/// Sends a notification to the server with a valid signature, as the provider does.
fn notify(server: &Server, id: &str, body: &Value) -> Answer {
    notify_signed(server, id, body, |signature| signature)
}

/// Sends a notification with a signature that a function changes.
fn notify_signed(server: &Server, id: &str, body: &Value, alter: impl Fn(String) -> String) -> Answer {
    let secret = WebhookSecret::parse(SECRET).expect("a secret");
    let at = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).expect("a time").as_secs().to_string();
    let body = body.to_string();
    let signature = alter(secret.sign(id, &at, body.as_bytes()));
    let request = Client::new().post(format!("{}/v1/billing/notifications", server.url));
    let request =
        request.header("webhook-id", id).header("webhook-timestamp", at).header("webhook-signature", signature);
    let response = request.body(body).send().expect("answers");
    let status = response.status().as_u16();
    Answer { status, body: response.json().unwrap_or_default(), retry_after: None, headers: String::new() }
}

/// Returns the body of a notification of a successful payment.
fn paid(payment: &str, amount: i64) -> Value {
    json!({"type": "payment.succeeded", "business_id": "b", "timestamp": "2026-01-01T00:00:00Z", "data": {"payment_id": payment, "total_amount": amount, "currency": "INR", "metadata": {}}})
}

/// Returns the statement's balance, the sum of its credits and the sum of its debits.
fn statement(server: &Server) -> (i64, i64, i64) {
    let answer = server.get("/v1/billing");
    assert_eq!(answer.status, 200, "{answer:?}");
    let amounts = answer.body["transactions"]
        .as_array()
        .expect("transactions")
        .iter()
        .map(|t| t["amount_paise"].as_i64().expect("paise"));
    let (credits, debits): (Vec<i64>, Vec<i64>) = amounts.partition(|amount| *amount > 0);
    (answer.body["balance_paise"].as_i64().expect("paise"), credits.iter().sum(), debits.iter().sum())
}

#[test]
fn usage_counts_accepted_and_answered_requests() {
    let (_folder, data) = fresh();
    let server = Server::start(&data);
    let used = || server.get("/v1/usage").body["used"].clone();
    assert_eq!(used(), json!({"writes": 0, "reads": 0, "memories": 0, "chats": 0, "media_bytes": 0}));
    let body = json!({"messages": [{"role": "user", "content": "The archive is in the cellar"}]});
    for _ in 0..3 {
        assert_eq!(server.post("/v1/memories", &body).status, 202);
    }
    assert_eq!(server.post("/v1/memories", &json!({"messages": []})).status, 400);
    server.post("/v1/vocab", &json!({"terms": [{"term": "SLO"}]}));
    server.post("/v1/skills", &json!({"skills": [{"name": "a", "content": "b"}]}));
    server.post("/v1/memories/facts/a.md", &json!({"content": "x"}));
    server.call("DELETE", "/v1/memories/facts/a.md", None);
    server.call("DELETE", "/v1/vocab?term=SLO", None);
    for path in [
        "/v1/retrieve?q=cellar",
        "/v1/retrieve?tiers=facts",
        "/v1/skills?q=a",
        "/v1/skills",
        "/v1/retrieve",
        "/v1/tree",
        "/v1/vocab",
    ] {
        server.get(path);
    }
    server.post("/v1/answer", &json!({"q": "zzyzx"}));
    let answered = || server.post("/v1/answer", &json!({"q": "where is the archive"})).status == 200;
    wait_for("an answer", answered);
    // Repeated bodies, rejected requests, deletions of memories and listings are free.
    wait_for("the count of memories", || used()["memories"] == 2);
    assert_eq!((&used()["writes"], &used()["reads"], &used()["chats"]), (&json!(4), &json!(3), &json!(1)));
    let usage = server.get("/v1/usage").body;
    assert_eq!((&usage["plan"], &usage["exceeded"]), (&json!("payg"), &json!(false)));
    assert_eq!(usage["period"].as_str().map(str::len), Some(7));
    server.kill();
    let server = Server::start(&data);
    assert_eq!(server.get("/v1/usage").body["used"]["reads"], 3, "counted through a kill");
}

#[test]
fn requests_above_a_plans_limits_get_429_and_retry_after() {
    let (_folder, data) = fresh();
    let settings = "[plans]\npayg = { writes = 2, reads = 1, memories = 1000, chats = 0 }\n";
    let server = Server::start_configured(&data, settings);
    let write = |n: u32| {
        server.post(
            "/v1/memories",
            &json!({"messages": [{"role": "user", "content": format!("Fact {n} about harbours")}]}),
        )
    };
    assert_eq!((write(1).status, write(2).status), (202, 202));
    let refused = |answer: &Answer| {
        assert_eq!(answer.status, 429, "{answer:?}");
        let seconds: u64 = answer.retry_after.as_ref().expect("retry-after").parse().expect("seconds");
        assert!((1..=31 * 24 * 3600).contains(&seconds));
    };
    let third = write(3);
    refused(&third);
    assert_eq!(third.code(), "quota_exceeded");
    assert_eq!(server.retrieve("default", "q=harbours").status, 200);
    let read = server.retrieve("default", "q=harbours");
    refused(&read);
    assert_eq!((&read.body["error"], &read.body["namespace"]), (&json!("quota_exceeded"), &json!("default")));
    let chat = server.post("/v1/answer", &json!({"q": "harbours"}));
    refused(&chat);
    assert_eq!(server.call("DELETE", "/v1/memories/facts/a.md", None).status, 202, "deletion stays possible");
    assert_eq!(server.get("/v1/usage").body["exceeded"], true);
    server.kill();
    let settings = "[plans]\npayg = { writes = 100, reads = 100, memories = 1, chats = 100 }\n";
    let server = Server::start_configured(&data, settings);
    wait_for("the memories to be ingested", || server.get("/v1/usage").body["used"]["memories"] == 2);
    let full = server.post("/v1/memories/facts/x.md", &json!({"content": "x"}));
    refused(&full);
    assert_eq!((full.code(), server.retrieve("default", "q=harbours").status), ("quota_exceeded", 200));
}

#[test]
fn the_rate_limit_applies_to_each_account_separately() {
    let (_folder, data) = fresh();
    let server = Server::start_configured(&data, "[rate_limit]\nrequests_per_minute = 5\n");
    let answers: Vec<Answer> = (0..6).map(|_| server.get("/v1/usage")).collect();
    assert!(answers[..5].iter().all(|answer| answer.status == 200));
    let last = &answers[5];
    assert_eq!((last.status, last.code()), (429, "rate_limited"));
    let seconds: u64 = last.retry_after.as_ref().expect("retry-after").parse().expect("seconds");
    assert!((1..=60).contains(&seconds));
    assert_eq!(server.retrieve("default", "q=x").body["error"], "rate_limited", "in the format of retrieve's errors");
    let other = stdout(&data, &["keys", "create", "--account", "other"]);
    assert_eq!(server.call_as(&other, "GET", "/v1/usage", None).status, 200);
}

#[test]
fn an_empty_wallet_refuses_writes_if_enforced_but_never_reads() {
    let (_folder, data) = fresh();
    let server = Server::start_configured(
        &data,
        "[billing]\nenforce_balance = true\n[payments]\nprovider = 'sandbox'\nsandbox_listen = '127.0.0.1:0'\n",
    );
    let body = json!({"messages": [{"role": "user", "content": "x y z"}]});
    let refused = server.post("/v1/memories", &body);
    assert_eq!((refused.status, refused.code()), (402, "payment_required"));
    assert_eq!(server.retrieve("default", "q=x").status, 200);
    let session = stdout(&data, &["token"]);
    let link = server.call_as(&session, "POST", "/v1/billing/recharge", Some(&json!({"amount_paise": 50000}))).body["payment_link"].clone();
    Client::new().post(link.as_str().expect("a link")).send().expect("pays");
    assert_eq!(server.post("/v1/memories", &body).status, 202);
}

#[test]
fn without_a_provider_payment_routes_report_not_live() {
    let (_folder, data) = fresh();
    let server = Server::start(&data);
    let session = stdout(&data, &["token"]);
    let post = |path: &str, body: Value| server.call_as(&session, "POST", &format!("/v1/billing/{path}"), Some(&body));
    let cases = [
        ("recharge", json!({"amount_paise": 50000}), 503, "merchant_not_live"),
        ("recharge", json!({"amount_paise": 49999}), 400, "below_minimum"),
        ("recharge", json!({"amount_paise": -1}), 400, "below_minimum"),
        ("recharge", json!({"amount_paise": 10_000_001}), 400, "above_maximum"),
        ("recharge", json!({"amount_paise": 10_000_000}), 503, "merchant_not_live"),
        ("recharge", json!({"amount_paise": "50000"}), 400, "invalid_body"),
        ("recharge", json!({"amount_paise": 50000.5}), 400, "invalid_body"),
        ("recharge", json!({}), 400, "invalid_body"),
        ("subscribe", json!({"plan": "starter"}), 503, "merchant_not_live"),
        ("subscribe", json!({"plan": "payg"}), 400, "unknown_plan"),
        ("subscribe", json!({"plan": "gold"}), 400, "unknown_plan"),
        ("subscribe", json!({}), 400, "unknown_plan"),
    ];
    for (path, body, status, code) in cases {
        let answer = post(path, body.clone());
        assert_eq!((answer.status, answer.code()), (status, code), "{path} {body}");
    }
    for path in ["recharge", "subscribe"] {
        let answer = server.post(&format!("/v1/billing/{path}"), &json!({"amount_paise": 50000, "plan": "starter"}));
        assert_eq!((answer.status, answer.code()), (403, "dashboard_only"));
    }
    let unsigned = server.request("POST", "/v1/billing/notifications", None, Some(b"{}".to_vec()));
    assert_eq!((unsigned.status, unsigned.body), (401, json!({"message": "Unauthorized"})));
    assert_eq!(server.get("/v1/billing").body["ledger"], "local");
}

/// Writes and reads, and checks that the meters have counted both.
fn use_units(server: &Server) {
    server.remember("default", &["The toll of the bridge is three crowns"]);
    for _ in 0..5 {
        assert_eq!(server.retrieve("default", "q=bridge").status, 200);
    }
    let used = server.get("/v1/usage").body["used"].clone();
    assert!(used["writes"].as_u64() >= Some(1) && used["reads"].as_u64() >= Some(5), "{used}");
}

#[test]
fn without_a_provider_units_are_counted_but_not_debited() {
    let (_folder, data) = fresh();
    let server = Server::start(&data);
    use_units(&server);
    let answer = server.get("/v1/billing");
    assert_eq!((answer.status, &answer.body["balance_paise"]), (200, &json!(0)));
    assert_eq!(answer.body["transactions"], json!([]));
    let fields: Vec<&String> = answer.body.as_object().expect("an object").keys().collect();
    let specified =
        ["balance_paise", "currency", "ledger", "min_recharge_paise", "plan", "rates_paise", "transactions"];
    assert_eq!(fields, specified);
}

#[test]
fn units_used_without_a_provider_are_never_charged_later() {
    let (_folder, data) = fresh();
    let server = Server::start(&data);
    use_units(&server);
    assert_eq!(statement(&server), (0, 0, 0));
    use_units(&server);
    // Killed, so that the last units are not settled.
    server.kill();
    let server = Server::start_configured(&data, &rates(7, 3));
    assert_eq!(statement(&server), (0, 0, 0));
    assert_eq!(server.retrieve("default", "q=bridge").status, 200);
    assert_eq!(statement(&server), (-3, 0, -3), "units used now are charged");
}

#[test]
fn a_command_charges_the_prices_of_the_server() {
    let (folder, data) = fresh();
    let settings = rates(7, 3);
    assert!(Server::start_configured(&data, &settings).terminate());
    let file = folder.path().join("chats.jsonl");
    let line = json!({"messages": [{"role": "user", "content": "The bridge was painted green"}]});
    std::fs::write(&file, format!("{line}\n")).expect("writes");
    stdout(&data, &["import", file.to_str().expect("a path")]);
    let server = Server::start_configured(&data, &settings);
    assert_eq!(statement(&server), (-7, 0, -7), "one write");
}

#[test]
fn a_wallet_is_hidden_while_there_is_no_provider() {
    let (_folder, data) = fresh();
    let settings = rates(7, 3);
    let server = Server::start_configured(&data, &settings);
    for _ in 0..4 {
        assert_eq!(server.retrieve("default", "q=x").status, 200);
    }
    assert_eq!(statement(&server), (-12, 0, -12));
    assert!(server.terminate());
    let server = Server::start(&data);
    assert_eq!(statement(&server), (0, 0, 0), "not shown without a provider");
    use_units(&server);
    assert!(server.terminate());
    let server = Server::start_configured(&data, &settings);
    assert_eq!(statement(&server), (-12, 0, -12), "kept, and units used meanwhile are not charged");
}

#[test]
fn a_debt_from_an_earlier_version_is_credited() {
    let (_folder, data) = fresh();
    stdout(&data, &["keys", "create", "--init"]);
    {
        // The state that version 0.1 left: a debit for used units, although there was no provider.
        let store = Store::open(&data.join("records")).expect("opens");
        let wallet = WalletRecord { balance_paise: -4046, ..WalletRecord::default() };
        let debit = TransactionRecord {
            id: Ulid::generate(),
            amount_paise: -4046,
            note: "2023 reads".into(),
            at_ms: 1_770_000_000_000,
        };
        let transactions = std::slice::from_ref(&debit);
        let change = BillingChange { wallet: Some(&wallet), transactions, ..BillingChange::default() };
        store.change_billing(&AccountId::default(), &change).expect("writes");
        let rates = [(Meter::Writes, 10_u64), (Meter::Reads, 2), (Meter::Chats, 50)];
        let prices = PricesRecord { default_plan: PlanName::Payg, rates: rates.into(), provider: None };
        store.put_prices(&prices).expect("writes");
    }
    let server = Server::start(&data);
    assert_eq!(statement(&server), (0, 0, 0));
    assert!(server.terminate());
    let server = Server::start_configured(&data, &rates(0, 0));
    assert_eq!(statement(&server), (0, 4046, -4046), "the debt was credited");
}

#[test]
fn a_recharge_is_paid_in_the_sandbox() {
    let (_folder, data) = fresh();
    let server = Server::start_configured(&data, "[payments]\nprovider = 'sandbox'\nsandbox_listen = '127.0.0.1:0'\n");
    let session = stdout(&data, &["token"]);
    let started = server.call_as(&session, "POST", "/v1/billing/recharge", Some(&json!({"amount_paise": 123_456})));
    assert!(started.status == 200 && started.body["payment_id"].is_string(), "{started:?}");
    let link = started.body["payment_link"].as_str().expect("a link");
    let page = Client::new().get(link).send().expect("answers");
    assert!(page.headers()["content-security-policy"].to_str().expect("text").contains("default-src 'none'"));
    assert!(page.text().expect("text").contains("1234.56 INR"));
    assert_eq!(statement(&server).0, 0, "nothing is credited before the click");
    for _ in 0..2 {
        assert!(Client::new().post(link).send().expect("answers").text().expect("text").contains("Paid."));
    }
    assert_eq!(statement(&server), (123_456, 123_456, 0), "a second click changes nothing");
    let plan = server.call_as(&session, "POST", "/v1/billing/subscribe", Some(&json!({"plan": "growth"})));
    assert_eq!(server.get("/v1/usage").body["plan"], "payg", "the plan does not change before the payment");
    Client::new().post(plan.body["payment_link"].as_str().expect("a link")).send().expect("answers");
    assert_eq!(server.get("/v1/usage").body["plan"], "growth");
    assert_eq!(Client::new().get(format!("{link}x")).send().expect("answers").status(), 404);
}

#[test]
fn requests_to_the_provider_follow_its_documented_api() {
    let (_folder, data) = fresh();
    let books = Arc::new(PaymentProvider::default());
    let provider = Arc::clone(&books);
    let server = Server::start_configured(&data, &dodo_settings(&serve(move |request| provider.answer(request))));
    let session = stdout(&data, &["token"]);
    let started = server.call_as(&session, "POST", "/v1/billing/recharge", Some(&json!({"amount_paise": 60000})));
    assert_eq!(started.body, json!({"payment_link": "https://pay.example/pay_0", "payment_id": "pay_0"}));
    let requests = books.requests.lock().clone();
    let (customer_route, customer) = &requests[0];
    assert_eq!(customer_route, "POST /customers");
    assert!(customer["email"].as_str().expect("an address").contains('@') && customer["name"] == "default");
    let (payment_route, payment) = &requests[1];
    assert_eq!(
        (payment_route.as_str(), &payment["customer"], &payment["payment_link"]),
        ("POST /payments", &json!({"customer_id": "cus_0"}), &json!(true))
    );
    assert_eq!(payment["product_cart"], json!([{"product_id": "pdt_r", "quantity": 1, "amount": 60000}]));
    assert!(payment["billing"]["country"].is_string() && payment["metadata"].is_object());

    // A smaller amount does not pay the recharge. Amounts in another currency are not compared.
    assert_eq!(notify(&server, "evt_less", &paid("pay_0", 59999)).body["processed"], false);
    assert_eq!(statement(&server).0, 0);
    let abroad = server.call_as(&session, "POST", "/v1/billing/recharge", Some(&json!({"amount_paise": 70000})));
    let mut event = paid(abroad.body["payment_id"].as_str().expect("an id"), 800);
    event["data"]["currency"] = json!("USD");
    assert_eq!(notify(&server, "evt_usd", &event).body["processed"], true);
    assert_eq!((statement(&server).0, books.sum()), (70000, 70000));

    // A payment is credited once, also if it is notified several times and under different ids.
    assert_eq!(notify(&server, "evt_1", &paid("pay_0", 60000)).body, json!({"received": true, "processed": true}));
    for id in ["evt_1", "evt_2"] {
        assert_eq!(notify(&server, id, &paid("pay_0", 60000)).body["processed"], false);
    }
    let bad = notify_signed(&server, "evt_3", &paid("pay_0", 60000), |signature| signature.replace("v1,", "v1,A"));
    assert_eq!((bad.status, bad.body), (401, json!({"message": "Unauthorized"})));
    assert_eq!(notify(&server, "evt_4", &paid("pay_unknown", 5)).body["processed"], false);
    assert_eq!(statement(&server), (130_000, 130_000, 0));
    assert_eq!(books.sum(), 130_000);

    // Used units are debited at the rates, and the debit is mirrored to the provider.
    server.remember("default", &["The ferry leaves at nine"]);
    for _ in 0..4 {
        server.retrieve("default", "q=ferry");
    }
    assert_eq!(statement(&server), (130_000 - 7 - 12, 130_000, -19));
    assert_eq!(books.sum(), 130_000 - 19);
    assert_eq!(server.get("/v1/billing").body["rates_paise"], json!({"writes": 7, "reads": 3, "chats": 11}));
    let entry = books.requests.lock().last().expect("an entry").clone();
    assert_eq!(entry.0, "POST /customers/cus%5F0/wallets/ledger-entries");
    assert_eq!((&entry.1["entry_type"], &entry.1["currency"]), (&json!("debit"), &json!("INR")));

    // The provider's notifications start and end a plan.
    let plan = server.call_as(&session, "POST", "/v1/billing/subscribe", Some(&json!({"plan": "starter"})));
    assert_eq!(plan.body, json!({"payment_link": "https://pay.example/sub_1"}));
    let not_sold = server.call_as(&session, "POST", "/v1/billing/subscribe", Some(&json!({"plan": "max"})));
    assert_eq!((not_sold.status, not_sold.code()), (400, "unknown_plan"));
    let metadata =
        books.requests.lock().iter().find(|(call, _)| call == "POST /subscriptions").expect("a request").1["metadata"]
            .clone();
    let event = |kind: &str, product: &str| json!({"type": kind, "data": {"subscription_id": "sub_1", "product_id": product, "metadata": metadata}});
    server.retrieve("default", "q=ferry");
    assert_eq!(notify(&server, "evt_5", &event("subscription.active", "pdt_g")).body["processed"], true);
    assert_eq!(server.get("/v1/usage").body["plan"], "growth", "the product decides");
    server.retrieve("default", "q=ferry");
    assert_eq!(statement(&server).2, -22, "units used before the plan were debited, units that it covers are not");
    assert_eq!(notify(&server, "evt_6", &event("subscription.cancelled", "pdt_g")).body["processed"], true);
    assert_eq!(server.get("/v1/usage").body["plan"], "payg");
}

#[test]
fn provider_failures_neither_lose_nor_repeat_an_entry() {
    let (_folder, data) = fresh();
    let books = Arc::new(PaymentProvider::default());
    let script: Arc<Mutex<Vec<&str>>> = Arc::default();
    let (provider, steps) = (Arc::clone(&books), Arc::clone(&script));
    let url = serve(move |request| match steps.lock().pop() {
        None => provider.answer(request),
        Some("429") => FakeResponse::RetryAfter(429, 0, json!({"code": "RATE_LIMITED"})),
        Some("500") => FakeResponse::Json(500, json!({"code": "INTERNAL"})),
        Some("silence") => FakeResponse::Silence,
        Some("closed") => FakeResponse::Closed,
        Some("nonsense") => FakeResponse::Text(200, "<html>".into()),
        Some("refused") => FakeResponse::Json(422, json!({"code": "INVALID_REQUEST"})),
        // The entry is made, but its response is lost.
        Some(_) => {
            provider.answer(request);
            FakeResponse::Closed
        }
    });
    let server = Server::start_configured(&data, &dodo_settings(&url));
    let session = stdout(&data, &["token"]);
    let recharge = || server.call_as(&session, "POST", "/v1/billing/recharge", Some(&json!({"amount_paise": 50000})));
    assert_eq!(recharge().status, 200);
    assert_eq!(notify(&server, "evt", &paid("pay_0", 50000)).status, 200);
    let mut expected = 50000;
    for failures in [
        &["429"][..],
        &["500"],
        &["closed"],
        &["silence"],
        &["lost"],
        &["nonsense"],
        &["lost", "500"],
        &["500", "500", "500"],
        &["lost", "lost", "lost"],
        &["refused"],
    ] {
        server.retrieve("default", "q=x");
        expected -= 3;
        script.lock().extend(failures.iter().rev());
        let (balance, credits, debits) = statement(&server);
        assert_eq!((balance, credits + debits), (expected, expected), "{failures:?}");
        script.lock().clear();
    }
    assert_eq!(statement(&server).0, expected);
    assert_eq!(books.sum(), expected, "the provider's ledger agrees");

    script.lock().extend(["500"; 9]);
    let failed = recharge();
    assert_eq!((failed.status, failed.code()), (503, "provider_unavailable"));
    assert!(!failed.body.to_string().contains("INTERNAL") && !server.log().contains("dodo-key"));
    script.lock().clear();
    // A payment whose response was lost is recognised by the metadata of its notification.
    let metadata =
        books.requests.lock().iter().find(|(call, _)| call == "POST /payments").expect("a request").1["metadata"]
            .clone();
    let mut event = paid("pay_77", 50000);
    event["data"]["metadata"] = metadata;
    assert_eq!(notify(&server, "evt_77", &event).body["processed"], true);
    assert_eq!(statement(&server).0, expected + 50000);
}

/// Settings for the sandbox provider, which takes no money.
const SANDBOX: &str = "[payments]\nprovider = 'sandbox'\nsandbox_listen = '127.0.0.1:0'\n";

/// Returns settings for prices of one unit, charged with the sandbox provider.
fn rates(writes: u32, reads: u32) -> String {
    format!("{SANDBOX}[billing]\nrates = {{ writes = {writes}, reads = {reads}, chats = 0 }}\n")
}

#[test]
fn units_that_were_free_when_used_stay_free() {
    let (_folder, data) = fresh();
    let server = Server::start_configured(&data, &rates(0, 0));
    for _ in 0..50 {
        assert_eq!(server.retrieve("default", "q=x").status, 200);
    }
    assert_eq!(statement(&server), (0, 0, 0));
    assert!(server.terminate());
    let server = Server::start_configured(&data, &rates(0, 2));
    assert_eq!(server.get("/v1/usage").body["used"]["reads"], 50);
    assert_eq!(statement(&server), (0, 0, 0));
    assert_eq!(server.retrieve("default", "q=x").status, 200);
    assert_eq!(statement(&server), (-2, 0, -2), "units used now are charged");
}

#[test]
fn a_new_price_does_not_apply_to_units_used_before_it() {
    let (_folder, data) = fresh();
    let server = Server::start_configured(&data, &rates(0, 0));
    for _ in 0..10 {
        assert_eq!(server.retrieve("default", "q=x").status, 200);
    }
    // The units are not settled: no statement was requested and the server did not stop regularly.
    server.kill();
    let server = Server::start_configured(&data, &rates(3, 0));
    assert_eq!(statement(&server), (0, 0, 0));
    for n in 0..4 {
        server.remember("default", &[&format!("Bollard {n} is loose")]);
    }
    server.kill();
    let server = Server::start_configured(&data, &rates(100, 100));
    assert_eq!(statement(&server), (-12, 0, -12), "four writes at three paise");
}

/// Returns the body of an event of a subscription to the plan growth.
fn subscription(kind: &str, id: &str, at: &str) -> Value {
    json!({"type": format!("subscription.{kind}"), "timestamp": at, "data": {
        "subscription_id": id, "product_id": "pdt_g", "metadata": {"cuebase_account": "default"},
    }})
}

#[test]
fn subscription_events_apply_in_the_order_they_happened() {
    let (_folder, data) = fresh();
    let books = Arc::new(PaymentProvider::default());
    let server = Server::start_configured(&data, &dodo_settings(&serve(move |request| books.answer(request))));
    let plan = || server.get("/v1/usage").body["plan"].clone();
    let steps = [
        ("active", "sub_1", "2025-03-01T10:00:00Z", true, "growth"),
        ("cancelled", "sub_1", "2025-03-01T12:00:00Z", true, "payg"),
        // These events arrive late.
        ("renewed", "sub_1", "2025-03-01T11:00:00Z", false, "payg"),
        ("active", "sub_1", "2025-03-01T11:59:59.999Z", false, "payg"),
        // The end of sub_2 arrives before its start.
        ("cancelled", "sub_2", "2025-03-01T13:00:00Z", true, "payg"),
        ("active", "sub_2", "2025-03-01T12:30:00Z", false, "payg"),
        ("active", "sub_3", "2025-03-01T14:00:00Z", true, "growth"),
        // An event of a subscription that is not in effect.
        ("expired", "sub_1", "2025-03-01T15:00:00Z", true, "growth"),
        // An event that is older than the start of the plan in effect.
        ("on_hold", "sub_3", "2025-03-01T13:59:00Z", false, "growth"),
        ("cancelled", "sub_3", "2025-03-01T16:00:00Z", true, "payg"),
    ];
    for (number, (kind, id, at, processed, then)) in steps.into_iter().enumerate() {
        let answer = notify(&server, &format!("evt_{number}"), &subscription(kind, id, at));
        assert_eq!((answer.status, &answer.body["processed"]), (200, &json!(processed)), "{kind} {id} {at}");
        assert_eq!(plan(), then, "after {kind} {id} {at}");
    }
    server.kill();
    let books = Arc::new(PaymentProvider::default());
    let server = Server::start_configured(&data, &dodo_settings(&serve(move |request| books.answer(request))));
    let late = notify(&server, "evt_late", &subscription("active", "sub_3", "2025-03-01T15:59:00Z"));
    assert_eq!((late.status, &late.body["processed"]), (200, &json!(false)), "also after a restart");
    assert_eq!(server.get("/v1/usage").body["plan"], "payg");
}

#[test]
fn a_namespace_key_cannot_read_the_accounts_usage() {
    let (_folder, data) = fresh();
    let server = Server::start(&data);
    server.namespace("team");
    server.remember("default", &["The customs house closes at noon"]);
    let scoped = stdout(&data, &["keys", "create", "--namespace", "team"]);
    for path in ["/v1/usage", "/v1/billing"] {
        let refused = server.call_as(&scoped, "GET", path, None);
        assert_eq!((refused.status, refused.code()), (403, "scoped_key"), "{path}");
        assert_eq!(server.get(path).status, 200, "{path}");
    }
}

#[test]
fn the_media_quota_is_freed_when_a_namespace_is_deleted() {
    let (_folder, data) = fresh();
    let settings = "[plans]\npayg = { writes = 1000, reads = 1000, memories = 1000, chats = 1000, media_mib = 1 }\n";
    let server = Server::start_configured(&data, settings);
    server.namespace("photos");
    let file = vec![7_u8; 400 << 10];
    let bearer = format!("Bearer {}", server.key);
    let upload = || server.request("POST", "/v1/media?namespace=photos", Some(&bearer), Some(file.clone()));
    assert_eq!((upload().status, upload().status), (201, 201));
    let refused = upload();
    assert_eq!((refused.status, refused.code()), (429, "quota_exceeded"));
    let usage = server.get("/v1/usage").body;
    assert_eq!((&usage["used"]["media_bytes"], &usage["limits"]["media_bytes"]), (&json!(800 << 10), &json!(1 << 20)));
    server.kill();
    let server = Server::start_configured(&data, settings);
    assert_eq!(server.get("/v1/usage").body["used"]["media_bytes"], 800 << 10, "counted through a kill");
    let session = stdout(&data, &["token"]);
    assert_eq!(server.call_as(&session, "DELETE", "/v1/namespaces/photos", None).status, 200);
    wait_for("the quota to be free", || server.get("/v1/usage").body["used"]["media_bytes"] == 0);
    server.namespace("photos");
    assert_eq!(server.request("POST", "/v1/media?namespace=photos", Some(&bearer), Some(file.clone())).status, 201);
}

fn kill(pid: u32) {
    let _ = std::process::Command::new("kill").args(["-9", &pid.to_string()]).status();
}

/// Kills the server at each step between the use of a unit and the note that the provider's ledger has its debit.
#[test]
fn ledgers_agree_after_a_kill_at_any_step_of_a_debit() {
    let (_folder, data) = fresh();
    let books = Arc::new(PaymentProvider::default());
    // The next step at which the server is killed, and its process id.
    let moment = Arc::new(Mutex::new((String::new(), 0_u32)));
    let (provider, next) = (Arc::clone(&books), Arc::clone(&moment));
    let url = serve(move |request| {
        let (step, pid) = next.lock().clone();
        let is_entry = request.path.ends_with("/ledger-entries");
        match step.as_str() {
            // The debit is written; the provider does not have it.
            "asked" if is_entry => {
                kill(pid);
                FakeResponse::Closed
            }
            // The provider has the debit; the server does not know.
            "entered" if is_entry => {
                provider.answer(request);
                kill(pid);
                FakeResponse::Closed
            }
            // The server may or may not have read the response, and may or may not have noted it.
            "replied" if is_entry => {
                let response = provider.answer(request);
                std::thread::spawn(move || kill(pid));
                response
            }
            _ => provider.answer(request),
        }
    });
    let settings = dodo_settings(&url);
    let mut server = Server::start_configured(&data, &settings);
    let session = stdout(&data, &["token"]);
    let recharge = server.call_as(&session, "POST", "/v1/billing/recharge", Some(&json!({"amount_paise": 50000})));
    assert_eq!(recharge.status, 200);
    let (mut reads, mut writes, mut credited) = (0, 0, 0);
    for round in 0..12 {
        let step = ["used", "asked", "entered", "replied", "paid", "settled"][round % 6];
        *moment.lock() = (step.to_owned(), server.pid());
        for _ in 0..=round {
            assert_eq!(server.retrieve("default", "q=x").status, 200);
            reads += 1;
        }
        server.remember("default", &[&format!("Round {round} of the harbour walk")]);
        writes += 1;
        match step {
            // Counted, not debited.
            "used" => {}
            "paid" => {
                let mut body = paid(&format!("pay_{round}"), 1000);
                body["data"]["metadata"] = json!({"cuebase_account": "default", "cuebase_recharge_paise": "1000"});
                assert_eq!(notify(&server, &format!("evt_{round}"), &body).body["processed"], true);
                credited += 1000;
            }
            "settled" => drop(statement(&server)),
            // The server is killed during this request.
            _ => drop(server.try_request("GET", "/v1/billing", Some(&format!("Bearer {}", server.key)), None)),
        }
        server.kill();
        moment.lock().0.clear();
        server = Server::start_configured(&data, &settings);
        let (balance, credits, debits) = statement(&server);
        // Reads are recorded shortly after their response, without a sync. A kill in between loses the last ones.
        let lost_max = if matches!(step, "used" | "paid") { i64::try_from(round).expect("few rounds") + 1 } else { 0 };
        let lost = (3 * reads + 7 * writes + debits) / 3;
        assert!((0..=lost_max).contains(&lost), "round {round}, killed when {step}: {lost} reads lost");
        reads -= lost;
        assert_eq!(debits, -(3 * reads + 7 * writes), "round {round}, killed when {step}: units and debits");
        assert_eq!((balance, credits), (credited + debits, credited), "round {round}, killed when {step}: wallet");
        assert_eq!(books.sum(), balance, "round {round}, killed when {step}: mirror");
    }
}
