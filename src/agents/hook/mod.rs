//! What a hook of a coding agent does: it prints memories before a prompt, and stores what was said after it.
//!
//! [`run`] carries out one event. [`input`] is the JSON that the agent sends, [`recall`] makes the text that it gets,
//! [`store`] sends the new part of the [`transcript`], and [`progress`] records how far it was sent. A hook never
//! disturbs the agent: its caller turns each error into a line of the [`log`], and prints nothing.

mod input;
pub mod log;
mod progress;
mod recall;
mod store;
mod transcript;

pub use self::input::{HookEvent, HookInput};

use super::connection::Connection;
use super::places::Places;
use super::project::Project;

/// Carries out one event. Returns what to print, if anything.
///
/// # Errors
///
/// Without a server, and when it refuses a request.
pub fn run(
    event: HookEvent,
    input: &HookInput,
    project: &Project,
    connection: &mut Connection,
    places: &Places,
) -> anyhow::Result<Option<String>> {
    match event {
        HookEvent::SessionStart => {
            progress::begin(places, &input.session_id)?;
            recall::profile(connection, project)
        }
        HookEvent::UserPrompt => recall::context(connection, project, &input.prompt),
        HookEvent::Stop | HookEvent::PreCompact => {
            store::store(input, project, connection, places)?;
            Ok(None)
        }
        HookEvent::Check => recall::check(connection, project).map(Some),
    }
}
