//! Names as numbers: paths, words, tags and the like are compared by 64-bit hashes of a fixed function, because the
//! hashes are kept on disk.

/// What a name is the name of; the same word as a term and as a tag are two different numbers.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Kind {
    /// A memory's path.
    Path = 1,
    /// A conversation.
    Session,
    /// A term of a text, stemmed.
    Term,
    /// A directory that a memory lies in, at any depth.
    Folder,
    /// A tag, whoever set it.
    Tag,
    /// A folded word of a name.
    Name,
}

/// FNV-1a (Fowler, Noll and Vo) with the finaliser of MurmurHash3 (Appleby), so that every bit depends on every byte.
/// The lowest bit is always clear: it is room for a mark.
pub(crate) fn hash(kind: Kind, name: &str) -> u64 {
    let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
    let mut hash = [kind as u8].into_iter().chain(name.bytes()).fold(0xcbf2_9ce4_8422_2325, step);
    hash = (hash ^ (hash >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    hash = (hash ^ (hash >> 33)).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    (hash ^ (hash >> 33)) & !1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_function_never_changes() {
        // Written on disk by every index: another value here is another format.
        assert_eq!(hash(Kind::Term, "lake"), 7_320_599_206_317_972_172);
        assert_ne!(hash(Kind::Term, "lake"), hash(Kind::Tag, "lake"));
    }
}
