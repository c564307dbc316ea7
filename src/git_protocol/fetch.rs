//! Clone and fetch: what the client has and wants, and the pack that it lacks.

use std::io::{self, Write};

use cuebase_storage::git::{CommitId, Repository, ShallowFetch};

use super::lines::{self, Data, Line, Lines};
use super::{BRANCH, FetchError, Malformed, id};

/// Wants of one request. There is one branch; more are the same again.
const WANTS_MAX: usize = 64;

/// A request to the fetch service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    /// Version 2: which references are there?
    References {
        /// Names begin with one of these; none is any name.
        prefixes: Vec<String>,
        /// Where symbolic ones point is to be told.
        symbolic: bool,
        /// The branch that `HEAD` will be is to be told where there is no commit yet.
        unborn: bool,
    },
    /// A pack is wanted.
    Pack(Wanted),
    /// Nothing is: the client has it all.
    Nothing,
}

/// What is wanted of a pack.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wanted {
    version_2: bool,
    wants: Vec<CommitId>,
    haves: Vec<CommitId>,
    done: bool,
    on_band: bool,
    quiet: bool,
    /// Commits whose parents the client does not have.
    ends: Vec<CommitId>,
    /// How many commits deep it wants the history.
    depth: Option<u32>,
    /// Version 0: the client asks for the ends of its history alone, before it says what it has.
    ends_alone: bool,
    /// Version 0: every commit that both have is told, not the first alone.
    detailed: bool,
}

impl Request {
    /// Reads a request.
    pub fn parse(version_2: bool, body: &[u8]) -> Result<Self, Malformed> {
        let mut lines = Lines::new(body);
        if !version_2 {
            return version_0(&mut lines);
        }
        let command = match lines.read()? {
            None | Some(Line::Flush) => return Ok(Self::Nothing),
            Some(Line::Text(text)) => text.strip_prefix("command=").unwrap_or(text),
            Some(Line::Delimiter) => return Err(Malformed::new("it names no command")),
        };
        // Capabilities of the client, which change nothing here.
        let mut between = lines.read()?;
        while let Some(Line::Text(text)) = between {
            if text.strip_prefix("object-format=").is_some_and(|format| format != "sha1") {
                return Err(Malformed::new("namespaces are kept with SHA-1 ids"));
            }
            between = lines.read()?;
        }
        let mut arguments = Vec::new();
        if between == Some(Line::Delimiter) {
            while let Some(Line::Text(text)) = lines.read()? {
                arguments.push(text);
            }
        }
        match command {
            "ls-refs" => Ok(references(&arguments)),
            "fetch" => wanted(&arguments),
            other => Err(Malformed::new(format!("there is no command {other:?}"))),
        }
    }

    /// Whether it can be answered from the head alone.
    pub fn is_small(&self) -> bool {
        !matches!(self, Self::Pack(_))
    }
}

fn references(arguments: &[&str]) -> Request {
    let prefixes = arguments.iter().filter_map(|argument| argument.strip_prefix("ref-prefix ")).map(str::to_owned);
    Request::References {
        prefixes: prefixes.collect(),
        symbolic: arguments.contains(&"symrefs"),
        unborn: arguments.contains(&"unborn"),
    }
}

fn wanted(arguments: &[&str]) -> Result<Request, Malformed> {
    let mut wanted = Wanted { version_2: true, on_band: true, ..Wanted::default() };
    for argument in arguments {
        match argument.split_once(' ').unwrap_or((argument, "")) {
            ("want", text) => wanted.want(text)?,
            ("have", text) => wanted.haves.push(id(text)?),
            ("done", _) => wanted.done = true,
            ("no-progress", _) => wanted.quiet = true,
            ("shallow", text) => wanted.ends.push(id(text)?),
            ("deepen", text) => wanted.depth = Some(depth(text)?),
            ("thin-pack" | "ofs-delta" | "include-tag", _) => {}
            (other, _) => return Err(Malformed::new(format!("{other:?} was not offered"))),
        }
    }
    Ok(Request::Pack(wanted))
}

/// How deep a history is to be; git writes "all of it" as the greatest number that it knows.
fn depth(text: &str) -> Result<u32, Malformed> {
    let depth = text.parse().ok().filter(|depth| *depth > 0);
    depth.ok_or_else(|| Malformed::new(format!("{text:?} is no depth")))
}

/// Wants with the client's capabilities behind the first, a flush, then haves up to a flush or `done`.
fn version_0(lines: &mut Lines<'_>) -> Result<Request, Malformed> {
    let mut wanted = Wanted::default();
    while let Some(Line::Text(text)) = lines.read()? {
        if let Some(text) = text.strip_prefix("shallow ") {
            wanted.ends.push(id(text)?);
            continue;
        }
        if let Some(text) = text.strip_prefix("deepen ") {
            wanted.depth = Some(depth(text)?);
            continue;
        }
        let want = text.strip_prefix("want ").ok_or_else(|| Malformed::new(format!("{text:?} is no want")))?;
        let (want, capabilities) = want.split_once(' ').unwrap_or((want, ""));
        for capability in capabilities.split(' ') {
            match capability {
                "side-band-64k" => wanted.on_band = true,
                "no-progress" => wanted.quiet = true,
                "multi_ack_detailed" => wanted.detailed = true,
                _ => {}
            }
        }
        wanted.want(want)?;
    }
    if wanted.wants.is_empty() {
        return Ok(Request::Nothing);
    }
    wanted.ends_alone = true;
    while let Some(line) = lines.read()? {
        wanted.ends_alone = false;
        match line {
            Line::Text("done") => wanted.done = true,
            Line::Text(text) => {
                let have = text.strip_prefix("have ").ok_or_else(|| Malformed::new(format!("{text:?} is no have")))?;
                wanted.haves.push(id(have)?);
            }
            Line::Flush | Line::Delimiter => {}
        }
    }
    Ok(Request::Pack(wanted))
}

impl Wanted {
    fn want(&mut self, text: &str) -> Result<(), Malformed> {
        if self.wants.len() == WANTS_MAX {
            return Err(Malformed::new(format!("it wants more than {WANTS_MAX} commits")));
        }
        self.wants.push(id(text)?);
        Ok(())
    }
}

/// Writes the answer to a request.
pub fn answer(repository: &Repository, request: &Request, out: &mut impl Write) -> Result<(), FetchError> {
    let head = repository.head()?;
    match request {
        Request::References { prefixes, symbolic, unborn } => {
            list_references(head, prefixes, *symbolic, *unborn, out).map_err(FetchError::from)
        }
        Request::Pack(wanted) => wanted.answer(repository, head, out),
        Request::Nothing => Ok(()),
    }
}

fn list_references(
    head: Option<CommitId>,
    prefixes: &[String],
    symbolic: bool,
    unborn: bool,
    out: &mut impl Write,
) -> io::Result<()> {
    let asked = |name: &str| prefixes.is_empty() || prefixes.iter().any(|prefix| name.starts_with(prefix.as_str()));
    let target = if symbolic { format!(" symref-target:{BRANCH}") } else { String::new() };
    match head {
        Some(head) => {
            if asked("HEAD") {
                lines::text(out, &format!("{head} HEAD{target}"))?;
            }
            if asked(BRANCH) {
                lines::text(out, &format!("{head} {BRANCH}"))?;
            }
        }
        None if unborn && asked("HEAD") => lines::text(out, &format!("unborn HEAD{target}"))?,
        None => {}
    }
    lines::flush(out)
}

impl Wanted {
    fn answer(&self, repository: &Repository, head: Option<CommitId>, out: &mut impl Write) -> Result<(), FetchError> {
        for want in &self.wants {
            if !is_on_branch(repository, head, *want)? {
                return Ok(lines::error(out, &format!("upload-pack: not our ref {want}"))?);
            }
        }
        let common = repository.commits_among(&self.haves)?;
        // Version 2 goes on as soon as there is a commit that both have; version 0 waits for the client to say so.
        let sends = self.done || (self.version_2 && !common.is_empty());
        if !sends && self.depth.is_none() {
            return Ok(self.acknowledge(&common, out)?);
        }
        let found = self.missing(repository, &common)?;
        if !self.version_2 && self.depth.is_some() {
            tell_ends(&found, out)?;
            lines::flush(out)?;
            if self.ends_alone {
                return Ok(());
            }
        }
        self.acknowledge(&common, out)?;
        if !sends {
            return Ok(());
        }
        if self.version_2 {
            if self.depth.is_some() {
                lines::text(out, "shallow-info")?;
                tell_ends(&found, out)?;
                lines::delimiter(out)?;
            }
            lines::text(out, "packfile")?;
        }
        let missing = found.missing;
        if self.on_band && !self.quiet {
            lines::words(out, &format!("{} objects\n", missing.count()))?;
        }
        let mut data = Data::new(out, self.on_band);
        match missing.write_pack(&mut data, |_, _| {}) {
            Ok(()) if self.on_band => Ok(lines::flush(out)?),
            Ok(()) => Ok(()),
            Err(error) => {
                tracing::error!(%error, "a pack could not be sent to its end");
                self.break_off(out)
            }
        }
    }

    /// Says which commits both have.
    fn acknowledge(&self, common: &[CommitId], out: &mut impl Write) -> io::Result<()> {
        if !self.version_2 {
            if self.detailed {
                for commit in common {
                    lines::text(out, &format!("ACK {commit} common"))?;
                }
            }
            // The history is a line: one commit that both have is enough to go on from.
            match (common.last(), self.done) {
                (Some(last), true) => lines::text(out, &format!("ACK {last}"))?,
                (Some(last), false) if self.detailed => {
                    lines::text(out, &format!("ACK {last} ready"))?;
                    lines::text(out, "NAK")?;
                }
                (Some(last), false) => lines::text(out, &format!("ACK {last}"))?,
                (None, _) => lines::text(out, "NAK")?,
            }
            return Ok(());
        }
        if !self.done {
            lines::text(out, "acknowledgments")?;
            for commit in common {
                lines::text(out, &format!("ACK {commit}"))?;
            }
            if common.is_empty() {
                lines::text(out, "NAK")?;
                return lines::flush(out);
            }
            lines::text(out, "ready")?;
            lines::delimiter(out)?;
        }
        Ok(())
    }

    /// What the client lacks.
    fn missing(&self, repository: &Repository, common: &[CommitId]) -> Result<ShallowFetch, FetchError> {
        let ends = repository.commits_among(&self.ends)?;
        if ends.is_empty() && self.depth.is_none() {
            let missing = repository.missing(&self.wants, common)?;
            return Ok(ShallowFetch { missing, shallow: Vec::new(), unshallow: Vec::new() });
        }
        Ok(repository.missing_shallow(&self.wants, common, &ends, self.depth)?)
    }

    fn break_off(&self, out: &mut impl Write) -> Result<(), FetchError> {
        if self.on_band {
            lines::broken(out, "the server could not read what was asked for; its log says why\n")?;
        }
        // Without a band a cut answer is all that can be said.
        Err(FetchError::Incomplete)
    }
}

/// Says where the client's history ends from now on, and where it does not any more.
fn tell_ends(found: &ShallowFetch, out: &mut impl Write) -> io::Result<()> {
    for commit in &found.shallow {
        lines::text(out, &format!("shallow {commit}"))?;
    }
    for commit in &found.unshallow {
        lines::text(out, &format!("unshallow {commit}"))?;
    }
    Ok(())
}

/// Whether a commit is the head or in its line of history: the head may have moved since the client was told it.
fn is_on_branch(repository: &Repository, head: Option<CommitId>, commit: CommitId) -> Result<bool, FetchError> {
    match head {
        Some(head) => Ok(head == commit || repository.is_ancestor(commit, head)?),
        None => Ok(false),
    }
}
