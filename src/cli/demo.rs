//! `cuebase demo`: ingests a sample conversation, answers questions about it, and keeps serving.

use std::net::TcpListener;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use cuebase_storage::AccountId;
use cuebase_storage::records::QueuedWork;
use jiff::tz::TimeZone;
use serde_json::Value;

use super::first_key;
use super::serve::{fit_into_memory, interrupted, runtime, start};
use crate::accounts::Accounts;
use crate::app::App;
use crate::config::{Config, ListenAddress, setting};
use crate::dashboard::Dashboard;
use crate::memory::request::conversation;
use crate::namespace::names::parse_name;
use crate::service::intake::NewWrite;
use crate::service::retrieval::{RetrievalRequest, RetrievalResponse};

/// Conversations of two friends over three months, written for this demo.
const SAMPLE: &str = include_str!("demo_conversation.json");
/// Questions that the demo asks.
const QUESTIONS: [&str; 4] = [
    "When did Priya break her wrist?",
    "What is Jonas allergic to?",
    "How do I make the sourdough starter?",
    "Which release rule did the team agree on?",
];
const HITS_SHOWN: usize = 3;
const CONTENT_CHARS_SHOWN: usize = 150;
/// Longest wait for the ingestion of the sample, which usually takes milliseconds.
const INGESTION_TIME_MAX: Duration = Duration::from_secs(60);

/// Longest wait for the vectors of the sample, which follow its ingestion.
const VECTORS_TIME_MAX: Duration = Duration::from_secs(120);

/// Runs the demo on a fresh data directory and, unless `once`, keeps serving.
pub(super) fn demo(mut config: Config, once: bool) -> anyhow::Result<()> {
    // Without --data, each demo starts with an empty directory.
    let is_temporary = !config.is_chosen(&setting::general::data);
    if is_temporary {
        config.data = std::env::temp_dir().join(format!("cuebase-demo-{}", std::process::id()));
    }
    // The default port may be in use by another program.
    if !config.is_chosen(&setting::general::listen) && TcpListener::bind(config.listeners.api.to_string()).is_err() {
        config.listeners.api = ListenAddress::FREE_LOCAL_PORT;
    }
    let data = config.data.clone();
    let result = run(config, once);
    if is_temporary {
        let _ = std::fs::remove_dir_all(&data);
    }
    result
}

fn run(mut config: Config, once: bool) -> anyhow::Result<()> {
    let plan = fit_into_memory(&mut config)?;
    let app = App::open(&config)?;
    runtime(&plan)?.block_on(async {
        let server = start(&app, config).await?;
        let dashboard = server.dashboard();
        let address = server.address()?;
        let key = first_key::create(&app.accounts, "demo")?;
        let shown = Arc::clone(&app);
        let questions = tokio::task::spawn_blocking(move || ingest_and_ask(&shown));
        let mut result = Ok(());
        let stop = async {
            result = match questions.await {
                Ok(result) => result,
                Err(error) => Err(error.into()),
            };
            if result.is_ok() && !once {
                result = print_addresses(&app.accounts, &dashboard, &address.to_string(), &key);
                if result.is_ok() {
                    interrupted().await;
                }
            }
        };
        server.run(stop).await?;
        result.context("the demo failed")
    })
}

/// Prints how to reach the server of the demo.
fn print_addresses(accounts: &Accounts, dashboard: &Dashboard, address: &str, key: &str) -> anyhow::Result<()> {
    println!("\nServing until Ctrl-C.\n");
    if let Some(link) = dashboard.link(accounts, &AccountId::default())? {
        println!("  dashboard  {link}");
    }
    println!("  key        {key}\n");
    let question = "q=what+pets+does+Jonas+have";
    let target = format!("http://{address}/v1/retrieve?namespace=demo&{question}");
    println!("  curl -H 'authorization: Bearer {key}' '{target}'\n");
    println!("listening on http://{address}");
    Ok(())
}

/// Ingests the sample and prints the hits of each question.
fn ingest_and_ask(app: &App) -> anyhow::Result<()> {
    let account = AccountId::default();
    let name = parse_name("demo")?;
    app.accounts.ensure_account(&account)?;
    let (namespace, _) = app.namespaces.create(&account, &name)?;
    let sessions: Vec<Value> = serde_json::from_str(SAMPLE).context("the sample conversation")?;
    let began = Instant::now();
    for session in &sessions {
        let body = session.as_object().context("the sample conversation")?;
        let request = conversation(body)?;
        app.intake.accept(
            &namespace,
            NewWrite::of_server(QueuedWork::Conversation { request }),
            Some(session.to_string().as_bytes()),
            &[],
        )?;
    }
    while app.jobs.queue_levels().waiting > 0 {
        ensure!(
            began.elapsed() < INGESTION_TIME_MAX,
            "the sample conversation was not ingested within {INGESTION_TIME_MAX:?}"
        );
        std::thread::sleep(Duration::from_millis(2));
    }
    let mut messages = 0;
    for session in &sessions {
        messages += session["messages"].as_array().context("the sample conversation")?.len();
    }
    println!("Remembered {messages} messages of {} conversations in {:.0?}.", sessions.len(), began.elapsed());
    // The questions are answered at once as well, then by words alone.
    while !app.jobs.backlog().is_empty() && began.elapsed() < VECTORS_TIME_MAX {
        std::thread::sleep(Duration::from_millis(2));
    }
    for question in QUESTIONS {
        let request = RetrievalRequest {
            query: Some(question.into()),
            limit: HITS_SHOWN,
            zone: Some(TimeZone::UTC),
            ..RetrievalRequest::default()
        };
        let answer = app.reads.retrieve(&account, std::slice::from_ref(&name), &request)?;
        println!("\n{question}");
        print_hits(&answer);
    }
    Ok(())
}

fn print_hits(answer: &RetrievalResponse) {
    for hit in &answer.hits {
        let mut arms = Vec::new();
        for arm in &hit.found.matched {
            arms.push(<&str>::from(arm));
        }
        let words: Vec<&str> = hit.content.trim_start_matches(['#', ' ']).split_whitespace().collect();
        let text: String = words.join(" ").chars().take(CONTENT_CHARS_SHOWN).collect();
        println!("  {:.2}  {:<17} {text}", hit.score, arms.join("+"));
        println!("        {}", hit.path);
    }
}
