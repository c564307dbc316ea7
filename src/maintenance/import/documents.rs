//! Import of files as documents: PDF, DOCX, HTML, Markdown, plain text and source code, one or a folder of them.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use cuebase_language::text::steps::Steps;
use cuebase_storage::AccountId;
use cuebase_storage::memory_file::Metadata;
use cuebase_storage::records::DocumentDraft;
use jiff::Timestamp;

use super::context::{Import, ImportReport};
use super::listing::list_files;
use crate::documents::kind::DocumentKind;
use crate::documents::readers::DocumentReaders;
use crate::error::Result;
use crate::ingest::documents as plans;

/// The largest file: that of an upload, 32 MiB.
const FILE_BYTES_MAX: u64 = 32 << 20;

/// A file that is to be imported.
struct DocumentFile {
    /// Path of the file.
    file: PathBuf,
    /// Path below the imported folder, or the name of the imported file.
    name: String,
    kind: DocumentKind,
}

pub(super) fn import(import: &Import<'_>) -> Result<ImportReport> {
    let (files, other) = files_of(import.from)?;
    let (mut drafts, mut problems) = (BTreeMap::new(), Vec::new());
    for (done, file) in files.iter().enumerate() {
        import.progress("files", done as u64, files.len() as u64);
        match read(file, import.app.intake.document_readers(), import.account) {
            Ok(draft) => {
                if let Some(same) = drafts.insert(draft.id.clone(), draft) {
                    problems.push(format!("{} and {} would have the same id: rename one", same.name, file.name));
                }
            }
            Err(reason) => problems.push(format!("{}: {reason}", file.name)),
        }
    }
    import.ensure_no_problems(&problems)?;
    let written = write(import, drafts.into_values().collect())?;
    Ok(ImportReport { other, ..written })
}

/// Returns the files to import, and the number of files of other kinds in the folder.
fn files_of(from: &Path) -> Result<(Vec<DocumentFile>, u64)> {
    if !from.is_dir() {
        let name = from.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let kind = DocumentKind::of("", Some(&name))?;
        return Ok((vec![DocumentFile { file: from.to_owned(), name, kind }], 0));
    }
    let (mut files, mut other) = (Vec::new(), 0);
    for name in list_files(from)? {
        match DocumentKind::of_name(&name) {
            Some(kind) => files.push(DocumentFile { file: from.join(&name), name, kind }),
            None => other += 1,
        }
    }
    Ok((files, other))
}

/// Reads the passages of a file. An error says what is wrong with it.
fn read(file: &DocumentFile, readers: &DocumentReaders, account: &AccountId) -> Result<DocumentDraft, String> {
    let Some(id) = plans::id_of_name(&file.name) else { return Err("the name has no letter or digit".into()) };
    let bytes = fs::metadata(&file.file).map_err(|error| error.to_string())?.len();
    if bytes > FILE_BYTES_MAX {
        return Err(format!("has {bytes} bytes, more than {FILE_BYTES_MAX}"));
    }
    let bytes = fs::read(&file.file).map_err(|error| error.to_string())?;
    let passages = readers.read(&file.kind, &file.name, &bytes, account).map_err(|error| error.to_string())?;
    let (tags, metadata) = (Vec::new(), Metadata::new());
    Ok(DocumentDraft { id, name: file.name.clone(), tags, metadata, occurred: None, passages })
}

/// Stores the documents, each in one commit. A dry run counts the passages that would change.
fn write(import: &Import<'_>, drafts: Vec<DocumentDraft>) -> Result<ImportReport> {
    let total: u64 = drafts.iter().map(|draft| draft.passages.len() as u64).sum();
    let mut report = ImportReport { documents: drafts.len() as u64, ..ImportReport::default() };
    if import.options.dry_run && import.existing_namespace()?.is_none() {
        return Ok(ImportReport { files: total, ..report });
    }
    let namespace = import.create_namespace()?;
    let lease = import.app.namespaces.lease_key(&namespace.key())?;
    let mut done = 0;
    for draft in drafts {
        let passages = draft.passages.len() as u64;
        if !import.options.dry_run {
            for portion in draft.passages.chunks(plans::PASSAGES_PER_CALL) {
                let texts = plans::cue_texts(&draft, portion);
                lease.prepare(&texts, import.app.reads.models().write_deadline());
                done += portion.len() as u64;
                import.progress("passages", done, total);
            }
        }
        // Files of the plan, and passages among them; the others are removals.
        let changed = std::cell::Cell::new((0, 0));
        // The API returns milliseconds, and the file must have the same time.
        let now = Timestamp::now();
        let now = now.round(jiff::Unit::Millisecond).unwrap_or(now);
        lease.write(None, now, |context| {
            let mut plan = plans::store(context, &draft, now, &Steps::unlimited())?;
            let written = plan.files.iter().filter(|file| file.content.is_some()).count();
            changed.set((plan.files.len() as u64, written as u64));
            if import.options.dry_run {
                plan.files.clear();
            }
            Ok(plan)
        })?;
        let (files, written) = changed.get();
        report.files += files;
        report.unchanged += passages - written;
    }
    lease.consolidate_packs()?;
    Ok(report)
}
