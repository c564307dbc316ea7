//! The options of the command line that set settings. The declarations of the settings define their names and help
//! texts; this file adds them to commands and reads their values.

use std::collections::BTreeMap;
use std::marker::PhantomData;

use clap::{Arg, ArgMatches, Args, Command, Error, FromArgMatches};

use crate::config::declare::{OptionCommands, Setting};
use crate::config::{Key, SETTINGS};

/// The options of some commands.
pub(super) trait OptionSet {
    /// The commands.
    const COMMANDS: OptionCommands;
}

/// The options of every command.
pub(super) struct EveryCommand;

/// The options of the commands that serve.
pub(super) struct ServingCommands;

impl OptionSet for EveryCommand {
    const COMMANDS: OptionCommands = OptionCommands::Every;
}

impl OptionSet for ServingCommands {
    const COMMANDS: OptionCommands = OptionCommands::Serving;
}

/// The values of a set of options.
pub(super) struct SettingOptions<S> {
    /// The given options.
    pub(super) values: BTreeMap<Key, String>,
    set: PhantomData<S>,
}

impl<S: OptionSet> Args for SettingOptions<S> {
    fn augment_args(mut command: Command) -> Command {
        for setting in &SETTINGS {
            let Some(option) = &setting.option else { continue };
            if option.commands == S::COMMANDS {
                let argument = Arg::new(option.name).long(option.name).value_name(option.value_name);
                let argument = argument.help(with_default(option.help, setting));
                command = command.arg(argument.global(option.commands == OptionCommands::Every));
            }
        }
        command
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl<S: OptionSet> FromArgMatches for SettingOptions<S> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        let mut options = Self { values: BTreeMap::new(), set: PhantomData };
        options.update_from_arg_matches(matches)?;
        Ok(options)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        for setting in &SETTINGS {
            let Some(option) = &setting.option else { continue };
            if option.commands == S::COMMANDS
                && let Some(value) = matches.get_one::<String>(option.name)
            {
                self.values.insert(setting.key, value.clone());
            }
        }
        Ok(())
    }
}

/// Returns the help of an option that sets a setting, with the setting's default.
pub(super) fn with_default(help: &str, setting: &Setting) -> String {
    format!("{help} [default: {}]", setting.default)
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::super::arguments::{Arguments, command};
    use crate::config::setting;

    #[test]
    fn options_set_the_settings_that_declare_them() {
        let line = ["cuebase", "serve", "--pets-listen", "off", "--data", "a", "--listen", "b"];
        let arguments = Arguments::parse_from(line);
        let values: Vec<_> = arguments.settings().into_iter().collect();
        let expected = [(setting::general::data.key, "a"), (setting::general::listen.key, "b")];
        assert_eq!(values.len(), 3);
        for (key, value) in expected {
            assert!(values.contains(&(key, value.to_owned())), "{values:?}");
        }
        let before = Arguments::parse_from(["cuebase", "--data", "a", "health", "--listen", "b"]).settings();
        for (key, value) in expected {
            assert_eq!(before.get(&key).map(String::as_str), Some(value));
        }
        assert!(Arguments::parse_from(["cuebase", "config"]).settings().is_empty());
    }

    #[test]
    fn a_misspelt_option_gets_a_suggestion() {
        for (line, suggestion) in [
            (["cuebase", "serve", "--lisen", "127.0.0.1:0"], "'--listen'"),
            (["cuebase", "serve", "--dashbord-listen", "off"], "'--dashboard-listen'"),
            (["cuebase", "doctor", "--dta", "folder"], "'--data'"),
        ] {
            let error = command().try_get_matches_from(line).expect_err("refused").to_string();
            assert!(error.contains(suggestion), "{error}");
        }
    }
}
