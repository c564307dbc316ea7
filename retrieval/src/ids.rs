//! The numbers that an index gives to its parts: documents, slots and rows.
//!
//! Each is a `u32` of its own type, so that one cannot be passed where another is expected. Numbers are given out from
//! zero on, without gaps. The kernels and the loops over a block of scores work on plain integers.

/// Declares types of ids: a `u32` each, without a cost at run time.
macro_rules! id_types {
    ($($(#[$documentation:meta])* $name:ident;)*) => {$(
        $(#[$documentation])*
        #[repr(transparent)]
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub(crate) struct $name(u32);

        impl $name {
            /// Returns the number as an index into an array with one element per id.
            #[inline]
            pub(crate) const fn index(self) -> usize {
                self.0 as usize
            }
        }
    )*};
}

id_types! {
    /// A document: one version of the memory at a path, or the tombstone of a forgotten one.
    ///
    /// Documents are numbered in the order in which versions were written, in the order of `memories.log`. A later
    /// version of a memory is a new document; the former document stays, but is no longer current. Merging layers
    /// renumbers nothing, so a number stays valid in the folder of an index and in every snapshot of it until the index
    /// is rebuilt. A rebuilt index numbers its documents again.
    DocumentId;

    /// A slot: a path that was written or linked to, whether or not a memory is stored there.
    ///
    /// The nodes of the graph are slots, because a relation can lead to a path that is written later. A slot has at
    /// most one current document. Slots are not on disk: opening an index assigns them again. A slot is valid until the
    /// index is closed, and in every snapshot that was taken since it was assigned.
    SlotId;

    /// A row: the quantised vector of one cue.
    ///
    /// Rows are numbered in the order of `vectors.log`, which is the order of their documents; the rows of one document
    /// are consecutive. Row *n* begins at byte *n* times the bytes of a row. Like the number of a document, that of a
    /// row stays valid until the index is rebuilt.
    RowId;

    /// A claim of a document.
    ///
    /// Claims are numbered in the order of their documents, and stay valid as long as those.
    ClaimId;
}

/// Adds the conversions from and to a number.
macro_rules! numbered_ids {
    ($($name:ident),*) => {$(
        impl $name {
            /// Returns the id with a number.
            #[inline]
            pub(crate) const fn new(number: u32) -> Self {
                Self(number)
            }

            /// Returns the number.
            #[inline]
            pub(crate) const fn get(self) -> u32 {
                self.0
            }
        }
    )*};
}

numbered_ids!(DocumentId, SlotId, RowId);

/// Adds what only ids in the order of a file have: ranges, and a form in a layer's file.
macro_rules! consecutive_ids {
    ($($name:ident),*) => {$(
        impl $name {
            /// Returns this id and those after it, up to `end`, which is excluded.
            #[inline]
            pub(crate) fn until(self, end: Self) -> impl Iterator<Item = Self> + Clone {
                (self.0..end.0).map(Self)
            }

            /// Returns the id that is `count` after this one.
            #[inline]
            pub(crate) const fn after(self, count: u32) -> Self {
                Self(self.0 + count)
            }

            /// Returns the form on disk.
            #[inline]
            pub(crate) const fn to_le_bytes(self) -> [u8; 4] {
                self.0.to_le_bytes()
            }

            /// Reads the form on disk.
            #[inline]
            pub(crate) const fn from_le_bytes(bytes: [u8; 4]) -> Self {
                Self(u32::from_le_bytes(bytes))
            }
        }
    )*};
}

consecutive_ids!(DocumentId, RowId, ClaimId);

impl ClaimId {
    /// The first claim.
    pub(crate) const MIN: Self = Self(u32::MIN);
    /// Is never given to a claim.
    pub(crate) const MAX: Self = Self(u32::MAX);
}
