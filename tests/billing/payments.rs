//! Payments and subscriptions with an imitation of the payment provider.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use cuebase::webhook::WebhookSecret;
use parking_lot::Mutex;
use reqwest::blocking::Client;
use serde_json::{Value, json};

use super::{statement, wait_for_recorded_reads};
use crate::support::fake::{FakeRequest, FakeResponse, serve};
use crate::support::{Answer, Server, fresh, stdout};

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
        "[payments]\nprovider = 'dodo'\nurl = '{url}'\napi_key = 'dodo-key'\nwebhook_secret = '{SECRET}'\ntimeout_ms = 60000\n\
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

    // A payment in another currency is refused, and its provider does not have to send it again.
    let abroad = server.call_as(&session, "POST", "/v1/billing/recharge", Some(&json!({"amount_paise": 70000})));
    let mut event = paid(abroad.body["payment_id"].as_str().expect("an id"), 800);
    event["data"]["currency"] = json!("USD");
    let refused = notify(&server, "evt_usd", &event);
    assert_eq!((refused.status, refused.body), (200, json!({"received": true, "processed": false})));
    assert_eq!((statement(&server).0, books.sum()), (0, 0));
    assert!(server.log().contains("a payment is refused and not credited"));

    // What was paid is credited, not what was requested.
    let less = paid(abroad.body["payment_id"].as_str().expect("an id"), 69_999);
    assert_eq!(notify(&server, "evt_less", &less).body["processed"], true);
    assert_eq!((statement(&server).0, books.sum()), (69_999, 69_999));

    // A payment is credited once, also if it is notified several times and under different ids.
    assert_eq!(notify(&server, "evt_1", &paid("pay_0", 60000)).body, json!({"received": true, "processed": true}));
    for id in ["evt_1", "evt_2"] {
        assert_eq!(notify(&server, id, &paid("pay_0", 60000)).body["processed"], false);
    }
    let bad = notify_signed(&server, "evt_3", &paid("pay_0", 60000), |signature| signature.replace("v1,", "v1,A"));
    assert_eq!((bad.status, bad.body), (401, json!({"message": "Unauthorized"})));
    assert_eq!(notify(&server, "evt_4", &paid("pay_unknown", 5)).body["processed"], false);
    assert_eq!(statement(&server), (129_999, 129_999, 0));
    assert_eq!(books.sum(), 129_999);

    // Used units are debited at the rates, and the debit is mirrored to the provider.
    server.remember("default", &["The ferry leaves at nine"]);
    for _ in 0..4 {
        server.retrieve("default", "q=ferry");
    }
    assert_eq!(statement(&server), (129_999 - 7 - 12, 129_999, -19));
    assert_eq!(books.sum(), 129_999 - 19);
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
    // An attempt takes half of the time, so silence ends after five seconds.
    let settings = dodo_settings(&url).replace("timeout_ms = 60000", "timeout_ms = 10000");
    let server = Server::start_configured(&data, &settings);
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
    let (mut reads, mut writes, mut credited) = (0_i64, 0, 0);
    for round in 0..12 {
        let step = ["used", "asked", "entered", "replied", "paid", "settled"][round % 6];
        *moment.lock() = (step.to_owned(), server.pid());
        for _ in 0..=round {
            assert_eq!(server.retrieve("default", "q=x").status, 200);
            reads += 1;
        }
        server.remember("default", &[&format!("Round {round} of the harbour walk")]);
        writes += 1;
        if !matches!(step, "used" | "paid") {
            // A kill before a count is recorded loses it, also if it was debited.
            wait_for_recorded_reads(&data, u64::try_from(reads).expect("not negative"));
        }
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
