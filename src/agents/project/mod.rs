//! The project that an agent works on, and the namespace that holds its memories.
//!
//! A project is a git repository ([`repository`]), or a folder without one. Its namespace is named by
//! `CUEBASE_NAMESPACE`, or after its folder. The project itself can name another one, with `.cuebase.toml` in the top
//! folder ([`settings`]) or with the remote of the repository ([`remote`]). Somebody else may have written both, so that
//! name counts only once a person has bound the folder to it ([`binding`]), or if the folder was used before that was
//! needed ([`known`]).

mod binding;
mod files;
mod known;
mod remote;
mod repository;
mod settings;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::bail;
use cuebase_storage::NamespaceName;
use data_encoding::HEXLOWER;

use self::repository::Repository;
use self::settings::ProjectSettings;
use super::places::Places;
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

/// A namespace that the files of a project name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedNamespace {
    /// The namespace.
    pub namespace: NamespaceName,
    /// Where the name comes from.
    pub origin: NameOrigin,
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
    /// The folder that can be bound: the root, or that of the main working tree of the repository.
    main: PathBuf,
    /// The namespace that the files of the project name, if nothing else chooses one.
    named: Option<NamedNamespace>,
}

impl Project {
    /// Returns the project of a folder. `chosen` names the namespace if it is given and not empty.
    ///
    /// # Errors
    ///
    /// For a name that breaks the rule of names, and for a `.cuebase.toml` that cannot be read.
    pub fn at(folder: &Path, chosen: Option<&str>, places: &Places) -> anyhow::Result<Self> {
        let folder = fs::canonicalize(folder).unwrap_or_else(|_| folder.to_path_buf());
        let repository = Repository::containing(&folder);
        let (root, main) = match &repository {
            Some(repository) => (repository.root.clone(), repository.main.clone()),
            None => (folder.clone(), folder),
        };
        let settings = ProjectSettings::read(&root)?;
        let uses_hooks = settings.hooks.unwrap_or(true);
        if let Some(name) = chosen
            && !name.is_empty()
        {
            let namespace = named(name, "CUEBASE_NAMESPACE")?;
            return Ok(Self { root, namespace, origin: NameOrigin::Chosen, uses_hooks, main, named: None });
        }
        let own = named_after_folder(&main);
        let named = named_in(&root, &settings, repository.as_ref())?;
        let mut project = Self { root, namespace: own, origin: NameOrigin::Folder, uses_hooks, main, named };
        let bound = binding::bound(places, &project.main)?;
        if let Some(named) = project.named.clone()
            && bound.as_ref() == Some(&named.namespace)
        {
            project.use_named(named);
        }
        Ok(project)
    }

    /// Returns the namespace that the files of the project name and that the project does not use, because the folder is
    /// not bound to it.
    pub fn unbound(&self) -> Option<&NamedNamespace> {
        match &self.named {
            Some(named) if named.namespace != self.namespace => Some(named),
            _ => None,
        }
    }

    /// Returns a line about a namespace that the project names and does not use.
    pub fn notice(&self) -> Option<String> {
        let NamedNamespace { namespace, origin } = self.unbound()?;
        Some(format!(
            "{} uses the namespace {} and not {namespace} ({}): run `cuebase bind` there to allow that one",
            self.root.display(),
            self.namespace,
            origin.describe()
        ))
    }

    /// Lets the project use the namespace that its files name, from now on.
    ///
    /// # Errors
    ///
    /// When the permission cannot be stored.
    pub fn bind(&mut self, places: &Places) -> anyhow::Result<()> {
        if let Some(named) = self.named.clone() {
            binding::bind(places, &self.main, &named.namespace)?;
            self.use_named(named);
        }
        Ok(())
    }

    /// Takes the permission back: the project uses the namespace of its folder.
    ///
    /// # Errors
    ///
    /// When the permission cannot be removed.
    pub fn unbind(&mut self, places: &Places) -> anyhow::Result<()> {
        // A missing record would count as one from before folders were bound.
        let own = named_after_folder(&self.main);
        binding::bind(places, &self.main, &own)?;
        if self.origin != NameOrigin::Chosen {
            (self.namespace, self.origin) = (own, NameOrigin::Folder);
        }
        Ok(())
    }

    /// Binds a folder that was used before folders had to be bound, so that nobody finds an empty memory. `transcripts`
    /// is the folder of its transcripts; by default the one of Claude Code for `folder`.
    ///
    /// # Errors
    ///
    /// When the permission cannot be read or stored.
    pub fn keep_binding(&mut self, places: &Places, folder: &Path, transcripts: Option<&Path>) -> anyhow::Result<()> {
        if self.unbound().is_none() || binding::bound(places, &self.main)?.is_some() {
            return Ok(());
        }
        let is_known = match transcripts {
            Some(transcripts) => known::is_known(places, &self.root, transcripts),
            None => known::is_known(places, &self.root, &known::claude_transcripts(places, folder)),
        };
        if is_known { self.bind(places) } else { Ok(()) }
    }

    fn use_named(&mut self, named: NamedNamespace) {
        (self.namespace, self.origin) = (named.namespace, named.origin);
    }
}

/// Returns the namespace that `.cuebase.toml` names, or else the one of the remote.
fn named_in(
    root: &Path,
    settings: &ProjectSettings,
    repository: Option<&Repository>,
) -> anyhow::Result<Option<NamedNamespace>> {
    if let Some(name) = &settings.namespace {
        let namespace = named(name, &ProjectSettings::path(root).display().to_string())?;
        return Ok(Some(NamedNamespace { namespace, origin: NameOrigin::File }));
    }
    let Some(identity) = repository.and_then(Repository::remote) else { return Ok(None) };
    let namespace = derived_name(&last_parts(&identity), &identity);
    Ok(Some(NamedNamespace { namespace, origin: NameOrigin::Remote }))
}

/// Reads a name that a person chose.
fn named(name: &str, place: &str) -> anyhow::Result<NamespaceName> {
    match NamespaceName::new(name) {
        Some(namespace) => Ok(namespace),
        None => bail!("{place}: invalid namespace {name:?}: {}", NamespaceName::RULE),
    }
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
    use super::super::places::write;
    use super::*;

    fn repository(config: &str) -> tempfile::TempDir {
        let folder = tempfile::tempdir().expect("temporary directory");
        fs::create_dir_all(folder.path().join(".git")).expect("creates");
        fs::create_dir_all(folder.path().join("src/deep")).expect("creates");
        fs::write(folder.path().join(".git/config"), config).expect("writes");
        folder
    }

    /// Returns the places of a person whose home is a folder.
    fn places(home: &tempfile::TempDir) -> Places {
        let home = home.path().display().to_string();
        Places::resolve(|name| if name == "HOME" { Some(home.clone()) } else { None }).expect("resolves")
    }

    fn home() -> tempfile::TempDir {
        tempfile::tempdir().expect("temporary directory")
    }

    /// Returns the project of a folder, bound to the namespace that it names.
    fn bound(folder: &Path, places: &Places) -> Project {
        let mut project = Project::at(folder, None, places).expect("a project");
        project.bind(places).expect("binds");
        project
    }

    fn remote(url: &str) -> String {
        format!("[core]\n\tbare = false\n[remote \"origin\"]\n\turl = {url}\n\tprune = true\n")
    }

    #[test]
    fn clones_of_one_remote_share_a_namespace_in_every_folder() {
        let first = repository(&remote("git@github.com:Acme/Widget.git"));
        let second = repository(&remote("https://ada:token@github.com/acme/widget/"));
        let other = repository(&remote("https://gitlab.com/acme/widget"));
        let home = home();
        let places = places(&home);
        let project = bound(&first.path().join("src/deep"), &places);
        assert_eq!(project.root, first.path().canonicalize().expect("a folder"));
        assert!(project.namespace.as_str().starts_with("acme-widget-"), "{:?}", project.namespace);
        assert_eq!(project.origin, NameOrigin::Remote);
        assert_eq!(bound(second.path(), &places).namespace, project.namespace);
        assert_ne!(bound(other.path(), &places).namespace, project.namespace);
    }

    #[test]
    fn a_folder_uses_a_named_namespace_only_while_it_is_bound_to_it() {
        let home = home();
        let places = places(&home);
        let folder = repository(&remote("git@github.com:acme/widget.git"));
        let at = || Project::at(folder.path(), None, &places).expect("a project");
        let unbound = at();
        assert_eq!(unbound.origin, NameOrigin::Folder);
        assert!(unbound.notice().is_some_and(|line| line.contains("acme-widget-") && line.contains("cuebase bind")));
        at().bind(&places).expect("binds");
        assert!(at().namespace.as_str().starts_with("acme-widget-") && at().notice().is_none());

        // A later change of the file names a namespace that nobody allowed.
        fs::write(folder.path().join(".cuebase.toml"), "namespace = \"work-secrets\"\n").expect("writes");
        assert_eq!((at().namespace, at().origin), (unbound.namespace.clone(), NameOrigin::Folder));
        at().bind(&places).expect("binds");
        assert_eq!(at().namespace.as_str(), "work-secrets");
        at().unbind(&places).expect("unbinds");
        assert_eq!(at().namespace, unbound.namespace);
    }

    #[test]
    fn a_folder_from_before_keeps_its_namespace_until_a_person_takes_it_back() {
        let home = home();
        let places = places(&home);
        let folder = repository(&remote("git@github.com:acme/widget.git"));
        let transcripts = home.path().join("transcripts");
        let root = folder.path().canonicalize().expect("a folder");
        let entry = serde_json::json!({"cwd": root}).to_string();
        write(&transcripts.join("one.jsonl"), &format!("{entry}\n")).expect("writes");
        write(&places.transcript_record("one"), "{}").expect("writes");
        for expected in [NameOrigin::Remote, NameOrigin::Folder] {
            let mut project = Project::at(folder.path(), None, &places).expect("a project");
            project.keep_binding(&places, folder.path(), Some(&transcripts)).expect("binds");
            assert_eq!(project.origin, expected);
            assert_eq!(Project::at(folder.path(), None, &places).expect("a project").origin, expected);
            project.unbind(&places).expect("unbinds");
        }
    }

    #[test]
    fn a_project_without_a_remote_is_named_after_its_folder() {
        let folder = tempfile::tempdir().expect("temporary directory");
        let mut names = Vec::new();
        for path in ["a/My Notes!", "b/My Notes!"] {
            let root = folder.path().join(path);
            fs::create_dir_all(&root).expect("creates");
            let project = Project::at(&root, None, &places(&folder)).expect("a project");
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
        let home = home();
        let places = places(&home);
        let project = bound(&folder.path().join("src"), &places);
        assert_eq!((project.namespace.as_str(), project.origin, project.uses_hooks), ("team", NameOrigin::File, false));
        let chosen = |name| Project::at(folder.path(), Some(name), &places);
        let project = chosen("mine").expect("a project");
        assert_eq!((project.namespace.as_str(), project.origin), ("mine", NameOrigin::Chosen));
        assert_eq!(chosen("").expect("a project").namespace.as_str(), "team");
        let error = chosen("My Team").expect_err("refused").to_string();
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
