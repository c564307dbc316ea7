//! The folders of `src` import in one direction, as the table in `ARCHITECTURE.md` allows, and no two files import each
//! other, directly or through other files.
//!
//! Imports are read from `use` declarations and from paths such as `crate::memory::time::parse`. Tests inside of files are
//! left out: they may use what stands above.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// The crates below `src`, as the table names them.
const CRATES: [&str; 3] = ["storage", "retrieval", "language"];

/// A crate of the workspace.
struct Tree {
    root: PathBuf,
    /// Module path (`["memory", "time"]`) to file.
    files: BTreeMap<Vec<String>, PathBuf>,
    /// Module path to the text of its file, without tests, comments and string literals.
    texts: BTreeMap<Vec<String>, String>,
    /// Module path and name to the path that a `pub use` in that module re-exports under the name.
    exports: BTreeMap<(Vec<String>, String), Vec<String>>,
}

fn workspace() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

impl Tree {
    fn read(folder: &str) -> Self {
        let root = workspace().join(folder);
        let mut tree =
            Self { root: root.clone(), files: BTreeMap::new(), texts: BTreeMap::new(), exports: BTreeMap::new() };
        tree.add_folder(&root, &[]);
        let modules: Vec<Vec<String>> = tree.files.keys().cloned().collect();
        for module in modules {
            for (path, name) in re_exports(&tree.texts[&module]) {
                let absolute = absolute(&module, &path);
                tree.exports.insert((module.clone(), name), absolute);
            }
        }
        assert!(tree.files.len() > 20, "{folder}: the sources were not found");
        tree
    }

    fn add_folder(&mut self, folder: &Path, module: &[String]) {
        for entry in std::fs::read_dir(folder).expect("a folder of sources") {
            let path = entry.expect("an entry of the folder").path();
            let stem = path.file_stem().expect("a name").to_string_lossy().into_owned();
            let mut inner = module.to_vec();
            if path.is_dir() {
                inner.push(stem);
                self.add_folder(&path, &inner);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                // The rules are about the product: tests in a file of their own may use anything, as those in a module.
                let is_test = stem == "tests" || stem.ends_with("_tests");
                if stem != "mod" && stem != "lib" && stem != "main" {
                    inner.push(stem);
                }
                let text = std::fs::read_to_string(&path).expect("a source file");
                self.texts.insert(inner.clone(), if is_test { String::new() } else { code_of(&text) });
                self.files.insert(inner, path);
            }
        }
    }

    /// Returns the module whose file defines what a path names.
    fn definition(&self, path: &[String]) -> Option<Vec<String>> {
        let mut module = Vec::new();
        for (index, name) in path.iter().enumerate() {
            let mut inner = module.clone();
            inner.push(name.clone());
            if self.files.contains_key(&inner) {
                module = inner;
                continue;
            }
            let export = self.exports.get(&(module.clone(), name.clone()));
            return match export {
                Some(target) if target.as_slice() != path => {
                    let mut target = target.clone();
                    target.extend_from_slice(&path[index + 1..]);
                    self.definition(&target)
                }
                _ => Some(module),
            };
        }
        Some(module)
    }

    /// Returns the modules that each module imports.
    fn imports(&self) -> BTreeMap<Vec<String>, BTreeSet<Vec<String>>> {
        let mut imports = BTreeMap::new();
        for (module, text) in &self.texts {
            let mut targets = BTreeSet::new();
            for path in paths(text) {
                let mut child = module.clone();
                child.push(path[0].clone());
                let is_inside = ["crate", "super", "self"].contains(&path[0].as_str());
                if !is_inside && !self.files.contains_key(&child) {
                    continue;
                }
                if let Some(target) = self.definition(&absolute(module, &path))
                    && target != *module
                    && !target.is_empty()
                {
                    targets.insert(target);
                }
            }
            imports.insert(module.clone(), targets);
        }
        imports
    }

    fn name(&self, module: &[String]) -> String {
        let path = &self.files[module];
        path.strip_prefix(&self.root).expect("below the root").display().to_string()
    }
}

/// Returns the code of a file up to its tests, without comments and without the contents of strings.
fn code_of(text: &str) -> String {
    let mut code = String::new();
    let lines: Vec<&str> = text.lines().collect();
    let mut in_string = false;
    for (number, line) in lines.iter().enumerate() {
        let next = lines.get(number + 1).copied().unwrap_or_default();
        if line.trim() == "#[cfg(test)]" && next.trim_start().starts_with("mod ") {
            break;
        }
        in_string = add_code(line, in_string, &mut code);
        code.push('\n');
    }
    code
}

/// Adds the code of one line. Returns whether a string continues in the next line.
fn add_code(line: &str, mut in_string: bool, code: &mut String) -> bool {
    let mut characters = line.chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            '\\' => {
                characters.next();
            }
            '"' => in_string = !in_string,
            // A quotation mark as a character.
            '\'' if !in_string && characters.peek() == Some(&'"') => {
                characters.next();
            }
            '/' if !in_string && characters.peek() == Some(&'/') => break,
            _ if in_string => {}
            _ => code.push(character),
        }
    }
    in_string
}

/// Returns a path from the root of the crate, for a path as it is written in a module.
fn absolute(module: &[String], path: &[String]) -> Vec<String> {
    let mut base = module.to_vec();
    let mut rest = path;
    match path.first().map(String::as_str) {
        Some("crate") => {
            base.clear();
            rest = &path[1..];
        }
        Some("self") => rest = &path[1..],
        _ => {}
    }
    while rest.first().is_some_and(|name| name == "super") {
        base.pop();
        rest = &rest[1..];
    }
    base.extend_from_slice(rest);
    base
}

/// Returns every path in the code that starts at `crate`, `super` or `self`, the trees of `use` declarations expanded.
fn paths(code: &str) -> Vec<Vec<String>> {
    let mut found = Vec::new();
    let mut plain = String::new();
    for statement in split_uses(code) {
        match statement {
            Statement::Use { tree, is_public: false } => {
                expand(&tree, &[], &mut found);
            }
            // A re-export does not count: the file that uses the name depends on the file that defines it.
            Statement::Use { .. } => {}
            Statement::Other(text) => plain.push_str(&text),
        }
    }
    for word in plain.split(|c: char| !c.is_alphanumeric() && c != '_' && c != ':') {
        let names: Vec<String> = word.split("::").map(str::to_owned).collect();
        if names.len() > 1 && names.iter().all(|name| !name.is_empty()) {
            found.push(names);
        }
    }
    found.retain(|path| !path.is_empty());
    found
}

enum Statement {
    Use { tree: String, is_public: bool },
    Other(String),
}

fn split_uses(code: &str) -> Vec<Statement> {
    let mut statements = Vec::new();
    let mut lines = code.lines();
    while let Some(line) = lines.next() {
        let trimmed = line.trim();
        let declared = trimmed.split_once("use ").filter(|(before, _)| {
            before.is_empty() || *before == "pub " || (before.starts_with("pub(") && before.ends_with(") "))
        });
        let Some((before, first)) = declared else {
            statements.push(Statement::Other(format!("{line}\n")));
            continue;
        };
        let mut tree = first.to_owned();
        while !tree.contains(';') {
            tree.push_str(lines.next().expect("the end of a use declaration"));
        }
        let tree = tree.split(';').next().unwrap_or_default().to_owned();
        statements.push(Statement::Use { tree, is_public: !before.is_empty() });
    }
    statements
}

/// Adds the paths of a `use` tree such as `super::{a::B, c}`.
fn expand(tree: &str, prefix: &[String], found: &mut Vec<Vec<String>>) {
    let tree = tree.trim();
    let head = tree.split('{').next().unwrap_or_default();
    let mut path = prefix.to_vec();
    let Some(open) = tree.find('{') else {
        let name = tree.split(" as ").next().unwrap_or_default();
        for part in name.split("::") {
            let part = part.trim();
            let names_the_module = part == "self" && !path.is_empty();
            if !part.is_empty() && part != "*" && !names_the_module {
                path.push(part.to_owned());
            }
        }
        found.push(path);
        return;
    };
    for part in head.split("::") {
        if !part.trim().is_empty() {
            path.push(part.trim().to_owned());
        }
    }
    let inner = &tree[open + 1..tree.rfind('}').expect("a closed tree")];
    let mut depth = 0;
    let mut item = String::new();
    for character in inner.chars() {
        match character {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                expand(&item, &path, found);
                item.clear();
                continue;
            }
            _ => {}
        }
        item.push(character);
    }
    if !item.trim().is_empty() {
        expand(&item, &path, found);
    }
}

/// Returns the paths that a module re-exports, each with the name that it gets.
fn re_exports(code: &str) -> Vec<(Vec<String>, String)> {
    let mut exports = Vec::new();
    for statement in split_uses(code) {
        if let Statement::Use { tree, is_public: true } = statement {
            let mut found = Vec::new();
            expand(&tree, &[], &mut found);
            for path in found {
                if let Some(name) = path.last().cloned() {
                    exports.push((path, name));
                }
            }
        }
    }
    exports
}

/// Reads the table of allowed arrows: folder to the folders that it may import.
fn allowed() -> BTreeMap<String, BTreeSet<String>> {
    let text = std::fs::read_to_string(workspace().join("ARCHITECTURE.md")).expect("an ARCHITECTURE.md");
    let table = text.split("## Allowed arrows").nth(1).expect("the table of allowed arrows");
    let table = table.split("\n## ").next().unwrap_or_default();
    let mut rows = BTreeMap::new();
    for line in table.lines().filter(|line| line.starts_with("| `")) {
        let mut names = line.split('`').skip(1).step_by(2).map(str::to_owned);
        let from = names.next().expect("a folder");
        rows.insert(from, names.collect());
    }
    assert!(rows.len() > 20, "the table has {} rows", rows.len());
    rows
}

#[test]
fn imports_follow_the_table_of_allowed_arrows() {
    let allowed = allowed();
    let tree = Tree::read("src");
    let mut used: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let mut faults = Vec::new();
    for (module, targets) in tree.imports() {
        let Some(from) = module.first() else { continue };
        let Some(row) = allowed.get(from) else {
            faults.push(format!("{from} has no row"));
            continue;
        };
        for target in targets {
            let to = &target[0];
            if to == from {
                continue;
            }
            used.entry(from.clone()).or_default().insert(to.clone());
            if !row.contains(to) {
                faults.push(format!("{} imports {}", tree.name(&module), tree.name(&target)));
            }
        }
    }
    for (module, text) in &tree.texts {
        let Some(from) = module.first() else { continue };
        for name in CRATES {
            if !text.contains(&format!("cuebase_{name}::")) {
                continue;
            }
            used.entry(from.clone()).or_default().insert(name.to_owned());
            if allowed.get(from).is_some_and(|row| !row.contains(name)) {
                faults.push(format!("{} imports the crate {name}", tree.name(module)));
            }
        }
    }
    for (from, row) in &allowed {
        for to in row {
            if !used.get(from).is_some_and(|targets| targets.contains(to)) {
                faults.push(format!("the table allows {from} to import {to}, which it does not"));
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn the_table_of_allowed_arrows_has_one_direction() {
    let allowed = allowed();
    let mut left: BTreeMap<String, BTreeSet<String>> = allowed.clone();
    loop {
        let ground: Vec<String> = left
            .iter()
            .filter(|(_, targets)| targets.iter().all(|target| !left.contains_key(target)))
            .map(|(from, _)| from.clone())
            .collect();
        if ground.is_empty() {
            break;
        }
        for folder in ground {
            left.remove(&folder);
        }
    }
    assert!(left.is_empty(), "these folders may import each other in a circle: {:?}", left.keys());
}

#[test]
fn no_files_import_each_other_in_a_circle() {
    let mut circles = Vec::new();
    for folder in ["src", "storage/src", "retrieval/src", "language/src"] {
        let tree = Tree::read(folder);
        let imports = tree.imports();
        for module in imports.keys() {
            if let Some(way) = way_back(&imports, module) {
                let names: Vec<String> = way.iter().map(|module| tree.name(module)).collect();
                circles.push(format!("{folder}: {}", names.join(" -> ")));
            }
        }
    }
    assert!(circles.is_empty(), "{}", circles.join("\n"));
}

/// Returns the shortest way from a module over its imports back to itself.
fn way_back(imports: &BTreeMap<Vec<String>, BTreeSet<Vec<String>>>, start: &Vec<String>) -> Option<Vec<Vec<String>>> {
    let mut ways = std::collections::VecDeque::from([vec![start.clone()]]);
    let mut seen = BTreeSet::new();
    while let Some(way) = ways.pop_front() {
        for target in &imports[way.last()?] {
            let mut longer = way.clone();
            longer.push(target.clone());
            if target == start {
                return Some(longer);
            }
            if seen.insert(target.clone()) {
                ways.push_back(longer);
            }
        }
    }
    None
}
