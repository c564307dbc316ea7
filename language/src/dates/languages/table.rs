//! The form of a language's table: what its words mean in dates.

/// A language in which dates are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Language {
    Arabic,
    Bengali,
    Chinese,
    Dutch,
    English,
    French,
    German,
    Hindi,
    Italian,
    Japanese,
    Portuguese,
    Russian,
    Spanish,
}

impl Language {
    pub(crate) const COUNT: usize = 13;
    /// The languages in Latin letters, which share words.
    pub(crate) const LATIN: [Self; 7] =
        [Self::Dutch, Self::English, Self::French, Self::German, Self::Italian, Self::Portuguese, Self::Spanish];

    pub(crate) fn index(self) -> usize {
        self as usize
    }

    pub(crate) fn is_latin(self) -> bool {
        Self::LATIN.contains(&self)
    }
}

/// A unit of the calendar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unit {
    Day,
    Week,
    Weekend,
    Month,
    Year,
}

/// How a time is meant, by the word before or after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lead {
    /// "in May".
    In,
    Since,
    After,
    Before,
    Until,
    /// "between" or "from": a second time may follow.
    Between,
    /// "early May".
    Begin,
    /// "mid May".
    Middle,
    /// "late May".
    End,
}

/// What a word or a phrase means in dates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// A month by its name.
    Month(i8),
    /// A month by a name that is another word as well. It counts with a day, a year or a [`Lead`].
    DoubtfulMonth(i8),
    /// A month by an abbreviation, which counts with a day or a year.
    ShortMonth(i8),
    /// The day of a month as an ordinal number.
    DayNumber(i8),
    /// A weekday, from Monday as 0.
    DayName(i8),
    /// A number in words.
    Number(i64),
    /// "Yesterday" is -1.
    Day(i64),
    /// "Last" is -1, "next" is 1. It stands before a unit or a weekday.
    Step(i64),
    /// The same after a unit or a weekday.
    StepAfter(i64),
    /// A unit next to "last".
    Period(Unit),
    /// "Last" and a unit in one word.
    Adjacent(Unit, i64),
    /// "Past", before a number and a unit.
    Recent,
    /// A unit after a number.
    Counted(Unit),
    /// A number and a unit in one word.
    Amount(Unit, i64),
    /// "Ago" before an amount.
    AgoBefore,
    /// "Ago" after an amount.
    AgoAfter,
    /// A word between day, month and year.
    Of,
    /// A word after the number of a year, a month or a day: "年".
    YearMark,
    MonthMark,
    DayMark,
    /// A word before a time.
    Leads(Lead),
    /// A word after a time.
    Trails(Lead),
    /// A word between the first and the last time of a range.
    To,
    /// The same, where "between" stands before.
    And,
    /// A phrase that contains a word for a date and names none: "por la mañana".
    NoDate,
    /// A common word, which shows the language.
    Common,
}

/// The words of one language. Alternatives are separated by "|"; an alternative may have several words.
pub(crate) struct Table {
    pub(crate) language: Language,
    /// Names of months in all cases.
    pub(crate) months: [&'static str; 12],
    /// Abbreviations of months.
    pub(crate) short_months: [&'static str; 12],
    /// Names of months that are other words as well.
    pub(crate) doubtful: &'static str,
    /// Names of weekdays, from Monday.
    pub(crate) weekdays: [&'static str; 7],
    /// Numbers from one to twelve.
    pub(crate) numbers: [&'static str; 12],
    /// All other words.
    pub(crate) words: &'static [(Role, &'static str)],
    /// Words that are words of another language as well. They count only in texts that are known to be in this one.
    pub(crate) shared: &'static str,
    /// Common words that show the language of a text, separated by spaces.
    pub(crate) common: &'static str,
}
