//! Names that are not settings, and the setting that is probably meant.

use super::declare::{Key, environment_name};
use super::settings::SETTINGS;

/// Environment variables with our prefix that are not settings.
const OTHER_VARIABLES: [&str; 7] = [
    "CUEBASE_CONFIG",
    "CUEBASE_URL",
    "CUEBASE_KEY",
    "CUEBASE_KEY_FILE",
    "CUEBASE_NAMESPACE",
    "CUEBASE_HOOKS",
    "CUEBASE_HOOK_TIMEOUT_MS",
];
/// Minimum similarity (Jaro-Winkler) at which one name is suggested for another.
const SIMILARITY_MIN: f64 = 0.85;

/// Returns the setting of this name.
pub(super) fn known_key(name: &str) -> Option<Key> {
    for setting in &SETTINGS {
        if setting.key.as_str() == name {
            return Some(setting.key);
        }
    }
    None
}

/// Returns the key that is most similar to a name, or `None` if no key is similar enough.
pub(super) fn nearest_key(name: &str) -> Option<Key> {
    let mut nearest = None;
    let mut similarity_max = SIMILARITY_MIN;
    for setting in &SETTINGS {
        let similarity = strsim::jaro_winkler(name, setting.key.as_str());
        // `>=` keeps the last one of equals.
        if similarity > SIMILARITY_MIN && similarity >= similarity_max {
            nearest = Some(setting.key);
            similarity_max = similarity;
        }
    }
    nearest
}

/// Returns the names of environment variables that start with our prefix but match no setting, each with the most
/// similar variable of a setting, if any.
pub fn misspelt(names: impl Iterator<Item = String>) -> Vec<(String, Option<String>)> {
    let mut unknown = Vec::new();
    for name in names {
        let Some(rest) = name.strip_prefix("CUEBASE_") else { continue };
        let is_known = OTHER_VARIABLES.contains(&name.as_str())
            || rest.starts_with("TEST_")
            || SETTINGS.iter().any(|setting| environment_name(setting.key) == name);
        if is_known {
            continue;
        }
        let key = rest.to_lowercase().replacen('_', ".", 1);
        let similar = nearest_key(&key).map(environment_name);
        unknown.push((name, similar));
    }
    unknown
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::config::Config;

    #[test]
    fn a_misspelt_setting_of_a_file_gets_a_suggestion() {
        let folder = tempfile::tempdir().expect("temporary directory");
        let file = folder.path().join("cuebase.toml");
        for setting in &SETTINGS {
            std::fs::write(&file, format!("{}x = 'y'\n", setting.key)).expect("writes");
            let error = Config::resolve(&BTreeMap::new(), |_| None, Some(&file)).expect_err("refused").to_string();
            let expected = format!("unknown setting \"{0}x\"; did you mean \"{0}\"?", setting.key);
            assert!(error.contains(&expected), "{error}");
        }
    }

    #[test]
    fn a_misspelt_variable_gets_a_suggestion() {
        for setting in &SETTINGS {
            let variable = environment_name(setting.key);
            let name = format!("{variable}X");
            assert_eq!(misspelt([name.clone()].into_iter()), [(name, Some(variable))]);
        }
    }
}
