//! `.cuebase.toml` in the top folder of a project.

use std::path::{Path, PathBuf};

use anyhow::anyhow;
use serde::Deserialize;

use super::files::read_below;

/// The settings of a project. They cannot name a server or a key: a cloned repository could send memories away.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ProjectSettings {
    /// The namespace of the project's memories.
    pub(super) namespace: Option<String>,
    /// Whether hooks may read and store memories here.
    pub(super) hooks: Option<bool>,
}

impl ProjectSettings {
    /// Returns the path of the file in a project.
    pub(super) fn path(root: &Path) -> PathBuf {
        root.join(".cuebase.toml")
    }

    /// Reads the settings of a project; all are absent if it has no file.
    ///
    /// # Errors
    ///
    /// For a file that is not TOML or has another field; the message has the line. For a file that is not a small regular
    /// one in the project.
    pub(super) fn read(root: &Path) -> anyhow::Result<Self> {
        let path = Self::path(root);
        let Some(text) = read_below(root, &path)? else { return Ok(Self::default()) };
        let parsed: Result<Self, toml::de::Error> = toml::from_str(&text);
        parsed.map_err(|error| {
            let begin = error.span().map_or(0, |span| span.start);
            let line = 1 + text.bytes().take(begin).filter(|byte| *byte == b'\n').count();
            anyhow!("{}: line {line}: {}", path.display(), error.message().replace('\n', " "))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_invalid_file_is_reported_with_its_line() {
        let folder = tempfile::tempdir().expect("temporary directory");
        for text in ["namespace = \"a\"\nurl = \"https://example.org\"\n", "namespace = \"a\"\nhooks = \"no\"\n"] {
            std::fs::write(folder.path().join(".cuebase.toml"), text).expect("writes");
            let error = ProjectSettings::read(folder.path()).expect_err("refused").to_string();
            assert!(error.contains(".cuebase.toml: line 2: "), "{error}");
        }
    }
}
