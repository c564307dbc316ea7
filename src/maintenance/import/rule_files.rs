//! The files with rules for agents in a folder: of a project, of a part of it such as `.cursor/rules`, or the memory
//! folder of a project of Claude Code.

use std::fs;
use std::path::{Component, Path};

use super::listing::list_files;
use crate::error::Result;

/// Names of files with rules in the folder of a project.
pub(super) const FILES: [&str; 5] = ["CLAUDE.md", "CLAUDE.local.md", "AGENTS.md", ".cursorrules", ".claude/CLAUDE.md"];
/// Folders with one rule per file.
pub(super) const FOLDERS: [&str; 2] = [".claude/rules", ".cursor/rules"];
/// The index of a memory folder of Claude Code.
pub(super) const MEMORY_INDEX: &str = "MEMORY.md";
/// Ending of the rules of Cursor.
pub(super) const CURSOR_ENDING: &str = ".mdc";
/// Folders of a project that can be imported by themselves.
const PARTS: [&str; 4] = [".claude/rules", ".cursor/rules", ".claude", ".cursor"];
/// Name of the folder in which Claude Code keeps the memories of a project.
const MEMORY_FOLDER: &str = "memory";

/// The files with rules.
#[derive(Debug, Default)]
pub(super) struct RuleFiles {
    /// Paths from the project.
    pub(super) paths: Vec<String>,
    pub(super) warnings: Vec<String>,
}

/// Returns whether a file has rules, judged by its name.
pub(super) fn is_rule_file(name: &str) -> bool {
    FILES.contains(&name) || name == MEMORY_INDEX || name.ends_with(CURSOR_ENDING)
}

/// Returns whether a folder is `.claude`, `.cursor` or the folder of rules in one of them.
pub(super) fn is_part_of_project(folder: &Path) -> bool {
    !project_folder(folder).part.is_empty()
}

/// Returns whether a folder has files or folders of rules.
pub(super) fn has_rules(folder: &Path) -> bool {
    for name in FILES.iter().chain(&FOLDERS).chain([&MEMORY_INDEX]) {
        if folder.join(name).exists() {
            return true;
        }
    }
    let Ok(entries) = fs::read_dir(folder) else { return false };
    entries.flatten().any(|entry| entry.file_name().to_string_lossy().ends_with(CURSOR_ENDING))
}

/// A folder of rules.
pub(super) struct RulePlace<'a> {
    /// The folder of the project.
    pub(super) project: &'a Path,
    /// The path from the project to the folder of rules; empty for the project itself.
    part: &'static str,
}

impl RulePlace<'_> {
    /// Returns the path from the project to a file in the folder of rules.
    pub(super) fn path_of(&self, name: &str) -> String {
        if self.part.is_empty() { name.to_owned() } else { format!("{}/{name}", self.part) }
    }
}

/// Returns the project of a folder.
pub(super) fn project_folder(folder: &Path) -> RulePlace<'_> {
    for part in PARTS {
        let levels = part.split('/').count();
        if folder.ends_with(part)
            && let Some(project) = folder.ancestors().nth(levels)
        {
            return RulePlace { project, part };
        }
    }
    RulePlace { project: folder, part: "" }
}

/// Lists the files with rules, by their paths from the project. Links are left out: they could lead anywhere.
pub(super) fn list(place: &RulePlace<'_>) -> Result<RuleFiles> {
    let mut found = RuleFiles::default();
    for name in FILES.iter().chain([&MEMORY_INDEX]) {
        if is_behind_link(place.project, name) {
            continue;
        }
        match fs::symlink_metadata(place.project.join(name)) {
            Ok(kind) if kind.is_file() => found.paths.push((*name).to_owned()),
            Ok(kind) if kind.is_symlink() => {
                found.warnings.push(format!("{name} is a symbolic link and was skipped: import its target by name"));
            }
            _ => {}
        }
    }
    for below in FOLDERS {
        let rules = place.project.join(below);
        let is_folder = fs::symlink_metadata(&rules).is_ok_and(|kind| kind.is_dir());
        if is_folder && !is_behind_link(place.project, below) {
            for path in list_files(&rules)? {
                found.paths.push(format!("{below}/{path}"));
            }
        }
    }
    if place.part.is_empty() {
        list_directly(place.project, &mut found)?;
    } else {
        let prefix = place.path_of("");
        found.paths.retain(|path| path.starts_with(&prefix));
        found.warnings.retain(|warning| warning.starts_with(&prefix));
    }
    found.paths.retain(|path| path.ends_with(".md") || path.ends_with(CURSOR_ENDING) || path == ".cursorrules");
    found.paths.sort();
    Ok(found)
}

/// Returns whether the folder of a path is a symbolic link.
fn is_behind_link(project: &Path, path: &str) -> bool {
    match path.split_once('/') {
        Some((folder, _)) => fs::symlink_metadata(project.join(folder)).is_ok_and(|kind| kind.is_symlink()),
        None => false,
    }
}

/// Adds the rules of Cursor in the folder itself and, if it is a memory folder, its markdown.
fn list_directly(folder: &Path, found: &mut RuleFiles) -> Result<()> {
    let is_memory_folder = found.paths.iter().any(|path| path == MEMORY_INDEX);
    let mut others = 0;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if !entry.file_type()?.is_file() || found.paths.contains(&name) {
            continue;
        }
        if name.ends_with(CURSOR_ENDING) || (is_memory_folder && name.ends_with(".md")) {
            found.paths.push(name);
        } else if name.ends_with(".md") {
            others += 1;
        }
    }
    if others > 0 {
        found.warnings.push(format!("{others} other markdown files were skipped: --format notes imports all"));
    }
    Ok(())
}

/// Returns the name of a project: that of its folder. Claude Code keeps memories below a folder that it names by the path
/// of the project, with dashes.
pub(super) fn project_name(folder: &Path) -> String {
    for component in folder.components().rev() {
        let Component::Normal(name) = component else { continue };
        let name = name.to_string_lossy();
        if name != MEMORY_FOLDER {
            return name.trim_start_matches(['-', '.']).to_owned();
        }
    }
    "project".to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_listed_by_what_it_has() {
        let folder = tempfile::tempdir().expect("a folder");
        let save = |path: &str| {
            let file = folder.path().join(path);
            fs::create_dir_all(file.parent().expect("a parent")).expect("creates");
            fs::write(file, "x").expect("writes");
        };
        save("README.md");
        assert!(!has_rules(folder.path()));
        save("CLAUDE.md");
        assert!(has_rules(folder.path()) && !is_part_of_project(folder.path()));
        save(".cursor/rules/web/a.mdc");
        save(".cursor/rules/notes.txt");
        std::os::unix::fs::symlink("CLAUDE.md", folder.path().join("AGENTS.md")).expect("links");
        let found = list(&project_folder(folder.path())).expect("listed");
        assert_eq!(found.paths, [".cursor/rules/web/a.mdc", "CLAUDE.md"]);
        let warnings = found.warnings.join("\n");
        assert!(
            warnings.contains("AGENTS.md is a symbolic link") && warnings.contains("1 other markdown"),
            "{warnings}"
        );
        save("MEMORY.md");
        let found = list(&project_folder(folder.path())).expect("listed");
        assert_eq!(found.paths.len(), 4, "a memory folder is imported as a whole");
        for part in [".cursor/rules", ".cursor"] {
            let rules = folder.path().join(part);
            assert!(is_part_of_project(&rules));
            let found = list(&project_folder(&rules)).expect("listed");
            assert_eq!((found.paths, found.warnings.len()), (vec![".cursor/rules/web/a.mdc".to_owned()], 0));
        }
    }

    #[test]
    fn the_project_is_named_by_its_folder() {
        let name = |folder: &str| project_name(project_folder(Path::new(folder)).project);
        assert_eq!(name("/home/ann/shop"), "shop");
        assert_eq!(name("/home/ann/shop/.cursor/rules"), "shop");
        assert_eq!(name("/home/ann/.claude"), "ann");
        assert_eq!(name("/home/ann/.claude/projects/-home-ann-shop/memory"), "home-ann-shop");
        assert_eq!(name("/"), "project");
    }
}
