//! What the declaration of a setting yields: a [`Setting`], and through the macro `settings!` a field with its parser.
//!
//! A group is declared with the struct that holds its values. A setting is declared like a line of the settings file,
//! followed by its field, the field's type and the parser of its text:
//!
//! ```text
//! /// Limits of a listener: `server.*`.
//! server: ServerSettings {
//!     /// Time limit of a shutdown, in milliseconds.
//!     "server.shutdown_ms" = "30000" => shutdown: Duration, milliseconds;
//! }
//! ```
//!
//! This yields the field `ServerSettings::shutdown`, `ServerSettings::read`, the constant `setting::server::shutdown`
//! and an element of `SETTINGS`. The doc comment is the help of the setting, so it is plain text. After the parser,
//! `masked()` marks a secret, and `option(…)` or `option_of_every_command(…)` adds an option of the command line.

/// The text that replaces a secret wherever settings are printed.
pub(super) const MASK: &str = "********";

/// The name of a setting; dots separate its parts. Only declarations make keys, so that no key can be misspelt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key(&'static str);

/// A declared setting.
#[derive(Clone, Debug)]
pub struct Setting {
    /// Name of the setting.
    pub key: Key,
    /// Value if no source sets it.
    pub default: &'static str,
    /// Meaning of the setting, with its unit.
    pub help: &'static str,
    /// Whether the value is a secret and is never printed.
    pub secret: bool,
    /// The option of the command line that sets it, if there is one.
    pub option: Option<SettingOption>,
}

/// An option of the command line that sets a setting.
#[derive(Clone, Debug)]
pub struct SettingOption {
    /// The commands that take the option.
    pub commands: OptionCommands,
    /// Name of the option, without dashes.
    pub name: &'static str,
    /// Placeholder of the value in the help.
    pub value_name: &'static str,
    /// Help of the option, without the default.
    pub help: &'static str,
}

/// The commands that take an option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OptionCommands {
    /// Every command.
    Every,
    /// The commands that serve: `serve` and `demo`.
    Serving,
}

impl Key {
    /// Returns the name as text.
    pub fn as_str(self) -> &'static str {
        self.0
    }
}

impl std::fmt::Display for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.0)
    }
}

/// Returns the environment variable of a setting: `CUEBASE_A_B` for `a.b`.
pub fn environment_name(key: Key) -> String {
    format!("CUEBASE_{}", key.0.replace('.', "_").to_uppercase())
}

impl Setting {
    /// `help` is a doc comment, whose lines begin with a space.
    pub(super) const fn new(key: &'static str, default: &'static str, help: &'static str) -> Self {
        Self { key: Key(key), default, help: help.trim_ascii_start(), secret: false, option: None }
    }

    /// Marks a secret.
    pub(super) const fn masked(mut self) -> Self {
        self.secret = true;
        self
    }

    /// Adds an option to the commands that serve.
    pub(super) const fn option(mut self, name: &'static str, value_name: &'static str, help: &'static str) -> Self {
        self.option = Some(SettingOption { commands: OptionCommands::Serving, name, value_name, help });
        self
    }

    /// Adds an option to every command.
    pub(super) const fn option_of_every_command(
        mut self,
        name: &'static str,
        value_name: &'static str,
        help: &'static str,
    ) -> Self {
        self.option = Some(SettingOption { commands: OptionCommands::Every, name, value_name, help });
        self
    }
}

/// Turns declarations of settings into structs, constants and the list of all settings; see the head of this file.
macro_rules! settings {
    ($(
        $(#[doc = $about:literal])+
        $group:ident: $section:ident {
            $(
                $(#[doc = $help:literal])+
                $key:literal = $default:literal => $field:ident: $type:ty, $parser:expr
                $(, $property:ident($($argument:literal),*))*;
            )+
        }
    )+) => {
        $(
            $(#[doc = $about])+
            #[derive(Clone, Debug)]
            pub struct $section {
                $(
                    $(#[doc = $help])+
                    #[doc = ""]
                    #[doc = concat!("Setting `", $key, "`; its default is `\"", $default, "\"`.")]
                    pub $field: $type,
                )+
            }

            impl $section {
                /// Parses the values of this group.
                pub(super) fn read(values: &Values<'_>) -> anyhow::Result<Self> {
                    Ok(Self { $($field: values.read(&setting::$group::$field, $parser)?,)+ })
                }
            }
        )+

        /// Every setting as a constant, for code that names one of them.
        #[expect(non_upper_case_globals, reason = "the constant of a setting has the name of its field")]
        pub mod setting {
            $(
                $(#[doc = $about])+
                pub mod $group {
                    use super::super::Setting;

                    $(
                        #[doc = concat!("The setting `", $key, "`.")]
                        pub const $field: Setting =
                            Setting::new($key, $default, concat!($($help),+))$(.$property($($argument),*))*;
                    )+
                }
            )+
        }

        /// All settings, in the order of their declaration.
        pub static SETTINGS: [Setting; [$($($key),+),+].len()] = [$($(setting::$group::$field),+),+];
    };
}

pub(super) use settings;
