//! Metering, plans, and wallets without a provider and with the sandbox.

/// Payments with an imitation of the payment provider.
mod payments;

use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};

use cuebase_storage::records::{Meter, PlanName, PricesRecord, TransactionRecord, WalletRecord};
use cuebase_storage::{AccountId, Store};
use reqwest::blocking::Client;
use serde_json::json;
use ulid::Ulid;

use crate::support::disk::WatchedData;
use crate::support::working_copy::WorkingCopy;
use crate::support::{Answer, Server, files_below, fresh, nodes, stdout, wait_for};

/// Disk rule that delays every write to the records by a second. A unit that is recorded after the response is lost if
/// the server is killed at once.
const SLOW_RECORDS: &str = "slow write records/0 1000";

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

/// Returns the number of reads in the records of a running server, from a copy of their files. `None` if the copy cannot
/// be opened, because a file changed meanwhile.
fn recorded_reads(data: &Path) -> Option<u64> {
    let copy = tempfile::tempdir().expect("temporary directory");
    for file in files_below(&data.join("records")) {
        std::fs::copy(&file, copy.path().join(file.file_name()?)).ok()?;
    }
    let store = Store::open(copy.path()).ok()?;
    let usage = store.usage(&AccountId::default(), Meter::Reads).ok()?;
    Some(usage.map_or(0, |usage| usage.total))
}

/// Waits until this number of reads is in the files of the records, where it survives a kill. A thread of the server
/// writes counts of reads shortly after the responses.
pub(crate) fn wait_for_recorded_reads(data: &Path, reads: u64) {
    wait_for("the reads to be recorded", || recorded_reads(data) == Some(reads));
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
    // Of several nodes, each writes its counts when another one is asked for the usage.
    if !nodes::are_used() {
        wait_for_recorded_reads(&data, 3);
    }
    assert_eq!((&used()["writes"], &used()["reads"], &used()["chats"]), (&json!(4), &json!(3), &json!(1)));
    let usage = server.get("/v1/usage").body;
    assert_eq!((&usage["plan"], &usage["exceeded"]), (&json!("payg"), &json!(false)));
    assert_eq!(usage["period"].as_str().map(str::len), Some(7));
    server.kill();
    let server = Server::start(&data);
    assert_eq!(server.get("/v1/usage").body["used"]["reads"], 3, "counted through a kill");
}

fn used_writes(server: &Server) -> u64 {
    server.get("/v1/usage").body["used"]["writes"].as_u64().expect("a number")
}

#[test]
fn an_acknowledged_direct_write_is_counted_after_a_kill() {
    let watched = WatchedData::new();
    let server = watched.start();
    watched.disk.set_rules(&[SLOW_RECORDS]);
    let written = server.post("/v1/memories/facts/a.md", &json!({"content": "# A bollard\n"}));
    server.kill();
    assert_eq!(written.status, 201, "{written:?}");
    watched.disk.set_rules(&[]);
    assert_eq!(used_writes(&watched.start()), 1);
}

#[test]
fn an_acknowledged_push_is_counted_after_a_kill() {
    let watched = WatchedData::new();
    let settings = watched.data.with_extension("toml");
    std::fs::write(&settings, "[git]\naccept_push = true\n").expect("writes");
    let server = watched.start_with(&["--config", settings.to_str().expect("a path")]);
    let folder = tempfile::tempdir().expect("temporary directory");
    let copy = WorkingCopy::of(&server, "default", folder.path());
    copy.commit("facts/a.md", "# A bollard\n");
    copy.commit("facts/b.md", "# A capstan\n");
    watched.disk.set_rules(&[SLOW_RECORDS]);
    let is_pushed = copy.push();
    server.kill();
    assert!(is_pushed);
    watched.disk.set_rules(&[]);
    assert_eq!(used_writes(&watched.start()), 2, "one unit for each memory");
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
fn concurrent_writes_do_not_overdraw_an_enforced_balance() {
    let (_folder, data) = fresh();
    let settings = format!("{SANDBOX}[billing]\nenforce_balance = true\nrates = 'writes=5000,reads=0,chats=0'\n");
    let server = Server::start_configured(&data, &settings);
    let session = stdout(&data, &["token"]);
    let started = server.call_as(&session, "POST", "/v1/billing/recharge", Some(&json!({"amount_paise": 50000})));
    Client::new().post(started.body["payment_link"].as_str().expect("a link")).send().expect("pays");
    let accepted = AtomicU32::new(0);
    std::thread::scope(|scope| {
        for number in 0..50 {
            let (server, accepted) = (&server, &accepted);
            scope.spawn(move || {
                let text = format!("Bollard {number} is loose");
                let answer = server.post("/v1/memories", &json!({"messages": [{"role": "user", "content": text}]}));
                match answer.status {
                    202 => _ = accepted.fetch_add(1, Ordering::SeqCst),
                    status => assert_eq!((status, answer.code()), (402, "payment_required"), "{answer:?}"),
                }
            });
        }
    });
    assert_eq!((accepted.into_inner(), statement(&server)), (10, (0, 50_000, -50_000)));
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
        let account = AccountId::default();
        let stored = store.stored_wallet(&account).expect("reads");
        let mut batch = store.batch();
        batch.replace_wallet(&stored, &wallet).expect("encodes");
        batch.add_transaction(&account, &debit).expect("encodes");
        store.commit_synced(batch).expect("writes");
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
    for path in ["/v1/usage", "/v1/billing"] {
        assert_eq!(server.get(path).body["plan"], "payg", "{path}: the plan does not change before the payment");
    }
    Client::new().post(plan.body["payment_link"].as_str().expect("a link")).send().expect("answers");
    for path in ["/v1/usage", "/v1/billing"] {
        assert_eq!(server.get(path).body["plan"], "growth", "{path}");
    }
    assert_eq!(Client::new().get(format!("{link}x")).send().expect("answers").status(), 404);
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
