//! `cuebase eval`: retrieval quality on a file, in process.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::PathBuf;

use anyhow::Context;
use indicatif::{ProgressBar, ProgressStyle};

use crate::config::Config;
use crate::eval::{locomo, measure};
use crate::file_errors::explained;
use crate::model::configured::embedder;

/// Sessions in the small namespaces that the features file holds beside the whole conversations.
const WINDOWS: [usize; 2] = [1, 4];

/// Options of `cuebase eval`.
#[derive(clap::Args)]
pub(super) struct Options {
    /// Conversations in the LoCoMo format
    file: PathBuf,
    /// Also write every candidate's features, for fitting the calibration
    #[arg(long, value_name = "FILE")]
    features: Option<PathBuf>,
}

/// Measures and prints the figures.
pub(super) fn evaluate(options: &Options, config: &Config) -> anyhow::Result<()> {
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
    let mut figures = measure::Figures::default();
    for sample in &samples {
        let folder = std::env::temp_dir().join(format!("cuebase-eval-{}-{}", std::process::id(), progress.position()));
        let out = features.as_mut().map(|file| file as &mut dyn Write);
        let measured = measure::measure(sample, &folder, embedder, &mut figures, out);
        // Only what this run made itself.
        let _ = std::fs::remove_dir_all(&folder);
        measured.with_context(|| format!("conversation {}", sample.id))?;
        progress.inc(1);
    }
    progress.finish_and_clear();
    if let Some(out) = &mut features {
        // Small namespaces too, so that the fit does not learn the size of large ones. Not part of the report.
        let mut apart = figures.continued();
        for (number, window) in
            samples.iter().flat_map(|sample| WINDOWS.map(|w| sample.windows(w))).flatten().enumerate()
        {
            let folder = std::env::temp_dir().join(format!("cuebase-eval-{}-w{number}", std::process::id()));
            let measured = measure::measure(&window, &folder, embedder, &mut apart, Some(out));
            let _ = std::fs::remove_dir_all(&folder);
            measured.with_context(|| format!("a part of conversation {}", window.id))?;
        }
    }
    if let Some(mut file) = features {
        file.flush()?;
    }
    let mut out = std::io::stdout().lock();
    for (name, value) in figures.report() {
        writeln!(out, "{name}: {value:.4}")?;
    }
    Ok(())
}
