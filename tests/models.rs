//! Hosted and local models: quirks of providers, embeddings, and queries while a model fails.

/// The built-in encoder, whose vectors follow in the background.
mod built_in_encoder;
mod built_in_reader;
/// Changes of the embedding model, and a local encoder.
mod changes;
/// Extraction and answers with a chat model.
mod extraction;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::provider::{Fault, Habit, Provider};
use crate::support::{Answer, Server, fresh, stdout, wait_for, with_models};

/// Settings with short timeouts and retries, appended to the settings of a model.
const SHORT_TIMEOUTS: &str = "timeout_ms = 2000\nembedding_deadline_ms = 1000\n[ingestion]\nbackoff_ms = 20\n[log]\n";
/// Settings with short waits before retries, and with time for a busy machine: for tests that expect the vectors or the
/// answer of a model. Appended to the settings of a model.
const PATIENCE: &str = "timeout_ms = 60000\nembedding_deadline_ms = 60000\n[ingestion]\nbackoff_ms = 20\n";
/// Deadline of an embedding in a query, milliseconds.
const EMBEDDING_DEADLINE_MS: u64 = 300;

fn with_short_timeouts(settings: &str) -> String {
    format!("{settings}{SHORT_TIMEOUTS}")
}

/// A server whose model is an imitated provider.
struct HostedServer {
    provider: Provider,
    server: Server,
    data: PathBuf,
    /// Keeps the temporary folder.
    _folder: TempDir,
}

impl HostedServer {
    /// Starts a server that embeds with the provider.
    fn embedding(provider: Provider, further_settings: &str) -> Self {
        let settings = format!("{}{further_settings}", provider.embedding_settings());
        Self::start(provider, &settings)
    }

    /// Starts a server that extracts with the provider and retries quickly.
    fn extracting(provider: Provider) -> Self {
        let settings = format!("{}{PATIENCE}", provider.chat_settings());
        Self::start(provider, &settings)
    }

    fn start(provider: Provider, settings: &str) -> Self {
        let (folder, data) = fresh();
        let server = Server::start_with_models(&data, settings);
        Self { provider, server, data, _folder: folder }
    }

    fn dead_letters(&self) -> String {
        stdout(&self.data, &["dead-letters", "list"])
    }

    fn wait_for_dead_letter(&self) {
        wait_for("the dead letter", || !self.dead_letters().is_empty());
    }

    fn assert_key_is_not_logged(&self) {
        assert!(!self.server.log().contains("sk-test-secret"), "a key was logged");
    }

    fn answer(&self, question: &str) -> Answer {
        self.server.post("/v1/answer", &json!({"q": question}))
    }
}

/// Returns the arms that found each hit of a query.
fn matched(server: &Server, namespace: &str, query: &str) -> Vec<Vec<String>> {
    let mut matched = Vec::new();
    for hit in server.retrieve(namespace, query).hits() {
        let mut arms = Vec::new();
        for arm in hit["matched"].as_array().into_iter().flatten() {
            arms.push(arm.as_str().expect("the name of an arm").to_owned());
        }
        matched.push(arms);
    }
    matched
}

/// Returns whether the best hit was found by a cue.
fn best_is_found_by_cue(server: &Server, namespace: &str, query: &str) -> bool {
    matched(server, namespace, query).first().is_some_and(|arms| arms.iter().any(|arm| arm == "cue"))
}

/// Returns whether any hit in the default namespace was found by a cue.
fn any_is_found_by_cue(server: &Server, query: &str) -> bool {
    matched(server, "default", query).iter().flatten().any(|arm| arm == "cue")
}

fn contains(server: &Server, namespace: &str, query: &str, text: &str) -> bool {
    server.retrieve(namespace, query).contents().iter().any(|content| content.contains(text))
}

/// Returns the recorded number of memories in the first namespace.
fn memories(server: &Server) -> Value {
    server.get("/v1/namespaces").body["namespaces"][0]["memories"].clone()
}

/// Runs `cuebase models` with settings and returns its output.
fn models_command(data: &Path, settings: &str) -> String {
    let output = with_models(data, settings, &["models"]).output().expect("runs");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Texts of thirty memories.
fn heron_texts() -> Vec<String> {
    (0..30).map(|n| format!("The heron number {n} stood by the reed pond at dawn")).collect()
}

fn remember_all(server: &Server, namespace: &str, texts: &[String]) {
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    server.remember(namespace, &texts);
}

/// Starts a server that embeds with a provider, and stores the heron texts.
fn server_with_herons() -> HostedServer {
    let hosted = HostedServer::embedding(Provider::start(), PATIENCE);
    remember_all(&hosted.server, "default", &heron_texts());
    wait_for("the memories", || best_is_found_by_cue(&hosted.server, "default", "q=heron+number+7"));
    hosted
}

#[test]
fn the_texts_of_a_write_are_embedded_in_one_call() {
    let hosted = HostedServer::embedding(Provider::start(), PATIENCE);
    let before = hosted.provider.calls().embeddings;
    remember_all(&hosted.server, "default", &heron_texts());
    wait_for("the memories", || best_is_found_by_cue(&hosted.server, "default", "q=heron+number+7"));
    assert_eq!(hosted.provider.calls().embeddings - before, 2, "one call for the cues, one for the query");
    for _ in 0..3 {
        assert!(best_is_found_by_cue(&hosted.server, "default", "q=heron+number+7"));
    }
}

#[test]
fn each_text_is_embedded_once_per_namespace() {
    let hosted = server_with_herons();
    for _ in 0..3 {
        assert!(best_is_found_by_cue(&hosted.server, "default", "q=heron+number+7"));
    }
    hosted.server.namespace("other");
    remember_all(&hosted.server, "other", &heron_texts());
    wait_for("the memories", || best_is_found_by_cue(&hosted.server, "other", "q=heron+number+7"));
    // Stored vectors belong to a namespace and are deleted with it, so each namespace embeds once.
    let embedded = hosted.provider.embedded();
    let mut wrong = Vec::new();
    for text in heron_texts() {
        let times = embedded.iter().filter(|other| other.contains(&text)).count();
        if times != 2 {
            wrong.push(format!("{text}: embedded {times} times"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:?}");
}

#[test]
fn a_lost_index_is_rebuilt_from_stored_vectors() {
    let HostedServer { provider, server, data, _folder } = server_with_herons();
    let embedded = provider.embedded().len();
    server.kill();
    std::fs::remove_dir_all(data.join("indexes")).expect("removes");
    let server = Server::start_with_models(&data, &format!("{}{PATIENCE}", provider.embedding_settings()));
    assert!(best_is_found_by_cue(&server, "default", "q=heron+number+8"));
    assert_eq!(provider.embedded().len(), embedded + 2, "one probe at the start, one query");
}

#[test]
fn the_models_command_shows_the_usage_of_a_hosted_model() {
    let hosted = server_with_herons();
    let printed = models_command(&hosted.data, &hosted.provider.embedding_settings());
    assert!(
        printed.contains("hosted:") && printed.contains("succeeded") && printed.contains("prompt tokens"),
        "{printed}"
    );
}

/// Checks ingestion, queries and answers with a provider that has a quirk.
fn assert_quirk_is_supported(quirk: Habit) {
    let provider = Provider::start();
    provider.habit(quirk);
    let settings = format!("{}chat = 'imitation'\n{PATIENCE}", provider.embedding_settings());
    let hosted = HostedServer::start(provider, &settings);
    let server = &hosted.server;
    for (number, place) in ["Porto", "Turku"].into_iter().enumerate() {
        server.remember(
            "default",
            &[&format!("I bought kayak {number} in {place} last year"), &format!("Boat {number} is green")],
        );
        let query = format!("q=where+was+kayak+{number}+bought");
        wait_for("the memory", || contains(server, "default", &query, place));
        assert!(best_is_found_by_cue(server, "default", &query));
    }
    // The record is updated a moment after the memories can be retrieved.
    wait_for("four memories", || memories(server) == 4);
    // An unsupported parameter is sent at most once per kind of call.
    assert!(hosted.provider.calls().refused <= 3, "{:?}", hosted.provider.calls());
    let answer = hosted.answer("Where was the kayak bought?");
    assert_eq!((answer.status, &answer.body["model"]), (200, &json!("imitation")), "{answer:?}");
}

#[test]
fn a_provider_without_quirks_is_supported() {
    assert_quirk_is_supported(Habit::None);
}

#[test]
fn a_provider_without_dimensions_is_supported() {
    assert_quirk_is_supported(Habit::NoDimensions);
}

#[test]
fn a_provider_without_json_schemas_is_supported() {
    assert_quirk_is_supported(Habit::NoSchema);
}

#[test]
fn a_provider_without_response_format_is_supported() {
    assert_quirk_is_supported(Habit::NoFormat);
}

#[test]
fn a_provider_with_new_parameter_names_is_supported() {
    assert_quirk_is_supported(Habit::NewNames);
}

#[test]
fn a_provider_that_adds_prose_around_json_is_supported() {
    assert_quirk_is_supported(Habit::Prose);
}

#[test]
fn a_provider_that_prints_its_reasoning_is_supported() {
    assert_quirk_is_supported(Habit::Thinks);
}

#[test]
fn a_provider_that_cuts_off_answers_is_supported() {
    assert_quirk_is_supported(Habit::Cuts);
}

/// Starts a server whose base URL has no version, and stores a memory.
fn server_with_unversioned_url() -> HostedServer {
    let provider = Provider::start();
    let settings = provider.embedding_settings().replace("/v1'", "'");
    let hosted = HostedServer::start(provider, &settings);
    hosted.server.remember("default", &["The gannet dives from thirty metres"]);
    wait_for("the memory", || best_is_found_by_cue(&hosted.server, "default", "q=from+where+does+the+gannet+dive"));
    hosted
}

#[test]
fn a_base_url_without_a_version_is_accepted() {
    server_with_unversioned_url();
}

#[test]
fn a_wrong_base_url_is_logged() {
    let HostedServer { provider, server, data, _folder } = server_with_unversioned_url();
    server.kill();
    let server = Server::start_with_models(&data, &provider.embedding_settings().replace("/v1'", "/api'"));
    assert!(server.log().contains("404 page not found") || server.log().contains("404 Not Found"), "{}", server.log());
}

#[test]
fn vectors_that_are_too_long_are_refused_at_the_start() {
    let provider = Provider::start();
    provider.habit(Habit::LongVectors);
    let (_folder, data) = fresh();
    let mut command = with_models(&data, &provider.embedding_settings(), &["serve", "--listen", "127.0.0.1:0"]);
    let output = command.output().expect("runs");
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(
        !output.status.success() && error.contains("1536 dimensions") && error.contains("model.embedding"),
        "{error}"
    );
}

#[test]
fn memories_without_vectors_are_found_and_embedded_later() {
    let hosted = HostedServer::embedding(Provider::start(), SHORT_TIMEOUTS);
    let (provider, server) = (&hosted.provider, &hosted.server);
    for fault in [Fault::Status(500), Fault::Closed, Fault::Empty, Fault::Nonsense, Fault::WrongShape, Fault::HalfJson]
    {
        let namespace = format!("{fault:?}").to_lowercase().replace(['(', ')'], "");
        server.namespace(&namespace);
        provider.embedding_fault(Some(fault));
        server.remember(&namespace, &["The otter sleeps under the old ferry bridge"]);
        wait_for("the memory", || contains(server, &namespace, "q=otter", "ferry"));
        assert_eq!(matched(server, &namespace, "q=otter"), [["lexical"]], "{fault:?}");
        let direct = json!({"content": "# Beavers build dams\n", "namespace": namespace});
        assert_eq!(server.post("/v1/memories/facts/beaver.md", &direct).status, 201, "{fault:?}");
        provider.embedding_fault(None);
        wait_for("vectors", || best_is_found_by_cue(server, &namespace, "q=where+does+the+otter+sleep"));
        wait_for("vectors", || best_is_found_by_cue(server, &namespace, "q=what+do+beavers+build"));
    }
    hosted.assert_key_is_not_logged();
}

/// Returns identifiers that have all parts but two in common with each other.
fn remark_names() -> Vec<String> {
    let mut names = Vec::new();
    for talk in 300..380 {
        for turn in 0..4 {
            names.push(format!("talk{talk}k{turn}z"));
        }
    }
    names
}

#[test]
fn without_vectors_the_memory_with_the_very_name_is_the_first_hit() {
    let hosted = HostedServer::embedding(Provider::start(), SHORT_TIMEOUTS);
    let (provider, server) = (&hosted.provider, &hosted.server);
    provider.embedding_fault(Some(Fault::Status(500)));
    let names = remark_names();
    for conversation in names.chunks(4) {
        let texts: Vec<String> = conversation.iter().map(|name| format!("The remark {name} was noted")).collect();
        remember_all(server, "default", &texts);
    }
    wait_for("the memories", || memories(server) == names.len());
    for name in names.iter().step_by(7) {
        let answer = server.retrieve("default", &format!("q={name}&limit=5"));
        let contents = answer.contents();
        assert!(contents.first().is_some_and(|first| first.contains(name)), "{name}: {contents:?}");
    }
}

#[test]
fn missing_vectors_are_added_by_the_next_write_after_a_restart() {
    let HostedServer { provider, server, data, _folder } = HostedServer::embedding(Provider::start(), SHORT_TIMEOUTS);
    provider.embedding_fault(Some(Fault::Status(503)));
    server.remember("default", &["The lynx crossed the frozen canal"]);
    wait_for("the memory", || contains(&server, "default", "q=lynx", "canal"));
    server.kill();
    let server = Server::start_with_models(&data, &with_short_timeouts(&provider.embedding_settings()));
    assert_eq!(matched(&server, "default", "q=lynx"), [["lexical"]]);
    provider.embedding_fault(None);
    server.remember("default", &["The stoat turned white"]);
    wait_for("vectors", || best_is_found_by_cue(&server, "default", "q=what+crossed+the+canal+lynx"));
    wait_for("the new memory", || memories(&server) == 2);
}

/// Starts a server with one memory whose embedding model then stops responding.
fn server_with_hanging_model() -> HostedServer {
    let deadline = format!("embedding_deadline_ms = {EMBEDDING_DEADLINE_MS}\n");
    let hosted = HostedServer::embedding(Provider::start(), &deadline);
    hosted.server.remember("default", &["The lighthouse keeper plays the cello"]);
    wait_for("the memory", || best_is_found_by_cue(&hosted.server, "default", "q=lighthouse+keeper"));
    hosted.provider.embedding_fault(Some(Fault::Silence));
    hosted
}

#[test]
fn a_query_waits_for_a_hanging_model_until_the_deadline() {
    let hosted = server_with_hanging_model();
    let began = Instant::now();
    assert_eq!(matched(&hosted.server, "default", "q=the+cello+of+the+keeper"), [["lexical"]]);
    let took = began.elapsed();
    assert!(took >= Duration::from_millis(EMBEDDING_DEADLINE_MS), "the query did not wait for the model: {took:?}");
}

#[test]
fn queries_skip_a_hanging_model_after_repeated_failures() {
    let hosted = server_with_hanging_model();
    let began = Instant::now();
    wait_for("a query without a call to the model", || {
        let query = format!("q=cello+{}", began.elapsed().as_nanos());
        let answer = hosted.server.retrieve("default", &query);
        answer.status == 200 && answer.body["vector_ms"].as_f64().is_some_and(|time| time < 100.0)
    });
}
