//! Conversations in the LoCoMo format.

use std::path::Path;

use anyhow::Context;

use super::index_folder::IndexFolder;
use super::output::{Measured, Output};
use crate::cli::progress::Bar;
use crate::eval::locomo::{self, Sample};
use crate::eval::measure::{self, Figures};
use crate::eval::namespace::Setup;
use crate::eval::report::Wrong;
use crate::maintenance::Progress;

/// Numbers of sessions in the small namespaces that the features file holds in addition to the whole conversations.
const WINDOWS: [usize; 2] = [1, 4];

/// Measures a file of conversations.
pub(super) fn evaluate(input: &Path, setup: &Setup<'_>, mut output: Output<'_>) -> anyhow::Result<()> {
    let samples = locomo::read(input)?;
    let mut figures = Figures::default();
    let bar = Bar::new()?;
    for (number, sample) in samples.iter().enumerate() {
        bar.show(Progress::new("conversations", number as u64, samples.len() as u64));
        let folder = IndexFolder::new(number);
        measure::measure(sample, folder.path(), setup, &mut figures, output.features())
            .with_context(|| format!("conversation {}", sample.id))?;
    }
    drop(bar);
    if output.features().is_some() {
        add_windows(&samples, setup, &figures, &mut output)?;
    }
    let measured = Measured {
        figures: figures.report(),
        scored: &figures.scored,
        lines: &[],
        wrong: Wrong::Misses(&figures.misses),
    };
    output.finish(&measured, setup)
}

/// Adds the features of small namespaces, so that a fit does not depend on the size of large ones. They are not part of
/// the report.
fn add_windows(
    samples: &[Sample],
    setup: &Setup<'_>,
    figures: &Figures,
    output: &mut Output<'_>,
) -> anyhow::Result<()> {
    let mut unreported = figures.continued();
    let mut windows = Vec::new();
    for sample in samples {
        for sessions in WINDOWS {
            windows.extend(sample.windows(sessions));
        }
    }
    let bar = Bar::new()?;
    for (number, window) in windows.iter().enumerate() {
        bar.show(Progress::new("parts of conversations", number as u64, windows.len() as u64));
        let folder = IndexFolder::new(samples.len() + number);
        measure::measure(window, folder.path(), setup, &mut unreported, output.features())
            .with_context(|| format!("a part of conversation {}", window.id))?;
    }
    Ok(())
}
