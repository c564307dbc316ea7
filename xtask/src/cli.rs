//! `docs/reference/cli.md`: every command with its help.

use clap::Command;

/// Returns the page.
///
/// # Errors
///
/// None today; the signature is that of every page.
pub fn page() -> anyhow::Result<String> {
    let mut page = super::heading("Command line", "Every command of `cuebase`, as its `--help` shows it.");
    let mut command = cuebase::cli::command();
    command.build();
    add(&command, &mut page);
    Ok(page)
}

/// Adds a command, then the commands below it.
fn add(command: &Command, page: &mut String) {
    let name = command.get_bin_name().unwrap_or(command.get_name()).to_owned();
    let help = command.clone().term_width(100).render_long_help().to_string();
    page.push_str(&format!("## {name}\n\n```text\n"));
    for line in help.trim_end().lines() {
        page.push_str(line.trim_end());
        page.push('\n');
    }
    page.push_str("```\n\n");
    for inner in command.get_subcommands() {
        if inner.get_name() != "help" && !inner.is_hide_set() {
            add(inner, page);
        }
    }
}
