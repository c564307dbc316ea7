//! The entry point of an import.

use std::path::Path;

use cuebase_storage::{AccountId, NamespaceName};
use serde_json::Value;

use super::context::{Import, ImportReport, Options, invalid_import};
use super::format::{self, Format};
use super::listing::{check_kind, special_file_warnings};
use super::{archives, bundle, conversations, documents, files, hindsight, mem0, notes, rules, zep};
use crate::app::App;
use crate::error::Result;
use crate::maintenance::progress::Progress;
use crate::maintenance::wait::wait_until_embedded;

/// Imports a file or folder into a namespace, which is created if it does not exist.
pub fn import(
    app: &App,
    account: &AccountId,
    name: &NamespaceName,
    from: &Path,
    options: Options,
    on_progress: &dyn Fn(Progress),
) -> Result<ImportReport> {
    check_kind(from).map_err(|reason| invalid_import(from, &reason))?;
    let format = match options.format {
        Some(format) => format,
        None => format::detect(from).map_err(|reason| invalid_import(from, &reason))?,
    };
    let import = Import { app, account, name, from, options, on_progress };
    let mut report = match format {
        Format::Bundle => bundle::import(&import),
        Format::Markdown => files::import(&import),
        Format::Letta => notes::import_letta(&import),
        Format::Notes => notes::import_notes(&import),
        Format::Rules => rules::import(&import),
        Format::Documents => documents::import(&import),
        Format::Mem0 => mem0::import(&import),
        Format::Zep => zep::import(&import),
        Format::Hindsight => hindsight::import(&import),
        Format::Jsonl => conversations::import_jsonl(&import),
        Format::Chatgpt => conversations::import_archive(&import, archives::read_chatgpt),
        Format::Claude => conversations::import_archive(&import, archives::read_claude),
    }?;
    if reads_whole_folder(format) && from.is_dir() {
        report.warnings.extend(special_file_warnings(from)?);
    }
    if !options.dry_run {
        wait_until_embedded(app, account, name, on_progress)?;
    }
    Ok(ImportReport { format: format.name().to_owned(), tried: options.dry_run, ..report })
}

/// Returns whether an import in a format reads every file below a folder.
fn reads_whole_folder(format: Format) -> bool {
    matches!(format, Format::Markdown | Format::Letta | Format::Notes | Format::Documents)
}

/// Imports memories that were fetched from a mem0 server into a namespace, which is created if it does not exist.
/// `source` is what errors call them.
pub fn import_mem0(
    app: &App,
    account: &AccountId,
    name: &NamespaceName,
    source: &str,
    memories: Value,
    options: Options,
    on_progress: &dyn Fn(Progress),
) -> Result<ImportReport> {
    let import = Import { app, account, name, from: Path::new(source), options, on_progress };
    let report = mem0::import_values(&import, vec![memories])?;
    if !options.dry_run {
        wait_until_embedded(app, account, name, on_progress)?;
    }
    Ok(ImportReport { format: Format::Mem0.name().to_owned(), tried: options.dry_run, ..report })
}
