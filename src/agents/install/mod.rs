//! Installing Cuebase in a coding agent, and removing it.
//!
//! [`agent`] knows which files an agent reads, [`setup`] what the agent is to run, [`entry`] and [`hooks`] how that is
//! written. [`plan`] makes the changes, which a person sees before [`change`] carries them out. [`receipt`] keeps what
//! a file held before.

mod agent;
mod change;
mod entry;
mod hooks;
mod plan;
mod receipt;
mod setup;

pub use self::agent::{Agent, Scope};
pub use self::change::Change;
pub use self::plan::{plan_install, plan_uninstall};
pub use self::setup::{ServerSource, Setup};
