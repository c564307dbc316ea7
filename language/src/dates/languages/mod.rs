//! The words for dates in each language, one table per file. [`table`] describes what a table contains.
//!
//! English has a grammar of its own. Its file has the lists that the grammar uses, and the common words by which a text
//! is known to be in English.

pub(crate) mod table;

mod arabic;
mod bengali;
mod chinese;
mod dutch;
pub(crate) mod english;
mod french;
mod german;
mod hindi;
mod italian;
mod japanese;
mod portuguese;
mod russian;
mod spanish;

use table::Table;

/// The tables of all languages but English.
pub(crate) const TABLES: [&Table; 12] = [
    &spanish::TABLE,
    &french::TABLE,
    &german::TABLE,
    &portuguese::TABLE,
    &italian::TABLE,
    &dutch::TABLE,
    &russian::TABLE,
    &arabic::TABLE,
    &hindi::TABLE,
    &bengali::TABLE,
    &chinese::TABLE,
    &japanese::TABLE,
];
