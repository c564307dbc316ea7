//! What `cuebase eval` prints and writes.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use super::options::EvaluateOptions;
use crate::eval::features;
use crate::eval::namespace::Setup;
use crate::eval::open_space::OutputFiles;
use crate::eval::report::{self, Report, Wrong};
use crate::file_errors::explained;

/// The files that the options want, created before anything is measured.
pub(super) struct Output<'a> {
    options: &'a EvaluateOptions,
    features: Option<BufWriter<File>>,
    scores: Option<BufWriter<File>>,
    report: Option<BufWriter<File>>,
}

/// The results of a measurement.
pub(super) struct Measured<'a> {
    /// The figures with their names.
    pub(super) figures: Vec<(String, f64)>,
    /// Score and relevance of hits.
    pub(super) scored: &'a [(f32, bool)],
    /// What is wrong, one line each, as `--misses` prints it.
    pub(super) lines: &'a [String],
    /// What the report shows as wrong.
    pub(super) wrong: Wrong<'a>,
}

impl<'a> Output<'a> {
    /// Creates the files.
    pub(super) fn create(options: &'a EvaluateOptions) -> anyhow::Result<Self> {
        let mut features = created(options.features.as_deref())?;
        if let Some(file) = &mut features {
            writeln!(file, "{}", features::header())?;
        }
        let scores = created(options.scores.as_deref())?;
        let report = created(options.report.as_deref())?;
        Ok(Self { options, features, scores, report })
    }

    /// Returns the file for features.
    pub(super) fn features(&mut self) -> Option<&mut dyn Write> {
        self.features.as_mut().map(|file| file as &mut dyn Write)
    }

    /// Returns the file for scores.
    pub(super) fn scores(&mut self) -> Option<&mut dyn Write> {
        self.scores.as_mut().map(|file| file as &mut dyn Write)
    }

    /// Returns the files that are written while questions are asked.
    pub(super) fn files(&mut self) -> OutputFiles<'_> {
        OutputFiles {
            features: self.features.as_mut().map(|file| file as &mut dyn Write),
            scores: self.scores.as_mut().map(|file| file as &mut dyn Write),
        }
    }

    /// Prints the figures, and before them what is wrong if that is wanted. Writes the report.
    pub(super) fn finish(self, measured: &Measured<'_>, setup: &Setup<'_>) -> anyhow::Result<()> {
        for mut file in self.features.into_iter().chain(self.scores) {
            file.flush()?;
        }
        let mut out = std::io::stdout().lock();
        if self.options.misses {
            for line in measured.lines {
                writeln!(out, "{line}")?;
            }
        }
        for (name, value) in &measured.figures {
            writeln!(out, "{name}: {value:.4}")?;
        }
        let Some(mut file) = self.report else { return Ok(()) };
        let input = &self.options.input;
        let name = match input.file_name() {
            Some(name) => name.to_string_lossy().into_owned(),
            None => input.display().to_string(),
        };
        let page = report::html(&Report {
            file: &name,
            model: setup.embedder.identity(),
            at: setup.clock.now(),
            figures: &measured.figures,
            scored: measured.scored,
            wrong: measured.wrong,
        });
        file.write_all(page.as_bytes())?;
        file.flush()?;
        Ok(())
    }
}

/// Creates a file, if its path is given.
fn created(path: Option<&Path>) -> anyhow::Result<Option<BufWriter<File>>> {
    let Some(path) = path else { return Ok(None) };
    let file = File::create(path).map_err(explained("write", path))?;
    Ok(Some(BufWriter::new(file)))
}
