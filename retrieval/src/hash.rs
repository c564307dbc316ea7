//! 64-bit hashes of names, one type for each kind of name. Paths, sessions, terms, folders, tags and words of names are
//! stored and compared as hashes. The function is fixed, because the hashes are on disk.
//!
//! A hash is made from a name by `of` and the like, or read from a file. A hash of one kind cannot take the place of
//! another. A hash means the same in every index and on every machine, and never becomes invalid. The lowest bit of
//! every hash is clear.

use serde::{Deserialize, Serialize};

/// The kind of a name. The same word as a term and as a tag has two different hashes.
#[derive(Clone, Copy, Debug)]
enum Kind {
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
    /// The folded name of a claim's subject.
    Subject,
    /// The folded name of a claim's attribute.
    Attribute,
    /// A folded statement without its dates.
    Statement,
    /// A folded word of a claim's value.
    Value,
    /// A key of the metadata.
    MetadataKey,
    /// A key of the metadata with its value.
    Metadata,
}

/// Declares types of hashes: a `u64` each, without a cost at run time.
macro_rules! hash_types {
    ($($(#[$documentation:meta])* $name:ident;)*) => {$(
        $(#[$documentation])*
        #[repr(transparent)]
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        pub(crate) struct $name(u64);
    )*};
}

hash_types! {
    /// The hash of a path. It identifies the path of a memory whether or not a memory is stored there, in every index
    /// that the path occurs in. Ties between equal scores are broken by it, because it does not depend on the order in
    /// which memories were written.
    PathHash;

    /// The hash of a conversation's id. Memories of one session are context for each other. [`SessionHash::NONE`]
    /// stands for a memory that belongs to no session.
    SessionHash;

    /// The hash of a term, the stemmed form of a word. It identifies what the lexical arm compares, in memories and in
    /// queries. It stays the same as long as the stemmer returns the same stem.
    TermHash;

    /// The hash of a facet: a folder above a memory, one of its tags, the subject or the key of a claim, its statement,
    /// a path that it replaces, or a key of its metadata with or without the value. Filters are sets of facets. The kinds never coincide, so that one list holds all.
    FacetHash;

    /// The hash of one folded word of the name of a speaker or of an entity. A whole name is a list of them.
    NameHash;

    /// The hash of a claim's subject, the folded name of a person or thing.
    SubjectHash;

    /// The hash of a claim's attribute.
    AttributeHash;

    /// The hash of a statement without its dates. [`StatementHash::NONE`] stands for a memory that repeats nothing.
    StatementHash;

    /// The hash of a key of the metadata.
    MetadataKeyHash;

    /// The key of a list of postings: a term or a facet. Layers store it, so that it lives as long as the folder of the
    /// index.
    PostingKey;

    /// A link to the path of a related memory: the path's hash, whose lowest bit marks the memory that was said right
    /// before. The log and the layers store it.
    Link;
}

/// Adds the form of a hash in a layer's file.
macro_rules! stored_hashes {
    ($($name:ident),*) => {$(
        impl $name {
            /// Returns the form on disk.
            #[inline]
            pub(crate) const fn to_le_bytes(self) -> [u8; 8] {
                self.0.to_le_bytes()
            }

            /// Reads the form on disk.
            #[inline]
            pub(crate) const fn from_le_bytes(bytes: [u8; 8]) -> Self {
                Self(u64::from_le_bytes(bytes))
            }
        }
    )*};
}

stored_hashes!(
    PathHash,
    SessionHash,
    NameHash,
    PostingKey,
    Link,
    SubjectHash,
    AttributeHash,
    StatementHash,
    MetadataKeyHash
);

impl PathHash {
    /// Sorts before every other hash of a path.
    pub(crate) const MIN: Self = Self(u64::MIN);
    /// Sorts after every other hash of a path.
    pub(crate) const MAX: Self = Self(u64::MAX);

    /// Hashes a path.
    pub(crate) fn of(path: &str) -> Self {
        Self(hash(Kind::Path, path))
    }

    /// Returns the bits that depend on the path: all but the lowest.
    #[inline]
    pub(crate) const fn bits(self) -> u64 {
        self.0 >> 1
    }
}

impl SessionHash {
    /// Stands for no session.
    pub(crate) const NONE: Self = Self(0);

    /// Hashes the id of a conversation.
    pub(crate) fn of(session: &str) -> Self {
        Self(hash(Kind::Session, session))
    }
}

impl TermHash {
    /// Hashes a term.
    pub(crate) fn of(term: &str) -> Self {
        Self(hash(Kind::Term, term))
    }
}

impl FacetHash {
    /// Hashes the path of a folder, without a slash at its end.
    pub(crate) fn of_folder(folder: &str) -> Self {
        Self(hash(Kind::Folder, folder))
    }

    /// Hashes a tag.
    pub(crate) fn of_tag(tag: &str) -> Self {
        Self(hash(Kind::Tag, tag))
    }
}

impl FacetHash {
    /// Hashes the subject of a claim.
    pub(crate) const fn of_subject(subject: SubjectHash) -> Self {
        Self(subject.0)
    }

    /// Combines the subject and the attribute of a claim.
    pub(crate) const fn of_claim(subject: SubjectHash, attribute: AttributeHash) -> Self {
        // The rotation makes the order count, and the multiplication spreads it over all bits.
        Self((subject.0.rotate_left(21) ^ attribute.0).wrapping_mul(0x9e37_79b9_7f4a_7c15) & !1)
    }

    /// Hashes a statement.
    pub(crate) const fn of_statement(statement: StatementHash) -> Self {
        Self(statement.0)
    }

    /// Hashes a key of the metadata and the canonical text of its value.
    pub(crate) fn of_metadata(key: &str, value: &str) -> Self {
        // No key contains the byte between the two.
        Self(hash(Kind::Metadata, &format!("{key}\0{value}")))
    }

    /// Marks a key of the metadata whose value is a number.
    pub(crate) const fn of_number(key: MetadataKeyHash) -> Self {
        Self(key.0)
    }

    /// Marks the path of a memory that another one replaces.
    pub(crate) const fn of_superseded(path: PathHash) -> Self {
        Self((path.0.rotate_left(32) ^ 0x5e9e_3b1f_77aa_c0de).wrapping_mul(0x9e37_79b9_7f4a_7c15) & !1)
    }
}

impl SubjectHash {
    /// Hashes a folded name.
    pub(crate) fn of(name: &str) -> Self {
        Self(hash(Kind::Subject, name))
    }
}

impl AttributeHash {
    /// Hashes a folded name.
    pub(crate) fn of(name: &str) -> Self {
        Self(hash(Kind::Attribute, name))
    }
}

impl StatementHash {
    /// Stands for no statement.
    pub(crate) const NONE: Self = Self(0);

    /// Whether this stands for a memory without a statement.
    pub(crate) const fn is_none(self) -> bool {
        self.0 == 0
    }

    /// Hashes a folded statement.
    pub(crate) fn of(statement: &str) -> Self {
        if statement.is_empty() { Self::NONE } else { Self(hash(Kind::Statement, statement)) }
    }
}

impl MetadataKeyHash {
    /// Hashes a key.
    pub(crate) fn of(key: &str) -> Self {
        Self(hash(Kind::MetadataKey, key))
    }
}

impl NameHash {
    /// Hashes a folded word of a name.
    pub(crate) fn of(word: &str) -> Self {
        Self(hash(Kind::Name, word))
    }
}

/// Returns the speaker of what a user without a name says in a chat.
pub(crate) fn chat_user() -> NameHash {
    NameHash::of("user")
}

/// Returns the speaker of what an assistant without a name says in a chat.
pub(crate) fn chat_assistant() -> NameHash {
    NameHash::of("assistant")
}

impl From<TermHash> for PostingKey {
    fn from(term: TermHash) -> Self {
        Self(term.0)
    }
}

impl From<FacetHash> for PostingKey {
    fn from(facet: FacetHash) -> Self {
        Self(facet.0)
    }
}

impl Link {
    /// Links to the memory that was said right before.
    pub(crate) const fn previous(path: PathHash) -> Self {
        Self(path.0 | 1)
    }

    /// Links to a memory with any other relation.
    pub(crate) const fn related(path: PathHash) -> Self {
        Self(path.0)
    }

    /// Returns the path that the link leads to.
    #[inline]
    pub(crate) const fn path(self) -> PathHash {
        PathHash(self.0 & !1)
    }

    /// Whether the link leads to the memory that was said right before.
    #[inline]
    pub(crate) const fn leads_to_previous(self) -> bool {
        self.0 & 1 == 1
    }
}

/// Returns the FNV-1a hash (Fowler, Noll and Vo) with the finaliser of MurmurHash3 (Appleby), so that every bit depends
/// on every byte. The lowest bit is always clear: [`Link`] uses it as a mark.
fn hash(kind: Kind, name: &str) -> u64 {
    let mut hash = fnv_step(0xcbf2_9ce4_8422_2325, kind as u8);
    for byte in name.bytes() {
        hash = fnv_step(hash, byte);
    }
    hash = (hash ^ (hash >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    hash = (hash ^ (hash >> 33)).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    (hash ^ (hash >> 33)) & !1
}

/// Returns three bits of 0 to 127 for a word of a value.
pub(crate) fn word_bits(word: &str) -> [u8; 3] {
    let hash = hash(Kind::Value, word);
    [(hash >> 1) as u8 & 127, (hash >> 17) as u8 & 127, (hash >> 33) as u8 & 127]
}

fn fnv_step(hash: u64, byte: u8) -> u64 {
    (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
}

/// Hashes of numbers instead of names, for tests in which the order of hashes matters.
#[cfg(test)]
mod numbers {
    use super::*;

    impl PathHash {
        pub(crate) const fn of_number(number: u64) -> Self {
            Self(number)
        }
    }

    impl TermHash {
        pub(crate) const fn of_number(number: u64) -> Self {
            Self(number)
        }
    }

    impl SessionHash {
        pub(crate) const fn of_number(number: u64) -> Self {
            Self(number)
        }
    }
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

    #[test]
    fn the_kinds_have_the_numbers_that_are_on_disk() {
        let kinds = [
            Kind::Path,
            Kind::Session,
            Kind::Term,
            Kind::Folder,
            Kind::Tag,
            Kind::Name,
            Kind::Subject,
            Kind::Attribute,
            Kind::Statement,
            Kind::Value,
            Kind::MetadataKey,
            Kind::Metadata,
        ];
        assert_eq!(kinds.map(|kind| kind as u8), [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]);
        assert_eq!(TermHash::of("lake"), TermHash(7_320_599_206_317_972_172));
    }

    #[test]
    fn a_link_keeps_its_path() {
        let path = PathHash::of("facts/lake.md");
        for (link, leads_to_previous) in [(Link::previous(path), true), (Link::related(path), false)] {
            assert_eq!((link.path(), link.leads_to_previous()), (path, leads_to_previous));
        }
    }
}
