//! Where a new memory is put: `tier/topic/year-month/words-of-it.md`.
//!
//! The topic is whom it is about; where nobody says, the speaker. A directory that has grown to [`DIRECTORY_FILES_MAX`] files is left for a new one beside
//! it (`2023-05-2`), so that the trees which a commit rewrites stay small however many memories a month brings.

use std::collections::{HashMap, HashSet};

use cuebase_storage::Error;
use cuebase_storage::git::Writer;

use crate::memory::draft::Draft;

/// Files in one directory.
const DIRECTORY_FILES_MAX: usize = 200;
/// Bytes of a file's name without its ending.
const NAME_BYTES_MAX: usize = 60;

/// Remembers which directory of a month is being filled.
#[derive(Default)]
pub struct Namer {
    current: HashMap<String, u32>,
}

impl Namer {
    /// A path for every draft, none of them taken.
    pub fn name(&mut self, drafts: &[Draft], writer: &mut Writer) -> Result<Vec<String>, Error> {
        let mut taken: HashMap<String, HashSet<String>> = HashMap::new();
        let mut paths = Vec::with_capacity(drafts.len());
        for draft in drafts {
            let month = draft.occurred.at.to_zoned(jiff::tz::TimeZone::UTC).strftime("%Y-%m").to_string();
            let base = format!("{}/{}/{month}", draft.tier.name(), slug(&draft.topic, "somebody"));
            let number = self.current.entry(base.clone()).or_insert(1);
            let (folder, names) = loop {
                let folder = if *number == 1 { base.clone() } else { format!("{base}-{number}") };
                if !taken.contains_key(&folder) {
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

/// Returns `stem.md`, or `stem-2.md` and so on where that is taken: a free name, the one before which is taken.
///
/// The number is doubled until it is free, and the gap is then halved, so that many equal names cost a logarithm each.
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

/// Lowercase ASCII letters, digits and single dashes; `otherwise` when nothing is left.
pub fn slug(text: &str, otherwise: &str) -> String {
    let folded = cuebase_retrieval::fold(text);
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
    if slug.is_empty() { otherwise.to_owned() } else { slug }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_names_are_numbered_without_gaps_and_with_few_questions() {
        const NAMES: usize = 10_000;
        let mut taken = HashSet::new();
        let mut asked = 0;
        for number in 1..=NAMES {
            let free = free_name("stem", |name| {
                asked += 1;
                Ok::<_, Error>(!taken.contains(name))
            });
            let free = free.expect("no name fails");
            let expected = if number == 1 { "stem.md".to_owned() } else { format!("stem-{number}.md") };
            assert_eq!(free, expected);
            taken.insert(free);
        }
        assert!(asked <= 30 * NAMES, "{asked} questions for {NAMES} names");
    }

    #[test]
    fn slugs_hold_plain_words_only() {
        assert_eq!(slug("Ann Müller: 2 cats/../x", "x"), "ann-muller-2-cats-x");
        assert_eq!(slug("日本", "memory"), "memory");
        assert_eq!(slug(&"y".repeat(300), "memory"), "memory");
    }
}
