//! Import of markdown from other programs: the memory repository of a Letta agent, or any folder of notes, such as a
//! vault of Obsidian.
//!
//! A file keeps its path below `facts/`, in characters that a path may have. Its front matter may be any YAML: tags, a
//! description, aliases and dates are used, other fields are kept unchanged. Tags in the text are used as well. Links
//! between notes become relations, see [`vault`](super::vault).

use std::collections::BTreeMap;
use std::path::Path;

use cuebase_storage::memory_file::path::SEGMENTS_MAX;
use cuebase_storage::memory_file::{FrontMatter, MemoryFile, MemoryPath, Metadata, OccurredSource};
use jiff::civil::Date;
use serde_json::{Map, Value};

use super::context::{Import, ImportReport};
use super::listing::list_files;
use super::vault::Vault;
use super::{facts, files, prose};
use crate::error::Result;
use crate::ingest::edited;
use crate::memory::conversation::Moment;
use crate::memory::cues::of_markdown;
use crate::memory::file_names::slug;
use crate::memory::metadata;
use crate::memory::time::TimeInput;
use crate::namespace::plan::Content;
use crate::secrets::fingerprint;

/// Characters of the hash that is added to a changed name.
const HASH_CHARS: usize = 6;
/// Characters of a day at the beginning of the name of a daily note.
const DAY_CHARS: usize = 10;
/// Most kinds of files that a warning names.
const KINDS_MAX: usize = 10;

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
    // Pairs of the path in the folder and the path of the memory.
    let mut notes = Vec::new();
    let mut skipped = Vec::new();
    for path in list_files(import.from)? {
        if path.ends_with(".md") {
            let target = target_path(&path);
            notes.push((path, target));
        } else {
            skipped.push(path);
        }
    }
    let vault = Vault::new(&notes);
    let (mut contents, mut problems) = (Vec::new(), Vec::new());
    for (path, target) in notes {
        match read_note(import.from, &vault, &path, &target) {
            Ok(content) => contents.push((target, content)),
            Err(error) => problems.push(format!("{path}: {error}")),
        }
    }
    import.ensure_no_problems(&problems)?;
    let written = files::write(import, &contents)?;
    let warnings = Vec::from_iter(skipped_files(&skipped));
    Ok(ImportReport { other: skipped.len() as u64, warnings, ..written })
}

/// Returns a warning with the kinds of the files that are not imported.
fn skipped_files(paths: &[String]) -> Option<String> {
    if paths.is_empty() {
        return None;
    }
    let mut kinds: BTreeMap<String, u64> = BTreeMap::new();
    for path in paths {
        let name = path.rsplit('/').next().unwrap_or(path);
        let kind = match name.rsplit_once('.') {
            Some((_, ending)) => ending.to_lowercase(),
            None => "without an ending".to_owned(),
        };
        *kinds.entry(kind).or_default() += 1;
    }
    let mut parts = Vec::new();
    for (kind, count) in kinds.iter().take(KINDS_MAX) {
        parts.push(format!("{count} {kind}"));
    }
    if kinds.len() > KINDS_MAX {
        parts.push(format!("{} other kinds", kinds.len() - KINDS_MAX));
    }
    Some(format!("{} files are not markdown and were skipped: {}", paths.len(), parts.join(", ")))
}

/// Reads a note as the content of a memory at the target path.
fn read_note(folder: &Path, vault: &Vault, path: &str, target: &str) -> Result<Content, String> {
    let mut file = note(path, &files::read(folder, path)?)?;
    file.front.relations = vault.relations(path, target, &file.body);
    let text = file.render().map_err(|error| error.to_string())?;
    edited::parse(target, text.as_bytes())
}

/// Returns the path of the memory for a file: its own path below a tier, if a memory can have it.
///
/// Otherwise returns a simplified path with a hash, so that two files with the same simplified path stay separate.
pub(super) fn memory_path(tier: &str, path: &str) -> String {
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
    let (mut fields, body) = front_matter(bytes)?;
    let mut words = text_list(fields.remove("tags").as_ref());
    words.extend(prose::tags(&prose::without_code(&body)));
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
    let created = time_of(&fields, &["created", "created_at"]);
    let updated = time_of(&fields, &["updated", "updated_at", "modified"]).or(created);
    let occurred = time_of(&fields, &["date"]).or_else(|| day_of_name(stem)).or(created);
    let (metadata, other) = foreign_fields(fields);
    let mut front = FrontMatter {
        name,
        description,
        tags: facts::tags(&words),
        cues,
        created_at: created.map(|created| created.at),
        updated_at: updated.map(|updated| updated.at),
        metadata,
        other,
        ..FrontMatter::default()
    };
    if let Some(occurred) = occurred {
        facts::set_occurred(&mut front, occurred, OccurredSource::User);
    }
    Ok(MemoryFile { front, body })
}

/// Splits a file of another program into its front matter and its body.
pub(super) fn front_matter(bytes: &[u8]) -> Result<(Map<String, Value>, String), String> {
    match MemoryFile::parse_untyped(bytes) {
        Ok(parts) => Ok(parts),
        Err(error) => Err(format!("{error}: correct the file, or move it out of the folder")),
    }
}

/// Returns the first of the named fields that is a time.
fn time_of(fields: &Map<String, Value>, names: &[&str]) -> Option<Moment> {
    for name in names {
        let Some(Value::String(text)) = fields.get(*name) else { continue };
        // A number could be a year, or seconds since 1970.
        if text.contains('-')
            && let Ok(Some(moment)) = facts::moment(name, Some(text))
        {
            return Some(moment);
        }
    }
    None
}

/// Returns the day of a daily note, whose name begins with it: `2026-03-01` or `2026-03-01 Sunday`.
fn day_of_name(stem: &str) -> Option<Moment> {
    let (day, rest) = stem.split_at_checked(DAY_CHARS)?;
    if rest.starts_with(char::is_alphanumeric) {
        return None;
    }
    let day: Date = day.parse().ok()?;
    TimeInput::Date(day).moment()
}

/// Splits the fields of a front matter into metadata and fields that are kept.
pub(super) fn foreign_fields(mut fields: Map<String, Value>) -> (Metadata, Map<String, Value>) {
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
    (metadata, other)
}

/// Returns a value that is a text.
pub(super) fn text(value: Option<Value>) -> Option<String> {
    match value {
        Some(Value::String(text)) => Some(text),
        _ => None,
    }
}

/// Returns whether the key has a meaning in the front matter of a memory.
fn is_ours(key: &str) -> bool {
    const OURS: [&str; 19] = [
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
        "standing",
        "claims",
        "sources",
        "relations",
    ];
    OURS.contains(&key)
}

/// Returns the texts of a list, or of a text with commas between them.
pub(super) fn text_list(value: Option<&Value>) -> Vec<String> {
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
        assert!(note("a.md", b"---\n- list\n---\n").is_err_and(|error| error.contains("move it out of the folder")));
    }

    #[test]
    fn times_are_those_of_the_front_matter_or_of_the_name() {
        let of = |path: &str, fields: &str| {
            let front = note(path, format!("---\n{fields}\n---\nText\n").as_bytes()).expect("read").front;
            let mut times = Vec::new();
            for time in [front.occurred_at, front.created_at, front.updated_at] {
                times.push(match time {
                    Some(time) => time.to_string(),
                    None => String::new(),
                });
            }
            times
        };
        let day = "2026-03-01T12:00:00Z";
        assert_eq!(of("Daily/2026-03-01.md", "a: 1"), [day, "", ""]);
        assert_eq!(of("2026-03-01 Sunday.md", "date: tomorrow"), [day, "", ""]);
        assert_eq!(of("2026-03-010.md", "a: 1"), ["", "", ""]);
        assert_eq!(
            of("a.md", "date: 2026-03-01\ncreated: 2026-02-01T08:00:00"),
            [day, "2026-02-01T08:00:00Z", "2026-02-01T08:00:00Z"]
        );
        assert_eq!(of("a.md", "created_at: '2026'\nmodified: 2026-03-01"), ["", "", day]);
        let file = note("2026-03-01.md", b"---\ndate: 2026-02-01\n---\nText\n").expect("read");
        assert_eq!(file.front.other["date"], "2026-02-01");
    }

    #[test]
    fn tags_of_the_text_are_used() {
        let text = "---\ntags: [Boats]\n---\n# Sail #trip/north\n\nA #boats day, `#no` tag.\n";
        assert_eq!(note("a.md", text.as_bytes()).expect("read").front.tags, ["boats", "trip/north"]);
    }

    #[test]
    fn skipped_files_are_counted_by_kind() {
        let paths = ["a/map.PNG", "b.png", "LICENSE", "c.pdf"].map(str::to_owned);
        let warning = skipped_files(&paths).expect("a warning");
        assert!(warning.starts_with("4 files") && warning.ends_with("1 pdf, 2 png, 1 without an ending"), "{warning}");
        assert_eq!(skipped_files(&[]), None);
    }
}
