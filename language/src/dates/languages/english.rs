//! English.

use jiff::civil::Weekday;

pub(crate) const WEEKDAYS: [(&str, Weekday); 7] = [
    ("monday", Weekday::Monday),
    ("tuesday", Weekday::Tuesday),
    ("wednesday", Weekday::Wednesday),
    ("thursday", Weekday::Thursday),
    ("friday", Weekday::Friday),
    ("saturday", Weekday::Saturday),
    ("sunday", Weekday::Sunday),
];

pub(crate) const NUMBERS: [&str; 12] =
    ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"];

/// Words before a time. After one of them, four digits are a year, and a word that can be a month is a month.
pub(crate) const LEAD_WORDS: [&str; 24] = [
    "in",
    "on",
    "of",
    "during",
    "since",
    "after",
    "before",
    "until",
    "till",
    "from",
    "between",
    "through",
    "throughout",
    "early",
    "mid",
    "late",
    "last",
    "next",
    "year",
    "spring",
    "summer",
    "autumn",
    "fall",
    "winter",
];

/// Months that are also verbs or names of people.
pub(crate) const AMBIGUOUS_MONTHS: [&str; 8] = ["march", "april", "may", "june", "august", "jan", "mar", "jun"];

/// Words between the first and the last period of a range.
pub(crate) const RANGE_WORDS: [&str; 4] = ["and", "to", "until", "till"];

/// Common words that show that a text is in English, separated by spaces.
pub(crate) const COMMON: &str = "the a an i am is was are were did do does done what when where who which how why \
    my you your he she it its we they to of on in at for with and not have has had that this these those about me \
    be can could will would should may might must from but there our his her their been if or so as by us let make \
    made no any some since during before after until between last next per met van week weekend january february \
    march april june july august september october november december monday tuesday wednesday thursday friday \
    saturday sunday";

/// Returns the number of a month, from 1, by its name or an abbreviation in lowercase.
pub(crate) fn month_number(word: &str) -> Option<i8> {
    Some(match word {
        "january" | "jan" => 1,
        "february" | "feb" => 2,
        "march" | "mar" => 3,
        "april" | "apr" => 4,
        "may" => 5,
        "june" | "jun" => 6,
        "july" | "jul" => 7,
        "august" | "aug" => 8,
        "september" | "sept" | "sep" => 9,
        "october" | "oct" => 10,
        "november" | "nov" => 11,
        "december" | "dec" => 12,
        _ => return None,
    })
}
