//! Standing facts: what a request should bring to mind although it does not ask for it.
//!
//! Whoever asks for a recipe wants it without nuts if they once said that they are allergic to them. Such statements are of
//! two kinds ([`statement`]): conditions of a person, such as an allergy, a diet or an illness, and rules, such as "never
//! deploy on a Friday". A request ([`request`]) touches a condition if both are of one [`Topic`], and a rule if they are of
//! one topic or have a word in common. [`words`] has the lists, in seven languages and in part in more.

pub mod request;
pub mod statement;
mod word_list;
mod words;

/// The tag that extraction gives to statements that stand.
pub const STANDING_TAG: &str = "standing";
/// The tag of memories of which somebody said that they do not stand.
pub const NOT_STANDING_TAG: &str = "not-standing";

/// What requests and standing facts are about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Topic {
    /// Food and drink.
    Food,
    /// Illness and medicine.
    Health,
    /// Texts, tables and pictures that somebody makes.
    Writing,
    /// Appointments and plans for days and hours.
    Appointments,
    /// Journeys.
    Travel,
    /// Programs and their operation.
    Software,
}

/// A set of topics, a bit each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Topics(u8);

impl Topics {
    /// Returns the set of some topics.
    pub const fn of(topics: &[Topic]) -> Self {
        let (mut bits, mut index) = (0, 0);
        while index < topics.len() {
            bits |= 1 << topics[index] as u8;
            index += 1;
        }
        Self(bits)
    }

    /// Returns the topics of both sets.
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether the sets have a topic in common.
    pub const fn meets(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// Whether the set is empty.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }
}
