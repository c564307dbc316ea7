//! Names in a statement: runs of capitalised words that are not there because a sentence begins.

use super::statements::sentences;

/// Names kept of one statement, at most.
const NAMES_MAX: usize = 12;

/// Capitalised in English, but no names.
const NOT_NAMES: &str = "i i'm i've i'd i'll monday tuesday wednesday thursday friday saturday sunday january february march \
    april may june july august september october november december mr mrs ms dr ok okay tv usa";

/// The names in a statement, in order of appearance, without repeats and without the speaker's own.
pub fn find(statement: &str, speaker: &str) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for sentence in sentences(statement) {
        let mut run: Vec<&str> = Vec::new();
        for (place, raw) in sentence.split_whitespace().enumerate() {
            let word = raw.trim_matches(|c: char| !c.is_alphanumeric());
            let word = word.strip_suffix("'s").or_else(|| word.strip_suffix("’s")).unwrap_or(word);
            if place > 0 && is_name(word) {
                run.push(word);
            } else {
                close(&mut run, &mut names);
            }
            // A comma or a full stop ends a name.
            if raw.ends_with([',', '.', '!', '?', ';', ':', ')']) {
                close(&mut run, &mut names);
            }
        }
        close(&mut run, &mut names);
    }
    names.retain(|name| !name.eq_ignore_ascii_case(speaker));
    names.truncate(NAMES_MAX);
    names
}

fn close(run: &mut Vec<&str>, names: &mut Vec<String>) {
    let name = run.join(" ");
    run.clear();
    if !name.is_empty() && !names.contains(&name) {
        names.push(name);
    }
}

fn is_name(word: &str) -> bool {
    let capital = word.chars().next().is_some_and(char::is_uppercase);
    let folded = word.to_lowercase();
    capital && word.chars().count() > 1 && !NOT_NAMES.split_whitespace().any(|other| other == folded)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_runs_of_capitals_inside_sentences() {
        let text = "Yesterday I met Maria Lopez, Tom's aunt, at the Blue Note. We drove to Porto on Friday with Ann.";
        assert_eq!(find(text, "Ann"), ["Maria Lopez", "Tom", "Blue Note", "Porto"]);
    }
}
