//! Markdown of other makers: a Letta agent's memory repository, or anybody's folder of notes.
//!
//! A file keeps its place below `facts/`, in letters that a path may have. Its front matter may be anything that is YAML:
//! tags, a description and aliases are understood, the rest is kept as it is.

use cuebase_storage::memory_file::path::SEGMENTS_MAX;
use cuebase_storage::memory_file::{FrontMatter, MemoryFile, MemoryPath};
use serde_json::{Map, Value};

use super::{Import, Report, files};
use crate::error::Result;
use crate::ingest::edited;
use crate::memory::cues::of_markdown;
use crate::memory::file_names::slug;
use crate::namespace::plan::Content;
use crate::secrets::fingerprint;

/// Characters of the mark behind a name that had to be changed.
const MARK_CHARS: usize = 6;

/// A memory repository of Letta's: what an agent always sees is under `system/`, the rest beside it; skills are skills.
pub(super) fn letta(import: &Import<'_>) -> Result<Report> {
    folder(import, |path| match path.strip_prefix("skills/") {
        Some(below) => place("skills", below),
        None => place("facts", path),
    })
}

/// Anybody's notes.
pub(super) fn notes(import: &Import<'_>) -> Result<Report> {
    folder(import, |path| place("facts", path))
}

fn folder(import: &Import<'_>, place: impl Fn(&str) -> String) -> Result<Report> {
    let (mut contents, mut wrong, mut other): (Vec<(String, Content)>, _, _) = (Vec::new(), Vec::new(), 0);
    for path in files::list(import.from)? {
        if !path.ends_with(".md") {
            other += 1;
            continue;
        }
        let target = place(&path);
        let read = files::read(import.from, &path).and_then(|bytes| note(&path, &bytes));
        let rendered = read.and_then(|file| file.render().map_err(|error| error.to_string()));
        match rendered.and_then(|text| edited::parse(&target, text.as_bytes())) {
            Ok(content) => contents.push((target, content)),
            Err(error) => wrong.push(format!("{path}: {error}")),
        }
    }
    import.problems(&wrong)?;
    let written = files::write(import, contents)?;
    Ok(Report { other, ..written })
}

/// Where a file goes: its own path below a tier where that can be a memory's. Else a plain form of it with a mark, by
/// which two files whose plain forms are the same keep apart.
fn place(tier: &str, path: &str) -> String {
    let own = format!("{tier}/{path}");
    if own.parse::<MemoryPath>().is_ok() {
        return own;
    }
    let stem = path.strip_suffix(".md").unwrap_or(path);
    let mut segments: Vec<String> = stem.split('/').map(|segment| slug(segment, "note")).collect();
    // What lies deeper than a path may be lies in the last folder that it can be in.
    let last = segments.pop().unwrap_or_default();
    segments.truncate(SEGMENTS_MAX.saturating_sub(1));
    let mark = data_encoding::HEXLOWER.encode(&fingerprint(&[path.as_bytes()]));
    let plain = |segments: &[String]| {
        let folders: String = segments.iter().map(|segment| format!("{segment}/")).collect();
        format!("{tier}/{folders}{last}-{}.md", &mark[..MARK_CHARS])
    };
    while plain(&segments).parse::<MemoryPath>().is_err() && segments.pop().is_some() {}
    plain(&segments)
}

/// A file as a memory, whatever its front matter calls things.
fn note(path: &str, bytes: &[u8]) -> Result<MemoryFile, String> {
    let (mut fields, body) = MemoryFile::parse_untyped(bytes).map_err(|error| error.to_string())?;
    let mut tags: Vec<String> = words(fields.remove("tags")).iter().map(|tag| slug(tag, "")).collect();
    tags.retain(|tag| !tag.is_empty());
    tags.sort();
    tags.dedup();
    let mut cues = words(fields.remove("aliases"));
    let text = |value: Option<Value>| value.as_ref().and_then(Value::as_str).map(str::to_owned);
    let (name, description) = (text(fields.remove("name")), text(fields.remove("description")));
    cues.extend(description.clone());
    let stem = path.rsplit('/').next().unwrap_or(path).trim_end_matches(".md");
    let titled = body.lines().any(|line| line.starts_with("# "));
    let body = if titled { body } else { format!("# {stem}\n\n{body}") };
    if !cues.is_empty() {
        // Named cues stand in for those that the text itself would give.
        cues.extend(of_markdown(&body));
    }
    // Of another maker, even where it is called as one of ours.
    let other: Map<String, Value> = fields
        .into_iter()
        .map(|(key, value)| if is_ours(&key) { (format!("note_{key}"), value) } else { (key, value) })
        .collect();
    Ok(MemoryFile { front: FrontMatter { name, description, tags, cues, other, ..FrontMatter::default() }, body })
}

/// Whether our front matter gives a key a meaning of its own.
fn is_ours(key: &str) -> bool {
    const OURS: [&str; 13] = [
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
        "expires_at",
        "sources",
        "relations",
    ];
    OURS.contains(&key)
}

/// A list of texts, or one text with commas between.
fn words(value: Option<Value>) -> Vec<String> {
    let texts: Vec<String> = match value {
        Some(Value::Array(values)) => values.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
        Some(Value::String(text)) => text.split(',').map(str::to_owned).collect(),
        _ => Vec::new(),
    };
    texts.iter().map(|text| text.trim().to_owned()).filter(|text| !text.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_paths_and_keep_apart() {
        assert_eq!(place("facts", "projects/bees.md"), "facts/projects/bees.md");
        let spaced = place("facts", "My projects/Bees & wasps.md");
        assert!(spaced.starts_with("facts/my-projects/bees-wasps-"), "{spaced}");
        assert_ne!(spaced, place("facts", "My projects/Bees + wasps.md"));
        for hard in
            ["日本/語.md", "1/2/3/4/5/6/7/8/9/10.md", &format!("{}/a b.md", ["x".repeat(80).as_str(); 9].join("/"))]
        {
            assert!(place("facts", hard).parse::<MemoryPath>().is_ok(), "{hard}");
        }
    }

    #[test]
    fn front_matter_of_other_makers_is_understood_or_kept() {
        let text = "---\ntags: 'Hobby, #pets'\naliases: [the hives]\ndescription: What Ann keeps.\ncreated_at: Tuesday\nlimit: 5\n---\nThree hives.\n";
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
        assert_eq!(file.body, "# human\n\nThree hives.\n");
        assert!(note("a.md", b"---\n- list\n---\n").is_err());
    }
}
