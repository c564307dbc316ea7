//! The project that an agent works on, and the namespace that holds its memories.
//!
//! A project is a git repository, or a folder without one. Its namespace is named by `CUEBASE_NAMESPACE`, by
//! `.cuebase.toml` in the top folder, or after the remote of the repository ([`remote`]); a project without a remote is
//! named after its folder.

mod remote;
mod settings;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::bail;
use cuebase_storage::NamespaceName;
use data_encoding::HEXLOWER;

use self::settings::ProjectSettings;
use crate::sha256::sha256;

/// Characters of a derived name before its hash.
const LABEL_CHARS_MAX: usize = 55;
/// Bytes of the hash in a derived name.
const HASH_BYTES: usize = 4;

/// What the name of a namespace comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NameOrigin {
    /// The command line or `CUEBASE_NAMESPACE`.
    Chosen,
    /// The project's `.cuebase.toml`.
    File,
    /// The URL of the repository's remote.
    Remote,
    /// The path of the top folder.
    Folder,
}

impl NameOrigin {
    /// Returns the origin as `cuebase hook check` prints it.
    pub fn describe(&self) -> &'static str {
        match self {
            Self::Chosen => "from --namespace or CUEBASE_NAMESPACE",
            Self::File => "from .cuebase.toml",
            Self::Remote => "from the URL of the git remote",
            Self::Folder => "from the path of the folder",
        }
    }
}

/// A project.
#[derive(Clone, Debug)]
pub struct Project {
    /// The top folder of the repository, or the folder itself if it is in no repository.
    pub root: PathBuf,
    /// The namespace of the project's memories.
    pub namespace: NamespaceName,
    /// Where the name comes from.
    pub origin: NameOrigin,
    /// Whether hooks may read and store memories here.
    pub uses_hooks: bool,
}

impl Project {
    /// Returns the project of a folder. `chosen` names the namespace if it is given and not empty.
    ///
    /// # Errors
    ///
    /// For a name that breaks the rule of names, and for a `.cuebase.toml` that cannot be read.
    pub fn at(folder: &Path, chosen: Option<&str>) -> anyhow::Result<Self> {
        let folder = fs::canonicalize(folder).unwrap_or_else(|_| folder.to_path_buf());
        let repository = repository_root(&folder);
        let root = repository.clone().unwrap_or_else(|| folder.clone());
        let settings = ProjectSettings::read(&root)?;
        let uses_hooks = settings.hooks.unwrap_or(true);
        if let Some(name) = chosen
            && !name.is_empty()
        {
            let namespace = named(name, "CUEBASE_NAMESPACE")?;
            return Ok(Self { root, namespace, origin: NameOrigin::Chosen, uses_hooks });
        }
        if let Some(name) = &settings.namespace {
            let namespace = named(name, &ProjectSettings::path(&root).display().to_string())?;
            return Ok(Self { root, namespace, origin: NameOrigin::File, uses_hooks });
        }
        let remote = match &repository {
            Some(root) => remote::identity(root),
            None => None,
        };
        let (namespace, origin) = match remote {
            Some(identity) => (derived_name(&last_parts(&identity), &identity), NameOrigin::Remote),
            None => (named_after_folder(&root), NameOrigin::Folder),
        };
        Ok(Self { root, namespace, origin, uses_hooks })
    }
}

/// Reads a name that a person chose.
fn named(name: &str, place: &str) -> anyhow::Result<NamespaceName> {
    match NamespaceName::new(name) {
        Some(namespace) => Ok(namespace),
        None => bail!("{place}: invalid namespace {name:?}: {}", NamespaceName::RULE),
    }
}

/// Returns the nearest folder at or above a folder that holds `.git`: a folder, or a file in a linked working tree.
fn repository_root(folder: &Path) -> Option<PathBuf> {
    for candidate in folder.ancestors() {
        if candidate.join(".git").exists() {
            return Some(candidate.to_path_buf());
        }
    }
    None
}

fn named_after_folder(root: &Path) -> NamespaceName {
    let label = match root.file_name() {
        Some(name) => name.to_string_lossy().into_owned(),
        None => "folder".to_owned(),
    };
    derived_name(&label, &root.to_string_lossy())
}

/// Returns the owner and the name of a repository, the last two parts of its identity.
fn last_parts(identity: &str) -> String {
    let parts: Vec<&str> = identity.rsplitn(3, '/').take(2).collect();
    let mut label = String::new();
    for part in parts.iter().rev() {
        label.push_str(part);
        label.push('-');
    }
    label
}

/// Returns a name with a readable label, and a hash that keeps projects with the same label separate.
fn derived_name(label: &str, identity: &str) -> NamespaceName {
    let mut name = String::new();
    for character in label.chars() {
        if name.len() == LABEL_CHARS_MAX {
            break;
        }
        match character.to_ascii_lowercase() {
            plain if plain.is_ascii_alphanumeric() => name.push(plain),
            _ if name.is_empty() || name.ends_with('-') => {}
            _ => name.push('-'),
        }
    }
    let hash = sha256(&[identity.as_bytes()]);
    let label = name.trim_end_matches('-');
    let hash = HEXLOWER.encode(&hash[..HASH_BYTES]);
    let name = if label.is_empty() { format!("project-{hash}") } else { format!("{label}-{hash}") };
    // The name has 10 to 64 characters of the permitted ones.
    NamespaceName::new(&name).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn repository(config: &str) -> tempfile::TempDir {
        let folder = tempfile::tempdir().expect("temporary directory");
        fs::create_dir_all(folder.path().join(".git")).expect("creates");
        fs::create_dir_all(folder.path().join("src/deep")).expect("creates");
        fs::write(folder.path().join(".git/config"), config).expect("writes");
        folder
    }

    fn remote(url: &str) -> String {
        format!("[core]\n\tbare = false\n[remote \"origin\"]\n\turl = {url}\n\tprune = true\n")
    }

    #[test]
    fn clones_of_one_remote_share_a_namespace_in_every_folder() {
        let first = repository(&remote("git@github.com:Acme/Widget.git"));
        let second = repository(&remote("https://ada:token@github.com/acme/widget/"));
        let other = repository(&remote("https://gitlab.com/acme/widget"));
        let project = Project::at(&first.path().join("src/deep"), None).expect("a project");
        assert_eq!(project.root, first.path().canonicalize().expect("a folder"));
        assert!(project.namespace.as_str().starts_with("acme-widget-"), "{:?}", project.namespace);
        assert_eq!(project.origin, NameOrigin::Remote);
        assert_eq!(Project::at(second.path(), None).expect("a project").namespace, project.namespace);
        assert_ne!(Project::at(other.path(), None).expect("a project").namespace, project.namespace);
    }

    #[test]
    fn a_project_without_a_remote_is_named_after_its_folder() {
        let folder = tempfile::tempdir().expect("temporary directory");
        let mut names = Vec::new();
        for path in ["a/My Notes!", "b/My Notes!"] {
            let root = folder.path().join(path);
            fs::create_dir_all(&root).expect("creates");
            let project = Project::at(&root, None).expect("a project");
            assert!(project.namespace.as_str().starts_with("my-notes-"), "{:?}", project.namespace);
            assert_eq!(project.origin, NameOrigin::Folder);
            names.push(project.namespace);
        }
        assert_ne!(names[0], names[1], "folders of the same name have separate memories");
    }

    #[test]
    fn the_file_and_the_variable_choose_the_namespace() {
        let folder = repository(&remote("git@github.com:acme/widget.git"));
        fs::write(folder.path().join(".cuebase.toml"), "namespace = \"team\"\nhooks = false\n").expect("writes");
        let project = Project::at(&folder.path().join("src"), None).expect("a project");
        assert_eq!((project.namespace.as_str(), project.origin, project.uses_hooks), ("team", NameOrigin::File, false));
        let project = Project::at(folder.path(), Some("mine")).expect("a project");
        assert_eq!((project.namespace.as_str(), project.origin), ("mine", NameOrigin::Chosen));
        assert_eq!(Project::at(folder.path(), Some("")).expect("a project").namespace.as_str(), "team");
        let error = Project::at(folder.path(), Some("My Team")).expect_err("refused").to_string();
        assert!(error.contains("CUEBASE_NAMESPACE") && error.contains("a-z"), "{error}");
    }

    #[test]
    fn a_label_of_other_characters_still_gives_a_valid_name() {
        for label in ["", "---", "日本語", &"long-".repeat(40), "Ünïcode name", "..", "a"] {
            let name = derived_name(label, label);
            assert!(NamespaceName::new(name.as_str()).is_some() && !name.is_default(), "{label}: {name:?}");
            assert!(!name.as_str().starts_with('-') && !name.as_str().contains("--"), "{label}: {name:?}");
        }
    }
}
