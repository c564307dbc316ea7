//! Import of the memories of a Hindsight bank. Each memory unit becomes a file.
//!
//! The format is that of `GET /v1/default/banks/{bank_id}/memories/list` of Hindsight 1.1: a page `{"items", "total",
//! "limit", "offset"}`. A file may have several pages one after the other. Invalidated units are listed with
//! `?state=invalidated`.

use std::collections::HashMap;

use cuebase_storage::memory_file::{FrontMatter, MemoryFile, OccurredSource, Relation, RelationKind, Tier};
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::context::{Import, ImportReport};
use super::facts::{self, FactPlace};
use super::{files, json_file};
use crate::error::Result;
use crate::memory::conversation::Moment;

/// The kind of the relation from an observation to the facts that it was made from.
const CONSOLIDATES: &str = "consolidates";

/// A memory unit.
#[derive(Debug, Deserialize)]
struct Unit {
    id: String,
    text: String,
    /// `world`, `experience` or `observation`; `opinion` in earlier versions.
    #[serde(default)]
    fact_type: Option<String>,
    #[serde(default)]
    context: Option<String>,
    #[serde(default)]
    document_id: Option<String>,
    #[serde(default)]
    occurred_end: Option<String>,
    #[serde(default)]
    invalidation_reason: Option<String>,
    /// Names with commas between them.
    #[serde(default)]
    entities: Option<String>,
    #[serde(default)]
    tags: Option<Vec<String>>,
    #[serde(default)]
    metadata: Option<Map<String, Value>>,
    /// The units that an observation was made from.
    #[serde(default)]
    source_memory_ids: Option<Vec<String>>,
}

/// The times of a memory unit.
#[derive(Debug, Deserialize)]
struct UnitTimes {
    /// The time of the event, as far as it is known.
    #[serde(default)]
    date: Option<String>,
    #[serde(default)]
    mentioned_at: Option<String>,
    #[serde(default)]
    occurred_start: Option<String>,
    /// `valid` or `invalidated`.
    #[serde(default)]
    state: Option<String>,
    #[serde(default)]
    invalidated_at: Option<String>,
    #[serde(default)]
    updated_at: Option<String>,
}

/// The times of a memory unit, checked.
#[derive(Debug, Default)]
struct Times {
    mentioned: Option<Moment>,
    occurred: Option<Moment>,
    event: Option<Moment>,
    updated: Option<Moment>,
    invalidated: Option<Moment>,
}

/// The memory units of a file.
#[derive(Debug, Default)]
struct Units {
    units: Vec<(Unit, UnitTimes)>,
    /// Number of units without text.
    empty: u64,
    problems: Vec<String>,
    warnings: Vec<String>,
}

pub(super) fn import(import: &Import<'_>) -> Result<ImportReport> {
    let values = json_file::read(import.from).map_err(|reason| import.invalid(&reason))?;
    let mut units = read(values);
    let checked = facts::check(units.files(), &mut units.problems);
    import.ensure_no_problems(&units.problems)?;
    let written = files::write(import, &checked)?;
    Ok(ImportReport { other: units.empty, warnings: units.warnings, ..written })
}

fn read(values: Vec<Value>) -> Units {
    let mut units = Units::default();
    let mut number = 0;
    let mut all: Option<u64> = None;
    for value in values {
        let Some(page) = json_file::page(value, &["items"]) else {
            units
                .problems
                .push("no list of memory units: expected an array, or an object with the array `items`".into());
            continue;
        };
        all = all.max(page.fields.get("total").and_then(Value::as_u64));
        for entry in &page.entries {
            if let Err(error) = units.add(entry) {
                units.problems.push(format!("memory unit {number}: {error}"));
            }
            number += 1;
        }
    }
    let remedy = "append the pages with a larger offset to the file, or import them one by one";
    units.warnings.extend(json_file::missing_entries(number, all, "memory units", remedy));
    units
}

impl Units {
    fn add(&mut self, entry: &Value) -> Result<(), String> {
        let unit: Unit = json_file::decode(entry)?;
        if unit.text.trim().is_empty() {
            self.empty += 1;
            return Ok(());
        }
        self.units.push((unit, json_file::decode(entry)?));
        Ok(())
    }

    /// Returns the files of the units with their paths. Observations are related to the facts that they were made from.
    fn files(&mut self) -> Vec<(String, MemoryFile)> {
        let mut made = Vec::new();
        let mut paths = HashMap::new();
        for (unit, times) in &self.units {
            match times.checked() {
                Ok(times) => {
                    let (path, file) = unit.file(&times);
                    paths.insert(unit.id.clone(), path.clone());
                    made.push((unit, path, file));
                }
                Err(error) => self.problems.push(format!("memory unit {}: {error}", unit.id)),
            }
        }
        let mut files = Vec::new();
        for (unit, path, mut file) in made {
            for source in unit.source_memory_ids.iter().flatten() {
                if let Some(source_path) = paths.get(source) {
                    let kind = RelationKind::Other(CONSOLIDATES.to_owned());
                    file.front.relations.push(Relation { path: source_path.clone(), kind, snippet: String::new() });
                }
            }
            files.push((path, file));
        }
        files
    }
}

impl UnitTimes {
    fn checked(&self) -> Result<Times, String> {
        let mut times = Times {
            mentioned: facts::moment("mentioned_at", self.mentioned_at.as_deref())?,
            occurred: facts::moment("occurred_start", self.occurred_start.as_deref())?,
            event: facts::moment("date", self.date.as_deref())?,
            updated: facts::moment("updated_at", self.updated_at.as_deref())?,
            invalidated: None,
        };
        if self.state.as_deref() == Some("invalidated") {
            times.invalidated = facts::moment("invalidated_at", self.invalidated_at.as_deref())?;
            if times.invalidated.is_none() {
                return Err("the unit is invalidated, but invalidated_at is missing".into());
            }
        }
        Ok(times)
    }
}

impl Times {
    /// Returns the time in the path. It is that of the mention, which an edit does not change.
    fn of_path(&self) -> Option<Timestamp> {
        self.mentioned.or(self.event).map(|moment| moment.at)
    }

    fn set(&self, front: &mut FrontMatter) {
        front.created_at = self.mentioned.map(|moment| moment.at);
        front.updated_at = self.updated.map(|moment| moment.at).or(front.created_at);
        match (self.occurred, self.mentioned, self.event) {
            (Some(occurred), _, _) => facts::set_occurred(front, occurred, OccurredSource::Extracted),
            (None, Some(mentioned), _) => facts::set_occurred(front, mentioned, OccurredSource::Said),
            (None, None, Some(event)) => facts::set_occurred(front, event, OccurredSource::Extracted),
            (None, None, None) => {}
        }
        facts::set_validity(front, None, self.invalidated);
    }
}

impl Unit {
    /// Returns the path `TIER/hindsight/MONTH/hindsight-ID.md`, and the file. Experiences are incidents.
    fn file(&self, times: &Times) -> (String, MemoryFile) {
        let kind = self.fact_type.as_deref().unwrap_or_default();
        let place = FactPlace {
            tier: if kind == "experience" { Tier::Incidents } else { Tier::Facts },
            owner: "",
            created_at: times.of_path(),
            product: "hindsight",
            id: &self.id,
        };
        let mut tags = self.tags.clone().unwrap_or_default();
        tags.push(kind.to_owned());
        let mut front = FrontMatter { tags: facts::tags(&tags), entities: self.entities(), ..FrontMatter::default() };
        times.set(&mut front);
        front.other.insert("imported_from".into(), place.origin());
        facts::set_metadata(&mut front, "hindsight_metadata", self.metadata());
        (place.path(), MemoryFile { front, body: facts::body(&self.text) })
    }

    fn entities(&self) -> Vec<String> {
        let mut entities: Vec<String> = Vec::new();
        for name in self.entities.as_deref().unwrap_or_default().split(',') {
            let name = name.trim();
            if !name.is_empty() && !entities.iter().any(|entity| entity == name) {
                entities.push(name.to_owned());
            }
        }
        entities
    }

    /// Returns the unit's own metadata, with what Hindsight keeps beyond tags and times.
    fn metadata(&self) -> Map<String, Value> {
        let mut metadata = self.metadata.clone().unwrap_or_default();
        let texts = [
            ("context", &self.context),
            ("document_id", &self.document_id),
            ("occurred_end", &self.occurred_end),
            ("invalidation_reason", &self.invalidation_reason),
        ];
        for (key, text) in texts {
            let text = text.as_deref().unwrap_or_default();
            if !text.is_empty() {
                metadata.entry(key).or_insert_with(|| Value::from(text));
            }
        }
        metadata
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// A row as `list_memory_units` of Hindsight 1.1.0 builds it.
    fn row(id: &str, kind: &str, text: &str) -> Value {
        json!({"id": id, "text": text, "context": "sailing", "date": "2026-03-01T09:00:00+00:00", "fact_type": kind,
            "document_id": "chat-1", "mentioned_at": "2026-03-01T09:00:00+00:00", "occurred_start": null,
            "occurred_end": null, "entities": "Ida, Kittiwake, Ida", "chunk_id": null, "proof_count": 1,
            "tags": ["Boats"], "metadata": {"source": "chat"}, "consolidated_at": null,
            "consolidation_failed_at": null, "state": "valid", "invalidation_reason": null, "invalidated_at": null,
            "edited_at": null, "updated_at": "2026-03-02T00:00:00+00:00", "source_memory_ids": []})
    }

    fn page(rows: &Value, total: u64) -> Value {
        json!({"items": rows, "total": total, "limit": 100, "offset": 0})
    }

    #[test]
    fn units_become_files_of_their_tier() {
        let mut event = row("u1", "experience", "I moored the Kittiwake in Oban");
        event["occurred_start"] = json!("2026-02-14T00:00:00+00:00");
        let mut observation = row("u2", "observation", "Ida likes harbours");
        observation["source_memory_ids"] = json!(["u1", "elsewhere"]);
        let mut units = read(vec![page(&json!([observation, event, row("u3", "world", " ")]), 3)]);
        let files = units.files();
        assert!(units.problems.is_empty() && units.warnings.is_empty(), "{:?}", units.problems);
        assert_eq!(units.empty, 1);
        let (path, file) = &files[0];
        assert_eq!(path, "facts/hindsight/2026-03/hindsight-u2.md");
        assert_eq!(file.front.relations[0].path, "incidents/hindsight/2026-03/hindsight-u1.md");
        assert_eq!(file.front.relations.len(), 1);
        assert_eq!(file.front.occurred_source, Some(OccurredSource::Said));
        let (path, file) = &files[1];
        assert_eq!(path, "incidents/hindsight/2026-03/hindsight-u1.md");
        assert_eq!(file.body, "# I moored the Kittiwake in Oban\n");
        assert_eq!(file.front.entities, ["Ida", "Kittiwake"]);
        assert_eq!(file.front.tags, ["boats", "experience"]);
        assert_eq!(file.front.occurred_at.expect("a time").to_string(), "2026-02-14T00:00:00Z");
        let metadata = json!({"context": "sailing", "document_id": "chat-1", "source": "chat"});
        assert_eq!(json!(file.front.metadata), metadata);
    }

    #[test]
    fn invalidated_units_no_longer_hold() {
        let mut old = row("u1", "world", "Ida lives in Oban");
        old["state"] = json!("invalidated");
        let mut units = read(vec![page(&json!([old]), 1)]);
        assert!(units.files().is_empty());
        assert!(units.problems[0].contains("invalidated_at is missing"), "{:?}", units.problems);
        old["invalidated_at"] = json!("2026-04-01T00:00:00+00:00");
        let files = read(vec![page(&json!([old]), 1)]).files();
        assert_eq!(files[0].1.front.valid_until.expect("an end").to_string(), "2026-04-01T00:00:00Z");
    }

    #[test]
    fn problems_and_missing_pages_are_named() {
        let mut late = row("u1", "world", "x");
        late["mentioned_at"] = json!("soon");
        let mut units = read(vec![page(&json!([{"id": "u0"}, late]), 5), json!({"results": []})]);
        units.files();
        let problems = units.problems.join("\n");
        for part in ["memory unit 0: missing field `text`", "memory unit u1: mentioned_at: ", "the array `items`"] {
            assert!(problems.contains(part), "{part}: {problems}");
        }
        assert!(units.warnings[0].contains("2 of 5 memory units"), "{:?}", units.warnings);
    }
}
