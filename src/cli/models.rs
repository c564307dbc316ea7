//! `cuebase models`: lists the configured models and measures their latency from this machine.

use std::io::Write;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::data_directory;
use crate::config::{BuiltInModel, Config, EmbeddingChoice};
use crate::control::{self, Command};
use crate::model::configured::{chat, embedder, reader};
use crate::model::encoder::Reader;
use crate::model::vectors::BATCH_TEXTS;
use crate::model::{Deadline, Embedder};

/// Longest wait for one measurement.
const TIMEOUT: Duration = Duration::from_secs(60);
/// Number of single texts that are embedded; the median time is printed.
const REPEATS: usize = 15;
/// Subjects of the embedded texts, which resemble usual cues.
const SUBJECTS: [&str; 8] = [
    "the kitten from the shelter",
    "a marathon in the rain",
    "her sister's wedding",
    "the broken bicycle chain",
    "two weeks on the island",
    "the recipe for plum cake",
    "his first day at the new job",
    "the concert by the river",
];

/// Lists the models and measures each. Fails if a model does not respond.
pub(super) fn models(config: &Config) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    let usage = match data_directory::has_records(config)? {
        true => Some(control::run(config, Command::Models, &|_| {})?),
        false => None,
    };
    // A running server may have other settings than this process.
    let used = usage.as_ref().and_then(|usage| built_in_of(&usage["built_in"]));
    let choice = match (&config.model.embedding, used) {
        (EmbeddingChoice::BuiltIn(_), Some(model)) => EmbeddingChoice::BuiltIn(Some(model)),
        (choice, _) => choice.clone(),
    };
    let embedder_responds = print_embedder(&mut out, embedder(&choice)?.as_ref())?;
    if let Some(reader) = reader(&choice)? {
        print_reader(&mut out, reader, config)?;
    }
    let chat_responds = print_chat_model(&mut out, config)?;
    if let Some(usage) = usage {
        print_usage(&mut out, &usage)?;
    }
    anyhow::ensure!(embedder_responds && chat_responds, "a model does not respond");
    Ok(())
}

/// Prints the embedding model and its latency. Returns whether it responds.
fn print_embedder(out: &mut impl Write, embedder: &dyn Embedder) -> anyhow::Result<bool> {
    writeln!(out, "embedding  {}, {} dimensions", embedder.identity(), embedder.filled_dimensions())?;
    match time_embedding(embedder) {
        Ok(times) => {
            let EmbeddingTimes { one, batch } = times;
            let rate = BATCH_TEXTS as f64 / batch.as_secs_f64();
            writeln!(out, "           one text {one:.2?}; {BATCH_TEXTS} texts {batch:.2?}, {rate:.0} per second")?;
            Ok(true)
        }
        Err(error) => {
            writeln!(out, "           {error:#}")?;
            Ok(false)
        }
    }
}

/// Prints the speed of the reader, by which a server decides how many candidates of a query it reads.
fn print_reader(out: &mut impl Write, reader: &Reader, config: &Config) -> anyhow::Result<()> {
    let speed = reader.tokens_per_second()?;
    let budget = config.model.read_budget.as_millis();
    writeln!(out, "reader     {speed} tokens a second on one core; at most {budget} ms for a query (read=auto)")?;
    Ok(())
}

/// Prints the chat model, if one is configured, and the time of a short answer. Returns false if it does not respond.
fn print_chat_model(out: &mut impl Write, config: &Config) -> anyhow::Result<bool> {
    let Some(chat) = chat(&config.model)? else {
        writeln!(out, "chat       none: extraction is built in, and answers are quotes")?;
        return Ok(true);
    };
    writeln!(out, "chat       {}", chat.identity())?;
    let began = Instant::now();
    match chat.test(Deadline::urgent(TIMEOUT)) {
        Ok(answer) => {
            writeln!(out, "           {:.2?} for {:?}", began.elapsed(), answer.text)?;
            Ok(true)
        }
        Err(error) => {
            writeln!(out, "           {error}")?;
            Ok(false)
        }
    }
}

/// Returns the built-in model of a record.
pub(super) fn built_in_of(record: &Value) -> Option<BuiltInModel> {
    BuiltInModel::named(record["builtin"].as_str()?)
}

/// Measured times of an embedding model.
pub(super) struct EmbeddingTimes {
    /// Median time of a single text.
    pub(super) one: Duration,
    /// Time of a batch of [`BATCH_TEXTS`] texts.
    pub(super) batch: Duration,
}

/// Measures an embedding model.
pub(super) fn time_embedding(embedder: &dyn Embedder) -> anyhow::Result<EmbeddingTimes> {
    let mut texts = Vec::new();
    for number in 0..BATCH_TEXTS {
        let (subject, other) = (SUBJECTS[number % 8], SUBJECTS[number / 8 % 8]);
        texts.push(format!("Ann talked on day {number} about {subject}, and Bo remembered {other} at once."));
    }
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    // The first call also opens connections and fills caches.
    time_call(embedder, &texts[..1])?;
    let mut single = Vec::new();
    for number in 0..REPEATS {
        single.push(time_call(embedder, &texts[number..=number])?);
    }
    single.sort_unstable();
    Ok(EmbeddingTimes { one: single[REPEATS / 2], batch: time_call(embedder, &texts)? })
}

fn time_call(embedder: &dyn Embedder, texts: &[&str]) -> anyhow::Result<Duration> {
    let began = Instant::now();
    embedder.embed(texts, Deadline::urgent(TIMEOUT))?;
    Ok(began.elapsed())
}

/// Prints the recorded calls of each model, and the namespaces that wait for embeddings.
fn print_usage(out: &mut impl Write, usage: &Value) -> std::io::Result<()> {
    for (name, record) in usage["calls"].as_object().into_iter().flatten() {
        writeln!(
            out,
            "called     {name}: {} succeeded, {} failed, {} prompt tokens, {} completion tokens",
            record["calls"].as_u64().unwrap_or(0),
            record["failures"].as_u64().unwrap_or(0),
            record["prompt_tokens"].as_u64().unwrap_or(0),
            record["completion_tokens"].as_u64().unwrap_or(0)
        )?;
    }
    let change = &usage["built_in"];
    if change["is_paused"] == true {
        writeln!(out, "changes    paused; `cuebase models resume` continues them")?;
    } else if let Some(percent) = change["share_percent"].as_u64() {
        writeln!(out, "changes    at most {percent} % of a processor core; see `cuebase models --help`")?;
    }
    if usage["is_backlog_incomplete"] == true {
        writeln!(out, "           the namespaces with vectors of another model are being listed")?;
    }
    for entry in usage["backlog"].as_array().into_iter().flatten() {
        let progress = match (entry["done"].as_u64(), entry["all"].as_u64()) {
            (Some(done), Some(all)) => format!("{done} of {all} memories embedded"),
            _ => "waiting to be embedded".to_owned(),
        };
        let account = entry["account"].as_str().unwrap_or_default();
        let namespace = entry["namespace"].as_str().unwrap_or_default();
        writeln!(out, "behind     {account}/{namespace}: {progress}")?;
    }
    Ok(())
}
