//! `cuebase export`, `import` and `reextract`.

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::ensure;
use cuebase_storage::NamespaceName;
use similar::TextDiff;

use super::account::AccountOption;
use super::data_directory::Init;
use super::mem0_source::{self, FetchedMemories, UserOption};
use super::progress::run_with_bar;
use crate::config::Config;
use crate::control::Command;
use crate::maintenance::export::{self, Format};
use crate::maintenance::import::{self, format::Format as ImportFormat};
use crate::maintenance::reextract;
use crate::namespace::names::parse_name;
use crate::namespace::plan::FileChange;

/// Options of `cuebase export`.
#[derive(clap::Args)]
pub(super) struct ExportOptions {
    #[command(flatten)]
    account: AccountOption,
    /// Namespace name
    #[arg(long, value_name = "NAME", default_value = "default")]
    namespace: String,
    /// bundle, markdown or jsonl [default: from the name of the output]
    #[arg(long, value_parser = parse_export_format)]
    format: Option<Format>,
    /// File or folder to create; must not exist [default: the namespace name, with the ending of the format]
    #[arg(value_name = "OUTPUT")]
    output: Option<PathBuf>,
}

/// Options of `cuebase import`.
#[derive(clap::Args)]
pub(super) struct ImportOptions {
    #[command(flatten)]
    account: AccountOption,
    #[command(flatten)]
    pub(super) init: Init,
    /// Namespace name; created if it does not exist
    #[arg(long, value_name = "NAME", default_value = "default")]
    namespace: String,
    /// Format of the files, see below [default: from the content]
    #[arg(long, value_parser = parse_import_format)]
    format: Option<ImportFormat>,
    /// Report what would be imported, without importing it
    #[arg(long)]
    dry_run: bool,
    /// Also import messages that were imported before
    #[arg(long)]
    again: bool,
    /// User of the mem0 server whose memories are imported; can be repeated
    #[arg(long = "user", value_name = "USER[=NAMESPACE]", value_parser = mem0_source::parse_user)]
    users: Vec<UserOption>,
    /// Files and folders to import, or the URL of a mem0 server
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
}

impl ImportOptions {
    /// Returns the options that the import itself takes.
    fn import(&self) -> import::Options {
        import::Options { format: self.format, dry_run: self.dry_run, again: self.again }
    }
}

/// Options of `cuebase reextract`.
#[derive(clap::Args)]
pub(super) struct ReextractOptions {
    #[command(flatten)]
    account: AccountOption,
    /// Namespace name
    #[arg(long, value_name = "NAME", default_value = "default")]
    namespace: String,
    /// Session ID [default: the conversations of all sessions]
    #[arg(long, value_name = "ID")]
    session: Option<String>,
    /// Print what would change as a diff, and change nothing. A chat model is called as in the extraction itself
    #[arg(long)]
    dry_run: bool,
}

fn parse_import_format(name: &str) -> Result<ImportFormat, String> {
    let mut names = Vec::new();
    for format in ImportFormat::ALL {
        if format.name() == name {
            return Ok(format);
        }
        names.push(format.name());
    }
    Err(format!("must be one of {}", names.join(", ")))
}

fn parse_export_format(name: &str) -> Result<Format, String> {
    match name {
        "bundle" => Ok(Format::Bundle),
        "markdown" => Ok(Format::Markdown),
        "jsonl" => Ok(Format::Jsonl),
        _ => Err("must be bundle, markdown or jsonl".into()),
    }
}

/// Returns the export format that the name of the output implies.
fn format_of_name(output: &Path) -> Format {
    match output.extension().and_then(|extension| extension.to_str()) {
        Some("bundle") => Format::Bundle,
        Some("jsonl" | "ndjson") => Format::Jsonl,
        _ => Format::Markdown,
    }
}

/// Exports a namespace and prints the path of the output.
pub(super) fn export(config: &Config, options: ExportOptions) -> anyhow::Result<()> {
    let ExportOptions { account, namespace, format, output } = options;
    let format = match (format, &output) {
        (Some(format), _) => format,
        (None, Some(output)) => format_of_name(output),
        (None, None) => Format::Bundle,
    };
    let output = match (output, format) {
        (Some(output), _) => output,
        (None, Format::Bundle) => PathBuf::from(format!("{namespace}.bundle")),
        (None, Format::Markdown) => PathBuf::from(&namespace),
        (None, Format::Jsonl) => PathBuf::from(format!("{namespace}.jsonl")),
    };
    // A running server may have another working directory.
    let to = std::path::absolute(output)?;
    let report: export::ExportReport = run_with_bar(
        config,
        Command::Export { account: account.id()?, namespace: parse_name(&namespace)?, format, to },
    )?;
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

/// Imports files and memories of mem0 servers, one after the other, and prints the result of each.
pub(super) fn import(config: &Config, options: &ImportOptions) -> anyhow::Result<()> {
    let namespace = parse_name(&options.namespace)?;
    let has_server = options.files.iter().any(|file| mem0_source::url(file).is_some());
    ensure!(
        has_server || options.users.is_empty(),
        "--user selects memories of a mem0 server: name its URL, such as http://localhost:8888"
    );
    for file in &options.files {
        match mem0_source::url(file) {
            Some(url) => import_from_server(config, options, &namespace, url)?,
            None => import_file(config, options, &namespace, file)?,
        }
    }
    Ok(())
}

fn import_file(config: &Config, options: &ImportOptions, namespace: &NamespaceName, file: &Path) -> anyhow::Result<()> {
    let command = Command::Import {
        account: options.account.id()?,
        namespace: namespace.clone(),
        from: std::path::absolute(file)?,
        options: options.import(),
    };
    let report: import::ImportReport = run_with_bar(config, command)?;
    let source = file.display().to_string();
    println!("{source}: {}", summary(&report));
    print_warnings(&source, &report.warnings);
    Ok(())
}

/// Imports the memories of each user. All are fetched before those of the first user are imported.
fn import_from_server(
    config: &Config,
    options: &ImportOptions,
    namespace: &NamespaceName,
    url: &str,
) -> anyhow::Result<()> {
    ensure!(
        matches!(options.format, None | Some(ImportFormat::Mem0)),
        "memories are fetched from servers of mem0 only: leave out --format for a URL"
    );
    for FetchedMemories { source, namespace, memories } in mem0_source::fetch(url, &options.users, namespace)? {
        if memories.count == 0 {
            println!("{source}: {}: nothing new", ImportFormat::Mem0.name());
            print_warnings(&source, &memories.warnings);
            continue;
        }
        let command = Command::ImportMem0 {
            account: options.account.id()?,
            namespace,
            source: source.clone(),
            memories: memories.export,
            options: options.import(),
        };
        let report: import::ImportReport = run_with_bar(config, command)?;
        println!("{source}: {}", summary(&report));
        print_warnings(&source, &memories.warnings);
        print_warnings(&source, &report.warnings);
    }
    Ok(())
}

fn print_warnings(source: &str, warnings: &[String]) {
    for warning in warnings {
        eprintln!("{source}: warning: {warning}");
    }
}

/// Extracts memories again and prints the number of conversations.
pub(super) fn reextract(config: &Config, options: ReextractOptions) -> anyhow::Result<()> {
    let ReextractOptions { account, namespace, session, dry_run } = options;
    let command = Command::Reextract { account: account.id()?, namespace: parse_name(&namespace)?, session, dry_run };
    if dry_run {
        return print_preview(&run_with_bar(config, command)?);
    }
    let report: reextract::ReextractReport = run_with_bar(config, command)?;
    println!("{} conversations extracted again", report.conversations);
    if report.failed > 0 {
        anyhow::bail!(
            "{} conversations failed and keep their old memories; `cuebase dead-letters list` shows the reasons",
            report.failed
        );
    }
    Ok(())
}

/// Prints what a re-extraction would change, as unified diffs with a summary.
fn print_preview(preview: &reextract::ReextractPreview) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    for FileChange { path, before, after } in &preview.shown {
        let old_path = if before.is_some() { path } else { "/dev/null" };
        let new_path = if after.is_some() { path } else { "/dev/null" };
        let diff = TextDiff::from_lines(before.as_deref().unwrap_or(""), after.as_deref().unwrap_or(""));
        write!(out, "{}", diff.unified_diff().header(old_path, new_path))?;
    }
    let reextract::ReextractPreview { conversations, added, changed, removed, shown } = preview;
    let all = added + changed + removed;
    if all > shown.len() as u64 {
        writeln!(out, "the first {} of {all} changes are shown; --session selects one session", shown.len())?;
    }
    writeln!(out, "{conversations} conversations: would add {added}, change {changed} and forget {removed} memories")?;
    Ok(())
}

/// Describes the result of an import in one line.
fn summary(report: &import::ImportReport) -> String {
    let import::ImportReport {
        format,
        tried,
        conversations,
        messages,
        known,
        files,
        unchanged,
        other,
        documents,
        histories,
        warnings: _,
    } = report;
    let counts = [
        (*conversations, "conversations"),
        (*messages, "messages"),
        (*documents, "documents"),
        (*files, if *documents > 0 { "passages" } else { "files" }),
        (*histories, "histories"),
        (*known, "messages imported before"),
        (*unchanged, if *documents > 0 { "passages unchanged" } else { "files unchanged" }),
        (*other, "skipped"),
    ];
    let mut parts = Vec::new();
    for (count, what) in counts {
        if count > 0 {
            parts.push(format!("{count} {what}"));
        }
    }
    let parts = if parts.is_empty() { "nothing new".to_owned() } else { parts.join(", ") };
    let dry_run = if *tried { " would be imported: nothing was changed" } else { "" };
    format!("{format}: {parts}{dry_run}")
}
