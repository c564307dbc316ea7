//! Names in a statement: runs of capitalised words that do not begin a sentence.

use super::statements::Statement;

/// Names of a statement that are kept.
const NAMES_MAX: usize = 12;

/// Words that are capitalised in English, but are not names.
const NOT_NAMES: &str = "i i'm i've i'd i'll monday tuesday wednesday thursday friday saturday sunday january february march \
    april may june july august september october november december mr mrs ms dr ok okay tv usa";

/// Returns the first [`NAMES_MAX`] names in a statement, in order of appearance, without repetitions and without the
/// speaker's name. The time is linear in the statement's length.
pub fn find(statement: &Statement<'_>, speaker: &str) -> Vec<String> {
    let mut names = Names { found: Vec::new(), speaker };
    for sentence in &statement.sentences {
        let mut run: Vec<&str> = Vec::new();
        for (position, raw) in sentence.split_whitespace().enumerate() {
            let word = raw.trim_matches(|c: char| !c.is_alphanumeric());
            let word = word.strip_suffix("'s").or_else(|| word.strip_suffix("’s")).unwrap_or(word);
            if position > 0 && is_name(word) {
                run.push(word);
            } else {
                names.add(&mut run);
            }
            // A comma or a full stop ends a name.
            if raw.ends_with([',', '.', '!', '?', ';', ':', ')']) {
                names.add(&mut run);
            }
        }
        names.add(&mut run);
        if names.found.len() >= NAMES_MAX {
            break;
        }
    }
    names.found
}

struct Names<'a> {
    found: Vec<String>,
    speaker: &'a str,
}

impl Names<'_> {
    /// Adds a run of words as a name, and clears the run.
    fn add(&mut self, run: &mut Vec<&str>) {
        if !run.is_empty() && self.found.len() < NAMES_MAX {
            let name = run.join(" ");
            if !name.eq_ignore_ascii_case(self.speaker) && !self.found.contains(&name) {
                self.found.push(name);
            }
        }
        run.clear();
    }
}

fn is_name(word: &str) -> bool {
    let mut characters = word.chars();
    if !characters.next().is_some_and(char::is_uppercase) || characters.next().is_none() {
        return false;
    }
    let folded = word.to_lowercase();
    !NOT_NAMES.split_whitespace().any(|other| other == folded)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::steps::Steps;

    fn find(text: &str, speaker: &str) -> Vec<String> {
        let statement = Statement::read(text, &Steps::unlimited()).expect("not interrupted");
        super::find(&statement, speaker)
    }

    #[test]
    fn names_are_runs_of_capitals_inside_sentences() {
        let text = "Yesterday I met Maria Lopez, Tom's aunt, at the Blue Note. We drove to Porto on Friday with Ann.";
        assert_eq!(find(text, "Ann"), ["Maria Lopez", "Tom", "Blue Note", "Porto"]);
    }

    #[test]
    fn only_the_first_names_of_a_statement_are_kept() {
        let text: String = (0..10_000).map(|n| format!("We met Ada{n}, then we left. ")).collect();
        let names = find(&text, "Ada0");
        assert_eq!((names.len(), names[0].as_str()), (NAMES_MAX, "Ada1"));
    }
}
