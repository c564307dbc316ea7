//! The kinds of usage that are counted.

/// A kind of usage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Meter {
    /// Accepted memory, vocabulary and skills requests.
    Writes,
    /// Retrievals and skill searches.
    Reads,
    /// Answers.
    Chats,
    /// Bytes of uploaded files that are stored now: a level, not a count, and never charged.
    MediaBytes,
}

impl Meter {
    /// The meters that count units of a month and have a price.
    pub const ALL: [Self; 3] = [Self::Writes, Self::Reads, Self::Chats];

    /// Returns the name in the API and in the store.
    pub fn name(self) -> &'static str {
        match self {
            Self::Writes => "writes",
            Self::Reads => "reads",
            Self::Chats => "chats",
            Self::MediaBytes => "media_bytes",
        }
    }
}
