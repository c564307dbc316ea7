//! A bar on the terminal for what takes long; nothing where there is no terminal.

use indicatif::{ProgressBar, ProgressStyle};

use crate::maintenance::Progress;

/// Shows how far a task is, until it is dropped.
pub(super) struct Bar(ProgressBar);

impl Bar {
    /// A bar that is not seen before there is something to show.
    pub(super) fn new() -> anyhow::Result<Self> {
        let bar = ProgressBar::new(0);
        bar.set_style(ProgressStyle::with_template("{bar:40} {pos}/{len} {msg}, {elapsed}")?);
        Ok(Self(bar))
    }

    /// Moves on.
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
