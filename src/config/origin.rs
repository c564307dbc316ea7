//! The source of a setting's value, shown by `cuebase config` and in errors.

use std::path::PathBuf;

use super::declare::Key;

/// The source of a setting's value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The built-in default.
    Default,
    /// The configuration file at this path.
    File(PathBuf),
    /// The environment variable of this name.
    Environment(String),
    /// None: the key in the environment is not used, because the address that it would be sent to is from a file in the
    /// working directory.
    Withheld {
        /// The variable with the key.
        variable: String,
        /// The setting of the address.
        address: Key,
        /// The file with the address.
        file: PathBuf,
    },
    /// An option of the command line.
    CommandLine,
}

impl std::fmt::Display for Origin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::File(path) => write!(f, "file {}", path.display()),
            Self::Environment(name) => write!(f, "environment {name}"),
            Self::Withheld { variable, address, file } => {
                write!(f, "none: {variable} is not sent to {address} of {}", file.display())
            }
            Self::CommandLine => f.write_str("command line"),
        }
    }
}
