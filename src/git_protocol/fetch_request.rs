//! Parsing of clone and fetch requests.

use cuebase_storage::git::CommitId;

use super::error::InvalidRequest;
use super::lines::{Line, LineReader};
use super::protocol::{Framing, ProtocolVersion, parse_id};

/// Commits that one request may want. There is only one branch, so more are repetitions.
const WANTS_MAX: usize = 64;

/// A request to the fetch service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FetchRequest {
    /// Version 2: list references.
    References(ReferencesRequest),
    /// Send a pack.
    Pack(PackRequest),
    /// Nothing: the client has everything.
    Nothing,
}

/// A request for a list of references.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReferencesRequest {
    /// Prefixes of the names to list; empty for all names.
    pub(super) prefixes: Vec<String>,
    pub(super) targets: SymbolicTargets,
    pub(super) unborn: UnbornHead,
}

/// Whether the list shows the target of `HEAD`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SymbolicTargets {
    Show,
    Omit,
}

/// Whether `HEAD` is listed although it has no commit yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum UnbornHead {
    List,
    Omit,
}

/// A request for a pack.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PackRequest {
    pub(super) version: ProtocolVersion,
    /// Commits that the client asks for.
    pub(super) wants: Vec<CommitId>,
    /// Commits that the client has.
    pub(super) haves: Vec<CommitId>,
    /// Commits of the client whose parents it does not have.
    pub(super) shallow: Vec<CommitId>,
    /// How many commits deep the client wants the history; none for all of it.
    pub(super) depth: Option<u32>,
    pub(super) negotiation: Negotiation,
    pub(super) acknowledgements: Acknowledgements,
    pub(super) framing: Framing,
    pub(super) progress: Progress,
}

/// How far client and server have agreed on the commits that both have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Negotiation {
    /// The client may send further commits that it has.
    #[default]
    Open,
    /// Version 0: the client asks where its history will end, and sends the commits that it has in a later request.
    BoundaryOnly,
    /// The client sends no further commits.
    Done,
}

/// Version 0: which common commits the client expects to be acknowledged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Acknowledgements {
    /// Only one.
    #[default]
    One,
    /// All.
    All,
}

/// Whether the client shows messages about the progress.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Progress {
    #[default]
    Show,
    Hide,
}

impl FetchRequest {
    /// Parses a request.
    pub fn parse(version: ProtocolVersion, body: &[u8]) -> Result<Self, InvalidRequest> {
        let mut lines = LineReader::new(body);
        match version {
            ProtocolVersion::V0 => parse_v0(&mut lines),
            ProtocolVersion::V2 => parse_v2(&mut lines),
        }
    }

    /// Returns whether the answer needs the head only.
    pub fn is_small(&self) -> bool {
        !matches!(self, Self::Pack(_))
    }
}

/// Parses a command, the client's capabilities, a delimiter, and the command's arguments.
fn parse_v2(lines: &mut LineReader<'_>) -> Result<FetchRequest, InvalidRequest> {
    let command = match lines.read()? {
        None | Some(Line::Flush) => return Ok(FetchRequest::Nothing),
        Some(Line::Text(text)) => text.strip_prefix("command=").unwrap_or(text),
        Some(Line::Delimiter) => return Err(InvalidRequest::new("the command is missing")),
    };
    let mut line = lines.read()?;
    while let Some(Line::Text(capability)) = line {
        // The other capabilities have no effect.
        if let Some(format) = capability.strip_prefix("object-format=")
            && format != "sha1"
        {
            return Err(InvalidRequest::new("namespaces support SHA-1 ids only"));
        }
        line = lines.read()?;
    }
    let mut arguments = Vec::new();
    if line == Some(Line::Delimiter) {
        while let Some(Line::Text(text)) = lines.read()? {
            arguments.push(text);
        }
    }
    match command {
        "ls-refs" => Ok(FetchRequest::References(parse_references(&arguments))),
        "fetch" => Ok(FetchRequest::Pack(parse_pack(&arguments)?)),
        other => Err(InvalidRequest::new(format!("unknown command {other:?}"))),
    }
}

fn parse_references(arguments: &[&str]) -> ReferencesRequest {
    let mut request =
        ReferencesRequest { prefixes: Vec::new(), targets: SymbolicTargets::Omit, unborn: UnbornHead::Omit };
    for argument in arguments {
        match *argument {
            "symrefs" => request.targets = SymbolicTargets::Show,
            "unborn" => request.unborn = UnbornHead::List,
            other => {
                if let Some(prefix) = other.strip_prefix("ref-prefix ") {
                    request.prefixes.push(prefix.to_owned());
                }
            }
        }
    }
    request
}

fn parse_pack(arguments: &[&str]) -> Result<PackRequest, InvalidRequest> {
    let mut request =
        PackRequest { version: ProtocolVersion::V2, framing: Framing::SideBand, ..PackRequest::default() };
    for argument in arguments {
        match argument.split_once(' ').unwrap_or((argument, "")) {
            ("want", text) => request.add_want(text)?,
            ("have", text) => request.haves.push(parse_id(text)?),
            ("done", _) => request.negotiation = Negotiation::Done,
            ("no-progress", _) => request.progress = Progress::Hide,
            ("shallow", text) => request.shallow.push(parse_id(text)?),
            ("deepen", text) => request.depth = Some(parse_depth(text)?),
            ("thin-pack" | "ofs-delta" | "include-tag", _) => {}
            (other, _) => return Err(InvalidRequest::new(format!("the server does not support {other:?}"))),
        }
    }
    Ok(request)
}

/// Parses the depth of a history. git sends its greatest number for "all of it".
fn parse_depth(text: &str) -> Result<u32, InvalidRequest> {
    match text.parse() {
        Ok(depth) if depth > 0 => Ok(depth),
        _ => Err(InvalidRequest::new(format!("{text:?} is not a depth"))),
    }
}

/// Parses the wants, with the client's capabilities after the first, a flush, and the haves up to a flush or `done`.
fn parse_v0(lines: &mut LineReader<'_>) -> Result<FetchRequest, InvalidRequest> {
    let mut request = PackRequest::default();
    while let Some(Line::Text(text)) = lines.read()? {
        match text.split_once(' ') {
            Some(("shallow", id)) => request.shallow.push(parse_id(id)?),
            Some(("deepen", depth)) => request.depth = Some(parse_depth(depth)?),
            Some(("want", want)) => {
                let (id, capabilities) = want.split_once(' ').unwrap_or((want, ""));
                request.set_capabilities(capabilities);
                request.add_want(id)?;
            }
            _ => return Err(InvalidRequest::new(format!("expected a want, not {text:?}"))),
        }
    }
    if request.wants.is_empty() {
        return Ok(FetchRequest::Nothing);
    }
    request.negotiation = Negotiation::BoundaryOnly;
    while let Some(line) = lines.read()? {
        if request.negotiation == Negotiation::BoundaryOnly {
            request.negotiation = Negotiation::Open;
        }
        match line {
            Line::Text("done") => request.negotiation = Negotiation::Done,
            Line::Text(text) => match text.strip_prefix("have ") {
                Some(id) => request.haves.push(parse_id(id)?),
                None => return Err(InvalidRequest::new(format!("expected a have, not {text:?}"))),
            },
            Line::Flush | Line::Delimiter => {}
        }
    }
    Ok(FetchRequest::Pack(request))
}

impl PackRequest {
    fn set_capabilities(&mut self, capabilities: &str) {
        for capability in capabilities.split(' ') {
            match capability {
                "side-band-64k" => self.framing = Framing::SideBand,
                "no-progress" => self.progress = Progress::Hide,
                "multi_ack_detailed" => self.acknowledgements = Acknowledgements::All,
                _ => {}
            }
        }
    }

    fn add_want(&mut self, id: &str) -> Result<(), InvalidRequest> {
        if self.wants.len() == WANTS_MAX {
            return Err(InvalidRequest::new(format!("more than {WANTS_MAX} wanted commits")));
        }
        self.wants.push(parse_id(id)?);
        Ok(())
    }
}
