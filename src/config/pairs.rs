//! Values that are a list of names with values: `a=x,b=y`. In the settings file such a value is a table.

use std::collections::BTreeMap;

use super::parsers::{NAME_CHARS_MAX, is_visible_ascii, list};
use super::refusal::Refusal;

/// Maximum limit of a plan, and maximum price.
const FIGURE_MAX: u64 = 1_000_000_000_000;

/// Parses `a=x,b=y` with any names.
pub(super) fn pairs(text: &str) -> Result<BTreeMap<String, String>, Refusal> {
    let mut pairs = BTreeMap::new();
    for part in list(text) {
        let Some((name, value)) = part.split_once('=') else {
            return Err(Refusal::new(part, "name=value pairs, comma-separated"));
        };
        pairs.insert(name.trim().to_owned(), value.trim().to_owned());
    }
    Ok(pairs)
}

/// Parses `a=x,b=y` with some of the names and no others.
pub(super) fn named_pairs(text: &str, names: &[&str]) -> Result<BTreeMap<String, String>, Refusal> {
    let given = pairs(text)?;
    for (name, value) in &given {
        if !names.contains(&name.as_str()) {
            return Err(Refusal::new(name, format!("name=value pairs with the names {}", names.join(", "))));
        }
        if value.is_empty() || value.len() > NAME_CHARS_MAX || !is_visible_ascii(value) {
            return Err(Refusal::new(value, format!("a value of visible ASCII characters after {name}=")));
        }
    }
    Ok(given)
}

/// Parses `writes=1,reads=2` with all of the names and no others. Returns the figures in the order of the names.
/// `fallback` has the figures that the text may omit.
pub(super) fn figures<const N: usize>(
    text: &str,
    names: [&str; N],
    fallback: &BTreeMap<String, String>,
) -> Result<[u64; N], Refusal> {
    let given = named_pairs(text, &names)?;
    let mut figures = [0; N];
    for (figure, name) in figures.iter_mut().zip(names) {
        let Some(value) = given.get(name).or(fallback.get(name)) else {
            let expected = format!("a figure for each of {}: {name}=… is missing", names.join(", "));
            return Err(Refusal::new(text, expected));
        };
        match value.parse::<u64>() {
            Ok(parsed) if parsed <= FIGURE_MAX => *figure = parsed,
            _ => {
                return Err(Refusal::new(value, format!("a whole number from 0 to {FIGURE_MAX} after {name}=")));
            }
        }
    }
    Ok(figures)
}
