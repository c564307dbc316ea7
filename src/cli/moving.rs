//! `cuebase export` and `import`.

use std::path::{Path, PathBuf};

use anyhow::Context;

use super::Account;
use super::progress::Bar;
use crate::config::Config;
use crate::control::{self, Command};
use crate::maintenance::export::{self, Format};
use crate::maintenance::import;
use crate::service::namespaces::DEFAULT;

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
    /// Which namespace; it is made where it is not there
    #[arg(long, value_name = "NAME", default_value = DEFAULT)]
    namespace: String,
    /// Git bundles, folders of markdown, .jsonl files of conversations
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
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
pub(super) fn export(config: Config, options: ExportOptions) -> anyhow::Result<()> {
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
    Ok(())
}

/// Imports files one after the other and prints what came of each.
pub(super) fn import(config: &Config, options: ImportOptions) -> anyhow::Result<()> {
    let ImportOptions { account, namespace, files } = options;
    for file in files {
        let from = std::path::absolute(&file)?;
        let answer = {
            let bar = Bar::new()?;
            let command = Command::Import { account: account.account.clone(), namespace: namespace.clone(), from };
            control::run(config.clone(), command, &|progress| bar.show(progress))?
        };
        let report: import::Report =
            serde_json::from_value(answer).context("the running server is of another version")?;
        let import::Report { conversations, files, unchanged, other, histories } = report;
        println!(
            "{}: {conversations} conversations, {files} files, {histories} histories; {unchanged} unchanged, {other} left alone",
            file.display()
        );
    }
    Ok(())
}
