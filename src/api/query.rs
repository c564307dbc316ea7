//! The query string: repeated and comma-separated lists, booleans, numbers, times.

use jiff::tz::TimeZone;

use crate::error::{Error, Result};
use crate::memory::request::zone;

/// Parameters in the order they were sent.
#[derive(Clone, Debug, Default)]
pub struct QueryString {
    pairs: Vec<(String, String)>,
}

impl QueryString {
    /// Takes a query string apart; percent-encoding and `+` are read, bytes that are no UTF-8 replaced.
    pub fn parse(raw: &str) -> Self {
        Self { pairs: form_urlencoded::parse(raw.as_bytes()).into_owned().collect() }
    }

    /// The same from parameters that were taken apart elsewhere.
    pub fn of(pairs: Vec<(String, String)>) -> Self {
        Self { pairs }
    }

    /// The names of all parameters, as often as they were sent.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.pairs.iter().map(|(name, _)| name.as_str())
    }

    /// A whole number within a range, if there is one; anything else is a failure of that code.
    pub fn number(
        &self,
        name: &str,
        range: std::ops::RangeInclusive<usize>,
        code: &'static str,
    ) -> Result<Option<usize>> {
        let Some(text) = self.get(name) else { return Ok(None) };
        let number = text.parse().ok().filter(|number| range.contains(number));
        number.map(Some).ok_or_else(|| {
            let (first, last) = range.into_inner();
            Error::invalid(code, format!("{name}: {text:?} is no whole number from {first} to {last}"))
        })
    }

    /// A limit with its default and the most that is given: more than that is cut, not refused.
    pub fn capped(&self, name: &str, (default, most): (usize, usize)) -> Result<usize> {
        // However many digits: more than is given is cut.
        if self.get(name).is_some_and(|text| text.len() > 18 && text.bytes().all(|byte| byte.is_ascii_digit())) {
            return Ok(most);
        }
        Ok(self.number(name, 1..=usize::MAX, "invalid_limit")?.unwrap_or(default).min(most))
    }

    /// The last value of a parameter that is not empty.
    pub fn get(&self, name: &str) -> Option<&str> {
        let values = self.pairs.iter().rev().filter(|(key, value)| key == name && !value.is_empty());
        values.map(|(_, value)| value.as_str()).next()
    }

    /// The last value of a parameter, be it empty.
    pub fn value(&self, name: &str) -> Option<&str> {
        self.pairs.iter().rev().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// Every value of a list: commas and repetition both separate.
    pub fn list(&self, name: &str) -> Vec<String> {
        let values = self.pairs.iter().filter(|(key, _)| key == name);
        let parts = values.flat_map(|(_, value)| value.split(','));
        parts.map(str::trim).filter(|part| !part.is_empty()).map(str::to_owned).collect()
    }

    /// A time zone by its IANA name, UTC when none is named.
    pub fn zone(&self) -> Result<TimeZone> {
        self.get("timezone").map_or(Ok(TimeZone::UTC), zone)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_commas_and_repeats() {
        let query = QueryString::parse("tags=a,b&tags=c%20d&x=1&x=&y=%ff&q=a+b");
        assert_eq!(query.list("tags"), ["a", "b", "c d"]);
        assert_eq!(query.get("x"), Some("1"));
        assert_eq!(query.get("q"), Some("a b"));
        assert_eq!(query.get("none"), None);
        assert!(query.get("y").is_some());
    }
}
