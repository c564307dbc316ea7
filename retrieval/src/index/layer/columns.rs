//! The columns of a layer, each declared once.

use std::io::Read;

use super::bounds::Bounds;
use super::column::Column;
use super::encoding::{Reader, Writer};
use super::flags::Flags;
use super::lists::Lists;
use crate::error::Result;
use crate::hash::{Link, NameHash, PathHash, SessionHash, StatementHash};
use crate::ids::{ClaimId, RowId};
use crate::index::claim_entry::ClaimEntry;
use crate::index::number_entry::NumberEntry;
use crate::memory::Millis;

/// Declares the columns and what is done with all of them. The order of declaration is that of the file.
macro_rules! columns {
    ($($(#[$documentation:meta])* $name:ident: $column:ty,)*) => {
        /// Documents in columns.
        #[derive(Clone, Debug, Default, PartialEq)]
        pub(super) struct Columns {
            $($(#[$documentation])* pub(super) $name: $column,)*
        }

        /// What the columns hold of one document.
        pub(super) struct DocumentValues<'a> {
            $(pub(super) $name: <$column as Column>::Value<'a>,)*
        }

        impl Columns {
            /// Appends a document.
            pub(super) fn push(&mut self, values: DocumentValues<'_>) {
                $(<$column as Column>::push(&mut self.$name, values.$name);)*
            }

            /// Returns these documents followed by those after them.
            pub(super) fn concat(&self, next: &Self) -> Self {
                Self { $($name: <$column as Column>::concat(&self.$name, &next.$name),)* }
            }

            pub(super) fn write(&self, out: &mut Writer) {
                $(<$column as Column>::write(&self.$name, out);)*
            }

            pub(super) fn read<R: Read>(from: &mut Reader<R>) -> Result<Self> {
                Ok(Self { $($name: <$column as Column>::read(from)?,)* })
            }

            /// Whether every column [fits](Column::fits) this many documents.
            pub(super) fn fit(&self, documents: usize) -> bool {
                $(<$column as Column>::fits(&self.$name, documents))&&*
            }
        }
    };
}

columns! {
    path: Vec<PathHash>,
    /// The conversation, or [`SessionHash::NONE`].
    session: Vec<SessionHash>,
    /// When the content happened. This and the next two are [`UNKNOWN`](crate::index::entry::UNKNOWN) if not known.
    occurred: Vec<Millis>,
    /// When the memory was first written.
    created: Vec<Millis>,
    /// When the memory was last written.
    updated: Vec<Millis>,
    /// The time of expiry, or [`NEVER`](crate::index::entry::NEVER).
    hidden_from: Vec<Millis>,
    /// The byte range of the frame in the log.
    frames: Bounds<u64>,
    /// The rows of the cues.
    rows: Bounds<RowId>,
    /// The number of words of the content.
    words: Vec<u32>,
    /// The number of terms.
    length: Vec<u32>,
    flags: Vec<Flags>,
    speaker: Lists<NameHash>,
    entities: Lists<NameHash>,
    links: Lists<Link>,
    tokens: Lists<u16>,
    /// The statement without its dates, or [`StatementHash::NONE`].
    statement: Vec<StatementHash>,
    /// The position among the memories that were written at the same time.
    sequence: Vec<u32>,
    /// When somebody set that the memory begins to hold, or [`UNKNOWN`](crate::index::entry::UNKNOWN).
    valid_from: Vec<Millis>,
    /// When somebody set that the memory stops holding, or [`NEVER`](crate::index::entry::NEVER).
    valid_until: Vec<Millis>,
    /// The paths of the memories that it replaces.
    supersedes: Lists<PathHash>,
    claims: Lists<ClaimEntry>,
    /// The ids of the claims.
    claim_ids: Bounds<ClaimId>,
    /// The numbers of the metadata.
    numbers: Lists<NumberEntry>,
}
