//! Import of memories of mem0, in the form of its `get_all` or of its export. Each memory is a fact and becomes a file.
//!
//! The path of a file is derived from the id in mem0 and not from the text. The next import therefore finds the file
//! even if the text has changed.

use std::collections::BTreeMap;

use cuebase_storage::memory_file::{FrontMatter, MemoryFile, OccurredPrecision, OccurredSource};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::context::{Import, ImportReport};
use super::files;
use crate::error::Result;
use crate::ingest::edited;
use crate::memory::file_names::slug;
use crate::memory::metadata;
use crate::namespace::plan::Content;
use crate::secrets::fingerprint;

/// Characters of the hash that replaces an id that a file name cannot have.
const HASH_CHARS: usize = 16;

/// The forms in which mem0 returns memories.
#[derive(Deserialize)]
#[serde(untagged)]
enum Export {
    Plain(Vec<Value>),
    Results { results: Vec<Value> },
    Memories { memories: Vec<Value> },
}

/// A memory of mem0.
#[derive(Deserialize)]
struct Fact {
    id: String,
    memory: String,
    #[serde(default)]
    user_id: Option<String>,
    #[serde(default)]
    agent_id: Option<String>,
    #[serde(default)]
    categories: Option<Vec<String>>,
    #[serde(default)]
    metadata: Option<Map<String, Value>>,
    #[serde(default)]
    created_at: Option<Timestamp>,
    #[serde(default)]
    updated_at: Option<Timestamp>,
}

pub(super) fn import(import: &Import<'_>) -> Result<ImportReport> {
    let content = read(&std::fs::read(import.from)?).map_err(|reason| import.invalid(&reason))?;
    let (mut contents, mut problems) = (BTreeMap::new(), Vec::new());
    for (path, file) in content.files {
        // Rendered and read back, so that the content is checked like any other file.
        let rendered = file.render()?;
        match edited::parse(&path, rendered.as_bytes()) {
            // Of two memories with the same id the last one counts.
            Ok(content) => drop(contents.insert(path, content)),
            Err(reason) => problems.push(format!("{path}: {reason}")),
        }
    }
    import.ensure_no_problems(&problems)?;
    let files: Vec<(String, Content)> = contents.into_iter().collect();
    let written = files::write(import, &files)?;
    Ok(ImportReport { other: content.empty, ..written })
}

/// The memories of a file.
#[derive(Debug, Default)]
struct Mem0Content {
    /// Files by path.
    files: Vec<(String, MemoryFile)>,
    /// Number of memories without text.
    empty: u64,
}

fn read(bytes: &[u8]) -> Result<Mem0Content, String> {
    let entries = match serde_json::from_slice(bytes).map_err(|error| error.to_string())? {
        Export::Plain(entries) | Export::Results { results: entries } | Export::Memories { memories: entries } => {
            entries
        }
    };
    let mut content = Mem0Content::default();
    for (number, entry) in entries.into_iter().enumerate() {
        let fact: Fact = serde_json::from_value(entry).map_err(|error| format!("memory {number}: {error}"))?;
        if fact.memory.trim().is_empty() {
            content.empty += 1;
            continue;
        }
        content.files.push((fact.path(), fact.file()));
    }
    Ok(content)
}

impl Fact {
    /// Returns the path of the file: `facts/OWNER/MONTH/mem0-ID.md`.
    fn path(&self) -> String {
        let owner = self.user_id.as_deref().or(self.agent_id.as_deref()).unwrap_or("mem0");
        let month = match self.created_at {
            Some(at) => at.to_zoned(TimeZone::UTC).strftime("%Y-%m").to_string(),
            None => "undated".to_owned(),
        };
        let mut id = slug(&self.id, "");
        if id != self.id {
            id = data_encoding::HEXLOWER.encode(&fingerprint(&[self.id.as_bytes()]));
            id.truncate(HASH_CHARS);
        }
        format!("facts/{}/{month}/mem0-{id}.md", slug(owner, "mem0"))
    }

    fn file(&self) -> MemoryFile {
        let mut other = Map::new();
        other.insert("imported_from".into(), format!("mem0:{}", self.id).into());
        let (metadata, rest) = metadata::split(self.metadata.clone().unwrap_or_default());
        if !rest.is_empty() {
            other.insert("mem0_metadata".into(), Value::Object(rest));
        }
        let mut tags = Vec::new();
        for category in self.categories.iter().flatten() {
            let tag = slug(category, "");
            if !tag.is_empty() {
                tags.push(tag);
            }
        }
        tags.sort();
        tags.dedup();
        let front = FrontMatter {
            tags,
            created_at: self.created_at,
            updated_at: self.updated_at.or(self.created_at),
            occurred_at: self.created_at,
            occurred_precision: self.created_at.map(|_| OccurredPrecision::Instant),
            occurred_source: self.created_at.map(|_| OccurredSource::Written),
            metadata,
            other,
            ..FrontMatter::default()
        };
        MemoryFile { front, body: format!("# {}\n", self.memory.trim()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn all_forms_of_export_result_in_the_same_files() {
        let fact = json!({"id": "8f3a2b1c-0000-4000-8000-000000000001", "memory": "Keeps three hives", "user_id": "Ann B",
            "categories": ["Hobbies & pets"], "metadata": {"type": "hobby", "seen": [1]}, "hash": "x", "score": null,
            "created_at": "2026-02-14T10:04:22.123456-08:00", "updated_at": null});
        let plain = read(json!([fact]).to_string().as_bytes()).expect("read");
        let results =
            read(json!({"results": [fact, {"id": "2", "memory": " "}]}).to_string().as_bytes()).expect("read");
        assert_eq!(plain.files, results.files);
        assert_eq!((plain.empty, results.empty), (0, 1));
        let (path, file) = &plain.files[0];
        assert_eq!(path, "facts/ann-b/2026-02/mem0-8f3a2b1c-0000-4000-8000-000000000001.md");
        assert_eq!(
            (file.body.as_str(), file.front.tags.as_slice()),
            ("# Keeps three hives\n", &["hobbies-pets".to_owned()][..])
        );
        assert_eq!(json!(file.front.metadata), json!({"type": "hobby"}));
        assert_eq!(file.front.other["mem0_metadata"], json!({"seen": [1]}));
        assert!(read(br#"[{"id": 7}]"#).is_err_and(|error| error.contains("memory 0")));
    }
}
