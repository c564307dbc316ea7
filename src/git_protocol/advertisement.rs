//! What a client is told first: which references there are, and what can be asked for.

use std::io::{self, Write};

use cuebase_storage::git::CommitId;

use super::{AGENT, Action, BRANCH, NO_COMMIT, lines};

/// Of a fetch in version 0.
const FETCH: &str = "multi_ack_detailed shallow side-band-64k ofs-delta no-progress object-format=sha1";
/// Of a push. A deletion is taken as a question too, so that git can show why it is refused.
const PUSH: &str = "report-status delete-refs side-band-64k ofs-delta quiet no-thin object-format=sha1";

/// Writes the answer to `GET …/info/refs`. In version 2, which is for fetches alone, references come on demand.
pub fn write(action: Action, version_2: bool, head: Option<CommitId>, out: &mut impl Write) -> io::Result<()> {
    if action == Action::Fetch && version_2 {
        for line in ["version 2", AGENT, "ls-refs=unborn", "fetch=shallow", "object-format=sha1"] {
            lines::text(out, line)?;
        }
        return lines::flush(out);
    }
    lines::text(out, &format!("# service={}", action.service()))?;
    lines::flush(out)?;
    let symbolic = format!("symref=HEAD:{BRANCH} ");
    match (head, action) {
        (None, Action::Fetch) => lines::text(out, &format!("{NO_COMMIT} capabilities^{{}}\0{FETCH} {AGENT}"))?,
        (None, Action::Push) => lines::text(out, &format!("{NO_COMMIT} capabilities^{{}}\0{PUSH} {AGENT}"))?,
        (Some(head), Action::Fetch) => {
            lines::text(out, &format!("{head} HEAD\0{symbolic}{FETCH} {AGENT}"))?;
            lines::text(out, &format!("{head} {BRANCH}"))?;
        }
        (Some(head), Action::Push) => lines::text(out, &format!("{head} {BRANCH}\0{PUSH} {AGENT}"))?,
    }
    lines::flush(out)
}
