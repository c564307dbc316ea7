//! 64-bit hashes of names. Paths, terms and tags are stored and compared as hashes. The function is fixed, because the
//! hashes are on disk.

/// The kind of a name. The same word as a term and as a tag has two different hashes.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Kind {
    /// A memory's path.
    Path = 1,
    /// The id of a conversation.
    Session,
    /// A term of a text, stemmed.
    Term,
    /// A directory above a memory, at any depth.
    Folder,
    /// A tag, set by the user or inferred.
    Tag,
    /// A folded word of the name of a speaker or an entity.
    Name,
}

/// Returns the FNV-1a hash (Fowler, Noll and Vo) with the finaliser of MurmurHash3 (Appleby), so that every bit depends
/// on every byte. The lowest bit is always clear: callers use it as a flag.
pub(crate) fn hash(kind: Kind, name: &str) -> u64 {
    let mut hash = fnv_step(0xcbf2_9ce4_8422_2325, kind as u8);
    for byte in name.bytes() {
        hash = fnv_step(hash, byte);
    }
    hash = (hash ^ (hash >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    hash = (hash ^ (hash >> 33)).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    (hash ^ (hash >> 33)) & !1
}

fn fnv_step(hash: u64, byte: u8) -> u64 {
    (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_function_never_changes() {
        // Every index stores such hashes: another value would be another format.
        assert_eq!(hash(Kind::Term, "lake"), 7_320_599_206_317_972_172);
        assert_ne!(hash(Kind::Term, "lake"), hash(Kind::Tag, "lake"));
    }
}
