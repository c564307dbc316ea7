//! `cuebase erase`.

use cuebase_storage::records::{ErasureReport, ErasureSelection};

use super::account::AccountOption;
use super::confirmation::confirm_erasure;
use super::progress::run_with_bar;
use crate::config::Config;
use crate::control::Command;
use crate::namespace::names::parse_name;

/// Printed after every erasure.
const REMAINING_COPIES: &str = "Backups, clones and exports that were made before still have the text: remove them. \
    Clone again, because the commits have new ids.";

/// Options of `cuebase erase`.
#[derive(clap::Args)]
pub(super) struct EraseOptions {
    #[command(flatten)]
    account: AccountOption,
    /// Namespace name
    #[arg(long, value_name = "NAME")]
    namespace: String,
    #[command(flatten)]
    selection: SelectionOptions,
    /// Erase without confirmation
    #[arg(long)]
    yes: bool,
}

/// The options that select what to erase.
#[derive(clap::Args)]
#[group(required = true, multiple = false)]
struct SelectionOptions {
    /// Path of a memory to erase; can be repeated
    #[arg(long = "path", value_name = "PATH")]
    paths: Vec<String>,
    /// Session ID: erase its memories and conversations
    #[arg(long, value_name = "ID")]
    session: Option<String>,
    /// Name of a person or thing: erase the memories that it stated or that have a claim about it
    #[arg(long, value_name = "NAME")]
    subject: Option<String>,
}

impl SelectionOptions {
    /// Returns the selection. The parser accepts exactly one option.
    fn selection(self) -> ErasureSelection {
        match (self.session, self.subject) {
            (Some(session), _) => ErasureSelection::Session(session),
            (None, Some(subject)) => ErasureSelection::Subject(subject),
            (None, None) => ErasureSelection::Paths(self.paths),
        }
    }
}

/// Erases text, waits until it is gone, and prints what was erased.
pub(super) fn erase(config: &Config, options: EraseOptions) -> anyhow::Result<()> {
    let EraseOptions { account, namespace, selection, yes } = options;
    let (account, namespace) = (account.id()?, parse_name(&namespace)?);
    if !yes {
        confirm_erasure(&namespace)?;
    }
    let command = Command::Erase { account, namespace, selection: selection.selection() };
    let report: ErasureReport = run_with_bar(config, command)?;
    println!("{}", summary(&report));
    if report.later_writes > 0 {
        eprintln!(
            "{} later writes have selected text and were not erased: erase again to include them",
            report.later_writes
        );
    }
    if report.unreadable > 0 {
        eprintln!(
            "{} records cannot be decoded and may have the text: `cuebase dead-letters list` shows them",
            report.unreadable
        );
    }
    eprintln!("{REMAINING_COPIES}");
    Ok(())
}

/// Describes what was erased in one line.
fn summary(report: &ErasureReport) -> String {
    let counts = [
        (report.memories, "memories erased"),
        (report.commits, "commits rewritten"),
        (report.sources_removed, "kept conversations removed"),
        (report.sources_changed, "kept conversations changed"),
        (report.conversations_removed, "managed conversations removed"),
        (report.messages_emptied, "messages of managed conversations emptied"),
        (report.vectors, "vectors removed"),
        (report.dead_letters, "dead letters removed"),
    ];
    let mut parts = Vec::new();
    for (count, what) in counts {
        parts.push(format!("{count} {what}"));
    }
    parts.join(", ")
}
