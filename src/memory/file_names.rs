//! The paths of new memories: `tier/topic/year-month/words-of-it.md`.
//!
//! The topic is the person or thing that the memory is about; if unknown, the speaker. Once a directory has
//! [`DIRECTORY_FILES_MAX`] files, a second one is filled (`2023-05-2`). The trees that a commit rewrites therefore stay
//! small however many memories a month has.

use std::collections::{HashMap, HashSet};

use cuebase_storage::Error;
use cuebase_storage::git::Writer;

use cuebase_language::extract::draft::Draft;

/// Files in one directory.
const DIRECTORY_FILES_MAX: usize = 200;
/// Bytes of a file's name without its ending.
const NAME_BYTES_MAX: usize = 60;

/// Chooses paths for drafts, and remembers which directory of each month is being filled.
#[derive(Default)]
pub struct Namer {
    /// The number of the current directory by the month's first directory.
    current: HashMap<String, u32>,
}

impl Namer {
    /// Returns an unused path for every draft.
    pub fn name(&mut self, drafts: &[Draft], writer: &mut Writer) -> Result<Vec<String>, Error> {
        let mut taken: HashMap<String, HashSet<String>> = HashMap::new();
        let mut paths = Vec::with_capacity(drafts.len());
        for draft in drafts {
            let month = draft.occurred.at.to_zoned(jiff::tz::TimeZone::UTC).strftime("%Y-%m").to_string();
            let topic = format!("{}/{}", draft.tier.name(), slug(&draft.topic, "somebody"));
            let base = format!("{}/{month}", free_directory(&topic, writer)?);
            let number = self.current.entry(base.clone()).or_insert(1);
            let (folder, names) = loop {
                let folder = if *number == 1 { base.clone() } else { format!("{base}-{number}") };
                if !taken.contains_key(&folder) {
                    if writer.contains(&folder)? {
                        // As for a topic.
                        *number += 1;
                        continue;
                    }
                    taken.insert(folder.clone(), writer.names(&folder)?.into_iter().collect());
                }
                match taken.get_mut(&folder) {
                    Some(names) if names.len() < DIRECTORY_FILES_MAX => break (folder, names),
                    _ => *number += 1,
                }
            };
            let file = free_name(&slug(&draft.name, "memory"), |name| Ok::<_, Error>(!names.contains(name)))?;
            names.insert(file.clone());
            paths.push(format!("{folder}/{file}"));
        }
        Ok(paths)
    }
}

/// Returns a path of which no file has the name: a pushed file can have the name of a topic.
fn free_directory(path: &str, writer: &mut Writer) -> Result<String, Error> {
    let mut directory = path.to_owned();
    let mut number = 1u64;
    while writer.contains(&directory)? {
        number += 1;
        directory = format!("{path}-{number}");
    }
    Ok(directory)
}

/// Returns `stem.md`, or, if that is taken, `stem-2.md` and so on: a free name whose predecessor is taken.
///
/// The number is doubled until it is free, and the gap is then halved. Each of many equal names therefore takes a
/// logarithmic number of calls of `is_free`.
///
/// # Errors
///
/// Those of `is_free`.
pub fn free_name<E>(stem: &str, mut is_free: impl FnMut(&str) -> Result<bool, E>) -> Result<String, E> {
    let first = format!("{stem}.md");
    if is_free(&first)? {
        return Ok(first);
    }
    let (mut taken, mut free) = (1u64, 2u64);
    while !is_free(&numbered(stem, free))? {
        (taken, free) = (free, free.saturating_mul(2));
    }
    while free - taken > 1 {
        let middle = taken + (free - taken) / 2;
        if is_free(&numbered(stem, middle))? {
            free = middle;
        } else {
            taken = middle;
        }
    }
    Ok(numbered(stem, free))
}

fn numbered(stem: &str, number: u64) -> String {
    format!("{stem}-{number}.md")
}

/// Returns a text as lowercase ASCII letters, digits and single dashes; `fallback` if the text has no such characters.
pub fn slug(text: &str, fallback: &str) -> String {
    let folded = cuebase_language::tokenize::fold(text);
    let words = folded.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    let mut slug = String::new();
    for word in words {
        if slug.len() + word.len() > NAME_BYTES_MAX {
            break;
        }
        if !slug.is_empty() {
            slug.push('-');
        }
        slug.push_str(word);
    }
    if slug.is_empty() { fallback.to_owned() } else { slug }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_names_are_numbered_without_gaps_and_with_few_calls() {
        const NAMES: usize = 10_000;
        let mut taken = HashSet::new();
        let mut calls = 0;
        for number in 1..=NAMES {
            let free = free_name("stem", |name| {
                calls += 1;
                Ok::<_, Error>(!taken.contains(name))
            });
            let free = free.expect("no name fails");
            let expected = if number == 1 { "stem.md".to_owned() } else { format!("stem-{number}.md") };
            assert_eq!(free, expected);
            taken.insert(free);
        }
        assert!(calls <= 30 * NAMES, "{calls} calls for {NAMES} names");
    }

    #[test]
    fn slugs_contain_plain_words_only() {
        assert_eq!(slug("Ann Müller: 2 cats/../x", "x"), "ann-muller-2-cats-x");
        assert_eq!(slug("日本", "memory"), "memory");
        assert_eq!(slug(&"y".repeat(300), "memory"), "memory");
    }
}
