//! The formats of an import, and their detection from the name and the content of a file or folder.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use cuebase_storage::git::is_bundle;
use cuebase_storage::memory_file::Tier;
use cuebase_storage::memory_file::term_file::VOCABULARY_FOLDER;
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::json_file::not_json;
use super::rule_files;
use crate::documents::kind::DocumentKind;

/// The format of an import.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Format {
    /// A git bundle of a namespace's history.
    Bundle,
    /// A folder with the layout of a namespace: `facts/`, `incidents/`, `rules/`, `skills/`, `vocab/`.
    Markdown,
    /// Any other folder of markdown, such as a vault of Obsidian.
    Notes,
    /// Rules for agents: `CLAUDE.md`, memories of Claude Code, rules of Cursor.
    Rules,
    /// Files as documents: PDF, DOCX, HTML, Markdown, plain text, source code.
    Documents,
    /// Conversations as JSON Lines; each line is a body of `POST /v1/memories`.
    Jsonl,
    /// An unpacked export of ChatGPT.
    Chatgpt,
    /// An unpacked export of Claude.
    Claude,
    /// Memories of mem0, as its `get_all` and its servers return them.
    Mem0,
    /// Facts, messages and episodes of Zep or Graphiti.
    Zep,
    /// The memories of a Hindsight bank.
    Hindsight,
    /// The memory repository of a Letta agent.
    Letta,
}

impl Format {
    /// All formats.
    pub const ALL: [Self; 12] = [
        Self::Bundle,
        Self::Markdown,
        Self::Notes,
        Self::Rules,
        Self::Documents,
        Self::Jsonl,
        Self::Chatgpt,
        Self::Claude,
        Self::Mem0,
        Self::Zep,
        Self::Hindsight,
        Self::Letta,
    ];

    /// Returns the name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Bundle => "bundle",
            Self::Markdown => "markdown",
            Self::Notes => "notes",
            Self::Rules => "rules",
            Self::Documents => "documents",
            Self::Jsonl => "jsonl",
            Self::Chatgpt => "chatgpt",
            Self::Claude => "claude",
            Self::Mem0 => "mem0",
            Self::Zep => "zep",
            Self::Hindsight => "hindsight",
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
    if rule_files::is_rule_file(from.file_name().and_then(OsStr::to_str).unwrap_or_default()) {
        return Ok(Format::Rules);
    }
    match from.extension().and_then(|extension| extension.to_str()) {
        Some("jsonl" | "ndjson") => Ok(Format::Jsonl),
        Some("json") => detect_json(from),
        Some("zip") => Err("a zip archive cannot be imported: unpack it and import the folder".into()),
        _ if DocumentKind::of_name(&from.to_string_lossy()).is_some() => Ok(Format::Documents),
        _ => {
            Err("unknown format: neither a git bundle, a folder, a .jsonl or .json file, nor a document; set it with \
                 --format"
                .into())
        }
    }
}

fn detect_folder(from: &Path) -> Result<Format, String> {
    if let Some(first) = archive_files(from)?.first() {
        return detect_json(first);
    }
    // A vault and a folder of rules may have folders with the names of tiers.
    if from.join(".obsidian").is_dir() {
        return Ok(Format::Notes);
    }
    if rule_files::is_part_of_project(from) {
        return Ok(Format::Rules);
    }
    // Letta keeps what is always in an agent's context in `system/`. Cuebase has no folder of that name.
    if has_markdown(&from.join("system")) {
        return Ok(Format::Letta);
    }
    let has_tier = Tier::ALL.iter().any(|tier| from.join(tier.name()).is_dir());
    if has_tier || from.join(VOCABULARY_FOLDER).is_dir() {
        return Ok(Format::Markdown);
    }
    if rule_files::has_rules(from) { Ok(Format::Rules) } else { Ok(Format::Notes) }
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
        let is_file = fs::metadata(entry.path()).is_ok_and(|kind| kind.is_file());
        if is_file && name.starts_with("conversations") && name.ends_with(".json") {
            files.push(entry.path());
        }
    }
    files.sort();
    Ok(files)
}

/// The fields of an entry that tell its format. All fields of a rule must be there.
const ENTRY_FIELDS: [(&[&str], Format); 6] = [
    (&["mapping"], Format::Chatgpt),
    (&["chat_messages"], Format::Claude),
    (&["memory"], Format::Mem0),
    (&["text", "fact_type"], Format::Hindsight),
    (&["uuid", "fact"], Format::Zep),
    (&["uuid", "content"], Format::Zep),
];
/// The fields of an object that contain the entries.
const LISTS: [&str; 7] = ["results", "memories", "items", "edges", "facts", "episodes", "messages"];

/// Detects the format by the fields of the first entry, in an array or in an object with an array.
fn detect_json(file: &Path) -> Result<Format, String> {
    let bytes = fs::read(file).map_err(|error| error.to_string())?;
    let first = first_entry(&bytes)?;
    if let Some(entry) = first {
        for (fields, format) in ENTRY_FIELDS {
            if fields.iter().all(|field| entry.get(*field).is_some()) {
                return Ok(format);
            }
        }
    }
    Err("unknown JSON: neither conversations of ChatGPT or Claude, nor memories of mem0, Zep, Graphiti or Hindsight; \
         set it with --format"
        .into())
}

/// Returns the first entry. Of an array only that entry is parsed: an archive can be very large.
fn first_entry(bytes: &[u8]) -> Result<Option<Value>, String> {
    if let Some(entries) = bytes.trim_ascii_start().strip_prefix(b"[") {
        if entries.trim_ascii_start().starts_with(b"]") {
            return Ok(None);
        }
        return match serde_json::Deserializer::from_slice(entries).into_iter().next() {
            None => Ok(None),
            Some(Ok(first)) => Ok(Some(first)),
            Some(Err(error)) => {
                // The same error with its place in the whole file.
                let error = serde_json::from_slice::<IgnoredAny>(bytes).err().unwrap_or(error);
                Err(not_json(bytes, &error))
            }
        };
    }
    // Several objects may follow each other, such as the pages of a list, of which the first may be empty.
    for whole in serde_json::Deserializer::from_slice(bytes).into_iter::<Value>() {
        let whole = whole.map_err(|error| not_json(bytes, &error))?;
        for name in LISTS {
            let entries = whole.get(name).and_then(Value::as_array);
            if let Some(entry) = entries.and_then(|entries| entries.first()) {
                return Ok(Some(entry.clone()));
            }
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn detected(name: &str, content: &str) -> Result<Format, String> {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join(name);
        fs::write(&file, content).expect("writes");
        detect(&file)
    }

    #[test]
    fn files_are_detected_by_their_entries_or_names() {
        for (name, content, format) in [
            ("a.json", r#"[{"id": "1", "memory": "x"}]"#, Format::Mem0),
            ("a.json", r#"{"count": 1, "results": [{"id": "1", "memory": "x"}]}"#, Format::Mem0),
            ("a.json", r#"{"items": [{"id": "1", "text": "x", "fact_type": "world"}], "total": 1}"#, Format::Hindsight),
            ("a.json", r#"[{"uuid": "1", "fact": "x", "name": "KNOWS"}]"#, Format::Zep),
            ("a.json", r#"{"nodes": [{"uuid": "1"}], "edges": [{"uuid": "1", "fact": "x"}]}"#, Format::Zep),
            ("a.json", r#"{"messages": [{"uuid": "1", "content": "x", "role": "user"}], "row_count": 1}"#, Format::Zep),
            ("a.json", r#"{"episodes": []} {"episodes": [{"uuid": "1", "content": "x"}]}"#, Format::Zep),
            ("CLAUDE.md", "# Tests", Format::Rules),
            (".cursorrules", "Use tabs.", Format::Rules),
            ("notes.md", "# Note", Format::Documents),
            ("report.PDF", "%PDF-", Format::Documents),
            ("api.mdc", "---\nglobs: *.ts\n---\n", Format::Rules),
        ] {
            assert_eq!(detected(name, content), Ok(format), "{name}: {content}");
        }
        // A body of `POST /v1/memories` is not an export of Zep.
        let body = r#"{"messages": [{"role": "user", "content": "x"}]}"#;
        assert!(detected("a.json", body).is_err_and(|error| error.contains("--format")));
        assert!(detected("notes", "# Note").is_err());
    }

    #[test]
    fn folders_are_detected_by_what_they_hold() {
        for (paths, format) in [
            (vec!["a.md"], Format::Notes),
            (vec![".obsidian/app.json", "skills/a.md", "CLAUDE.md"], Format::Notes),
            (vec!["facts/a.md", "CLAUDE.md"], Format::Markdown),
            (vec!["CLAUDE.md", "README.md"], Format::Rules),
            (vec![".cursor/rules/a.mdc"], Format::Rules),
            (vec!["MEMORY.md", "debugging.md"], Format::Rules),
            (vec!["system/a.md"], Format::Letta),
        ] {
            let folder = tempfile::tempdir().expect("a folder");
            for path in &paths {
                let file = folder.path().join(path);
                fs::create_dir_all(file.parent().expect("a parent")).expect("creates");
                fs::write(file, "x").expect("writes");
            }
            assert_eq!(detect(folder.path()), Ok(format), "{paths:?}");
        }
        let folder = tempfile::tempdir().expect("a folder");
        let claude = folder.path().join(".claude");
        fs::create_dir_all(claude.join("skills")).expect("creates");
        assert_eq!(detect(&claude), Ok(Format::Rules));
    }
}
