//! The query string: repeated and comma-separated lists, numbers, time zones.

use std::ops::RangeInclusive;

use jiff::tz::TimeZone;

use crate::error::{Error, Result};
use crate::error_codes::ErrorCode;
use crate::memory::request::zone;

/// A number of this many digits fits into `usize`.
const DIGITS_MAX: usize = 18;

/// Parameters in the order in which they were sent.
#[derive(Clone, Debug, Default)]
pub struct QueryString {
    pairs: Vec<(String, String)>,
}

/// The number of entries in a page of a list.
#[derive(Clone, Copy, Debug)]
pub struct PageSize {
    /// Entries when the request gives no limit.
    pub default: usize,
    /// Most entries that a request can ask for.
    pub max: usize,
}

impl QueryString {
    /// Parses a query string. Percent-encoding and `+` are decoded, and bytes that are not UTF-8 are replaced.
    pub fn parse(raw: &str) -> Self {
        Self { pairs: form_urlencoded::parse(raw.as_bytes()).into_owned().collect() }
    }

    /// Makes a query string of decoded parameters.
    pub fn from_pairs(pairs: Vec<(String, String)>) -> Self {
        Self { pairs }
    }

    /// Returns the names of all parameters; a repeated name is repeated.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.pairs.iter().map(|(name, _)| name.as_str())
    }

    /// Returns an integer within a range, or `None` where the parameter is absent or empty.
    ///
    /// # Errors
    ///
    /// `code` for any other value.
    pub fn number(&self, name: &str, range: RangeInclusive<usize>, code: ErrorCode) -> Result<Option<usize>> {
        let Some(text) = self.get(name) else { return Ok(None) };
        if let Ok(number) = text.parse::<usize>()
            && range.contains(&number)
        {
            return Ok(Some(number));
        }
        let (min, max) = range.into_inner();
        Err(Error::invalid(code, format!("{name}: {text:?} is not an integer from {min} to {max}")))
    }

    /// Returns the parameter `limit`, reduced to the most that a page can have.
    ///
    /// # Errors
    ///
    /// `invalid_limit` for zero and for anything that is not an integer.
    pub fn page_limit(&self, size: PageSize) -> Result<usize> {
        // Such a number may not fit into `usize`.
        if let Some(text) = self.get("limit")
            && text.len() > DIGITS_MAX
            && text.bytes().all(|byte| byte.is_ascii_digit())
        {
            return Ok(size.max);
        }
        let limit = self.number("limit", 1..=usize::MAX, ErrorCode::InvalidLimit)?;
        Ok(limit.unwrap_or(size.default).min(size.max))
    }

    /// Returns the last value of a parameter that is not empty.
    pub fn get(&self, name: &str) -> Option<&str> {
        let mut backwards = self.pairs.iter().rev();
        let (_, value) = backwards.find(|(key, value)| key == name && !value.is_empty())?;
        Some(value.as_str())
    }

    /// Returns the last value of a parameter, which may be empty.
    pub fn last(&self, name: &str) -> Option<&str> {
        let (_, value) = self.pairs.iter().rev().find(|(key, _)| key == name)?;
        Some(value.as_str())
    }

    /// Returns the values of a list. A comma and a repeated parameter both separate values; blank ones are left out.
    pub fn list(&self, name: &str) -> Vec<String> {
        let mut values = Vec::new();
        for (key, value) in &self.pairs {
            if key != name {
                continue;
            }
            for part in value.split(',') {
                let part = part.trim();
                if !part.is_empty() {
                    values.push(part.to_owned());
                }
            }
        }
        values
    }

    /// Returns the time zone that `timezone` names, or UTC.
    pub fn zone(&self) -> Result<TimeZone> {
        match self.get("timezone") {
            Some(name) => zone(name),
            None => Ok(TimeZone::UTC),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_separated_by_commas_and_repetition() {
        let query = QueryString::parse("tags=a,b&tags=c%20d&x=1&x=&y=%ff&q=a+b");
        assert_eq!(query.list("tags"), ["a", "b", "c d"]);
        assert_eq!(query.get("x"), Some("1"));
        assert_eq!(query.get("q"), Some("a b"));
        assert_eq!(query.get("none"), None);
        assert!(query.get("y").is_some());
    }
}
