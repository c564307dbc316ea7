//! `cuebase demo`: the main job in one command, over HTTP's own code paths.

use std::net::TcpListener;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use cuebase_storage::records::QueuedWork;
use jiff::tz::TimeZone;
use serde_json::Value;

use super::serve::{first_key, fit_into_memory, interrupted, runtime};
use crate::accounts::DEFAULT_ACCOUNT;
use crate::config::Config;
use crate::control;
use crate::memory::request::conversation;
use crate::server::Server;
use crate::service::Service;
use crate::service::retrieval::{Retrieve, Retrieved};

/// Two friends over three months; written for this demo.
const SAMPLE: &str = include_str!("demo_conversation.json");
/// What the demo asks.
const QUESTIONS: [&str; 4] = [
    "When did Priya break her wrist?",
    "What is Jonas allergic to?",
    "How do I make the sourdough starter?",
    "Which release rule did the team agree on?",
];
const NAMESPACE: &str = "demo";
const HITS_SHOWN: usize = 3;
/// The sample takes milliseconds; this is for a machine in trouble.
const PATIENCE: Duration = Duration::from_secs(60);

/// Runs the demo on a fresh data directory and, unless `once`, keeps serving.
pub(super) fn demo(mut config: Config, once: bool) -> anyhow::Result<()> {
    // Its own directory, so that it is always a fresh start; one that was named is taken as it is.
    let named = config.is_chosen("data");
    if !named {
        config.data = std::env::temp_dir().join(format!("cuebase-demo-{}", std::process::id()));
    }
    // Whoever tries the demo may well have something else on the usual port.
    if !config.is_chosen("listen") && TcpListener::bind(&config.listen).is_err() {
        config.listen = "127.0.0.1:0".into();
    }
    let data = config.data.clone();
    let result = run(config, once);
    if !named {
        // Only what this run made itself.
        let _ = std::fs::remove_dir_all(&data);
    }
    result
}

fn run(mut config: Config, once: bool) -> anyhow::Result<()> {
    let plan = fit_into_memory(&mut config)?;
    let service = Service::open(config)?;
    runtime(&plan)?.block_on(async {
        let server = Server::bind(Arc::clone(&service)).await?;
        control::listen(Arc::clone(&service), server.gateway())?;
        let address = server.address()?;
        let key = first_key(&service, "demo")?;
        let shown = Arc::clone(&service);
        let answers = tokio::task::spawn_blocking(move || show(&shown));
        let mut outcome = Ok(());
        let stop = async {
            outcome = answers.await.map_err(anyhow::Error::from).and_then(|answered| answered);
            if outcome.is_ok() && !once {
                println!("\nServing until Ctrl-C.\n");
                if let Some(link) = service.dashboard.link(DEFAULT_ACCOUNT) {
                    println!("  dashboard  {link}");
                }
                println!("  key        {key}\n");
                let question = "q=what+pets+does+Jonas+have";
                let target = format!("http://{address}/v1/retrieve?namespace={NAMESPACE}&{question}");
                println!("  curl -H 'authorization: Bearer {key}' '{target}'\n");
                println!("listening on http://{address}");
                interrupted().await;
            }
        };
        server.run(stop).await?;
        outcome.context("the demo did not get its answers")
    })
}

fn show(service: &Service) -> anyhow::Result<()> {
    service.ensure_account(DEFAULT_ACCOUNT)?;
    let (namespace, _) = service.namespaces.create(DEFAULT_ACCOUNT, NAMESPACE)?;
    let sessions: Vec<Value> = serde_json::from_str(SAMPLE).context("the sample conversation")?;
    let began = Instant::now();
    for session in &sessions {
        let body = session.as_object().context("the sample conversation")?;
        let request = serde_json::to_value(conversation(body)?)?;
        service.accept(&namespace, QueuedWork::Conversation { request }, Some(session.to_string().as_bytes()), &[])?;
    }
    while service.queue.levels().waiting > 0 {
        ensure!(began.elapsed() < PATIENCE, "the sample conversation was not ingested within {PATIENCE:?}");
        std::thread::sleep(Duration::from_millis(2));
    }
    let messages: usize = sessions.iter().map(|s| s["messages"].as_array().map_or(0, Vec::len)).sum();
    println!("Remembered {messages} messages of {} conversations in {:.0?}.", sessions.len(), began.elapsed());
    for question in QUESTIONS {
        let request = Retrieve {
            query: Some(question.into()),
            limit: HITS_SHOWN,
            zone: Some(TimeZone::UTC),
            ..Retrieve::default()
        };
        let answer = service.retrieve(DEFAULT_ACCOUNT, NAMESPACE, &request)?;
        println!("\n{question}");
        print_hits(&answer);
    }
    Ok(())
}

fn print_hits(answer: &Retrieved) {
    for hit in &answer.hits {
        let hit = serde_json::to_value(hit).unwrap_or_default();
        let matched: Vec<&str> = hit["matched"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        let content = hit["content"].as_str().unwrap_or_default();
        let text = content.trim_start_matches(['#', ' ']).split_whitespace().collect::<Vec<_>>().join(" ");
        let text: String = text.chars().take(150).collect();
        let score = hit["score"].as_f64().unwrap_or_default();
        println!("  {score:.2}  {:<17} {text}", matched.join("+"));
        println!("        {}", hit["path"].as_str().unwrap_or_default());
    }
}
