//! Memories and terms as files: read from a folder as a namespace has it, written a few hundred a commit.

use std::fs;
use std::path::Path;

use jiff::Timestamp;

use super::{Import, Report};
use crate::error::Result;
use crate::ingest::edited;
use crate::memory::files::cue_texts;
use crate::namespace::key::NamespaceKey;
use crate::namespace::plan::{Content, Plan};

/// Files of one commit.
const FILES_A_COMMIT: usize = 500;

pub(super) fn folder(import: &Import<'_>) -> Result<Report> {
    let (mut files, mut wrong, mut other) = (Vec::new(), Vec::new(), 0);
    for path in list(import.from)? {
        if !edited::is_managed(&path) {
            other += 1;
            continue;
        }
        match read(import.from, &path).and_then(|bytes| edited::parse(&path, &bytes)) {
            Ok(content) => files.push((path, content)),
            Err(error) => wrong.push(format!("{path}: {error}")),
        }
    }
    import.problems(&wrong)?;
    let written = write(import, files)?;
    Ok(Report { other, ..written })
}

/// Writes files that are not there as they are, each at its path.
pub(super) fn write(import: &Import<'_>, files: Vec<(String, Content)>) -> Result<Report> {
    let (all, mut done) = (files.len() as u64, 0);
    let mut report = Report::default();
    if import.options.dry_run && import.known()?.is_none() {
        return Ok(Report { files: all, ..report });
    }
    let namespace = import.namespace()?;
    let lease = import.service.namespaces.lease_key(&NamespaceKey::of(&namespace))?;
    let mut files = files.into_iter().peekable();
    while files.peek().is_some() {
        let some: Vec<(String, Content)> = files.by_ref().take(FILES_A_COMMIT).collect();
        if !import.options.dry_run {
            let texts = some.iter().filter_map(|(_, content)| match content {
                Content::Memory(file) => Some(cue_texts(&file.front, &file.body)),
                Content::Term(_) => None,
            });
            let texts: Vec<String> = texts.flatten().collect();
            lease.prepare(&texts, import.service.models.write_deadline());
        }
        let changed = std::cell::Cell::new(0);
        lease.write(None, Timestamp::now(), |context| {
            let mut files = Vec::new();
            for (path, content) in &some {
                if !context.holds(path, content)? {
                    files.push((path.clone(), Some(content.clone())));
                }
            }
            changed.set(files.len() as u64);
            if import.options.dry_run {
                files.clear();
            }
            Ok(Plan::new(format!("Import {} files", files.len()), files))
        })?;
        done += some.len() as u64;
        report.files += changed.get();
        report.unchanged += some.len() as u64 - changed.get();
        import.tell("files", done, all);
    }
    lease.consolidate_packs()?;
    Ok(report)
}

/// Every file below a folder, by its path from there; nothing that begins with a dot, and no symbolic link.
pub(super) fn list(folder: &Path) -> Result<Vec<String>> {
    let mut found = Vec::new();
    list_below(folder, "", &mut found)?;
    Ok(found)
}

fn list_below(folder: &Path, prefix: &str, found: &mut Vec<String>) -> Result<()> {
    let mut entries = fs::read_dir(folder)?.collect::<std::io::Result<Vec<_>>>()?;
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let (name, kind) = (entry.file_name().to_string_lossy().into_owned(), entry.file_type()?);
        if name.starts_with('.') || kind.is_symlink() {
            continue;
        }
        if kind.is_dir() {
            list_below(&entry.path(), &format!("{prefix}{name}/"), found)?;
        } else {
            found.push(format!("{prefix}{name}"));
        }
    }
    Ok(())
}

/// A file's bytes, unless it is larger than any memory.
pub(super) fn read(from: &Path, path: &str) -> Result<Vec<u8>, String> {
    let file = from.join(path);
    let bytes = fs::metadata(&file).map_err(|error| error.to_string())?.len();
    if bytes > edited::FILE_BYTES_MAX {
        return Err(format!("has {bytes} bytes, more than {}", edited::FILE_BYTES_MAX));
    }
    fs::read(&file).map_err(|error| error.to_string())
}
