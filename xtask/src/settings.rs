//! `docs/reference/settings.md`: every setting.

use cuebase::config::{SETTINGS, environment_name};

/// Returns the page.
///
/// # Errors
///
/// None today; the signature is that of every page.
pub fn page() -> anyhow::Result<String> {
    let mut page = super::heading(
        "Settings",
        "Every setting, its default and its environment variable. A setting comes from a command-line option, from the \
         environment, or from the file that `--config` names (TOML), in this order. `cuebase config` shows the values in \
         use and where each comes from.",
    );
    page.push_str("| setting | default | environment | meaning |\n| --- | --- | --- | --- |\n");
    for setting in &SETTINGS {
        let default = match setting.default {
            "" => String::new(),
            default => format!("`{default}`"),
        };
        let secret = if setting.secret { " Never shown." } else { "" };
        let meaning = super::cell(setting.help);
        let environment = environment_name(setting.key);
        page.push_str(&format!("| `{}` | {default} | `{environment}` | {meaning}{secret} |\n", setting.key));
    }
    Ok(page)
}
