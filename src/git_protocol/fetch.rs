//! Answers to clone and fetch requests: the list of references, the negotiation, and the pack of missing objects.

use std::io::{self, Write};

use cuebase_storage::git::{CommitId, MissingObjects, Repository, ShallowFetch};

use super::error::FetchError;
use super::fetch_request::{
    Acknowledgements, FetchRequest, Negotiation, PackRequest, Progress, ReferencesRequest, SymbolicTargets, UnbornHead,
};
use super::lines::{self, DataWriter};
use super::protocol::{BRANCH, Framing, ProtocolVersion};

/// Writes the answer to a request.
pub fn answer(repository: &Repository, request: &FetchRequest, out: &mut impl Write) -> Result<(), FetchError> {
    let head = repository.head()?;
    match request {
        FetchRequest::References(request) => Ok(request.answer(head, out)?),
        FetchRequest::Pack(request) => request.answer(repository, head, out),
        FetchRequest::Nothing => Ok(()),
    }
}

impl ReferencesRequest {
    fn answer(&self, head: Option<CommitId>, out: &mut impl Write) -> io::Result<()> {
        let target = match self.targets {
            SymbolicTargets::Show => format!(" symref-target:{BRANCH}"),
            SymbolicTargets::Omit => String::new(),
        };
        match head {
            Some(head) => {
                if self.includes("HEAD") {
                    lines::text(out, &format!("{head} HEAD{target}"))?;
                }
                if self.includes(BRANCH) {
                    lines::text(out, &format!("{head} {BRANCH}"))?;
                }
            }
            None if self.unborn == UnbornHead::List && self.includes("HEAD") => {
                lines::text(out, &format!("unborn HEAD{target}"))?;
            }
            None => {}
        }
        lines::flush(out)
    }

    fn includes(&self, name: &str) -> bool {
        self.prefixes.is_empty() || self.prefixes.iter().any(|prefix| name.starts_with(prefix.as_str()))
    }
}

impl PackRequest {
    fn answer(&self, repository: &Repository, head: Option<CommitId>, out: &mut impl Write) -> Result<(), FetchError> {
        for want in &self.wants {
            if !is_on_branch(repository, head, *want)? {
                return Ok(lines::error(out, &format!("upload-pack: not our ref {want}"))?);
            }
        }
        let common = repository.commits_among(&self.haves)?;
        let is_agreed = self.is_agreed(&common);
        if !is_agreed && self.depth.is_none() {
            return Ok(self.acknowledge(&common, out)?);
        }
        let fetch = self.missing(repository, &common)?;
        if self.version == ProtocolVersion::V0 && self.depth.is_some() {
            write_boundary(&fetch, out)?;
            lines::flush(out)?;
            if self.negotiation == Negotiation::BoundaryOnly {
                return Ok(());
            }
        }
        self.acknowledge(&common, out)?;
        if !is_agreed {
            return Ok(());
        }
        if self.version == ProtocolVersion::V2 {
            if self.depth.is_some() {
                lines::text(out, "shallow-info")?;
                write_boundary(&fetch, out)?;
                lines::delimiter(out)?;
            }
            lines::text(out, "packfile")?;
        }
        self.write_pack(&fetch.missing, out)
    }

    /// Returns whether the pack can be sent. Version 2 sends it as soon as one commit is common; version 0 waits for
    /// the client.
    fn is_agreed(&self, common: &[CommitId]) -> bool {
        self.negotiation == Negotiation::Done || (self.version == ProtocolVersion::V2 && !common.is_empty())
    }

    fn write_pack(&self, missing: &MissingObjects, out: &mut impl Write) -> Result<(), FetchError> {
        if self.framing == Framing::SideBand && self.progress == Progress::Show {
            lines::message(out, &format!("{} objects\n", missing.count()))?;
        }
        let mut data = DataWriter::new(out, self.framing);
        if let Err(error) = missing.write_pack(&mut data, |_, _| {}) {
            tracing::error!(%error, "a pack could not be sent to its end");
            return self.abort(out);
        }
        if self.framing == Framing::SideBand {
            lines::flush(out)?;
        }
        Ok(())
    }

    /// Writes the commits that both sides have.
    fn acknowledge(&self, common: &[CommitId], out: &mut impl Write) -> io::Result<()> {
        match self.version {
            ProtocolVersion::V0 => self.acknowledge_v0(common, out),
            ProtocolVersion::V2 => self.acknowledge_v2(common, out),
        }
    }

    fn acknowledge_v0(&self, common: &[CommitId], out: &mut impl Write) -> io::Result<()> {
        if self.acknowledgements == Acknowledgements::All {
            for commit in common {
                lines::text(out, &format!("ACK {commit} common"))?;
            }
        }
        // One common commit is enough, since the history is a line.
        let Some(last) = common.last() else { return lines::text(out, "NAK") };
        if self.negotiation != Negotiation::Done && self.acknowledgements == Acknowledgements::All {
            lines::text(out, &format!("ACK {last} ready"))?;
            return lines::text(out, "NAK");
        }
        lines::text(out, &format!("ACK {last}"))
    }

    fn acknowledge_v2(&self, common: &[CommitId], out: &mut impl Write) -> io::Result<()> {
        if self.negotiation == Negotiation::Done {
            return Ok(());
        }
        lines::text(out, "acknowledgments")?;
        for commit in common {
            lines::text(out, &format!("ACK {commit}"))?;
        }
        if common.is_empty() {
            lines::text(out, "NAK")?;
            return lines::flush(out);
        }
        lines::text(out, "ready")?;
        lines::delimiter(out)
    }

    /// Returns the objects that the client lacks, and where its history ends.
    fn missing(&self, repository: &Repository, common: &[CommitId]) -> Result<ShallowFetch, FetchError> {
        let shallow = repository.commits_among(&self.shallow)?;
        if shallow.is_empty() && self.depth.is_none() {
            let missing = repository.missing(&self.wants, common)?;
            return Ok(ShallowFetch { missing, shallow: Vec::new(), unshallow: Vec::new() });
        }
        Ok(repository.missing_shallow(&self.wants, common, &shallow, self.depth)?)
    }

    /// Ends an incomplete answer. Without a side band the client sees only that it is cut off.
    fn abort(&self, out: &mut impl Write) -> Result<(), FetchError> {
        if self.framing == Framing::SideBand {
            lines::fatal_error(out, "the server could not read the repository; see its log for the reason\n")?;
        }
        Err(FetchError::Incomplete)
    }
}

/// Writes where the client's history now ends, and where it no longer ends.
fn write_boundary(fetch: &ShallowFetch, out: &mut impl Write) -> io::Result<()> {
    for commit in &fetch.shallow {
        lines::text(out, &format!("shallow {commit}"))?;
    }
    for commit in &fetch.unshallow {
        lines::text(out, &format!("unshallow {commit}"))?;
    }
    Ok(())
}

/// Returns whether a commit is in the history of the head. The head may have moved since the client learned it.
fn is_on_branch(repository: &Repository, head: Option<CommitId>, commit: CommitId) -> Result<bool, FetchError> {
    match head {
        Some(head) => Ok(head == commit || repository.is_ancestor(commit, head)?),
        None => Ok(false),
    }
}
