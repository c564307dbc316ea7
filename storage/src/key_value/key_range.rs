//! The ends of key ranges.

/// The smallest key greater than every key with a prefix. `None` if none exists: the prefix is empty or
/// consists of 0xff bytes only.
pub(super) fn prefix_end(prefix: &[u8]) -> Option<Vec<u8>> {
    let mut end = prefix.to_vec();
    while end.last() == Some(&0xff) {
        end.pop();
    }
    let last = end.last_mut()?;
    *last += 1;
    Some(end)
}

/// The key before which a backward scan starts: `before`, or the end of the prefix if that is smaller. `None` if the
/// scan starts at the last key.
pub(super) fn backward_start(prefix: &[u8], before: Option<&[u8]>) -> Option<Vec<u8>> {
    match (prefix_end(prefix), before) {
        (Some(end), Some(before)) if end.as_slice() < before => Some(end),
        (_, Some(before)) => Some(before.to_vec()),
        (end, None) => end,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prefix_ends_at_the_next_prefix() {
        assert_eq!(prefix_end(b"a\0").as_deref(), Some(&b"a\x01"[..]));
        assert_eq!(prefix_end(b"a\xff\xff").as_deref(), Some(&b"b"[..]));
        assert_eq!(prefix_end(b"\xff"), None);
        assert_eq!(prefix_end(b""), None);
    }

    #[test]
    fn a_backward_scan_starts_at_the_smaller_end() {
        assert_eq!(backward_start(b"a", None).as_deref(), Some(&b"b"[..]));
        assert_eq!(backward_start(b"a", Some(b"ab")).as_deref(), Some(&b"ab"[..]));
        assert_eq!(backward_start(b"a", Some(b"c")).as_deref(), Some(&b"b"[..]));
        assert_eq!(backward_start(b"", Some(b"c")).as_deref(), Some(&b"c"[..]));
        assert_eq!(backward_start(b"", None), None);
    }
}
