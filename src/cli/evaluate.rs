//! `cuebase eval`: measures retrieval quality on a file, in this process.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::PathBuf;

use anyhow::Context;
use indicatif::{ProgressBar, ProgressStyle};

use crate::clock::Clock;
use crate::config::Config;
use crate::eval::{locomo, measure};
use crate::file_errors::explained;
use crate::model::configured::embedder;

/// Numbers of sessions in the small namespaces that the features file holds in addition to the whole conversations.
const WINDOWS: [usize; 2] = [1, 4];

/// Options of `cuebase eval`.
#[derive(clap::Args)]
pub(super) struct EvaluateOptions {
    /// File with conversations in the LoCoMo format
    file: PathBuf,
    /// File for the features of every candidate, from which the calibration is fitted
    #[arg(long, value_name = "FILE")]
    features: Option<PathBuf>,
}

/// Measures retrieval quality and prints the figures.
pub(super) fn evaluate(options: &EvaluateOptions, config: &Config) -> anyhow::Result<()> {
    let samples = locomo::read(&options.file)?;
    let embedder = embedder(&config.model.embedding)?;
    let embedder = embedder.as_ref();
    let mut features = match &options.features {
        Some(path) => {
            let file = File::create(path).map_err(explained("write", path))?;
            let mut file = BufWriter::new(file);
            writeln!(file, "{}", measure::features_header())?;
            Some(file)
        }
        None => None,
    };
    let progress = ProgressBar::new(samples.len() as u64);
    progress.set_style(ProgressStyle::with_template("{bar:40} {pos}/{len} conversations, {elapsed}")?);
    let setup = measure::Setup { embedder, clock: Clock::system() };
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
