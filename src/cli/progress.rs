//! The progress bar of long commands. Without a terminal, nothing is shown.

use anyhow::Context;
use indicatif::{ProgressBar, ProgressStyle};
use serde::de::DeserializeOwned;

use crate::config::Config;
use crate::control::{self, Command};
use crate::maintenance::Progress;

/// A progress bar on the terminal, removed on drop.
pub(super) struct Bar(ProgressBar);

impl Bar {
    /// Creates a bar, which appears with the first progress.
    pub(super) fn new() -> anyhow::Result<Self> {
        let bar = ProgressBar::new(0);
        bar.set_style(ProgressStyle::with_template("{bar:40} {pos}/{len} {msg}, {elapsed}")?);
        Ok(Self(bar))
    }

    /// Shows the current progress.
    pub(super) fn show(&self, progress: Progress) {
        self.0.set_length(progress.all.max(progress.done));
        self.0.set_position(progress.done);
        self.0.set_message(progress.doing);
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}

/// Runs a command with a progress bar and decodes its result.
///
/// # Errors
///
/// When the command fails, or when the result does not have the expected form because the running server has another
/// version.
pub(super) fn run_with_bar<T: DeserializeOwned>(config: &Config, command: Command) -> anyhow::Result<T> {
    let bar = Bar::new()?;
    let result = control::run(config, command, &|progress| bar.show(progress))?;
    drop(bar);
    serde_json::from_value(result).context("cannot read the result: the running server has another version")
}
