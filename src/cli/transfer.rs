//! `cuebase export`, `import` and `reextract`.

use std::path::{Path, PathBuf};

use anyhow::Context;

use super::Account;
use super::data_directory::Init;
use super::progress::Bar;
use crate::config::Config;
use crate::control::{self, Command};
use crate::maintenance::export::{self, Format};
use crate::maintenance::import::{self, format::Format as ImportFormat};
use crate::maintenance::reextract;
use crate::namespace::names::DEFAULT;

/// Options of `cuebase export`.
#[derive(clap::Args)]
pub(super) struct ExportOptions {
    #[command(flatten)]
    account: Account,
    /// Which namespace
    #[arg(long, value_name = "NAME", default_value = DEFAULT)]
    namespace: String,
    /// bundle, markdown or jsonl [default: what the name of the output says]
    #[arg(long, value_parser = format)]
    format: Option<Format>,
    /// The file or folder to write, which must not be there yet [default: NAMESPACE.bundle, or what the format asks for]
    #[arg(value_name = "OUTPUT")]
    output: Option<PathBuf>,
}

/// Options of `cuebase import`.
#[derive(clap::Args)]
pub(super) struct ImportOptions {
    #[command(flatten)]
    account: Account,
    #[command(flatten)]
    pub(super) init: Init,
    /// Which namespace; it is made where it is not there
    #[arg(long, value_name = "NAME", default_value = DEFAULT)]
    namespace: String,
    /// bundle, markdown, notes, jsonl, chatgpt, claude, mem0 or letta [default: what the content says]
    #[arg(long, value_parser = import_format)]
    format: Option<ImportFormat>,
    /// Read all of it and say what would be done, but do nothing
    #[arg(long)]
    dry_run: bool,
    /// Take in also messages that were imported before
    #[arg(long)]
    again: bool,
    /// Files and folders to import
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
}

/// Options of `cuebase reextract`.
#[derive(clap::Args)]
pub(super) struct ReextractOptions {
    #[command(flatten)]
    account: Account,
    /// Which namespace
    #[arg(long, value_name = "NAME", default_value = DEFAULT)]
    namespace: String,
    /// Only the conversations of this session
    #[arg(long, value_name = "ID")]
    session: Option<String>,
}

fn import_format(name: &str) -> Result<ImportFormat, String> {
    let mut formats = ImportFormat::ALL.into_iter();
    formats.find(|(_, other)| *other == name).map(|(format, _)| format).ok_or_else(|| {
        let names: Vec<&str> = ImportFormat::ALL.iter().map(|(_, name)| *name).collect();
        format!("must be one of {}", names.join(", "))
    })
}

fn format(name: &str) -> Result<Format, String> {
    match name {
        "bundle" => Ok(Format::Bundle),
        "markdown" => Ok(Format::Markdown),
        "jsonl" => Ok(Format::Jsonl),
        _ => Err("must be bundle, markdown or jsonl".into()),
    }
}

fn told_by_name(output: &Path) -> Format {
    match output.extension().and_then(|extension| extension.to_str()) {
        Some("bundle") => Format::Bundle,
        Some("jsonl" | "ndjson") => Format::Jsonl,
        _ => Format::Markdown,
    }
}

/// Writes a namespace and prints where.
pub(super) fn export(config: &Config, options: ExportOptions) -> anyhow::Result<()> {
    let ExportOptions { account, namespace, format, output } = options;
    let format = format.unwrap_or_else(|| output.as_deref().map_or(Format::Bundle, told_by_name));
    let output = output.unwrap_or_else(|| {
        PathBuf::from(match format {
            Format::Bundle => format!("{namespace}.bundle"),
            Format::Markdown => namespace.clone(),
            Format::Jsonl => format!("{namespace}.jsonl"),
        })
    });
    // The server may have been started elsewhere.
    let to = std::path::absolute(output)?;
    let answer = {
        let bar = Bar::new()?;
        let command = Command::Export { account: account.account, namespace, format, to };
        control::run(config, command, &|progress| bar.show(progress))?
    };
    let report: export::Report = serde_json::from_value(answer).context("the running server is of another version")?;
    println!("{}", report.to.display());
    let what = match format {
        Format::Bundle => "objects",
        Format::Markdown => "files",
        Format::Jsonl => "conversations",
    };
    eprintln!("{} {what}", report.items);
    if report.items == 0 && format == Format::Jsonl {
        eprintln!("conversations are kept once they are ingested, unless ingestion.keep_sources is false");
    }
    Ok(())
}

/// Imports files one after the other and prints what came of each.
pub(super) fn import(config: &Config, options: ImportOptions) -> anyhow::Result<()> {
    let ImportOptions { account, namespace, format, dry_run, again, files, .. } = options;
    for file in files {
        let from = std::path::absolute(&file)?;
        let answer = {
            let bar = Bar::new()?;
            let options = import::Options { format, dry_run, again };
            let (account, namespace) = (account.account.clone(), namespace.clone());
            let command = Command::Import { account, namespace, from, options };
            control::run(config, command, &|progress| bar.show(progress))?
        };
        let report: import::Report =
            serde_json::from_value(answer).context("the running server is of another version")?;
        println!("{}: {}", file.display(), told(&report));
    }
    Ok(())
}

/// Extracts memories again and prints from how many conversations.
pub(super) fn reextract(config: &Config, options: ReextractOptions) -> anyhow::Result<()> {
    let ReextractOptions { account, namespace, session } = options;
    let answer = {
        let bar = Bar::new()?;
        let command = Command::Reextract { account: account.account, namespace, session };
        control::run(config, command, &|progress| bar.show(progress))?
    };
    let report: reextract::Report =
        serde_json::from_value(answer).context("the running server is of another version")?;
    println!("{} conversations extracted again", report.conversations);
    if report.failed > 0 {
        anyhow::bail!(
            "{} conversations failed and keep their former memories: `cuebase dead-letters list` shows why",
            report.failed
        );
    }
    Ok(())
}

/// What came of an import, in one line.
fn told(report: &import::Report) -> String {
    let import::Report { format, tried, conversations, messages, known, files, unchanged, other, histories } = report;
    let counts = [
        (*conversations, "conversations"),
        (*messages, "messages"),
        (*files, "files"),
        (*histories, "histories"),
        (*known, "messages imported before"),
        (*unchanged, "files unchanged"),
        (*other, "left alone"),
    ];
    let counts = counts.iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("{count} {what}"));
    let counts: Vec<String> = counts.collect();
    let counts = if counts.is_empty() { "nothing new".to_owned() } else { counts.join(", ") };
    let tried = if *tried { " would be imported: nothing was changed" } else { "" };
    format!("{format}: {counts}{tried}")
}
