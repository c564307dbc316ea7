//! Counters that each node keeps in memory and writes a moment later. All nodes write them before their sums are shown.

use cuebase_storage::AccountId;

use crate::app::App;
use crate::error::Result;
use crate::service::peers::PeerTopic;

/// Makes the other nodes write what they counted. A node that does not answer is left out: what it has not written is
/// lost if it has failed. Does nothing in a process that is alone.
///
/// # Errors
///
/// The nodes are unknown, because the records cannot be read.
pub fn write_at_others(app: &App, account: &AccountId, topic: PeerTopic) -> Result<()> {
    for (address, written) in app.reads.peers().ask_all::<()>(account, topic)? {
        if let Err(error) = written {
            tracing::warn!(address, failure = error.code(), "the last counts of a node are missing");
        }
    }
    Ok(())
}
