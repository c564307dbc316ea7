//! Rules that every file of the repository follows.

use std::path::{Path, PathBuf};

fn sources() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut found = Vec::new();
    let mut folders: Vec<PathBuf> =
        ["src", "storage", "retrieval", "tests", "benches"].iter().map(|name| root.join(name)).collect();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                found.push(path);
            }
        }
    }
    assert!(found.len() > 40, "the sources were not found");
    found
}

#[test]
fn every_source_file_has_a_module_header() {
    for path in sources() {
        let text = std::fs::read_to_string(&path).expect("reads");
        let generated = path.ends_with("coefficients.rs");
        assert!(generated || text.starts_with("//!"), "{} has no module documentation", path.display());
        for (number, line) in text.lines().enumerate() {
            let marker = ["TO", "DO"].concat();
            assert!(!line.contains(&marker), "{}:{} has a leftover marker", path.display(), number + 1);
        }
    }
}

#[test]
fn every_setting_is_documented_in_the_readme() {
    let readme = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md")).expect("a README");
    for setting in &cuebase::config::SETTINGS {
        assert!(readme.contains(&format!("| `{}` |", setting.key)), "{} is missing in README.md", setting.key);
    }
}

#[test]
fn every_dependency_is_listed_in_the_architecture() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let manifest = std::fs::read_to_string(root.join("Cargo.toml")).expect("a manifest");
    let architecture = std::fs::read_to_string(root.join("ARCHITECTURE.md")).expect("an ARCHITECTURE.md");
    let table =
        manifest.split("[workspace.dependencies]").nth(1).and_then(|rest| rest.split("\n[").next()).expect("the table");
    for line in table.lines().filter(|line| line.contains(" = ") && !line.contains("path = ")) {
        let name = line.split(" = ").next().unwrap_or_default();
        assert!(architecture.contains(&format!("`{name}`")), "{name} has no line in ARCHITECTURE.md");
    }
}
