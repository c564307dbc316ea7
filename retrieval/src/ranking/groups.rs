//! The groups of features, by which an explanation says what made a score.

/// Declares the groups of features with their names.
macro_rules! feature_groups {
    ($($(#[$documentation:meta])* $variant:ident = $name:literal,)*) => {
        /// A group of features that measure the same kind of evidence.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum FeatureGroup {
            $($(#[$documentation])* $variant,)*
        }

        impl FeatureGroup {
            /// Every group, in the order in which an explanation lists them.
            pub const ALL: [Self; [$($name),*].len()] = [$(Self::$variant),*];

            /// Returns the name of the group.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)*
                }
            }
        }
    };
}

feature_groups! {
    /// The memory holds words of the query.
    Words = "words",
    /// One of the memory's cues is near the query's vector.
    Meaning = "meaning",
    /// The memory holds words similar to those of the query.
    WordSimilarity = "word_similarity",
    /// The memories said right before and right after it match the query.
    Neighbours = "neighbours",
    /// Other memories of its session match the query.
    Session = "session",
    /// The query names the memory's speaker, another speaker, or a name in the memory.
    Speaker = "speaker",
    /// The memory is of a time that the query names.
    Time = "time",
    /// The memory holds, or no longer holds, at the time in question.
    Validity = "validity",
    /// The length of the memory, and whether it asks a question.
    Form = "form",
    /// What is the same for all memories: how much the query says, and how well the best memory matches it.
    Query = "query",
    /// A model read the memory together with the query.
    Reader = "reader",
}

/// What a group of features adds to the log-odds of a score.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Contribution {
    /// The group.
    pub group: FeatureGroup,
    /// The part of the log-odds; negative if the group lowers the score.
    pub log_odds: f64,
}
