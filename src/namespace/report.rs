//! What a write reports in addition to the files that it changes.
//!
//! The report is part of the commit's message, so that a commit that is read after a crash still has it.

use cuebase_storage::git::{PathChange, PathChangeKind};
use cuebase_storage::records::{DroppedMessage, WriteChanges};

/// Messages that a report lists as dropped, at most. A conversation can have tens of thousands of messages, and each
/// takes a line of the commit's message.
const DROPPED_MAX: usize = 500;

/// Beginnings of the lines of a report.
const MERGED: &str = "Merged: ";
const ENDED: &str = "Ended: ";
const FORGOTTEN: &str = "Forgotten: ";
const DROPPED: &str = "Dropped: ";
const MESSAGE: &str = "message ";

/// What a plan reports.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PlanReport {
    /// Paths of existing memories that already said the same.
    pub merged: Vec<String>,
    /// Paths of existing memories that are no longer valid.
    pub ended: Vec<String>,
    /// Paths of memories that the user asked to forget.
    pub forgotten: Vec<String>,
    /// Messages of the conversation that became no memory. The first 500 are kept.
    pub dropped: Vec<DroppedMessage>,
}

impl PlanReport {
    /// Returns the lines of the commit's message; empty if there is nothing to report.
    pub(super) fn text(&self) -> String {
        let mut lines = Vec::new();
        for path in &self.merged {
            lines.push(format!("{MERGED}{path}"));
        }
        for path in &self.ended {
            lines.push(format!("{ENDED}{path}"));
        }
        for path in &self.forgotten {
            lines.push(format!("{FORGOTTEN}{path}"));
        }
        for DroppedMessage { message, reason } in self.dropped.iter().take(DROPPED_MAX) {
            // A line break in the answer of a chat model would begin another line of the report.
            let reason = reason.replace(char::is_control, " ");
            lines.push(match message {
                Some(message) => format!("{DROPPED}{MESSAGE}{message}: {reason}"),
                None => format!("{DROPPED}{reason}"),
            });
        }
        lines.join("\n")
    }

    /// Reads the report in the message of a commit.
    fn parse(message: &str) -> Self {
        let mut report = Self::default();
        for line in message.lines() {
            if let Some(path) = line.strip_prefix(MERGED) {
                report.merged.push(path.to_owned());
            } else if let Some(path) = line.strip_prefix(ENDED) {
                report.ended.push(path.to_owned());
            } else if let Some(path) = line.strip_prefix(FORGOTTEN) {
                report.forgotten.push(path.to_owned());
            } else if let Some(dropped) = line.strip_prefix(DROPPED) {
                report.dropped.push(parse_dropped(dropped));
            }
        }
        report
    }

    /// Returns what a write changed: the report, the files that are new, and those that existed before. A file that the
    /// report names is not listed as rewritten.
    pub(super) fn into_changes(self, mut made: Vec<String>, existing: Vec<String>) -> WriteChanges {
        let Self { merged, ended, forgotten, mut dropped } = self;
        dropped.truncate(DROPPED_MAX);
        let mut rewritten = existing;
        rewritten.retain(|path| !merged.contains(path) && !ended.contains(path));
        rewritten.sort();
        made.sort();
        WriteChanges { made, rewritten, merged, ended, forgotten, dropped }
    }
}

/// Returns what the write of a commit changed.
pub(super) fn changes_of_commit(message: &str, files: &[PathChange]) -> WriteChanges {
    let (mut made, mut existing) = (Vec::new(), Vec::new());
    for file in files {
        match file.kind {
            PathChangeKind::Added => made.push(file.path.clone()),
            PathChangeKind::Modified => existing.push(file.path.clone()),
            PathChangeKind::Removed => {}
        }
    }
    PlanReport::parse(message).into_changes(made, existing)
}

fn parse_dropped(text: &str) -> DroppedMessage {
    if let Some(rest) = text.strip_prefix(MESSAGE)
        && let Some((number, reason)) = rest.split_once(": ")
        && let Ok(message) = number.parse()
    {
        return DroppedMessage { message: Some(message), reason: reason.to_owned() };
    }
    DroppedMessage { message: None, reason: text.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dropped(message: Option<u64>, reason: &str) -> DroppedMessage {
        DroppedMessage { message, reason: reason.to_owned() }
    }

    fn file(path: &str, kind: PathChangeKind) -> PathChange {
        PathChange { path: path.to_owned(), kind }
    }

    #[test]
    fn a_report_is_read_back_from_the_message_of_its_commit() {
        let report = PlanReport {
            merged: vec!["facts/a.md".into()],
            ended: vec!["facts/b.md".into()],
            forgotten: vec!["facts/c.md".into()],
            dropped: vec![dropped(Some(3), "small_talk"), dropped(None, "operation 1: path: none\nEnded: x")],
        };
        let text = report.text();
        assert_eq!(text.lines().nth(3), Some("Dropped: message 3: small_talk"));
        let message = format!("Remember 1 statement\n\n{text}\n\nCuebase-Message: 01X\n");
        let read = PlanReport::parse(&message);
        assert_eq!((&read.merged, &read.ended), (&report.merged, &report.ended));
        assert_eq!(read.forgotten, report.forgotten);
        assert_eq!(read.dropped, [dropped(Some(3), "small_talk"), dropped(None, "operation 1: path: none Ended: x")]);
        assert_eq!(PlanReport::parse("Write facts/a.md\n"), PlanReport::default());
    }

    #[test]
    fn changes_follow_from_the_files_of_a_commit() {
        let files = [
            file("facts/b.md", PathChangeKind::Modified),
            file("facts/c.md", PathChangeKind::Modified),
            file("facts/d.md", PathChangeKind::Added),
            file("facts/e.md", PathChangeKind::Removed),
        ];
        let changes = changes_of_commit("Remember 1 statement\n\nEnded: facts/b.md\n", &files);
        let expected = WriteChanges {
            made: vec!["facts/d.md".into()],
            rewritten: vec!["facts/c.md".into()],
            ended: vec!["facts/b.md".into()],
            ..WriteChanges::default()
        };
        assert_eq!(changes, expected);
    }

    #[test]
    fn a_report_lists_at_most_500_dropped_messages() {
        let all = (0..600).map(|number| dropped(Some(number), "system")).collect();
        let report = PlanReport { dropped: all, ..PlanReport::default() };
        let read = PlanReport::parse(&report.text()).into_changes(Vec::new(), Vec::new());
        assert_eq!(read, report.into_changes(Vec::new(), Vec::new()));
        assert_eq!(read.dropped.len(), DROPPED_MAX);
    }
}
