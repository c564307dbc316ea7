//! The options that name a server: its URL, and a key or the file that holds one.

use std::path::PathBuf;

use anyhow::{bail, ensure};
use clap::Args;
use zeroize::Zeroizing;

use crate::file_errors::explained;

/// The variable with the URL.
const URL_VARIABLE: &str = "CUEBASE_URL";

/// Options of commands that are clients of a server.
#[derive(Args)]
pub(super) struct ServerOptions {
    /// Server URL, for example http://127.0.0.1:8080 [env: CUEBASE_URL, without --data] [default: use the data
    /// directory]
    #[arg(long, value_name = "URL")]
    url: Option<String>,
    /// API key for that server
    #[arg(long, env = "CUEBASE_KEY", value_name = "KEY", hide_env_values = true)]
    key: Option<String>,
    /// File that holds the API key for that server, in place of --key
    #[arg(long, env = "CUEBASE_KEY_FILE", value_name = "FILE")]
    key_file: Option<PathBuf>,
}

impl ServerOptions {
    /// Takes the URL of the environment if the command line names none.
    pub(super) fn add_environment(&mut self, environment: impl Fn(&str) -> Option<String>) {
        if self.url.is_none() {
            self.url = environment(URL_VARIABLE);
        }
    }

    /// Returns the URL, if one is given.
    pub(super) fn url(&self) -> Option<&str> {
        match self.url.as_deref() {
            Some("") | None => None,
            url => url,
        }
    }

    /// Returns the key for the server. The file overrides the option and the variable.
    pub(super) fn key(&self) -> anyhow::Result<Zeroizing<String>> {
        if let Some(file) = &self.key_file {
            let text = Zeroizing::new(std::fs::read_to_string(file).map_err(explained("read", file))?);
            let key = text.trim();
            ensure!(!key.is_empty(), "{} is empty: write an API key into the file", file.display());
            return Ok(key.to_owned().into());
        }
        match &self.key {
            Some(key) if !key.is_empty() => Ok(key.clone().into()),
            _ => bail!("--url needs an API key: add --key or --key-file, or set CUEBASE_KEY"),
        }
    }
}
