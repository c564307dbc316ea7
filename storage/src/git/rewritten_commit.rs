//! The text of a commit in a rewritten history.
//!
//! ```text
//! "tree " id LF | "parent " id LF ... | "author " ... LF | further headers | LF | message
//! ```
//!
//! A line that begins with a space continues the header before it.

use gix::ObjectId;

use crate::error::{Error, Result};
use crate::memory_file::ErasedPaths;

/// Headers that sign or quote the former text of the commit.
const DROPPED_HEADERS: [&[u8]; 3] = [b"gpgsig ", b"gpgsig-sha256 ", b"mergetag "];

/// What a commit refers to after the rewriting.
pub(super) struct NewLinks {
    /// Its tree.
    pub(super) tree: ObjectId,
    /// Its parents, as many as before.
    pub(super) parents: Vec<ObjectId>,
    /// Whether any of these differs from the former one.
    pub(super) is_changed: bool,
}

/// Returns the content of a commit with other links, and without erased paths in its message. Author, times and
/// trailers stay. The content of a commit without changes stays as it is.
pub(super) fn rewritten(content: &[u8], links: &NewLinks, erased: &ErasedPaths) -> Result<Vec<u8>> {
    let Some(end) = content.windows(2).position(|pair| pair == b"\n\n") else {
        return Err(Error::corrupt("a commit", "its headers have no end"));
    };
    let (headers, message) = (&content[..end], &content[end + 2..]);
    let new_message = redacted_message(message, erased);
    if !links.is_changed && new_message.is_none() {
        return Ok(content.to_vec());
    }
    let mut text = Vec::with_capacity(content.len());
    let mut parents = links.parents.iter();
    let mut is_dropped = false;
    for line in headers.split(|byte| *byte == b'\n') {
        if line.starts_with(b" ") && is_dropped {
            continue;
        }
        is_dropped = DROPPED_HEADERS.iter().any(|header| line.starts_with(header));
        if is_dropped {
            continue;
        }
        if line.starts_with(b"tree ") {
            text.extend_from_slice(format!("tree {}", links.tree).as_bytes());
        } else if line.starts_with(b"parent ")
            && let Some(parent) = parents.next()
        {
            text.extend_from_slice(format!("parent {parent}").as_bytes());
        } else {
            text.extend_from_slice(line);
        }
        text.push(b'\n');
    }
    text.push(b'\n');
    text.extend_from_slice(new_message.as_deref().unwrap_or(message));
    Ok(text)
}

/// Returns a message without erased paths: they are replaced in the first line, and other lines with one are left out.
/// `None` if the message has none.
fn redacted_message(message: &[u8], erased: &ErasedPaths) -> Option<Vec<u8>> {
    // Cuebase writes UTF-8. In any other text no path is found.
    let message = std::str::from_utf8(message).ok()?;
    erased.redact(message)?;
    let mut redacted = String::with_capacity(message.len());
    for (number, line) in message.split_inclusive('\n').enumerate() {
        match erased.redact(line) {
            None => redacted.push_str(line),
            Some(first) if number == 0 => redacted.push_str(&first),
            Some(_) => {}
        }
    }
    Some(redacted.into_bytes())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    const COMMIT: &str = "tree 1111111111111111111111111111111111111111\n\
        parent 2222222222222222222222222222222222222222\n\
        author Ann <a@b> 1 +0000\n\
        committer Ann <a@b> 1 +0000\n\
        gpgsig -----BEGIN\n more\n end\n\
        \n\
        Rewrite facts/a.md\n\nDropped: facts/a.md is unknown\nKept line\n\nCuebase-Message: 01X\n";

    fn id(digit: u8) -> ObjectId {
        ObjectId::from_bytes_or_panic(&[digit; 20])
    }

    fn erased(path: &str) -> ErasedPaths {
        ErasedPaths::new(&BTreeSet::from([path.to_owned()]))
    }

    #[test]
    fn links_and_erased_paths_change_and_everything_else_stays() {
        let links = NewLinks { tree: id(0x33), parents: vec![id(0x44)], is_changed: true };
        let text = rewritten(COMMIT.as_bytes(), &links, &erased("facts/a.md")).expect("rewrites");
        let expected = "tree 3333333333333333333333333333333333333333\n\
            parent 4444444444444444444444444444444444444444\n\
            author Ann <a@b> 1 +0000\n\
            committer Ann <a@b> 1 +0000\n\
            \n\
            Rewrite [erased]\n\nKept line\n\nCuebase-Message: 01X\n";
        assert_eq!(String::from_utf8_lossy(&text), expected);
    }

    #[test]
    fn a_commit_without_changes_keeps_its_signature() {
        let links = NewLinks { tree: id(0x11), parents: vec![id(0x22)], is_changed: false };
        let text = rewritten(COMMIT.as_bytes(), &links, &erased("facts/b.md")).expect("rewrites");
        assert_eq!(text, COMMIT.as_bytes());
        assert!(rewritten(b"tree x\n", &links, &erased("facts/b.md")).is_err());
    }
}
