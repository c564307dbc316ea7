//! Import of memories and terms from files.
//!
//! [`import`] reads a folder with the layout of a namespace. [`write`] commits files of any format, a few hundred per
//! commit.

use std::fs;
use std::path::Path;

use jiff::Timestamp;

use super::context::{Import, ImportReport};
use super::listing::list_files;
use crate::error::Result;
use crate::ingest::edited;
use crate::memory::files::cue_texts;
use crate::namespace::plan::{Content, Plan, PlannedFile};

/// Files per commit.
const FILES_PER_COMMIT: usize = 500;

pub(super) fn import(import: &Import<'_>) -> Result<ImportReport> {
    let (mut files, mut problems, mut other) = (Vec::new(), Vec::new(), 0);
    for path in list_files(import.from)? {
        if !edited::is_managed(&path) {
            other += 1;
            continue;
        }
        match read_content(import.from, &path) {
            Ok(content) => files.push((path, content)),
            Err(error) => problems.push(format!("{path}: {error}")),
        }
    }
    import.ensure_no_problems(&problems)?;
    let written = write(import, &files)?;
    Ok(ImportReport { other, ..written })
}

fn read_content(folder: &Path, path: &str) -> Result<Content, String> {
    edited::parse(path, &read(folder, path)?)
}

/// Writes the files that the namespace does not have with the same content, each at its path. A dry run counts them.
pub(super) fn write(import: &Import<'_>, files: &[(String, Content)]) -> Result<ImportReport> {
    let all = files.len() as u64;
    let mut report = ImportReport::default();
    if import.options.dry_run && import.existing_namespace()?.is_none() {
        return Ok(ImportReport { files: all, ..report });
    }
    let namespace = import.create_namespace()?;
    let lease = import.app.namespaces.lease_key(&namespace.key())?;
    let mut done = 0;
    for batch in files.chunks(FILES_PER_COMMIT) {
        if !import.options.dry_run {
            lease.prepare(&texts_to_embed(batch), import.app.reads.models().write_deadline());
        }
        let changed = std::cell::Cell::new(0);
        lease.write(None, Timestamp::now(), |context| {
            let mut files = Vec::new();
            for (path, content) in batch {
                if !context.holds(path, content)? {
                    files.push(PlannedFile { path: path.clone(), content: Some(content.clone()) });
                }
            }
            changed.set(files.len() as u64);
            if import.options.dry_run {
                files.clear();
            }
            Ok(Plan::new(format!("Import {} files", files.len()), files))
        })?;
        done += batch.len() as u64;
        report.files += changed.get();
        report.unchanged += batch.len() as u64 - changed.get();
        import.progress("files", done, all);
    }
    lease.consolidate_packs()?;
    Ok(report)
}

/// Returns the texts of the memories among the files that are embedded as cues.
fn texts_to_embed(files: &[(String, Content)]) -> Vec<String> {
    let mut texts = Vec::new();
    for (_, content) in files {
        if let Content::Memory(file) = content {
            texts.extend(cue_texts(&file.front, &file.body));
        }
    }
    texts
}

/// Reads a file. Fails if it is larger than a memory may be.
pub(super) fn read(from: &Path, path: &str) -> Result<Vec<u8>, String> {
    let file = from.join(path);
    let bytes = fs::metadata(&file).map_err(|error| error.to_string())?.len();
    if bytes > edited::FILE_BYTES_MAX {
        return Err(format!("has {bytes} bytes, more than {}", edited::FILE_BYTES_MAX));
    }
    fs::read(&file).map_err(|error| error.to_string())
}
