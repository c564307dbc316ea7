//! Memories of mem0, as `get_all` answers and as its export writes them: facts already, so each becomes a file.
//!
//! A memory's path is made of what mem0 knows it by and not of its text, so that the next import finds it where this one
//! has put it, whatever it says by then.

use std::collections::BTreeMap;

use cuebase_storage::memory_file::{FrontMatter, MemoryFile, OccurredPrecision, OccurredSource};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::{Import, Report, files};
use crate::error::Result;
use crate::ingest::edited;
use crate::memory::file_names::slug;
use crate::secrets::fingerprint;

/// Characters of the mark that stands for an id which is no plain name.
const MARK_CHARS: usize = 16;

#[derive(Deserialize)]
#[serde(untagged)]
enum Export {
    Plain(Vec<Value>),
    Results { results: Vec<Value> },
    Memories { memories: Vec<Value> },
}

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

pub(super) fn import(import: &Import<'_>) -> Result<Report> {
    let (read, other) = read(&std::fs::read(import.from)?).map_err(|reason| import.wrong(&reason))?;
    let (mut contents, mut wrong) = (BTreeMap::new(), Vec::new());
    for (path, file) in read {
        // As it would be read back from git.
        let rendered = file.render()?;
        match edited::parse(&path, rendered.as_bytes()) {
            // Of one that stands there twice the last counts.
            Ok(content) => drop(contents.insert(path, content)),
            Err(reason) => wrong.push(format!("{path}: {reason}")),
        }
    }
    import.problems(&wrong)?;
    let written = files::write(import, contents.into_iter().collect())?;
    Ok(Report { other, ..written })
}

/// The memories as files, and how many of them say nothing.
fn read(bytes: &[u8]) -> Result<(Vec<(String, MemoryFile)>, u64), String> {
    let entries = match serde_json::from_slice(bytes).map_err(|error| error.to_string())? {
        Export::Plain(entries) | Export::Results { results: entries } | Export::Memories { memories: entries } => {
            entries
        }
    };
    let (mut read, mut empty) = (Vec::new(), 0);
    for (number, entry) in entries.into_iter().enumerate() {
        let fact: Fact = serde_json::from_value(entry).map_err(|error| format!("memory {number}: {error}"))?;
        if fact.memory.trim().is_empty() {
            empty += 1;
            continue;
        }
        read.push((fact.path(), fact.file()));
    }
    Ok((read, empty))
}

impl Fact {
    /// `facts/whose/month/mem0-id.md`
    fn path(&self) -> String {
        let whose = self.user_id.as_deref().or(self.agent_id.as_deref()).unwrap_or("mem0");
        let month = self.created_at.map(|at| at.to_zoned(TimeZone::UTC).strftime("%Y-%m").to_string());
        let month = month.unwrap_or_else(|| "undated".into());
        let mut id = slug(&self.id, "");
        if id != self.id {
            id = data_encoding::HEXLOWER.encode(&fingerprint(&[self.id.as_bytes()]));
            id.truncate(MARK_CHARS);
        }
        format!("facts/{}/{month}/mem0-{id}.md", slug(whose, "mem0"))
    }

    fn file(&self) -> MemoryFile {
        let mut other = Map::new();
        other.insert("imported_from".into(), format!("mem0:{}", self.id).into());
        if let Some(metadata) = self.metadata.clone().filter(|metadata| !metadata.is_empty()) {
            other.insert("metadata".into(), Value::Object(metadata));
        }
        let mut tags: Vec<String> = self.categories.iter().flatten().map(|tag| slug(tag, "")).collect();
        tags.retain(|tag| !tag.is_empty());
        tags.sort();
        tags.dedup();
        let front = FrontMatter {
            tags,
            created_at: self.created_at,
            updated_at: self.updated_at.or(self.created_at),
            occurred_at: self.created_at,
            occurred_precision: self.created_at.map(|_| OccurredPrecision::Instant),
            occurred_source: self.created_at.map(|_| OccurredSource::Written),
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
    fn every_shape_of_export_gives_the_same_files() {
        let fact = json!({"id": "8f3a2b1c-0000-4000-8000-000000000001", "memory": "Keeps three hives", "user_id": "Ann B",
            "categories": ["Hobbies & pets"], "metadata": {"type": "hobby"}, "hash": "x", "score": null,
            "created_at": "2026-02-14T10:04:22.123456-08:00", "updated_at": null});
        let plain = read(json!([fact]).to_string().as_bytes()).expect("read");
        let results =
            read(json!({"results": [fact, {"id": "2", "memory": " "}]}).to_string().as_bytes()).expect("read");
        assert_eq!(plain.0, results.0);
        assert_eq!((plain.1, results.1), (0, 1));
        let (path, file) = &plain.0[0];
        assert_eq!(path, "facts/ann-b/2026-02/mem0-8f3a2b1c-0000-4000-8000-000000000001.md");
        assert_eq!(
            (file.body.as_str(), file.front.tags.as_slice()),
            ("# Keeps three hives\n", &["hobbies-pets".to_owned()][..])
        );
        assert!(read(br#"[{"id": 7}]"#).is_err_and(|error| error.contains("memory 0")));
    }
}
