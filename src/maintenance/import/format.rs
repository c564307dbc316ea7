//! What a file or folder is, as its name and its beginning say.

use std::fs;
use std::path::{Path, PathBuf};

use cuebase_storage::git::is_bundle;
use cuebase_storage::memory_file::Tier;
use cuebase_storage::memory_file::term_file::VOCABULARY_FOLDER;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What can be imported.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Format {
    /// A git bundle of a namespace's history.
    Bundle,
    /// A folder as a namespace has it: `facts/`, `incidents/`, `rules/`, `skills/`, `vocab/`.
    Markdown,
    /// A folder of anybody's markdown.
    Notes,
    /// Conversations as JSON Lines, each as `POST /v1/memories` takes it.
    Jsonl,
    /// ChatGPT's export of one's data, unpacked.
    Chatgpt,
    /// Claude's export of one's data, unpacked.
    Claude,
    /// Memories of mem0, as its `get_all` or its export gives them.
    Mem0,
    /// A memory repository of a Letta agent.
    Letta,
}

impl Format {
    /// Every format, with what it is for people.
    pub const ALL: [(Self, &'static str); 8] = [
        (Self::Bundle, "bundle"),
        (Self::Markdown, "markdown"),
        (Self::Notes, "notes"),
        (Self::Jsonl, "jsonl"),
        (Self::Chatgpt, "chatgpt"),
        (Self::Claude, "claude"),
        (Self::Mem0, "mem0"),
        (Self::Letta, "letta"),
    ];

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        Self::ALL.into_iter().find(|(format, _)| *format == self).map_or("", |(_, name)| name)
    }
}

/// What something is; an error says what it is not.
pub(super) fn of(from: &Path) -> Result<Format, String> {
    let kind = fs::metadata(from).map_err(|error| error.to_string())?;
    if kind.is_dir() {
        return of_folder(from);
    }
    if is_bundle(from) {
        return Ok(Format::Bundle);
    }
    match from.extension().and_then(|extension| extension.to_str()) {
        Some("jsonl" | "ndjson") => Ok(Format::Jsonl),
        Some("json") => of_json(from),
        Some("zip") => Err("unpack it first: what is inside can be imported".into()),
        _ => {
            Err("it is neither a git bundle, nor a folder, nor a .jsonl or .json file; --format says what it is".into())
        }
    }
}

fn of_folder(from: &Path) -> Result<Format, String> {
    if let Some(first) = archive_files(from)?.first() {
        return of_json(first);
    }
    let mut markdown = false;
    let has_markdown = |folder: PathBuf| {
        let mut entries = fs::read_dir(folder).into_iter().flatten().flatten();
        entries.any(|entry| entry.path().extension().is_some_and(|extension| extension == "md"))
    };
    // An agent's `system/` is always in its context; nothing of ours has that name.
    if has_markdown(from.join("system")) {
        return Ok(Format::Letta);
    }
    let ours = Tier::ALL.iter().map(|tier| tier.name()).chain([VOCABULARY_FOLDER]);
    for folder in ours {
        markdown |= from.join(folder).is_dir();
    }
    Ok(if markdown { Format::Markdown } else { Format::Notes })
}

/// The files of conversations in a folder that an archive was unpacked into, by name; a large archive has several.
pub(super) fn archive_files(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let entries = fs::read_dir(folder).map_err(|error| error.to_string())?;
    let named = |path: &PathBuf| {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        name.starts_with("conversations") && name.ends_with(".json")
    };
    let mut found: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).filter(named).collect();
    found.sort();
    Ok(found)
}

/// By the first entry of an array, or of the array in an object.
fn of_json(file: &Path) -> Result<Format, String> {
    let bytes = fs::read(file).map_err(|error| error.to_string())?;
    let first = first_entry(&bytes).map_err(|error| error.to_string())?;
    let has = |name: &str| first.as_ref().is_some_and(|entry| entry.get(name).is_some());
    if has("mapping") {
        Ok(Format::Chatgpt)
    } else if has("chat_messages") {
        Ok(Format::Claude)
    } else if has("memory") {
        Ok(Format::Mem0)
    } else {
        Err("it holds neither ChatGPT's nor Claude's conversations nor mem0's memories".into())
    }
}

/// The first entry alone where the whole is an array: an archive may be much larger than what is kept of it.
fn first_entry(bytes: &[u8]) -> serde_json::Result<Option<Value>> {
    if let Some(entries) = bytes.trim_ascii_start().strip_prefix(b"[") {
        if entries.trim_ascii_start().starts_with(b"]") {
            return Ok(None);
        }
        return serde_json::Deserializer::from_slice(entries).into_iter().next().transpose();
    }
    let whole: Value = serde_json::from_slice(bytes)?;
    let entries = ["results", "memories"].iter().find_map(|name| whole.get(*name)?.as_array());
    Ok(entries.and_then(|entries| entries.first().cloned()))
}
