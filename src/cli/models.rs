//! `cuebase models`: what is configured, and how fast it is from here.

use std::io::Write;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::data_directory;
use crate::config::Config;
use crate::control::{self, Command};
use crate::model::configured::{chat, embedder};
use crate::model::hosted::chat::{ChatMessage, ChatRequest};
use crate::model::vectors::BATCH_TEXTS;
use crate::model::{Deadline, Embedder};

/// A model is given so long for each of the measurements.
const PATIENCE: Duration = Duration::from_secs(60);
/// A text is embedded by itself so often; the middle time is told.
const REPEATS: usize = 15;
/// What a usual cue looks like.
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

/// Lists the models and times each. Fails when one does not answer.
pub(super) fn models(config: &Config) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    let embedder = embedder(&config.model.embedding)?;
    writeln!(out, "embedding  {}, {} dimensions", embedder.identity(), embedder.filled_dimensions())?;
    let embedding = time_embedding(embedder.as_ref());
    match &embedding {
        Ok((one, many)) => {
            let rate = BATCH_TEXTS as f64 / many.as_secs_f64();
            writeln!(out, "           one text {one:.2?}; {BATCH_TEXTS} texts {many:.2?}, {rate:.0} a second")?;
        }
        Err(error) => writeln!(out, "           {error:#}")?,
    }
    let mut answered = embedding.is_ok();
    match chat(&config.model)? {
        None => writeln!(out, "chat       none: memories are extracted, and answers quoted, without a model")?,
        Some(chat) => {
            writeln!(out, "chat       {}", chat.identity())?;
            let schema = json!({
                "type": "object",
                "properties": {"answer": {"type": "string"}},
                "required": ["answer"],
                "additionalProperties": false,
            });
            let content = "Answer with a JSON object whose field \"answer\" is the word \"ready\".".to_owned();
            let turns = [ChatMessage { role: "user", content }];
            let question = ChatRequest { turns: &turns, name: "answer", schema: &schema, tokens_max: 100 };
            let began = Instant::now();
            match chat.ask(&question, Deadline::urgent(PATIENCE)) {
                Ok(said) => writeln!(out, "           {:.2?} for {:?}", began.elapsed(), said.text)?,
                Err(error) => {
                    answered = false;
                    writeln!(out, "           {error}")?;
                }
            }
        }
    }
    if data_directory::exists(config)? {
        tell(&mut out, &control::run(config, Command::Models, &|_| {})?)?;
    }
    anyhow::ensure!(answered, "a model does not answer");
    Ok(())
}

/// The middle time of a text by itself, and the time of a batch.
fn time_embedding(embedder: &dyn Embedder) -> anyhow::Result<(Duration, Duration)> {
    let texts: Vec<String> = (0..BATCH_TEXTS)
        .map(|number| {
            let (subject, other) = (SUBJECTS[number % 8], SUBJECTS[number / 8 % 8]);
            format!("Ann told us on day {number} about {subject}, and Bo remembered {other} at once.")
        })
        .collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let timed = |texts: &[&str]| -> anyhow::Result<Duration> {
        let began = Instant::now();
        embedder.embed(texts, Deadline::urgent(PATIENCE))?;
        Ok(began.elapsed())
    };
    // The first call pays for connections and caches.
    timed(&texts[..1])?;
    let mut alone = (0..REPEATS).map(|number| timed(&texts[number..=number])).collect::<anyhow::Result<Vec<_>>>()?;
    alone.sort_unstable();
    Ok((alone[REPEATS / 2], timed(&texts)?))
}

/// What the data directory knows: how much models were called, and what is still to be embedded.
fn tell(out: &mut impl Write, known: &Value) -> std::io::Result<()> {
    for (name, value) in known["calls"].as_object().into_iter().flatten() {
        let number = |field: &str| value[field].as_u64().unwrap_or_default();
        writeln!(
            out,
            "called     {name}: {} answered, {} failed, {} tokens in, {} out",
            number("calls"),
            number("failures"),
            number("prompt_tokens"),
            number("completion_tokens")
        )?;
    }
    for entry in known["backlog"].as_array().into_iter().flatten() {
        let progress = match (entry["done"].as_u64(), entry["all"].as_u64()) {
            (Some(done), Some(all)) => format!("{done} of {all} memories embedded"),
            _ => "waits to be embedded".to_owned(),
        };
        let (account, namespace) = (entry["account"].as_str(), entry["namespace"].as_str());
        writeln!(out, "behind     {}/{}: {progress}", account.unwrap_or_default(), namespace.unwrap_or_default())?;
    }
    Ok(())
}
