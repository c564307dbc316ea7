//! Folders that were used before a folder had to be bound to the namespace that it names. They keep that namespace.
//!
//! The state folder has two traces of such a folder: the record of an installation in the project, and the records of its
//! transcripts, which Claude Code keeps in a folder of the project. Records that were made after binding was introduced
//! have a mark and do not count. Several projects can share a folder of transcripts, because it is named by the letters and
//! digits of their paths only, so a transcript counts for the folder that it names itself.

use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::super::places::{Places, read};
use crate::text_file::first_lines;

/// Transcripts that are looked at, at most: a hook has little time.
const TRANSCRIPTS_MAX: usize = 1000;

/// Bytes of a transcript that are read for its working directory.
const TRANSCRIPT_BYTES_MAX: u64 = 256 << 10;

/// An entry of a transcript.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Entry {
    cwd: Option<PathBuf>,
}

/// The mark of a record, and what an installation recorded.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Trace {
    format: u32,
    path: PathBuf,
}

/// Returns whether the state folder has a trace of a project. `transcripts` is the folder of its transcripts.
pub(super) fn is_known(places: &Places, root: &Path, transcripts: &Path) -> bool {
    // The files of the user's own scope are in the home folder.
    if root != places.home {
        for entry in fs::read_dir(places.installations()).into_iter().flatten().flatten() {
            if early_trace(&entry.path()).is_some_and(|trace| trace.path.starts_with(root)) {
                return true;
            }
        }
    }
    for entry in fs::read_dir(transcripts).into_iter().flatten().flatten().take(TRANSCRIPTS_MAX) {
        let path = entry.path();
        if path.extension().is_some_and(|extension| extension == "jsonl")
            && let Some(session) = path.file_stem().and_then(|name| name.to_str())
            && early_trace(&places.transcript_record(session)).is_some()
            && began_below(&path, root)
        {
            return true;
        }
    }
    false
}

/// Whether the session of a transcript began in a folder or below it: its first entries name the working directory.
fn began_below(transcript: &Path, root: &Path) -> bool {
    for line in first_lines(transcript, TRANSCRIPT_BYTES_MAX).unwrap_or_default() {
        let entry: Entry = serde_json::from_str(&line).unwrap_or_default();
        if let Some(folder) = entry.cwd {
            return fs::canonicalize(&folder).unwrap_or(folder).starts_with(root);
        }
    }
    false
}

/// Returns the folder in which Claude Code keeps the transcripts of sessions that began in a folder.
pub(super) fn claude_transcripts(places: &Places, folder: &Path) -> PathBuf {
    let claude = places.claude.clone().unwrap_or_else(|| places.home.join(".claude"));
    let mut name = String::new();
    for character in folder.to_string_lossy().chars() {
        name.push(if character.is_ascii_alphanumeric() { character } else { '-' });
    }
    claude.join("projects").join(name)
}

/// Reads a record, if it was written before records were marked.
fn early_trace(path: &Path) -> Option<Trace> {
    let trace: Trace = serde_json::from_str(&read(path).ok()??).ok()?;
    if trace.format == 0 { Some(trace) } else { None }
}

#[cfg(test)]
mod tests {
    use super::super::super::places::write;
    use super::*;

    #[test]
    fn only_records_from_before_are_traces() {
        let folder = tempfile::tempdir().expect("temporary directory");
        let home = folder.path().display().to_string();
        let places = Places::resolve(|name| if name == "HOME" { Some(home.clone()) } else { None }).expect("resolves");
        let root = folder.path().join("widget");
        let transcripts = claude_transcripts(&places, &root);
        assert!(transcripts.ends_with(format!("{}-widget", home.replace(['/', '.'], "-"))), "{transcripts:?}");
        let entries = |folder: &Path| format!("{{\"type\": \"mode\"}}\n{{\"cwd\": \"{}\"}}\n", folder.display());
        write(&transcripts.join("one.jsonl"), &entries(&root.join("src"))).expect("writes");
        let record = places.transcript_record("one");
        for (text, expected) in [("{\"stored\": 5}", true), ("{\"stored\": 5, \"format\": 1}", false)] {
            write(&record, text).expect("writes");
            assert_eq!(is_known(&places, &root, &transcripts), expected, "{text}");
        }
        // A project whose path has the same letters shares the folder of transcripts.
        let other = folder.path().join("wid/get");
        write(&record, "{}").expect("writes");
        assert!(is_known(&places, &root, &transcripts));
        assert!(!is_known(&places, &other, &transcripts));
        write(&transcripts.join("one.jsonl"), &entries(&other)).expect("writes");
        assert!(!is_known(&places, &root, &transcripts) && is_known(&places, &other, &transcripts));
        write(&transcripts.join("one.jsonl"), "").expect("writes");
        assert!(!is_known(&places, &root, &transcripts));
        let path = root.join(".mcp.json").display().to_string();
        let installed = places.installations().join("a.json");
        for (format, expected) in [(0, true), (1, false)] {
            let text = serde_json::json!({"path": path, "existed": false, "written": "x", "format": format});
            write(&installed, &text.to_string()).expect("writes");
            assert_eq!(is_known(&places, &root, &transcripts), expected, "{text}");
        }
    }
}
