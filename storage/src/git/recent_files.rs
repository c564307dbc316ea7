//! The contents of files that were written a moment ago. Those are read most, and reading one from the repository means
//! opening it with the indexes of all its packs.

use std::collections::VecDeque;

use gix::ObjectId;

/// Total length of the contents that are kept. Every open namespace keeps some.
const BYTES_MAX: usize = 32 << 10;
/// Longest content that is kept.
const FILE_BYTES_MAX: usize = 16 << 10;

/// The newest contents, oldest first.
#[derive(Default)]
pub(super) struct RecentFiles {
    files: VecDeque<(ObjectId, Vec<u8>)>,
    /// Total length of the contents.
    bytes: usize,
}

impl RecentFiles {
    /// Keeps a content under its blob, and drops the oldest ones that no longer fit. A long content is not kept.
    pub(super) fn add(&mut self, blob: ObjectId, content: &[u8]) {
        if content.len() > FILE_BYTES_MAX {
            return;
        }
        self.bytes += content.len();
        self.files.push_back((blob, content.to_vec()));
        while self.bytes > BYTES_MAX
            && let Some((_, oldest)) = self.files.pop_front()
        {
            self.bytes -= oldest.len();
        }
    }

    /// Returns the content of a blob, or `None` if it is not kept.
    pub(super) fn get(&self, blob: ObjectId) -> Option<&[u8]> {
        let (_, content) = self.files.iter().rev().find(|(kept, _)| *kept == blob)?;
        Some(content)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(n: u8) -> ObjectId {
        ObjectId::from_bytes_or_panic(&[n; 20])
    }

    #[test]
    fn the_newest_contents_are_kept_within_the_limit() {
        let mut recent = RecentFiles::default();
        for n in 0..10 {
            recent.add(id(n), &vec![n; BYTES_MAX / 4]);
        }
        for n in 0..10 {
            let expected = if n < 6 { None } else { Some(vec![n; BYTES_MAX / 4]) };
            assert_eq!(recent.get(id(n)), expected.as_deref(), "{n}");
        }
    }

    #[test]
    fn a_long_content_is_not_kept_and_drops_no_other() {
        let mut recent = RecentFiles::default();
        recent.add(id(1), b"short");
        recent.add(id(2), &vec![0; FILE_BYTES_MAX + 1]);
        assert_eq!(recent.get(id(1)), Some(b"short".as_slice()));
        assert_eq!(recent.get(id(2)), None);
    }
}
