//! The table of attributes, `attributes.txt`: which ones have one value and which several, and by which words they are
//! named and asked for. A general statement such as "my gym is Flex" is about an attribute that is not in the table; it
//! has one value.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::frames::{self, Frame};
use super::lists::MANY_RELATIONS;

/// The table.
const TABLE: &str = include_str!("attributes.txt");

/// How many values an attribute has at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cardinality {
    /// A new value ends the former one.
    One,
    /// Values do not end each other.
    Many,
}

/// An attribute of the table.
#[derive(Debug)]
pub struct Attribute {
    /// The name in claims.
    pub name: &'static str,
    /// How many values it has.
    pub cardinality: Cardinality,
    /// Nouns that name it: "my employer", "the owner of".
    pub nouns: Vec<&'static str>,
    /// Words of questions about it.
    pub asked: Vec<&'static str>,
    /// Phrases that state or end it.
    pub frames: Vec<Frame>,
}

/// The attributes, in the order of the table.
pub static ATTRIBUTES: LazyLock<Vec<Attribute>> = LazyLock::new(|| read(TABLE));

/// The indexes of the attributes by their nouns.
static BY_NOUN: LazyLock<HashMap<&'static str, usize>> = LazyLock::new(|| {
    let mut by_noun = HashMap::new();
    for (index, attribute) in ATTRIBUTES.iter().enumerate() {
        by_noun.insert(attribute.name, index);
        for noun in &attribute.nouns {
            by_noun.insert(*noun, index);
        }
    }
    by_noun
});

/// Returns the attribute that a noun names, if it is in the table.
pub fn named(noun: &str) -> Option<&'static Attribute> {
    BY_NOUN.get(noun).map(|index| &ATTRIBUTES[*index])
}

/// Returns how many values an attribute has. A relation that a person has to several others has many: "my brother is
/// Emil".
pub fn cardinality(attribute: &str) -> Cardinality {
    match named(attribute) {
        Some(attribute) => attribute.cardinality,
        None if MANY_RELATIONS.has(attribute) => Cardinality::Many,
        None => Cardinality::One,
    }
}

/// Reads the table: `# name one|many` begins an attribute, and `nouns:`, `asked:` and frames follow.
fn read(table: &'static str) -> Vec<Attribute> {
    let mut attributes: Vec<Attribute> = Vec::new();
    for line in table.lines() {
        if let Some(heading) = line.strip_prefix("# ") {
            let (name, cardinality) = heading.rsplit_once(' ').unwrap_or((heading, "one"));
            let cardinality = if cardinality == "many" { Cardinality::Many } else { Cardinality::One };
            attributes.push(Attribute { name, cardinality, nouns: Vec::new(), asked: Vec::new(), frames: Vec::new() });
            continue;
        }
        let Some(attribute) = attributes.last_mut() else { continue };
        let Some((kind, rest)) = line.split_once(": ") else { continue };
        match kind {
            "nouns" => attribute.nouns.extend(rest.split(", ")),
            "asked" => attribute.asked.extend(rest.split(", ")),
            _ => attribute.frames.extend(frames::read(kind, rest)),
        }
    }
    attributes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_of_the_table_is_understood() {
        for line in TABLE.lines() {
            let is_heading = line.starts_with("# ") && (line.ends_with(" one") || line.ends_with(" many"));
            let is_list = line.starts_with("nouns: ") || line.starts_with("asked: ");
            let is_frame = match line.split_once(": ") {
                Some((kind, rest)) => frames::read(kind, rest).is_some(),
                None => false,
            };
            let is_comment = line.is_empty() || line.starts_with("; ");
            assert!(is_heading || is_list || is_frame || is_comment, "{line}");
        }
    }

    #[test]
    fn an_attribute_is_found_by_its_nouns() {
        assert_eq!(named("company").map(|attribute| attribute.name), Some("employer"));
        assert_eq!(cardinality("hobby"), Cardinality::Many);
        assert_eq!(cardinality("gym"), Cardinality::One);
    }
}
