//! The statement of a memory in the form in which repetitions are recognized: without case, punctuation and the notes
//! that say which day a word such as "yesterday" means.

use cuebase_language::tokenize::fold;

use cuebase_language::dates::statement::is_note;

/// Returns the words of a body, folded. Notes of dates are left out, as the extractor writes them.
pub fn of_body(body: &str) -> String {
    let mut plain = String::with_capacity(body.len());
    let mut parts = body.split('(');
    plain.push_str(parts.next().unwrap_or_default());
    for part in parts {
        match part.split_once(')') {
            Some((inside, behind)) if is_note(inside) => plain.push_str(behind),
            _ => {
                plain.push(' ');
                plain.push_str(part);
            }
        }
    }
    let folded = fold(&plain);
    let mut words = Vec::new();
    for word in folded.split(|c: char| !c.is_alphanumeric() && !matches!(c, '\'' | '.' | ':')) {
        let word = word.trim_matches(['\'', '.', ':']);
        if !word.is_empty() {
            words.push(word);
        }
    }
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn case_punctuation_and_notes_of_dates_do_not_count() {
        let first = "# Ann: I ran a race yesterday (19 May 2023).\n\nIt rained!\n";
        let second = "# Ann: I ran a race, yesterday (3 June 2024).\n\nIt rained.\n";
        assert_eq!(of_body(first), "ann i ran a race yesterday it rained");
        assert_eq!(of_body(first), of_body(second));
        assert_eq!(of_body("# Ann: in 2023 (a good year)."), "ann in 2023 a good year");
        assert_ne!(of_body("# Ann: version 2.1"), of_body("# Ann: version 21"));
        assert_eq!(of_body("((a (19 May 2023) b) (3 June 2024) c"), "a b c");
        assert_ne!(of_body("# Ann: Yes.\n\n> Bo: Tea?\n"), of_body("# Ann: Yes.\n\n> Bo: Coffee?\n"));
    }

    #[test]
    fn open_brackets_are_read_once() {
        // A search for the end of each bracket would take more than an hour.
        assert_eq!(of_body(&"(".repeat(8 << 20)), "");
        assert_eq!(of_body(&format!("{}19 May 2023)", "(".repeat(1 << 20))), "");
    }
}
