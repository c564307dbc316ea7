//! The command line, with and without a running server.

use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::{Value, json};

use crate::support::fake::{self, FakeResponse};
use crate::support::{Server, cuebase, fresh, run, stdout, wait_for, with_models};

#[test]
fn keys_and_namespaces_work_with_the_server_stopped_and_running() {
    let (_folder, data) = fresh();
    let key = stdout(&data, &["keys", "create", "--init", "--name", "first"]);
    assert!(key.starts_with("svc_live_") && key.lines().count() == 1, "{key}");
    stdout(&data, &["namespaces", "create", "offline"]);

    let server = Server::start(&data);
    assert_eq!(server.request("GET", "/v1/whoami", Some(&format!("Bearer {key}")), None).status, 200);
    stdout(&data, &["namespaces", "create", "online"]);
    let names = |text: String| -> Vec<String> {
        text.lines()
            .map(|line| serde_json::from_str::<Value>(line).expect("JSON")["name"].as_str().expect("a name").to_owned())
            .collect()
    };
    assert_eq!(names(stdout(&data, &["namespaces", "list"])), ["default", "offline", "online"]);
    let id = key.split('_').nth(2).expect("an id");
    stdout(&data, &["keys", "revoke", id]);
    assert_eq!(server.request("GET", "/v1/whoami", Some(&format!("Bearer {key}")), None).status, 403);
    let mode = std::fs::metadata(data.join("control.sock")).expect("the socket").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    assert_eq!(std::fs::metadata(&data).expect("the directory").permissions().mode() & 0o777, 0o700);
    assert!(server.terminate());

    stdout(&data, &["namespaces", "delete", "--yes", "online"]);
    assert_eq!(names(stdout(&data, &["namespaces", "list"])), ["default", "offline"]);
    let listed = stdout(&data, &["keys", "list"]);
    assert!(listed.lines().any(|line| line.contains(id) && line.contains("\"revoked\":true")), "{listed}");
    assert!(stdout(&data, &["token"]).split('.').count() == 3);
}

#[test]
fn commands_concern_namespaces_of_any_node() {
    let (_folder, data) = fresh();
    let server = Server::start(&data);
    let names: Vec<String> = (0..6).map(|number| format!("n{number}")).collect();
    for name in &names {
        server.namespace(name);
        server.settle(name);
    }
    for name in &names {
        let erased = stdout(&data, &["erase", "--namespace", name, "--session", "none", "--yes"]);
        assert!(erased.starts_with("0 memories erased"), "{erased}");
        stdout(&data, &["namespaces", "delete", "--yes", name]);
    }
    let listed = stdout(&data, &["namespaces", "list"]);
    assert_eq!(listed.lines().count(), 1, "only the default namespace is left: {listed}");
}

#[test]
fn a_long_path_works_and_a_second_server_is_refused() {
    let (folder, _) = fresh();
    let deep = folder.path().join("a-directory-with-a-long-name-".repeat(6));
    std::fs::create_dir_all(&deep).expect("creates");
    let data = deep.join("data");
    let server = Server::start(&data);
    let second = run(&data, &["serve", "--listen", "127.0.0.1:0"]);
    let error = String::from_utf8_lossy(&second.stderr).into_owned();
    assert!(!second.status.success() && error.contains("in use by another process"), "{error}");
    assert_eq!(server.get("/v1/whoami").status, 200);
}

#[test]
fn a_command_waits_for_a_starting_server() {
    let (_folder, data) = fresh();
    for _ in 0..3 {
        let mut serve = cuebase(&data, &["serve", "--listen", "127.0.0.1:0", "--dashboard-listen", "off"]);
        let mut server = serve.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("the binary runs");
        let lock = data.join("records/LOCK");
        wait_for("the server to hold the records", || lock.exists());
        stdout(&data, &["namespaces", "list"]);
        server.kill().and_then(|()| server.wait()).expect("ends");
        let _ = std::fs::remove_file(lock);
    }
}

#[test]
fn health_reports_by_its_exit_status() {
    let (_folder, data) = fresh();
    let server = Server::start(&data);
    let address = server.url.trim_start_matches("http://").to_owned();
    assert!(stdout(&data, &["health", "--listen", &address]).contains("responds"));
    server.kill();
    let gone = run(&data, &["health", "--listen", &address]);
    assert!(!gone.status.success() && String::from_utf8_lossy(&gone.stderr).contains("does not respond"));
}

#[test]
fn wrong_arguments_get_a_clear_error() {
    let (_folder, data) = fresh();
    stdout(&data, &["keys", "create", "--init"]);
    for (arguments, says) in [
        (&["keys", "revoke", "0123456789abcdef"][..], "no key"),
        (&["namespaces", "create", "Bad Name"], "a-z"),
        (&["keys", "create", "--env", "prod"], "live or test"),
        (&["accounts", "suspend", "nobody"], "no account"),
        (&["serve", "--listen", "nonsense"], "host:port"),
        (&["serve", "--listen", "192.0.2.1:1"], "cannot listen"),
        (&["config", "--config", "/nonexistent.toml"], "cannot read"),
        (&["eval", "/nonexistent.json"], "cannot read"),
    ] {
        let output = run(&data, arguments);
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success() && error.contains(says), "{arguments:?}: {error}");
    }
}

#[test]
fn the_nodes_of_a_single_process_are_not_listed() {
    let (_folder, data) = fresh();
    stdout(&data, &["keys", "create", "--init"]);
    let says = "belongs to one process";
    let stopped = stdout(&data, &["nodes"]);
    assert!(stopped.contains(says) && stopped.contains(&data.display().to_string()), "{stopped}");
    let _server = Server::start(&data);
    let running = stdout(&data, &["nodes"]);
    assert!(running.contains(says), "{running}");
}

/// Values that are invalid for numbers, addresses and URLs, and that must not cause a panic anywhere.
fn hostile_values() -> Vec<String> {
    let plain =
        ["", "*", "-1", "0", "999999999999999999999", "a=b,c", "\u{202e}\n\t\"'\\", "http://", "[::1", "é", "%00"];
    plain.iter().map(|value| (*value).to_owned()).chain(["x".repeat(100_000), "1,".repeat(10_000)]).collect()
}

#[test]
fn any_bad_setting_value_is_refused_in_one_line_naming_it() {
    for setting in &cuebase::config::SETTINGS {
        for value in hostile_values() {
            let variable = cuebase::config::environment_name(setting.key);
            let environment = |name: &str| (name == variable).then(|| value.clone());
            let resolved = cuebase::config::Config::resolve(&Default::default(), environment, None);
            let Err(error) = resolved else { continue };
            let error = format!("{error:#}");
            let short: String = value.chars().take(70).collect();
            assert!(error.lines().count() == 1 && error.len() < 600, "{} = {short:?}: {error}", setting.key);
            assert!(error.contains("setting"), "{} = {short:?}: {error}", setting.key);
        }
    }
}

#[test]
fn a_bad_setting_is_reported_with_source_and_accepted_form() {
    let (_folder, data) = fresh();
    for (variable, value, key, accepted) in [
        ("CUEBASE_DASHBOARD_ORIGINS", "*", "dashboard.origins", "https://app.example"),
        ("CUEBASE_DASHBOARD_ORIGINS", "https://a.example/", "dashboard.origins", "https://a.example"),
        ("CUEBASE_DASHBOARD_PUBLIC_URL", "*", "dashboard.public_url", "https://"),
        ("CUEBASE_METRICS_LISTEN", "here", "metrics.listen", "host:port"),
        ("CUEBASE_RETRIEVAL_CONCURRENCY", "9999999999999999999", "retrieval.concurrency", "1 to"),
        ("CUEBASE_SERVER_CONNECTIONS", "9223372036854775807", "server.connections", "1 to"),
        ("CUEBASE_SERVER_HEADER_TIMEOUT_MS", "18446744073709551615", "server.header_timeout_ms", "1 to"),
        ("CUEBASE_INGESTION_BACKOFF_MS", "18446744073709551615", "ingestion.backoff_ms", "1 to"),
        ("CUEBASE_LOG", "info,=,[", "log", "debug"),
        ("CUEBASE_BILLING_CURRENCY", "rupees", "billing.currency", "3 letters"),
        ("CUEBASE_PAYMENTS_COUNTRY", "I", "payments.country", "2 letters"),
        ("CUEBASE_PAYMENTS_EMAIL_DOMAIN", "a@b", "payments.email_domain", "domain"),
        ("CUEBASE_PAYMENTS_URL", "javascript:x", "payments.url", "https://"),
        ("CUEBASE_PLANS_PAYG", "writes=-1,reads=1,memories=1,chats=1", "plans.payg", "whole number"),
    ] {
        let mut command = cuebase(&data, &["serve", "--listen", "127.0.0.1:0"]);
        let ended = command.env(variable, value).output().expect("runs");
        let error = String::from_utf8_lossy(&ended.stderr).into_owned();
        assert_eq!(ended.status.code(), Some(1), "{variable}={value}: {error}");
        assert_eq!(error.trim_end().lines().count(), 1, "{variable}={value}: {error}");
        let named = format!("setting {key} is ");
        for part in [named.as_str(), variable, accepted] {
            assert!(error.contains(part), "{variable}={value}: {part} in {error}");
        }
    }
    assert!(!data.exists(), "a refused start creates nothing");
}

#[test]
fn a_refused_secret_is_not_shown() {
    let (_folder, data) = fresh();
    for (variable, value) in [
        ("CUEBASE_PAYMENTS_API_KEY", "hunter2 with spaces"),
        ("CUEBASE_PAYMENTS_WEBHOOK_SECRET", "whsec_hunter2"),
        ("CUEBASE_MODEL_BASE_URL", "http://me:hunter2@127.0.0.1:1"),
        ("CUEBASE_PAYMENTS_URL", "ftp://me:hunter2@127.0.0.1:1"),
    ] {
        let ended = cuebase(&data, &["config"]).env(variable, value).output().expect("runs");
        let error = String::from_utf8_lossy(&ended.stderr).into_owned();
        assert!(!ended.status.success() && error.contains("setting") && !error.contains("hunter2"), "{error}");
    }
}

#[test]
fn a_key_of_the_environment_is_not_sent_to_an_address_of_the_current_folder() {
    let (folder, data) = fresh();
    let keys = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&keys);
    let url = fake::serve(move |request| {
        seen.lock().push(request.authorization.clone());
        FakeResponse::Json(400, json!({}))
    });
    let settings = format!("[model]\nbase_url = '{url}'\nchat = 'x'\n");
    std::fs::write(folder.path().join("cuebase.toml"), settings).expect("writes");
    let models = |arguments: &[&str]| {
        let mut command = cuebase(&data, arguments);
        for name in ["BASE_URL", "EMBEDDING", "CHAT", "LOCAL"] {
            command.env_remove(format!("CUEBASE_MODEL_{name}"));
        }
        let ended = command.env("CUEBASE_MODEL_API_KEY", "sk-mine").output().expect("runs");
        String::from_utf8_lossy(&ended.stderr).into_owned()
    };
    let error = models(&["models"]);
    let line = "CUEBASE_MODEL_API_KEY is not sent to the model.base_url of cuebase.toml: name the file with --config";
    assert!(error.contains(line), "{error}");
    let sent = keys.lock().clone();
    assert!(!sent.is_empty() && sent.iter().all(String::is_empty), "{sent:?}");
    let error = models(&["models", "--config", "cuebase.toml"]);
    assert!(!error.contains("is not sent"), "{error}");
    let sent = keys.lock().clone();
    assert_eq!(sent.last().map(String::as_str), Some("Bearer sk-mine"));
}

#[test]
fn a_command_ends_quietly_when_its_output_is_closed() {
    let (_folder, data) = fresh();
    stdout(&data, &["keys", "create", "--init"]);
    let commands = [&["config"][..], &["openapi"], &["completions", "bash"], &["keys", "list"], &["bind"]];
    for arguments in commands {
        let (reader, writer) = std::io::pipe().expect("a pipe");
        drop(reader);
        let mut command = cuebase(&data, arguments);
        command.env("HOME", data.parent().expect("a folder"));
        let ended = command.stdout(writer).output().expect("runs");
        let error = String::from_utf8_lossy(&ended.stderr).into_owned();
        assert_eq!(ended.status.code(), Some(141), "{arguments:?}: {error}");
        assert!(error.is_empty(), "{arguments:?}: {error}");
    }
}

#[test]
fn the_demo_removes_its_folder_when_its_output_is_closed() {
    let folder = tempfile::tempdir().expect("temporary directory");
    let (reader, writer) = std::io::pipe().expect("a pipe");
    drop(reader);
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_cuebase"));
    command.args(["demo", "--once", "--listen", "127.0.0.1:0"]).env_clear().env("TMPDIR", folder.path());
    let ended = command.current_dir(folder.path()).stdout(writer).output().expect("runs");
    let error = String::from_utf8_lossy(&ended.stderr).into_owned();
    assert_eq!(ended.status.code(), Some(141), "{error}");
    assert!(!error.contains("panic"), "{error}");
    assert_eq!(std::fs::read_dir(folder.path()).expect("reads").count(), 0, "{error}");
}

#[test]
fn the_largest_accepted_values_start_a_server() {
    let (_folder, data) = fresh();
    let mut settings = String::from("retrieval.concurrency = 1000000\nretrieval.warm_namespaces = 1000000\n");
    settings.push_str("rate_limit.requests_per_minute = 4294967295\ningestion.retries = 1000\n");
    for name in ["connections", "requests", "body_memory_mib"] {
        settings.push_str(&format!("server.{name} = 1000000\n"));
    }
    for name in ["server.header_timeout", "server.body_timeout", "server.write_timeout", "server.shutdown"] {
        settings.push_str(&format!("{name}_ms = 2678400000\n"));
    }
    for name in ["ingestion.timeout", "ingestion.backoff", "model.timeout", "model.embedding_deadline"] {
        settings.push_str(&format!("{name}_ms = 2678400000\n"));
    }
    let server = Server::start_configured(&data, &settings);
    server.remember("default", &["The sluice is opened by hand"]);
    server.settle("default");
    assert!(server.retrieve("default", "q=sluice").contents()[0].contains("hand"));
    assert!(server.terminate());
}

#[test]
fn an_invalid_settings_file_is_reported_with_its_line() {
    let (folder, data) = fresh();
    let file = folder.path().join("broken.toml");
    std::fs::write(&file, "listen = '127.0.0.1:0'\n[server\nrequests = \n").expect("writes");
    let ended = run(&data, &["config", "--config", file.to_str().expect("a path")]);
    let error = String::from_utf8_lossy(&ended.stderr).into_owned();
    assert!(
        !ended.status.success() && error.contains("TOML: line ") && error.trim_end().lines().count() == 1,
        "{error}"
    );
}

#[test]
fn a_setting_that_is_not_utf8_is_refused() {
    use std::os::unix::ffi::OsStrExt;
    let (_folder, data) = fresh();
    let mut command = cuebase(&data, &["config"]);
    let ended = command.env("CUEBASE_LOG", std::ffi::OsStr::from_bytes(b"\xff")).output().expect("runs");
    let error = String::from_utf8_lossy(&ended.stderr).into_owned();
    assert!(!ended.status.success() && error.contains("CUEBASE_LOG") && error.contains("UTF-8"), "{error}");
}

#[test]
fn a_misspelt_setting_is_reported_with_the_nearest_name() {
    let (_folder, data) = fresh();
    let mut command = cuebase(&data, &["config"]);
    let output = command.env("CUEBASE_RETRIEVAL_CONCURENCY", "3").output().expect("runs");
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success() && error.contains("did you mean CUEBASE_RETRIEVAL_CONCURRENCY?"), "{error}");
}

#[test]
fn completions_and_manual_pages_name_every_command() {
    let (folder, data) = fresh();
    for shell in ["bash", "zsh", "fish"] {
        let script = stdout(&data, &["completions", shell]);
        assert!(script.contains("dead-letters") && script.contains("dashboard-listen"), "{shell}");
    }
    let manual = folder.path().join("man1");
    stdout(&data, &["man", manual.to_str().expect("a path")]);
    let page = std::fs::read_to_string(manual.join("cuebase-keys-create.1")).expect("a page");
    assert!(page.contains("Create an API key"), "{page}");
    assert!(!data.exists(), "neither creates a data directory");
}

#[test]
fn eval_reports_retrieval_quality() {
    let (_folder, data) = fresh();
    // The first chat has an MRR of 0.73 if "I" and "you" are not resolved to speakers.
    // If answers are cut after 110 words, the recall of the second chat is 0.93 and that of the third 0.82.
    // The questions of the last name times; its MRR is 0.49 if these are matched as words.
    let mrr_min = [("chat.json", 0.78), ("long_chat.json", 0.66), ("advice_chat.json", 0.75), ("diary.json", 0.7)];
    for (chat, mrr) in mrr_min {
        let report = stdout(&data, &["eval", &format!("{}/tests/data/{chat}", env!("CARGO_MANIFEST_DIR"))]);
        assert!(figure(&report, "recall@24") > 0.999, "{report}");
        assert!(figure(&report, "mrr") > mrr, "{report}");
        // 0.40 if an assistant that says more about a subject than the user counts as the wrong speaker.
        if chat == "long_chat.json" {
            assert!(figure(&report, "best score, answerable") > 0.415, "{report}");
        }
    }
}

#[test]
fn each_kind_of_text_is_ranked_at_least_as_well_as_by_words_or_by_cues_alone() {
    let (_folder, data) = fresh();
    // All kinds but `otherwords`, whose distractors share words with the questions: no arm finds the right fact first.
    let kinds = [
        "assistant",
        "chatter",
        "code",
        "encyclopedia",
        "faq",
        "groupchat",
        "manual",
        "meeting",
        "notes",
        "short",
        "technical",
    ];
    for kind in kinds {
        let file = format!("{}/tests/data/quality/kinds/{kind}.jsonl", env!("CARGO_MANIFEST_DIR"));
        // With the built-in table, whatever model the suite runs with.
        let output = with_models(&data, "", &["eval", &file]).output().expect("the binary runs");
        let report = String::from_utf8(output.stdout).expect("text");
        for name in ["first", "recall@5", "recall@24"] {
            for arm in ["words alone", "cues alone"] {
                let (both, alone) = (figure(&report, name), figure(&report, &format!("{name}, {arm}")));
                // Two questions of ninety are 0.022.
                assert!(both > alone - 0.025, "{kind}, {name}, {arm}: {report}");
            }
        }
    }
}

#[test]
fn facts_that_change_are_answered_with_what_holds() {
    let (_folder, data) = fresh();
    let file = format!("{}/tests/data/quality/changes.jsonl", env!("CARGO_MANIFEST_DIR"));
    let report = stdout(&data, &["eval", &file]);
    // Without claims, a former value is always shown as current.
    assert!(figure(&report, "current value first") > 0.83, "{report}");
    assert!(figure(&report, "value of the past first") > 0.84, "{report}");
    assert!(figure(&report, "former value shown as current") < 0.4, "{report}");
    assert!(figure(&report, "ended wrongly") < 0.02, "{report}");
}

#[test]
fn eval_writes_the_features_of_every_candidate() {
    let (folder, data) = fresh();
    let chat = format!("{}/tests/data/chat.json", env!("CARGO_MANIFEST_DIR"));
    let file = folder.path().join("features.tsv");
    stdout(&data, &["eval", &chat, "--features", file.to_str().expect("a path")]);
    let text = std::fs::read_to_string(&file).expect("reads");
    let columns = |line: &str| line.split('\t').count();
    let header = text.lines().next().expect("a header");
    assert!(text.lines().count() > 24 && text.lines().all(|line| columns(line) == columns(header)), "{header}");
}

#[test]
fn eval_reports_where_the_documents_that_answer_rank() {
    let (folder, data) = fresh();
    let space = json!({
        "id": "boathouse",
        "documents": [
            {"id": "key", "title": "Keys", "text": "The key of the boathouse hangs behind the stove."},
            {"id": "oil", "text": "The lamp oil is delivered on the first Monday."},
            {"id": "tide", "text": "At spring tide the jetty is under water for an hour."},
        ],
        "questions": [
            {"q": "Where is the key of the boathouse?", "evidence": ["key"]},
            {"q": "When is lamp oil delivered?", "evidence": ["oil"]},
            {"q": "Who painted the portrait of the admiral?", "evidence": []},
        ],
    });
    let (file, features) = (folder.path().join("documents.jsonl"), folder.path().join("features.tsv"));
    std::fs::write(&file, space.to_string()).expect("writes");
    let [path, out] = [&file, &features].map(|path| path.to_str().expect("a path"));
    let report = stdout(&data, &["eval", path, "--features", out]);
    for figure_of in ["first", "recall@5", "mrr", "ndcg@10", "first, words alone", "recall@24, cues alone"] {
        assert!(figure(&report, figure_of) > 0.999, "{figure_of}: {report}");
    }
    let [with, without] = ["with", "without"].map(|kind| figure(&report, &format!("best score {kind} an answer")));
    assert!(with > without, "{report}");
    let text = std::fs::read_to_string(&features).expect("reads");
    let unanswered = text.lines().filter(|line| line.starts_with("boathouse\t0\tboathouse:2\t")).count();
    let answered = text.lines().filter(|line| line.starts_with("boathouse\t0\tboathouse:0\t")).count();
    assert!(answered > 0, "{text}");
    assert!(text.lines().skip(1).filter(|line| line.split('\t').nth(4) == Some("-")).count() == unanswered, "{text}");
}

/// Writes a folder in the BEIR format: three documents, three queries, and judgements of two of the queries.
fn write_beir(folder: &Path) {
    let documents = [
        json!({"_id": "key", "title": "Keys", "text": "The key of the boathouse hangs behind the stove."}),
        json!({"_id": "oil", "title": "", "text": "The lamp oil is delivered on the first Monday."}),
        json!({"_id": "tide", "text": "At spring tide the jetty is under water for an hour."}),
    ];
    let queries = [
        json!({"_id": "q1", "text": "Where is the key of the boathouse?"}),
        json!({"_id": "q2", "text": "When is lamp <oil> delivered?"}),
        json!({"_id": "q3", "text": "Who painted the portrait of the admiral?"}),
    ];
    std::fs::create_dir_all(folder.join("qrels")).expect("creates");
    for (file, lines) in [("corpus.jsonl", documents), ("queries.jsonl", queries)] {
        std::fs::write(folder.join(file), lines.map(|line| format!("{line}\n")).concat()).expect("writes");
    }
    // The judgement of the second query is wrong, so that its first hit does not answer.
    let judgements = "query-id\tcorpus-id\tscore\nq1\tkey\t1\nq1\toil\t0\nq2\ttide\t1\n";
    std::fs::write(folder.join("qrels/test.tsv"), judgements).expect("writes");
}

#[test]
fn eval_measures_a_folder_in_the_beir_format_and_writes_a_report() {
    let (folder, data) = fresh();
    let beir = folder.path().join("boathouse");
    write_beir(&beir);
    let report_file = folder.path().join("report.html");
    let [input, report] = [&beir, &report_file].map(|path| path.to_str().expect("a path"));
    let printed = stdout(&data, &["eval", input, "--report", report]);
    assert!((figure(&printed, "questions with an answer") - 2.0).abs() < 1e-9, "{printed}");
    assert!((figure(&printed, "questions without an answer")).abs() < 1e-9, "{printed}");
    for name in ["first", "first, words alone"] {
        assert!((figure(&printed, name) - 0.5).abs() < 1e-9, "{name}: {printed}");
    }
    let page = std::fs::read_to_string(&report_file).expect("reads");
    for part in [
        "<h1>Retrieval quality: boathouse</h1>",
        "<caption>What was measured</caption>",
        "<th scope=\"row\">first</th><td class=\"number\">0.5000</td>",
        "1 question is not answered by its first hit.",
        "When is lamp &lt;oil&gt; delivered?",
        "<th scope=\"row\">tide</th><td class=\"text\">At spring tide the jetty",
        "The lamp oil is delivered on the first Monday.",
    ] {
        assert!(page.contains(part), "{part} in {page}");
    }
    // The expected memory is a later hit or none, which depends on the model.
    let has_rank = ["2", "3", "not found"].map(|rank| page.contains(&format!("<td class=\"number\">{rank}</td><th")));
    assert!(has_rank.contains(&true), "{page}");
    assert!(!page.contains("When is lamp <oil>"), "{page}");
}

#[test]
fn eval_reports_the_rank_of_a_memory_that_is_not_first() {
    let (folder, data) = fresh();
    let beir = folder.path().join("boathouse");
    write_beir(&beir);
    // Both documents share words with the query, and the judged one fewer.
    let documents = [
        json!({"_id": "oil", "text": "The lamp oil is delivered on the first Monday."}),
        json!({"_id": "wick", "text": "The wick of the lamp is cut on Sundays."}),
    ];
    std::fs::write(beir.join("corpus.jsonl"), documents.map(|line| format!("{line}\n")).concat()).expect("writes");
    std::fs::write(beir.join("qrels/test.tsv"), "q2\twick\t1\n").expect("writes");
    let report = folder.path().join("report.html");
    let [input, path] = [&beir, &report].map(|path| path.to_str().expect("a path"));
    let printed = stdout(&data, &["eval", input, "--report", path]);
    assert!((figure(&printed, "mrr") - 0.5).abs() < 1e-9, "{printed}");
    let page = std::fs::read_to_string(&report).expect("reads");
    assert!(page.contains("<td class=\"number\">2</td><th scope=\"row\">wick</th>"), "{page}");
}

#[test]
fn eval_does_not_count_a_document_that_is_the_query_itself() {
    let (folder, data) = fresh();
    let beir = folder.path().join("claims");
    write_beir(&beir);
    let documents = [
        json!({"_id": "q2", "text": "When is lamp <oil> delivered?"}),
        json!({"_id": "oil", "text": "The lamp oil is delivered on the first Monday."}),
    ];
    std::fs::write(beir.join("corpus.jsonl"), documents.map(|line| format!("{line}\n")).concat()).expect("writes");
    std::fs::write(beir.join("qrels/test.tsv"), "q2\toil\t1\n").expect("writes");
    let printed = stdout(&data, &["eval", beir.to_str().expect("a path")]);
    assert!(figure(&printed, "first") > 0.999, "{printed}");
}

#[test]
fn eval_measures_longmemeval_by_session_turn_and_type_of_question() {
    let (folder, data) = fresh();
    let kite =
        json!({"role": "user", "content": "I bought a red stunt kite at the harbour market.", "has_answer": true});
    let reply = json!({"role": "assistant", "content": "A stunt kite needs steady wind."});
    let bread = json!({"role": "user", "content": "My sourdough starter is called Bubbles."});
    let parrot = json!({"role": "assistant", "content": "Captain Feathers would suit a parrot.", "has_answer": true});
    let entry = |id: &str, kind: &str, question: &str, answer: Value| {
        json!({
            "question_id": id,
            "question_type": kind,
            "question": question,
            "answer": "not used",
            "question_date": "2023/06/30 (Fri) 10:00",
            "haystack_session_ids": ["answer_1", "filler"],
            "haystack_dates": ["2023/05/20 (Sat) 02:21", "2023/05/19 (Fri) 23:00"],
            "haystack_sessions": [answer, [bread.clone()]],
            "answer_session_ids": ["answer_1"],
        })
    };
    let asked = "What kind of kite did I buy at the harbour market?";
    let questions = json!([
        entry("one", "single-session-user", asked, json!([kite, reply])),
        entry("two", "single-session-assistant", "Which name did you say would suit a parrot?", json!([parrot])),
        entry("three_abs", "multi-session", "What is the name of my boat?", json!([reply])),
    ]);
    let (file, report) = (folder.path().join("questions.json"), folder.path().join("report.html"));
    std::fs::write(&file, questions.to_string()).expect("writes");
    let [path, page] = [&file, &report].map(|path| path.to_str().expect("a path"));
    let printed = stdout(&data, &["eval", path, "--report", page]);
    for (name, expected) in [
        ("questions with an answer", 2.0),
        ("questions without an answer", 1.0),
        // The answer of the second question is the assistant's, which LongMemEval does not count.
        ("questions that count for sessions", 1.0),
        ("questions that count for turns", 1.0),
        ("questions that count for sessions, single-session-user", 1.0),
        ("session recall_any@1", 1.0),
        ("session recall_all@5, single-session-user", 1.0),
        ("turn recall_all@1", 1.0),
        ("turn ndcg_any@10, single-session-user", 1.0),
    ] {
        assert!((figure(&printed, name) - expected).abs() < 1e-9, "{name}: {printed}");
    }
    assert!(!printed.contains("multi-session"), "a question without an answer does not count: {printed}");
    let page = std::fs::read_to_string(&report).expect("reads");
    assert!(page.contains("session recall_all@5, single-session-user"), "{page}");
}

#[test]
fn eval_writes_a_report_for_each_labelled_format() {
    let (folder, data) = fresh();
    let dialogue = json!({
        "id": "p<1>",
        "kind": "update",
        "sessions": [{
            "at": "2026-01-01T09:00:00Z",
            "messages": [{"id": "1.1", "name": "Ana", "text": "I live in Ghent."}],
        }],
        "questions": [{"q": "Where does Ana live?", "current_in": ["9.9"], "answer": "Bruges"}],
    });
    let changes = folder.path().join("changes.jsonl");
    std::fs::write(&changes, dialogue.to_string()).expect("writes");
    let chat = format!("{}/tests/data/chat.json", env!("CARGO_MANIFEST_DIR"));
    for (input, says) in [
        (changes.to_str().expect("a path"), "<li>p&lt;1&gt; update: the current value is not first"),
        (chat.as_str(), "<caption>Expected for question 1</caption>"),
    ] {
        let report = folder.path().join("report.html");
        stdout(&data, &["eval", input, "--report", report.to_str().expect("a path")]);
        let page = std::fs::read_to_string(&report).expect("reads");
        assert!(page.contains(says) && page.ends_with("</html>\n"), "{input}: {page}");
    }
}

#[test]
fn eval_says_where_an_input_is_wrong_and_what_it_expects() {
    let (folder, data) = fresh();
    let beir = folder.path().join("boathouse");
    write_beir(&beir);
    std::fs::write(beir.join("qrels/test.tsv"), "query-id\tcorpus-id\tscore\nq1 key 1\n").expect("writes");
    let empty = folder.path().join("empty.json");
    std::fs::write(&empty, "[]").expect("writes");
    for (input, says, expects) in [
        (&beir, "test.tsv:2: the number of fields is 1", "expected query-id, corpus-id and a number"),
        (&empty, "empty.json: the array is empty", "expected a folder in the BEIR format"),
    ] {
        let ended = run(&data, &["eval", input.to_str().expect("a path")]);
        let error = String::from_utf8_lossy(&ended.stderr).into_owned();
        assert!(!ended.status.success() && error.contains(says) && error.contains(expects), "{error}");
    }
}

/// Returns the figure that `cuebase eval` prints after a name and a colon.
fn figure(report: &str, name: &str) -> f64 {
    let figure = report.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    figure.unwrap_or_else(|| panic!("no {name} in {report}")).trim().parse().expect("a number")
}

#[test]
fn questions_about_the_wrong_person_score_lower() {
    let (folder, data) = fresh();
    let diary = format!("{}/tests/data/diary.json", env!("CARGO_MANIFEST_DIR"));
    let mut diary: Value = serde_json::from_str(&std::fs::read_to_string(diary).expect("reads")).expect("JSON");
    let questions = diary[0]["qa"].as_array_mut().expect("questions");
    // Exchange the names: statements that Ines made are asked about Tom, and the reverse.
    let swapped = questions.iter().map(|question| {
        let text = question["question"].as_str().expect("text");
        let text = text.replace("Ines", "@").replace("Tom", "Ines").replace('@', "Tom");
        let mut question = question.clone();
        question["question"] = text.into();
        question["category"] = 5.into();
        question
    });
    questions.extend(swapped.collect::<Vec<_>>());
    let file = folder.path().join("diary.json");
    std::fs::write(&file, diary.to_string()).expect("writes");
    let report = stdout(&data, &["eval", file.to_str().expect("a path")]);
    let [right, wrong] = ["answerable", "category 5"].map(|kind| figure(&report, &format!("best score, {kind}")));
    // The difference is 0.11 if the speaker is not compared with the person in the question.
    assert!(right - wrong > 0.125, "{report}");
}

#[test]
fn config_prints_every_setting_and_its_origin() {
    let (_folder, data) = fresh();
    let output = cuebase(&data, &["config"]).env("CUEBASE_INGESTION_WORKERS", "2").output().expect("runs");
    let text = String::from_utf8(output.stdout).expect("text");
    let line = |key: &str| {
        text.lines().find(|line| line.starts_with(key)).unwrap_or_else(|| panic!("no {key} in {text}")).to_owned()
    };
    assert!(line("data = ").contains("command line"));
    assert!(line("ingestion.workers = \"2\"").contains("environment CUEBASE_INGESTION_WORKERS"));
    assert!(line("listen = \"127.0.0.1:8080\"").contains("default"));
    for setting in &cuebase::config::SETTINGS {
        line(&format!("{} = ", setting.key));
    }
}

#[test]
fn the_first_start_shows_a_key_once() {
    let (_folder, data) = fresh();
    let first = start_output(&data);
    let key = first.split_whitespace().find(|word| word.starts_with("svc_live_")).expect("a key").to_owned();
    assert!(first.contains("curl") && first.contains("/#code="), "{first}");
    let second = start_output(&data);
    let shows_no_key = !second.contains("svc_live_") && !second.contains("#code=");
    assert!(shows_no_key && second.contains("\nlistening on http://127.0.0.1:"), "{second}");
    let server = Server::start(&data);
    assert_eq!(server.request("GET", "/v1/whoami", Some(&format!("Bearer {key}")), None).status, 200);
}

#[test]
fn a_first_start_under_the_journal_writes_the_key_to_a_private_file() {
    let (folder, data) = fresh();
    let path = folder.path().join("journal");
    let journal = std::fs::File::create(&path).expect("creates");
    let stream = journal.metadata().expect("metadata");
    let mut command = cuebase(&data, &["serve", "--listen", "127.0.0.1:0"]);
    command.env("JOURNAL_STREAM", format!("{}:{}", stream.dev(), stream.ino()));
    let mut child = command.stdout(journal).stderr(Stdio::null()).spawn().expect("starts");
    let printed = || std::fs::read_to_string(&path).expect("reads");
    wait_for("the server to listen", || printed().contains("\nlistening on http://"));
    child.kill().expect("kills");
    child.wait().expect("ends");

    let file = data.join("first-key");
    assert!(printed().contains(file.to_str().expect("a path")), "{}", printed());
    let holds_credential = printed().contains("svc_live_") || printed().contains("#code=");
    assert!(!holds_credential, "{}", printed());
    assert_eq!(std::fs::metadata(&file).expect("the file").permissions().mode() & 0o777, 0o600);
    let key = std::fs::read_to_string(&file).expect("reads");
    let server = Server::start(&data);
    let bearer = format!("Bearer {}", key.trim_end());
    assert_eq!(server.request("GET", "/v1/whoami", Some(&bearer), None).status, 200);
}

#[test]
fn a_first_start_shows_the_key_if_the_journal_is_another_stream() {
    let (folder, data) = fresh();
    let other = std::fs::metadata(folder.path()).expect("metadata");
    let journal = format!("{}:{}", other.dev(), other.ino());
    let mut command = cuebase(&data, &["serve", "--listen", "127.0.0.1:0"]);
    command.env("JOURNAL_STREAM", journal);
    assert!(output_of_start(command).contains("svc_live_"));
    assert!(!data.join("first-key").exists());
}

/// Starts a server and returns its output up to the line with its address.
fn start_output(data: &Path) -> String {
    output_of_start(cuebase(data, &["serve", "--listen", "127.0.0.1:0"]))
}

/// Starts a server with a command and returns its output up to the line with its address.
fn output_of_start(mut command: Command) -> String {
    use std::io::BufRead;
    let mut child =
        command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::null()).spawn().expect("starts");
    let mut text = String::new();
    for line in std::io::BufReader::new(child.stdout.take().expect("piped")).lines() {
        let line = line.expect("text");
        text.push_str(&line);
        text.push('\n');
        if line.starts_with("listening on ") {
            break;
        }
    }
    child.kill().expect("kills");
    child.wait().expect("ends");
    text
}

#[test]
fn the_demo_answers_its_questions_correctly() {
    let (_folder, data) = fresh();
    let text = stdout(&data, &["demo", "--once", "--listen", "127.0.0.1:0"]);
    for (question, word) in [
        ("When did Priya break her wrist?", "wrist"),
        ("What is Jonas allergic to?", "hazelnuts"),
        ("How do I make the sourdough starter?", "rye flour"),
        ("Which release rule did the team agree on?", "never release"),
    ] {
        let after = text.split(question).nth(1).unwrap_or_else(|| panic!("no {question} in {text}"));
        let best = after.trim_start().lines().next().expect("a hit");
        assert!(best.contains(word), "{question}: {best}");
    }
}
