//! A push: the references to update, the pack with new objects, and the report of the results.

use std::io::{self, Write};

use cuebase_storage::git::CommitId;

use super::error::InvalidRequest;
use super::lines::{self, DataWriter, Line, LineReader};
use super::protocol::{Framing, NO_COMMIT, parse_id};

/// References that one push may name. Only one is accepted, since a namespace has one branch; the others are refused
/// one by one.
const UPDATES_MAX: usize = 100;

/// A parsed push.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Push<'a> {
    /// The references to update; empty if the client only tests whether it may push.
    pub updates: Vec<Update>,
    /// The pack; empty if all updates are deletions.
    pub pack: &'a [u8],
    report: StatusReport,
    framing: Framing,
}

/// Whether the client expects a report of the results.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum StatusReport {
    #[default]
    Omit,
    Send,
}

/// An update of a reference.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Update {
    /// The full name of the reference.
    pub reference: String,
    /// Its commit as the client knows it; none for a new reference.
    pub from: Option<CommitId>,
    /// Its new commit; none to delete the reference.
    pub to: Option<CommitId>,
}

impl<'a> Push<'a> {
    /// Parses a push.
    pub fn parse(body: &'a [u8]) -> Result<Self, InvalidRequest> {
        let mut lines = LineReader::new(body);
        let mut push = Self::default();
        while let Some(Line::Text(text)) = lines.read()? {
            let (command, capabilities) = text.split_once('\0').unwrap_or((text, ""));
            for capability in capabilities.split(' ') {
                match capability {
                    "report-status" => push.report = StatusReport::Send,
                    "side-band-64k" => push.framing = Framing::SideBand,
                    "object-format=sha256" => return Err(InvalidRequest::new("namespaces support SHA-1 ids only")),
                    _ => {}
                }
            }
            if push.updates.len() == UPDATES_MAX {
                return Err(InvalidRequest::new(format!("it names more than {UPDATES_MAX} references")));
            }
            let update = parse_update(command)?;
            if push.updates.iter().any(|known| known.reference == update.reference) {
                return Err(InvalidRequest::new(format!("it names {:?} twice", update.reference)));
            }
            push.updates.push(update);
        }
        push.pack = lines.rest();
        Ok(push)
    }

    /// Writes the result of each update, in order: the reason if it was refused. git shows `messages` to its user.
    pub fn report(&self, refusals: &[Option<String>], messages: &str, out: &mut impl Write) -> io::Result<()> {
        if self.framing == Framing::SideBand && !messages.is_empty() {
            lines::message(out, messages)?;
        }
        if self.report == StatusReport::Send {
            let mut data = DataWriter::new(out, self.framing);
            lines::text(&mut data, "unpack ok")?;
            for (update, refusal) in self.updates.iter().zip(refusals) {
                match refusal {
                    None => lines::text(&mut data, &format!("ok {}", update.reference))?,
                    Some(reason) => lines::text(&mut data, &format!("ng {} {reason}", update.reference))?,
                }
            }
            lines::flush(&mut data)?;
            data.flush()?;
        }
        match self.framing {
            Framing::SideBand => lines::flush(out),
            Framing::Raw => Ok(()),
        }
    }
}

/// Parses `<from> <to> <reference>`.
fn parse_update(command: &str) -> Result<Update, InvalidRequest> {
    let mut parts = command.splitn(3, ' ');
    let (Some(from), Some(to), Some(reference)) = (parts.next(), parts.next(), parts.next()) else {
        return Err(InvalidRequest::new(format!("{command:?} does not update a reference")));
    };
    Ok(Update { reference: reference.to_owned(), from: parse_commit(from)?, to: parse_commit(to)? })
}

/// Parses a commit id; none for the id that means "no commit".
fn parse_commit(text: &str) -> Result<Option<CommitId>, InvalidRequest> {
    if text == NO_COMMIT {
        return Ok(None);
    }
    Ok(Some(parse_id(text)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_push_is_parsed_with_its_pack_and_reported() {
        let (from, to) = ("1".repeat(40), "2".repeat(40));
        let mut sent = Vec::new();
        let command = format!("{from} {to} refs/heads/main\0 report-status side-band-64k agent=git/2");
        lines::text(&mut sent, &command).expect("written");
        lines::text(&mut sent, &format!("{to} {NO_COMMIT} refs/tags/a b")).expect("written");
        lines::flush(&mut sent).expect("written");
        sent.extend_from_slice(b"PACK and more");
        let push = Push::parse(&sent).expect("read");
        assert_eq!(push.pack, b"PACK and more");
        assert_eq!(push.updates[0].from.map(|id| id.to_string()), Some(from));
        assert_eq!((push.updates[1].to, push.updates[1].reference.as_str()), (None, "refs/tags/a b"));
        let mut report = Vec::new();
        push.report(&[None, Some("no".into())], "words\n", &mut report).expect("written");
        let report = String::from_utf8_lossy(&report).into_owned();
        assert!(report.contains("ok refs/heads/main\n") && report.contains("ng refs/tags/a b no\n"), "{report:?}");
    }

    #[test]
    fn repeated_references_and_too_many_are_refused() {
        let sent = |references: &[String]| {
            let mut sent = Vec::new();
            for reference in references {
                let command = format!("{NO_COMMIT} {} {reference}\0 report-status", "2".repeat(40));
                lines::text(&mut sent, &command).expect("written");
            }
            lines::flush(&mut sent).expect("written");
            Push::parse(&sent).map(|push| push.updates.len()).map_err(|error| error.to_string())
        };
        let names = |count: usize| (0..count).map(|n| format!("refs/heads/b{n}")).collect::<Vec<_>>();
        assert_eq!(sent(&names(UPDATES_MAX)), Ok(UPDATES_MAX));
        assert!(sent(&names(UPDATES_MAX + 1)).is_err_and(|error| error.contains("more than")));
        let twice = ["refs/heads/main".to_owned(), "refs/heads/main".to_owned()];
        assert!(sent(&twice).is_err_and(|error| error.contains("twice")));
    }

    #[test]
    fn commands_that_update_no_reference_are_refused() {
        for command in ["", "x", "1 2 3", "0000000000000000000000000000000000000000 zz refs/heads/main"] {
            assert!(parse_update(command).is_err(), "{command:?}");
        }
    }
}
