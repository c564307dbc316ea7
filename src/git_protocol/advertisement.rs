//! The answer to the first request of a client: the references and capabilities.

use std::io::{self, Write};

use cuebase_storage::git::CommitId;

use super::lines;
use super::protocol::{AGENT, Action, BRANCH, NO_COMMIT, ProtocolVersion};

/// Capabilities of a fetch in version 0.
const FETCH: &str = "multi_ack_detailed shallow side-band-64k ofs-delta no-progress object-format=sha1";
/// Capabilities of a push. Deletions are included so that git can show why they are refused.
const PUSH: &str = "report-status delete-refs side-band-64k ofs-delta quiet no-thin object-format=sha1";

/// Writes the answer to `GET …/info/refs`. Version 2, for fetches only, lists references on request.
pub fn write(action: Action, version: ProtocolVersion, head: Option<CommitId>, out: &mut impl Write) -> io::Result<()> {
    if action == Action::Fetch && version == ProtocolVersion::V2 {
        for line in ["version 2", AGENT, "ls-refs=unborn", "fetch=shallow", "object-format=sha1"] {
            lines::text(out, line)?;
        }
        return lines::flush(out);
    }
    lines::text(out, &format!("# service={}", action.service()))?;
    lines::flush(out)?;
    match (head, action) {
        (None, Action::Fetch) => lines::text(out, &format!("{NO_COMMIT} capabilities^{{}}\0{FETCH} {AGENT}"))?,
        (None, Action::Push) => lines::text(out, &format!("{NO_COMMIT} capabilities^{{}}\0{PUSH} {AGENT}"))?,
        (Some(head), Action::Fetch) => {
            lines::text(out, &format!("{head} HEAD\0symref=HEAD:{BRANCH} {FETCH} {AGENT}"))?;
            lines::text(out, &format!("{head} {BRANCH}"))?;
        }
        (Some(head), Action::Push) => lines::text(out, &format!("{head} {BRANCH}\0{PUSH} {AGENT}"))?,
    }
    lines::flush(out)
}
