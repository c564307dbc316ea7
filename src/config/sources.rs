//! The settings files of a command.
//!
//! A command that runs in any folder, such as the tools of a coding agent, must not read a file of that folder: it may
//! be a clone of what somebody else wrote, and could name the server that gets the user's memories. So only the server
//! and the commands of its operator read `cuebase.toml` in the working directory.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, ensure};
use nix::unistd::{Uid, User};

use super::declare::{Key, Setting, environment_name};
use super::file::read_file;
use super::settings::setting;

/// The name of a settings file that the command line does not name.
const FILE_NAME: &str = "cuebase.toml";
/// The user's settings file in the folder of configurations.
const USER_FILE: &str = "cuebase/cuebase.toml";
/// The user's data directory in the folder of data.
const USER_DATA: &str = "cuebase";
/// Settings that are paths. A relative one would be below any folder in which the user runs a command.
const PATHS: [Key; 2] = [setting::general::data.key, setting::model::local.key];
/// Each setting with a key of another service, and the setting with the address that the key is sent to.
pub(super) const KEY_ADDRESSES: [(Key, Key); 3] = [
    (setting::model::api_key.key, setting::model::base_url.key),
    (setting::model::chat_api_key.key, setting::model::chat_base_url.key),
    (setting::payments::api_key.key, setting::payments::url.key),
];

/// The settings files that a command reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileRule {
    /// No file: the command uses no setting.
    NoFile,
    /// `cuebase.toml` in the working directory. The operator of a server wrote it, next to the data directory.
    Serving,
    /// The same file. No key of the environment is sent to an address in it: an operator may run a command elsewhere.
    Administration,
    /// The user's `cuebase.toml`, then that in the data directory. No file of the working directory.
    User,
}

/// Whether a key of the environment is sent to an address in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EnvironmentKeys {
    Sent,
    Withheld,
}

/// The values of a settings file.
struct SettingsFile {
    path: PathBuf,
    values: BTreeMap<Key, String>,
}

/// The settings files of a command.
pub(super) struct Sources {
    /// A value of the first file counts before one of the second.
    files: Vec<SettingsFile>,
    /// The data directory that nothing names; `None` for the default of the setting.
    default_data: Option<String>,
    pub(super) keys: EnvironmentKeys,
}

impl Sources {
    /// Reads one file, or none.
    pub(super) fn of_file(file: Option<&Path>) -> anyhow::Result<Self> {
        let mut files = Vec::new();
        if let Some(path) = file {
            files.push(SettingsFile { path: path.to_path_buf(), values: read_file(path)? });
        }
        Ok(Self { files, default_data: None, keys: EnvironmentKeys::Sent })
    }

    /// Reads the files of a command. `named` is the file that the command line names, in place of those of the rule.
    pub(super) fn of_rule(
        rule: FileRule,
        command_line: &BTreeMap<Key, String>,
        environment: &impl Fn(&str) -> Option<String>,
        named: Option<&Path>,
    ) -> anyhow::Result<Self> {
        let keys = match rule {
            FileRule::NoFile => return Self::of_file(None),
            FileRule::User => return Self::of_user(command_line, environment, named),
            FileRule::Serving => EnvironmentKeys::Sent,
            FileRule::Administration => EnvironmentKeys::Withheld,
        };
        let in_working_directory = Path::new(FILE_NAME);
        match named {
            Some(file) => Self::of_file(Some(file)),
            None if in_working_directory.exists() => Ok(Self { keys, ..Self::of_file(Some(in_working_directory))? }),
            None => Self::of_file(None),
        }
    }

    /// Reads the files for a command that runs in any folder.
    fn of_user(
        command_line: &BTreeMap<Key, String>,
        environment: &impl Fn(&str) -> Option<String>,
        named: Option<&Path>,
    ) -> anyhow::Result<Self> {
        let default_data = user_folder(environment, "XDG_DATA_HOME", ".local/share")?.join(USER_DATA);
        let default_data = default_data.to_str().context("the path of the home folder is not UTF-8")?.to_owned();
        let mut sources = Self { default_data: Some(default_data), ..Self::of_file(named)? };
        if named.is_some() {
            return Ok(sources);
        }
        let of_user = user_folder(environment, "XDG_CONFIG_HOME", ".config")?.join(USER_FILE);
        if of_user.exists() {
            let values = read_file(&of_user)?;
            ensure_absolute_paths(&of_user, &values)?;
            sources.files.push(SettingsFile { path: of_user, values });
        }
        let data = sources.data(command_line, environment);
        let in_data = Path::new(&data).join(FILE_NAME);
        // The file of an empty path, which is refused later, would be that of the working directory.
        if !data.is_empty() && in_data.exists() {
            let mut values = read_file(&in_data)?;
            // The file does not move the data directory that it is in.
            values.remove(&setting::general::data.key);
            ensure_absolute_paths(&in_data, &values)?;
            sources.files.push(SettingsFile { path: in_data, values });
        }
        Ok(sources)
    }

    /// Returns the data directory that the sources name so far.
    fn data(&self, command_line: &BTreeMap<Key, String>, environment: &impl Fn(&str) -> Option<String>) -> String {
        let data = setting::general::data;
        if let Some(path) = command_line.get(&data.key) {
            return path.clone();
        }
        if let Some(path) = environment(&environment_name(data.key)) {
            return path;
        }
        match self.value(data.key) {
            Some((path, _)) => path.to_owned(),
            None => self.default_of(&data),
        }
    }

    /// Returns the value of a setting in the files, and the path of its file.
    pub(super) fn value(&self, key: Key) -> Option<(&str, &Path)> {
        for file in &self.files {
            if let Some(value) = file.values.get(&key) {
                return Some((value.as_str(), file.path.as_path()));
            }
        }
        None
    }

    /// Returns the default of a setting for this command.
    pub(super) fn default_of(&self, setting: &Setting) -> String {
        match &self.default_data {
            Some(folder) if setting.key == setting::general::data.key => folder.clone(),
            _ => setting.default.to_owned(),
        }
    }
}

fn ensure_absolute_paths(file: &Path, values: &BTreeMap<Key, String>) -> anyhow::Result<()> {
    for key in PATHS {
        if let Some(value) = values.get(&key) {
            let is_absolute = value.is_empty() || Path::new(value).is_absolute();
            ensure!(is_absolute, "{}: setting {key} is {value:?}: expected an absolute path", file.display());
        }
    }
    Ok(())
}

/// Returns a folder of the user: that of a variable, or one in the home folder. A relative path counts as not set, as
/// the XDG specification says.
fn user_folder(
    environment: &impl Fn(&str) -> Option<String>,
    variable: &str,
    in_home: &str,
) -> anyhow::Result<PathBuf> {
    if let Some(folder) = absolute(environment(variable)) {
        return Ok(folder);
    }
    if let Some(home) = absolute(environment("HOME")) {
        return Ok(home.join(in_home));
    }
    let user = User::from_uid(Uid::current()).ok().flatten();
    let user = user.context("no home folder is known: set HOME to an absolute path")?;
    Ok(user.dir.join(in_home))
}

fn absolute(path: Option<String>) -> Option<PathBuf> {
    let path = PathBuf::from(path?);
    if path.is_absolute() { Some(path) } else { None }
}
