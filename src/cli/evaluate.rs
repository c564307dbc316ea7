//! `cuebase eval`: measures retrieval quality on a file, in this process.

use std::fmt::Display;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::PathBuf;

use anyhow::Context;
use indicatif::{ProgressBar, ProgressStyle};

use crate::clock::Clock;
use crate::config::Config;
use crate::eval::namespace::Setup;
use crate::eval::suite::SuiteKind;
use crate::eval::{changes, features, locomo, measure, parts, questions, suite};
use crate::file_errors::explained;
use crate::model::configured::embedder;

/// Numbers of sessions in the small namespaces that the features file holds in addition to the whole conversations.
const WINDOWS: [usize; 2] = [1, 4];

/// Options of `cuebase eval`.
#[derive(clap::Args)]
pub(super) struct EvaluateOptions {
    /// File with conversations in the LoCoMo format, or with one labelled dialogue per line
    file: PathBuf,
    /// File for the features of every candidate, from which the calibration is fitted
    #[arg(long, value_name = "FILE")]
    features: Option<PathBuf>,
    /// Also print every question that is not answered right (files of labelled dialogues)
    #[arg(long)]
    misses: bool,
    /// File for the scores of all hits, one line of JSON per question, from which the levels of admission can be fitted
    #[arg(long, value_name = "FILE")]
    scores: Option<PathBuf>,
}

/// Measures retrieval quality and prints the figures.
pub(super) fn evaluate(options: &EvaluateOptions, config: &Config) -> anyhow::Result<()> {
    let embedder = embedder(&config.model.embedding)?;
    let embedder = embedder.as_ref();
    let text = std::fs::read_to_string(&options.file).map_err(explained("read", &options.file))?;
    if text.trim_start().starts_with('{') {
        let setup = Setup { embedder, clock: Clock::system() };
        return match SuiteKind::of(&text) {
            SuiteKind::Changes => evaluate_changes(options, &text, &setup),
            SuiteKind::Questions => evaluate_questions(options, &text, &setup),
            SuiteKind::Parts => evaluate_parts(options, &text, &setup),
        };
    }
    let samples = locomo::read(&options.file)?;
    let mut features = features_file(options)?;
    let progress = ProgressBar::new(samples.len() as u64);
    progress.set_style(ProgressStyle::with_template("{bar:40} {pos}/{len} conversations, {elapsed}")?);
    let setup = Setup { embedder, clock: Clock::system() };
    let mut figures = measure::Figures::default();
    for sample in &samples {
        let folder = std::env::temp_dir().join(format!("cuebase-eval-{}-{}", std::process::id(), progress.position()));
        let out = features.as_mut().map(|file| file as &mut dyn Write);
        let measured = measure::measure(sample, &folder, &setup, &mut figures, out);
        let _ = std::fs::remove_dir_all(&folder);
        measured.with_context(|| format!("conversation {}", sample.id))?;
        progress.inc(1);
    }
    progress.finish_and_clear();
    if let Some(mut file) = features {
        // Small namespaces are added, so that the fit does not depend on the size of large ones. They are not part of
        // the report.
        let mut unreported = figures.continued();
        let mut windows = Vec::new();
        for sample in &samples {
            for sessions in WINDOWS {
                windows.extend(sample.windows(sessions));
            }
        }
        for (number, window) in windows.iter().enumerate() {
            let folder = std::env::temp_dir().join(format!("cuebase-eval-{}-w{number}", std::process::id()));
            let measured = measure::measure(window, &folder, &setup, &mut unreported, Some(&mut file));
            let _ = std::fs::remove_dir_all(&folder);
            measured.with_context(|| format!("a part of conversation {}", window.id))?;
        }
        file.flush()?;
    }
    let mut out = std::io::stdout().lock();
    for (name, value) in figures.report() {
        writeln!(out, "{name}: {value:.4}")?;
    }
    Ok(())
}

/// Creates the file for features, if it is wanted.
fn features_file(options: &EvaluateOptions) -> anyhow::Result<Option<BufWriter<File>>> {
    let Some(path) = &options.features else { return Ok(None) };
    let file = File::create(path).map_err(explained("write", path))?;
    let mut file = BufWriter::new(file);
    writeln!(file, "{}", features::header())?;
    Ok(Some(file))
}

/// Creates the file for scores, if it is wanted.
fn scores_file(options: &EvaluateOptions) -> anyhow::Result<Option<BufWriter<File>>> {
    let Some(path) = &options.scores else { return Ok(None) };
    Ok(Some(BufWriter::new(File::create(path).map_err(explained("write", path))?)))
}

/// Returns the folder of the index of a dialogue.
fn index_folder(dialogue: usize) -> PathBuf {
    std::env::temp_dir().join(format!("cuebase-eval-{}-{dialogue}", std::process::id()))
}

/// Prints figures, and before them what is wrong if that is wanted.
fn print_figures<N: Display>(
    options: &EvaluateOptions,
    misses: &[String],
    report: Vec<(N, f64)>,
) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    if options.misses {
        for miss in misses {
            writeln!(out, "{miss}")?;
        }
    }
    for (name, value) in report {
        writeln!(out, "{name}: {value:.4}")?;
    }
    Ok(())
}

/// Measures a file of dialogues in which facts change.
fn evaluate_changes(options: &EvaluateOptions, text: &str, setup: &Setup<'_>) -> anyhow::Result<()> {
    let dialogues: Vec<changes::Dialogue> = suite::read(text)?;
    let mut figures = changes::Figures::default();
    let mut features = features_file(options)?;
    for (number, dialogue) in dialogues.iter().enumerate() {
        let folder = index_folder(number);
        let out = features.as_mut().map(|file| file as &mut dyn Write);
        let measured = changes::measure(dialogue, &folder, setup, &mut figures, out);
        let _ = std::fs::remove_dir_all(&folder);
        measured?;
    }
    if let Some(mut file) = features {
        file.flush()?;
    }
    print_figures(options, &figures.misses, figures.report())
}

/// Measures a file of namespaces with questions of which some may have no answer.
fn evaluate_questions(options: &EvaluateOptions, text: &str, setup: &Setup<'_>) -> anyhow::Result<()> {
    let spaces: Vec<questions::Space> = suite::read(text)?;
    let mut figures = questions::Figures::default();
    let mut features = features_file(options)?;
    let mut scores = scores_file(options)?;
    for (number, space) in spaces.iter().enumerate() {
        let folder = index_folder(number);
        let mut files = questions::OutputFiles {
            features: features.as_mut().map(|file| file as &mut dyn Write),
            scores: scores.as_mut().map(|file| file as &mut dyn Write),
        };
        let measured = questions::measure(space, &folder, setup, &mut figures, &mut files);
        let _ = std::fs::remove_dir_all(&folder);
        measured?;
    }
    for mut file in features.into_iter().chain(scores) {
        file.flush()?;
    }
    print_figures(options, &figures.admission.misses, figures.report())
}

/// Measures a file of dialogues with queries that ask for several things.
fn evaluate_parts(options: &EvaluateOptions, text: &str, setup: &Setup<'_>) -> anyhow::Result<()> {
    let dialogues: Vec<parts::Dialogue> = suite::read(text)?;
    let mut figures = parts::Figures::default();
    let mut scores = scores_file(options)?;
    for (number, dialogue) in dialogues.iter().enumerate() {
        let folder = index_folder(number);
        let out = scores.as_mut().map(|file| file as &mut dyn Write);
        let measured = parts::measure(dialogue, &folder, setup, &mut figures, out);
        let _ = std::fs::remove_dir_all(&folder);
        measured?;
    }
    if let Some(mut file) = scores {
        file.flush()?;
    }
    print_figures(options, &figures.misses, figures.report())
}
