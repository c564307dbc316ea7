//! The formats of an import, and their detection from the name and the content of a file or folder.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use cuebase_storage::git::is_bundle;
use cuebase_storage::memory_file::Tier;
use cuebase_storage::memory_file::term_file::VOCABULARY_FOLDER;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The format of an import.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Format {
    /// A git bundle of a namespace's history.
    Bundle,
    /// A folder with the layout of a namespace: `facts/`, `incidents/`, `rules/`, `skills/`, `vocab/`.
    Markdown,
    /// Any other folder of markdown.
    Notes,
    /// Conversations as JSON Lines; each line is a body of `POST /v1/memories`.
    Jsonl,
    /// An unpacked export of ChatGPT.
    Chatgpt,
    /// An unpacked export of Claude.
    Claude,
    /// Memories of mem0, as its `get_all` or its export returns them.
    Mem0,
    /// The memory repository of a Letta agent.
    Letta,
}

impl Format {
    /// All formats.
    pub const ALL: [Self; 8] =
        [Self::Bundle, Self::Markdown, Self::Notes, Self::Jsonl, Self::Chatgpt, Self::Claude, Self::Mem0, Self::Letta];

    /// Returns the name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Bundle => "bundle",
            Self::Markdown => "markdown",
            Self::Notes => "notes",
            Self::Jsonl => "jsonl",
            Self::Chatgpt => "chatgpt",
            Self::Claude => "claude",
            Self::Mem0 => "mem0",
            Self::Letta => "letta",
        }
    }
}

/// Detects the format of a file or folder. The error says why it is not recognized.
pub(super) fn detect(from: &Path) -> Result<Format, String> {
    let kind = fs::metadata(from).map_err(|error| error.to_string())?;
    if kind.is_dir() {
        return detect_folder(from);
    }
    if is_bundle(from) {
        return Ok(Format::Bundle);
    }
    match from.extension().and_then(|extension| extension.to_str()) {
        Some("jsonl" | "ndjson") => Ok(Format::Jsonl),
        Some("json") => detect_json(from),
        Some("zip") => Err("a zip archive cannot be imported: unpack it and import the folder".into()),
        _ => {
            Err("unknown format: neither a git bundle, a folder, a .jsonl nor a .json file; set it with --format"
                .into())
        }
    }
}

fn detect_folder(from: &Path) -> Result<Format, String> {
    if let Some(first) = archive_files(from)?.first() {
        return detect_json(first);
    }
    // Letta keeps what is always in an agent's context in `system/`. Cuebase has no folder of that name.
    if has_markdown(&from.join("system")) {
        return Ok(Format::Letta);
    }
    let has_tier = Tier::ALL.iter().any(|tier| from.join(tier.name()).is_dir());
    if has_tier || from.join(VOCABULARY_FOLDER).is_dir() { Ok(Format::Markdown) } else { Ok(Format::Notes) }
}

/// Returns whether a folder exists and holds a markdown file.
fn has_markdown(folder: &Path) -> bool {
    let Ok(entries) = fs::read_dir(folder) else { return false };
    entries.flatten().any(|entry| entry.path().extension() == Some(OsStr::new("md")))
}

/// Returns the files of conversations in an unpacked archive, sorted by name. A large archive has several.
pub(super) fn archive_files(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let entries = fs::read_dir(folder).map_err(|error| error.to_string())?;
    let mut files = Vec::new();
    for entry in entries.flatten() {
        let name = entry.file_name();
        let name = name.to_str().unwrap_or_default();
        if name.starts_with("conversations") && name.ends_with(".json") {
            files.push(entry.path());
        }
    }
    files.sort();
    Ok(files)
}

/// Detects the format by the fields of the first entry, in an array or in an object with an array.
fn detect_json(file: &Path) -> Result<Format, String> {
    let bytes = fs::read(file).map_err(|error| error.to_string())?;
    let first = first_entry(&bytes).map_err(|error| error.to_string())?;
    if let Some(entry) = first {
        for (field, format) in
            [("mapping", Format::Chatgpt), ("chat_messages", Format::Claude), ("memory", Format::Mem0)]
        {
            if entry.get(field).is_some() {
                return Ok(format);
            }
        }
    }
    Err("unknown JSON: neither conversations of ChatGPT or Claude nor memories of mem0; set it with --format".into())
}

/// Returns the first entry. Of an array only that entry is parsed: an archive can be very large.
fn first_entry(bytes: &[u8]) -> serde_json::Result<Option<Value>> {
    if let Some(entries) = bytes.trim_ascii_start().strip_prefix(b"[") {
        if entries.trim_ascii_start().starts_with(b"]") {
            return Ok(None);
        }
        return serde_json::Deserializer::from_slice(entries).into_iter().next().transpose();
    }
    let whole: Value = serde_json::from_slice(bytes)?;
    for name in ["results", "memories"] {
        if let Some(entries) = whole.get(name).and_then(Value::as_array) {
            return Ok(entries.first().cloned());
        }
    }
    Ok(None)
}
