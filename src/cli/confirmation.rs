//! The confirmation before a namespace is deleted, text is erased, or files of a coding agent are changed.

use std::io::{self, BufRead, IsTerminal, Write};

use anyhow::{bail, ensure};
use cuebase_storage::{AccountId, NamespaceName};

use crate::config::Config;
use crate::control::{self, Command};

/// Asks on the terminal for the name of the namespace to delete.
///
/// # Errors
///
/// When the answer is not the name of the namespace, or when standard input is not a terminal.
pub(super) fn confirm_deletion(config: &Config, account: &AccountId, name: &NamespaceName) -> anyhow::Result<()> {
    if !io::stdin().is_terminal() {
        bail!(
            "deleting the namespace {name:?} needs a confirmation, and standard input is not a terminal\n\
             hint: add --yes to delete the namespace with all its memories"
        );
    }
    let listed = control::run(config, Command::ListNamespaces { account: account.clone() }, &|_| {})?;
    let entry = listed.as_array().into_iter().flatten().find(|entry| entry["name"] == name.as_str());
    // The deletion reports a namespace that does not exist.
    let Some(entry) = entry else { return Ok(()) };
    let memories = entry["memories"].as_u64().unwrap_or_default();
    let question = format!(
        "Delete the namespace {name:?} of the account {account:?} with its {memories} memories and their \
         history permanently?\nType the name of the namespace to confirm: "
    );
    let confirmed = ask(&question, name.as_str(), &mut io::stdin().lock(), &mut io::stderr())?;
    ensure!(confirmed, "the answer is not {name:?}: nothing was deleted");
    Ok(())
}

/// Asks on the terminal for the name of the namespace in which text is to be erased.
///
/// # Errors
///
/// When the answer is not the name of the namespace, or when standard input is not a terminal.
pub(super) fn confirm_erasure(name: &NamespaceName) -> anyhow::Result<()> {
    if !io::stdin().is_terminal() {
        bail!(
            "erasing text in the namespace {name:?} needs a confirmation, and standard input is not a terminal\n\
             hint: add --yes to erase the text with its history"
        );
    }
    let question = format!(
        "Erase the selected text in the namespace {name:?} with its history permanently?\n\
         Type the name of the namespace to confirm: "
    );
    let confirmed = ask(&question, name.as_str(), &mut io::stdin().lock(), &mut io::stderr())?;
    ensure!(confirmed, "the answer is not {name:?}: nothing was erased");
    Ok(())
}

/// Asks on the terminal whether to write the changes that were shown.
///
/// # Errors
///
/// When the answer is not yes, or when standard input is not a terminal.
pub(super) fn confirm_changes(count: usize) -> anyhow::Result<()> {
    if !io::stdin().is_terminal() {
        bail!(
            "writing these changes needs a confirmation, and standard input is not a terminal\n\
             hint: add --yes to write them"
        );
    }
    let changes = if count == 1 { "this change" } else { "these changes" };
    let question = format!("Make {changes}? Type yes to confirm: ");
    let confirmed = ask(&question, "yes", &mut io::stdin().lock(), &mut io::stderr())?;
    ensure!(confirmed, "the answer is not yes: nothing was written");
    Ok(())
}

/// Writes a question, reads one line, and returns whether it is the expected answer.
fn ask(question: &str, expected: &str, input: &mut impl BufRead, output: &mut impl Write) -> io::Result<bool> {
    output.write_all(question.as_bytes())?;
    output.flush()?;
    let mut answer = String::new();
    input.read_line(&mut answer)?;
    Ok(answer.trim() == expected)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_name_confirms() {
        for (answer, confirmed) in
            [("notes\n", true), (" notes \n", true), ("y\n", false), ("note\n", false), ("\n", false), ("", false)]
        {
            let mut shown = Vec::new();
            let asked = ask("Sure? ", "notes", &mut answer.as_bytes(), &mut shown).expect("asks");
            assert_eq!((asked, shown.as_slice()), (confirmed, b"Sure? ".as_slice()), "{answer:?}");
        }
    }
}
