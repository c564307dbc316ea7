//! Import of rules for agents: `CLAUDE.md`, `AGENTS.md`, `.claude/rules/`, the memory folder of a project of Claude
//! Code, `.cursor/rules/*.mdc`, and `.cursorrules`. [`rule_files`](super::rule_files) lists them.
//!
//! Each section of a file becomes a memory below `rules/PROJECT/FILE/`. The fields of the front matter are those of the
//! documentation: `description`, `globs` and `alwaysApply` of Cursor, `paths` of Claude Code. Its memories have `name`,
//! `description` and `type`, or `type` below `metadata`, which is not documented. Files that a text imports with `@path`
//! are named in a warning and not read.

use std::collections::HashSet;
use std::path::Path;

use cuebase_storage::memory_file::{FrontMatter, MemoryFile, MetadataValue, markdown};
use serde_json::{Map, Value};

use super::context::{Import, ImportReport};
use super::notes::{foreign_fields, front_matter, memory_path, text, text_list};
use super::rule_files::{CURSOR_ENDING, FILES, FOLDERS, MEMORY_INDEX, RuleFiles, list, project_folder, project_name};
use super::{facts, files, prose};
use crate::error::Result;
use crate::memory::cues::of_markdown;
use crate::memory::file_names::slug;
use crate::memory::metadata;

/// The line before and after a front matter.
const FENCE: &str = "---";
/// Headings at which a file is divided: `#` and `##`.
const DIVIDING_LEVEL_MAX: u8 = 2;
/// Most sections of a file.
const SECTIONS_MAX: usize = 1000;
/// Most imported files that a warning names.
const NAMED_MAX: usize = 10;

/// A part of a file that becomes a memory.
#[derive(Debug, PartialEq)]
struct Section {
    /// The heading; the name of the file for the text before the first heading.
    title: String,
    /// The first-level heading above.
    parent: Option<String>,
    text: String,
}

pub(super) fn import(import: &Import<'_>) -> Result<ImportReport> {
    let is_folder = import.from.is_dir();
    let folder = if is_folder { import.from } else { import.from.parent().unwrap_or(import.from) };
    let place = project_folder(folder);
    let mut found = RuleFiles::default();
    if is_folder {
        found = list(&place)?;
    } else if let Some(name) = import.from.file_name() {
        found.paths.push(place.path_of(&name.to_string_lossy()));
    }
    if found.paths.is_empty() {
        let names = FILES.join(", ");
        return Err(import.invalid(&format!("no rules: expected {names}, {MEMORY_INDEX} or {}", FOLDERS.join(", "))));
    }
    let project = project_name(place.project);
    let (mut memories, mut problems) = (Vec::new(), Vec::new());
    for path in &found.paths {
        match read_rules(place.project, &project, path) {
            Ok(rules) => {
                memories.extend(rules.memories);
                found.warnings.extend(rules.warning);
            }
            Err(error) => problems.push(format!("{path}: {error}")),
        }
    }
    let mut targets = HashSet::new();
    for (target, _) in &memories {
        if !targets.insert(target) {
            problems.push(format!("{target}: two files have rules for this path: rename one of them"));
        }
    }
    let checked = facts::check(memories, &mut problems);
    import.ensure_no_problems(&problems)?;
    let written = files::write(import, &checked)?;
    Ok(ImportReport { warnings: found.warnings, ..written })
}

/// The memories of a file, and a warning about the files that it imports.
struct FileRules {
    memories: Vec<(String, MemoryFile)>,
    warning: Option<String>,
}

fn read_rules(folder: &Path, project: &str, path: &str) -> Result<FileRules, String> {
    let bytes = files::read(folder, path)?;
    let is_of_cursor = path.ends_with(CURSOR_ENDING) || path.starts_with(".cursor/");
    let (fields, body) = if is_of_cursor { front_matter(&quote_texts(&bytes))? } else { front_matter(&bytes)? };
    let stem = path.rsplit('/').next().unwrap_or(path);
    let stem = stem.rsplit_once('.').map_or(stem, |(stem, _)| if stem.is_empty() { "cursorrules" } else { stem });
    let sections = sections(stem, &body);
    if sections.len() > SECTIONS_MAX {
        return Err(format!("has {} sections, more than {SECTIONS_MAX}: divide the file", sections.len()));
    }
    let front = front_of(path, fields);
    let mut memories = Vec::new();
    let mut names = HashSet::new();
    for section in sections {
        let stem = slug(&section.title, "section");
        let mut name = stem.clone();
        let mut number = 1;
        while !names.insert(name.clone()) {
            number += 1;
            name = format!("{stem}-{number}");
        }
        let target = memory_path("rules", &format!("{project}/{}/{name}.md", folder_of_file(path)));
        memories.push((target, memory(&front, &section)));
    }
    Ok(FileRules { memories, warning: import_warning(path, &body) })
}

/// Returns the folder of a file's memories: its path without dots at the beginning and without its ending.
fn folder_of_file(path: &str) -> String {
    let stem = match path.rsplit_once('.') {
        Some((stem, _)) if !stem.is_empty() && !stem.ends_with('/') => stem,
        _ => path,
    };
    let mut parts = Vec::new();
    for part in stem.split('/') {
        parts.push(part.trim_start_matches('.').to_lowercase());
    }
    parts.join("/")
}

/// Divides a text at its first- and second-level headings. Sections without text below the heading are left out.
fn sections(stem: &str, body: &str) -> Vec<Section> {
    let mut starts = Vec::new();
    for section in markdown::sections(body) {
        if section.level <= DIVIDING_LEVEL_MAX {
            starts.push(section);
        }
    }
    let mut sections = Vec::new();
    let before = &body[..starts.first().map_or(body.len(), |first| first.range.start)];
    if !before.trim().is_empty() {
        let text = format!("# {stem}\n\n{}\n", before.trim());
        sections.push(Section { title: stem.to_owned(), parent: None, text });
    }
    let mut top = None;
    for (index, start) in starts.iter().enumerate() {
        let end = starts.get(index + 1).map_or(body.len(), |next| next.range.start);
        let text = &body[start.range.start..end];
        let parent = if start.level == 1 { None } else { top.clone() };
        if start.level == 1 {
            top = Some(start.name.clone());
        }
        if has_text_below_heading(text) {
            sections.push(Section { title: start.name.clone(), parent, text: format!("{}\n", text.trim()) });
        }
    }
    sections
}

/// Returns whether a section has more than its heading: a line with `#`, or a line with a line of `=` or `-` below it.
fn has_text_below_heading(text: &str) -> bool {
    let mut lines = text.lines().filter(|line| !line.trim().is_empty()).peekable();
    let heading = lines.next().unwrap_or_default();
    if !heading.trim_start().starts_with('#')
        && lines.peek().is_some_and(|line| line.trim().trim_matches(['=', '-']).is_empty())
    {
        lines.next();
    }
    lines.next().is_some()
}

/// Returns the front matter that all memories of a file share.
fn front_of(path: &str, mut fields: Map<String, Value>) -> FrontMatter {
    let name = text(fields.remove("name"));
    let description = text(fields.remove("description")).filter(|description| !description.trim().is_empty());
    let tags = text_list(fields.remove("tags").as_ref());
    let kind = text(fields.remove("type"));
    let mut patterns = Vec::new();
    for key in ["globs", "paths"] {
        match fields.remove(key) {
            Some(Value::String(text)) if !text.trim().is_empty() => patterns.push(text.trim().to_owned()),
            Some(list @ Value::Array(_)) => patterns.extend(text_list(Some(&list))),
            _ => {}
        }
    }
    let always = match fields.remove("alwaysApply") {
        Some(Value::Bool(always)) => Some(always),
        _ => None,
    };
    let (metadata, other) = foreign_fields(fields);
    let mut front =
        FrontMatter { name, description, tags: facts::tags(&tags), metadata, other, ..FrontMatter::default() };
    if let Some(always) = always {
        front.metadata.insert("always_apply".into(), MetadataValue::Boolean(always));
    }
    if let Some(kind) = kind {
        set_text(&mut front, "type", kind);
    }
    if !patterns.is_empty() {
        set_text(&mut front, "globs", patterns.join(", "));
    }
    front.other.insert("imported_from".into(), path.into());
    front
}

/// Adds a text to the metadata. A text that metadata cannot hold is kept in the front matter.
fn set_text(front: &mut FrontMatter, key: &str, text: String) {
    let value = MetadataValue::Text(text.clone());
    if metadata::check_entry(key, &value).is_ok() {
        front.metadata.insert(key.to_owned(), value);
    } else {
        front.other.insert(key.to_owned(), text.into());
    }
}

/// Returns the memory of a section.
fn memory(front: &FrontMatter, section: &Section) -> MemoryFile {
    let mut front = front.clone();
    let mut body = section.text.clone();
    let globs = match front.metadata.get("globs") {
        Some(MetadataValue::Text(globs)) => Some(globs.as_str()),
        _ => None,
    };
    if let Some(globs) = globs {
        body.push_str(&format!("\nFor files that match: {globs}\n"));
    }
    front.cues.extend(front.description.clone());
    if let Some(parent) = &section.parent {
        front.cues.push(format!("{parent}: {}", section.title));
    }
    if !front.cues.is_empty() {
        // A memory with explicit cues has no cues of its text, so they are added here.
        front.cues.extend(of_markdown(&body));
    }
    MemoryFile { front, body }
}

/// Returns a warning that names the files that a text imports.
fn import_warning(path: &str, body: &str) -> Option<String> {
    let prose = prose::without_code(body);
    let imported = prose::imported_files(&prose);
    if imported.is_empty() {
        return None;
    }
    let mut named = imported[..imported.len().min(NAMED_MAX)].join(", ");
    if imported.len() > NAMED_MAX {
        named.push_str(&format!(" and {} more", imported.len() - NAMED_MAX));
    }
    Some(format!("{path} names files that were not imported: {named}"))
}

/// Quotes the texts in the front matter of a rule of Cursor, which are often not valid YAML: `globs: *.ts`.
fn quote_texts(bytes: &[u8]) -> Vec<u8> {
    let Ok(text) = std::str::from_utf8(bytes) else { return bytes.to_vec() };
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut quoted = String::new();
    let mut is_front_matter = false;
    for (number, line) in text.split_inclusive('\n').enumerate() {
        if line.trim_end() == FENCE {
            is_front_matter = number == 0;
        }
        match quoted_line(line) {
            Some(line) if is_front_matter => quoted.push_str(&line),
            _ => quoted.push_str(line),
        }
    }
    quoted.into_bytes()
}

/// Returns the line of a text that is not quoted yet, with quotes.
fn quoted_line(line: &str) -> Option<String> {
    for key in ["description:", "globs:"] {
        if let Some(value) = line.strip_prefix(key) {
            let value = value.trim();
            let is_plain = !value.is_empty() && !value.starts_with(['\'', '"', '[', '|', '>']);
            return if is_plain { Some(format!("{key} {}\n", quoted(value))) } else { None };
        }
    }
    let item = line.trim_start();
    let indent = &line[..line.len() - item.len()];
    let value = item.strip_prefix("- ")?.trim();
    if value.starts_with(['*', '{', '!']) { Some(format!("{indent}- {}\n", quoted(value))) } else { None }
}

fn quoted(value: &str) -> String {
    format!("'{}'", value.replace('\'', "''"))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn rules(path: &str, text: &str) -> FileRules {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join(path);
        fs::create_dir_all(file.parent().expect("a parent")).expect("creates");
        fs::write(file, text).expect("writes");
        read_rules(folder.path(), "shop", path).unwrap_or_else(|error| panic!("{path}: {error}"))
    }

    fn paths(rules: &FileRules) -> Vec<&str> {
        rules.memories.iter().map(|(path, _)| path.as_str()).collect()
    }

    #[test]
    fn each_section_becomes_a_rule() {
        let text = "Be brief. See @docs/git.md.\n\n# Shop\n\n## Tests\n\nRun `make test`.\n\n### Slow tests\n\nAt night.\n\n\
            Style\n-----\n\n## Empty\n\n## Tests\n\nNever skip `@not/this.md`.\n";
        let rules = rules("CLAUDE.md", text);
        let expected = ["rules/shop/claude/claude.md", "rules/shop/claude/tests.md", "rules/shop/claude/tests-2.md"];
        assert_eq!(paths(&rules), expected);
        assert_eq!(rules.memories[0].1.body, "# CLAUDE\n\nBe brief. See @docs/git.md.\n");
        let (_, tests) = &rules.memories[1];
        assert_eq!(tests.body, "## Tests\n\nRun `make test`.\n\n### Slow tests\n\nAt night.\n");
        assert!(tests.front.cues.contains(&"Shop: Tests".to_owned()), "{:?}", tests.front.cues);
        assert_eq!(tests.front.other["imported_from"], "CLAUDE.md");
        let warning = rules.warning.expect("a warning");
        assert!(warning.ends_with("not imported: docs/git.md"), "{warning}");
    }

    #[test]
    fn rules_of_cursor_keep_their_patterns() {
        let text = "---\ndescription: How the API is written\nglobs: *.ts, src/**/*.tsx\nalwaysApply: false\n---\n\n# API\n\nReturn JSON.\n";
        let file = rules(".cursor/rules/Web API.mdc", text);
        let (path, memory) = &file.memories[0];
        assert!(path.starts_with("rules/shop/cursor/rules/web-api/api-"), "{path}");
        assert_eq!(memory.front.metadata["globs"], MetadataValue::Text("*.ts, src/**/*.tsx".into()));
        assert_eq!(memory.front.metadata["always_apply"], MetadataValue::Boolean(false));
        assert_eq!(memory.front.cues[0], "How the API is written");
        assert!(memory.body.ends_with("Return JSON.\n\nFor files that match: *.ts, src/**/*.tsx\n"), "{}", memory.body);
        let listed = rules(".cursor/rules/a.mdc", "---\nglobs:\n  - *.rs\n  - \"b/*\"\n---\nNo unwrap.\n");
        assert_eq!(listed.memories[0].1.front.metadata["globs"], MetadataValue::Text("*.rs, b/*".into()));
        assert_eq!(paths(&listed), ["rules/shop/cursor/rules/a/a.md"]);
        let blank = rules(".cursor/rules/b.mdc", "---\ndescription:\nglobs:\nalwaysApply: true\n---\n- *bold* text\n");
        assert_eq!(blank.memories[0].1.front.description, None);
        assert_eq!(blank.memories[0].1.body, "# b\n\n- *bold* text\n");
    }

    #[test]
    fn rules_and_memories_of_claude_keep_their_fields() {
        let text = "---\nname: no-mocks\ndescription: Tests use a real database\ntype: feedback\n---\n\nUse the real database.\n";
        let file = rules("feedback_no_mocks.md", text);
        let (path, memory) = &file.memories[0];
        assert_eq!(path, "rules/shop/feedback_no_mocks/feedback-no-mocks.md");
        assert_eq!(memory.front.metadata["type"], MetadataValue::Text("feedback".into()));
        assert_eq!(memory.front.cues[0], "Tests use a real database");
        let file =
            rules(".claude/rules/api.md", "---\npaths:\n  - \"src/api/**/*.ts\"\n---\n# API\n\nValidate input.\n");
        assert_eq!(file.memories[0].1.front.metadata["globs"], MetadataValue::Text("src/api/**/*.ts".into()));
        let file = rules(".cursorrules", "Use tabs.\n");
        assert_eq!(paths(&file), ["rules/shop/cursorrules/cursorrules.md"]);
        assert!(file.warning.is_none());
    }

    #[test]
    fn texts_of_cursor_are_quoted_in_the_front_matter_only() {
        let text = "---\ndescription: API: it's JSON\nglobs: {a,b}/*.ts\n---\nglobs: *.ts\n---\n- *x*\n";
        let expected = "---\ndescription: 'API: it''s JSON'\nglobs: '{a,b}/*.ts'\n---\nglobs: *.ts\n---\n- *x*\n";
        assert_eq!(quote_texts(text.as_bytes()), expected.as_bytes());
        let plain = "Text\n---\nglobs: *.ts\n";
        assert_eq!(quote_texts(plain.as_bytes()), plain.as_bytes());
    }

    #[test]
    fn too_many_sections_are_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        fs::write(folder.path().join("CLAUDE.md"), "# A\n\nx\n\n".repeat(SECTIONS_MAX + 1)).expect("writes");
        let error = read_rules(folder.path(), "shop", "CLAUDE.md").err().unwrap_or_default();
        assert!(error.contains("divide the file"), "{error}");
    }
}
