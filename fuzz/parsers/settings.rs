//! Settings files. Any file is accepted or refused with an error message.

use std::collections::BTreeMap;

use cuebase::config::Config;

pub(super) fn enter(bytes: &[u8]) {
    let folder = super::scratch();
    let file = folder.path().join("cuebase.toml");
    std::fs::write(&file, bytes).expect("writes");
    if let Err(error) = Config::resolve(&BTreeMap::new(), |_| None, Some(&file)) {
        assert!(!format!("{error:#}").is_empty());
    }
}
