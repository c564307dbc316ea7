//! A push: what is to be moved where, the pack behind it, and what became of it.

use std::io::{self, Write};

use cuebase_storage::git::CommitId;

use super::lines::{self, Data, Line, Lines};
use super::{Malformed, NO_COMMIT, id};

/// References that one push may name. A namespace has one branch; the rest are told one by one that they are refused.
const UPDATES_MAX: usize = 100;

/// A push as it was sent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Push<'a> {
    /// What is to be moved; none at all where the client only tries whether it may push.
    pub updates: Vec<Update>,
    /// The pack; empty where nothing but deletions are asked for.
    pub pack: &'a [u8],
    reports: bool,
    on_band: bool,
}

/// A reference that is to be moved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Update {
    /// Its whole name.
    pub reference: String,
    /// Where the client saw it; none for a new one.
    pub from: Option<CommitId>,
    /// Where it is to be; none to delete it.
    pub to: Option<CommitId>,
}

impl<'a> Push<'a> {
    /// Reads a push.
    pub fn parse(body: &'a [u8]) -> Result<Self, Malformed> {
        let (mut lines, mut push) = (Lines::new(body), Self::default());
        while let Some(Line::Text(text)) = lines.read()? {
            let (command, capabilities) = text.split_once('\0').unwrap_or((text, ""));
            for capability in capabilities.split(' ') {
                match capability {
                    "report-status" => push.reports = true,
                    "side-band-64k" => push.on_band = true,
                    "object-format=sha256" => return Err(Malformed::new("namespaces are kept with SHA-1 ids")),
                    _ => {}
                }
            }
            if push.updates.len() == UPDATES_MAX {
                return Err(Malformed::new(format!("it names more than {UPDATES_MAX} references")));
            }
            let update = update(command)?;
            if push.updates.iter().any(|known| known.reference == update.reference) {
                return Err(Malformed::new(format!("it names {:?} twice", update.reference)));
            }
            push.updates.push(update);
        }
        push.pack = lines.rest();
        Ok(push)
    }

    /// Writes what became of each reference, in order: none for moved, else why not. `words` are for people.
    pub fn report(&self, fates: &[Option<String>], words: &str, out: &mut impl Write) -> io::Result<()> {
        if self.on_band && !words.is_empty() {
            lines::words(out, words)?;
        }
        if self.reports {
            let mut data = Data::new(out, self.on_band);
            lines::text(&mut data, "unpack ok")?;
            for (update, fate) in self.updates.iter().zip(fates) {
                match fate {
                    None => lines::text(&mut data, &format!("ok {}", update.reference))?,
                    Some(reason) => lines::text(&mut data, &format!("ng {} {reason}", update.reference))?,
                }
            }
            lines::flush(&mut data)?;
            data.flush()?;
        }
        if self.on_band { lines::flush(out) } else { Ok(()) }
    }
}

/// `<from> <to> <reference>`
fn update(command: &str) -> Result<Update, Malformed> {
    let mut parts = command.splitn(3, ' ');
    let (Some(from), Some(to), Some(reference)) = (parts.next(), parts.next(), parts.next()) else {
        return Err(Malformed::new(format!("{command:?} moves no reference")));
    };
    let at = |text: &str| if text == NO_COMMIT { Ok(None) } else { id(text).map(Some) };
    Ok(Update { reference: reference.to_owned(), from: at(from)?, to: at(to)? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_push_is_read_with_its_pack_and_answered() {
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
        let mut told = Vec::new();
        push.report(&[None, Some("no".into())], "words\n", &mut told).expect("written");
        let told = String::from_utf8_lossy(&told).into_owned();
        assert!(told.contains("ok refs/heads/main\n") && told.contains("ng refs/tags/a b no\n"), "{told:?}");
    }

    #[test]
    fn a_reference_that_is_named_twice_and_too_many_are_refused() {
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
    fn what_moves_no_reference_is_refused() {
        for command in ["", "x", "1 2 3", "0000000000000000000000000000000000000000 zz refs/heads/main"] {
            assert!(update(command).is_err(), "{command:?}");
        }
    }
}
