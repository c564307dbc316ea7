//! Commands on a data directory. They run in this process, or in the server if one is running.
//!
//! [`Command`] lists the commands and [`execution`] runs them. [`socket`] sends a command to the running server and
//! serves the commands of other processes. [`peers`] serves those of other nodes. Long commands report their progress.

mod command;
mod execution;
mod node_row;
mod peers;
mod socket;

pub use self::command::Command;
pub use self::node_row::NodeRow;
pub use self::socket::{ask_running, listen, run};

use std::sync::Arc;

use crate::dashboard::Dashboard;

/// What commands need to know of the server that runs them.
pub struct RunningServer {
    /// The dashboard, to which sign-in links lead.
    pub dashboard: Arc<Dashboard>,
    /// Base URL of the API.
    pub url: String,
}
