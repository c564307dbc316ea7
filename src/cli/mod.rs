//! The command line of the `cuebase` binary.
//!
//! [`arguments`] defines the commands and their help texts, [`run`] runs them. Commands that change the data directory
//! go through [`crate::control`]: a running server executes them, or this process if no server runs. Start at [`main`].

mod account;
mod arguments;
mod backup;
mod bind;
mod closed_output;
mod confirmation;
mod data_directory;
mod demo;
mod environment;
mod erase;
mod evaluate;
mod first_key;
mod health;
mod hook;
mod install;
mod mcp;
mod mem0_source;
mod migrate;
mod model_change;
mod models;
mod nodes;
mod progress;
mod run;
mod serve;
mod server_options;
mod setting_options;
mod transfer;

pub use self::arguments::command;
pub use self::run::main;
