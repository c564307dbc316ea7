//! Import of markdown from other programs: the memory repository of a Letta agent, or any folder of notes.
//!
//! A file keeps its path below `facts/`, in characters that a path may have. Its front matter may be any YAML: tags, a
//! description and aliases are used, other fields are kept unchanged.

use std::path::Path;

use cuebase_storage::memory_file::path::SEGMENTS_MAX;
use cuebase_storage::memory_file::{FrontMatter, MemoryFile, MemoryPath, Metadata};
use serde_json::{Map, Value};

use super::context::{Import, ImportReport};
use super::files;
use crate::error::Result;
use crate::ingest::edited;
use crate::memory::cues::of_markdown;
use crate::memory::file_names::slug;
use crate::memory::metadata;
use crate::namespace::plan::Content;
use crate::secrets::fingerprint;

/// Characters of the hash that is added to a changed name.
const HASH_CHARS: usize = 6;

/// Imports the memory repository of a Letta agent. Files in `skills/` become skills.
pub(super) fn import_letta(import: &Import<'_>) -> Result<ImportReport> {
    import_folder(import, letta_path)
}

/// Imports any folder of notes.
pub(super) fn import_notes(import: &Import<'_>) -> Result<ImportReport> {
    import_folder(import, note_path)
}

fn letta_path(path: &str) -> String {
    match path.strip_prefix("skills/") {
        Some(below) => memory_path("skills", below),
        None => memory_path("facts", path),
    }
}

fn note_path(path: &str) -> String {
    memory_path("facts", path)
}

fn import_folder(import: &Import<'_>, target_path: fn(&str) -> String) -> Result<ImportReport> {
    let (mut contents, mut problems, mut other) = (Vec::new(), Vec::new(), 0);
    for path in files::list(import.from)? {
        if !path.ends_with(".md") {
            other += 1;
            continue;
        }
        let target = target_path(&path);
        match read_note(import.from, &path, &target) {
            Ok(content) => contents.push((target, content)),
            Err(error) => problems.push(format!("{path}: {error}")),
        }
    }
    import.ensure_no_problems(&problems)?;
    let written = files::write(import, &contents)?;
    Ok(ImportReport { other, ..written })
}

/// Reads a note as the content of a memory at the target path.
fn read_note(folder: &Path, path: &str, target: &str) -> Result<Content, String> {
    let file = note(path, &files::read(folder, path)?)?;
    let text = file.render().map_err(|error| error.to_string())?;
    edited::parse(target, text.as_bytes())
}

/// Returns the path of the memory for a file: its own path below a tier, if a memory can have it.
///
/// Otherwise returns a simplified path with a hash, so that two files with the same simplified path stay separate.
fn memory_path(tier: &str, path: &str) -> String {
    let own = format!("{tier}/{path}");
    if own.parse::<MemoryPath>().is_ok() {
        return own;
    }
    let stem = path.strip_suffix(".md").unwrap_or(path);
    let mut segments: Vec<String> = stem.split('/').map(|segment| slug(segment, "note")).collect();
    let last = segments.pop().unwrap_or_default();
    let hash = data_encoding::HEXLOWER.encode(&fingerprint(&[path.as_bytes()]));
    let name = format!("{last}-{}.md", &hash[..HASH_CHARS]);
    // A path that is too deep or too long loses its last folders.
    segments.truncate(SEGMENTS_MAX.saturating_sub(1));
    loop {
        let mut simplified = format!("{tier}/");
        for segment in &segments {
            simplified.push_str(segment);
            simplified.push('/');
        }
        simplified.push_str(&name);
        if simplified.parse::<MemoryPath>().is_ok() || segments.pop().is_none() {
            return simplified;
        }
    }
}

/// Converts a markdown file with any front matter to a memory.
fn note(path: &str, bytes: &[u8]) -> Result<MemoryFile, String> {
    let (mut fields, body) = MemoryFile::parse_untyped(bytes).map_err(|error| error.to_string())?;
    let mut tags = Vec::new();
    for word in text_list(fields.remove("tags").as_ref()) {
        let tag = slug(&word, "");
        if !tag.is_empty() {
            tags.push(tag);
        }
    }
    tags.sort();
    tags.dedup();
    let mut cues = text_list(fields.remove("aliases").as_ref());
    let name = text(fields.remove("name"));
    let description = text(fields.remove("description"));
    cues.extend(description.clone());
    let stem = path.rsplit('/').next().unwrap_or(path).trim_end_matches(".md");
    let has_title = body.lines().any(|line| line.starts_with("# "));
    let body = if has_title { body } else { format!("# {stem}\n\n{body}") };
    if !cues.is_empty() {
        // A memory with explicit cues has no cues of its text, so they are added here.
        cues.extend(of_markdown(&body));
    }
    let mut other = Map::new();
    let metadata = match fields.remove("metadata") {
        Some(Value::Object(object)) => {
            let (metadata, rest) = metadata::split(object);
            if !rest.is_empty() {
                other.insert("note_metadata".into(), Value::Object(rest));
            }
            metadata
        }
        Some(value) => {
            other.insert("note_metadata".into(), value);
            Metadata::new()
        }
        None => Metadata::new(),
    };
    for (key, value) in fields {
        // Another program may give the field another meaning.
        let key = if is_ours(&key) { format!("note_{key}") } else { key };
        other.insert(key, value);
    }
    let front = FrontMatter { name, description, tags, cues, metadata, other, ..FrontMatter::default() };
    Ok(MemoryFile { front, body })
}

/// Returns a value that is a text.
fn text(value: Option<Value>) -> Option<String> {
    match value {
        Some(Value::String(text)) => Some(text),
        _ => None,
    }
}

/// Returns whether the key has a meaning in the front matter of a memory.
fn is_ours(key: &str) -> bool {
    const OURS: [&str; 18] = [
        "confidence",
        "inferred_tags",
        "cues",
        "entities",
        "speaker",
        "created_at",
        "updated_at",
        "occurred_at",
        "occurred_precision",
        "occurred_source",
        "occurred_until",
        "expires_at",
        "valid_from",
        "valid_until",
        "supersedes",
        "claims",
        "sources",
        "relations",
    ];
    OURS.contains(&key)
}

/// Returns the texts of a list, or of a text with commas between them.
fn text_list(value: Option<&Value>) -> Vec<String> {
    let mut texts = Vec::new();
    match value {
        Some(Value::Array(values)) => texts.extend(values.iter().filter_map(Value::as_str)),
        Some(Value::String(text)) => texts.extend(text.split(',')),
        _ => {}
    }
    let mut list = Vec::new();
    for text in texts {
        let text = text.trim();
        if !text.is_empty() {
            list.push(text.to_owned());
        }
    }
    list
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_paths_are_valid_and_distinct() {
        assert_eq!(memory_path("facts", "projects/bees.md"), "facts/projects/bees.md");
        let spaced = memory_path("facts", "My projects/Bees & wasps.md");
        assert!(spaced.starts_with("facts/my-projects/bees-wasps-"), "{spaced}");
        assert_ne!(spaced, memory_path("facts", "My projects/Bees + wasps.md"));
        for hard in
            ["日本/語.md", "1/2/3/4/5/6/7/8/9/10.md", &format!("{}/a b.md", ["x".repeat(80).as_str(); 9].join("/"))]
        {
            assert!(memory_path("facts", hard).parse::<MemoryPath>().is_ok(), "{hard}");
        }
    }

    #[test]
    fn foreign_front_matter_is_used_or_kept() {
        let text = "---\ntags: 'Hobby, #pets'\naliases: [the hives]\ndescription: What Ann keeps.\ncreated_at: Tuesday\nlimit: 5\nmetadata: {hives: 3, kinds: [a]}\n---\nThree hives.\n";
        let file = note("system/human.md", text.as_bytes()).expect("read");
        assert_eq!(file.front.tags, ["hobby", "pets"]);
        assert!(
            file.front.cues.contains(&"the hives".to_owned())
                && file.front.cues.contains(&"What Ann keeps.".to_owned())
        );
        assert_eq!(
            (file.front.other["note_created_at"].as_str(), file.front.other["limit"].as_i64()),
            (Some("Tuesday"), Some(5))
        );
        assert_eq!(serde_json::json!(file.front.metadata), serde_json::json!({"hives": 3}));
        assert_eq!(file.front.other["note_metadata"], serde_json::json!({"kinds": ["a"]}));
        assert_eq!(file.body, "# human\n\nThree hives.\n");
        assert!(note("a.md", b"---\n- list\n---\n").is_err());
    }
}
