//! The marker of a step or an entry of a list: a bullet, a number, or a label such as "Step 2:".

/// Digits of a step's number; longer numbers are years and amounts.
const DIGITS_MAX: usize = 3;
/// Bytes of the word before the number of a label.
const LABEL_BYTES_MAX: usize = 24;
/// Words that label a step when a number follows them, even without a colon.
const STEP_WORDS: [&str; 7] = ["step", "schritt", "étape", "etape", "paso", "passo", "stap"];
/// A line with numbered steps is a list if the last step has at least this number; smaller numbers are often amounts
/// and dates.
const INLINE_NUMBER_MIN: u32 = 3;
/// The same minimum for steps that are labelled with a step word.
const INLINE_LABEL_MIN: u32 = 2;

/// The marker of a list item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Marker {
    /// `-`, `*`, `+` or `•`.
    Bullet,
    /// `2.` or `2)`.
    Number(u32),
    /// `Step 2:`, or another word with a number and a colon.
    Label(u32),
}

/// Returns the marker that a line begins with. The line has no indentation.
pub(super) fn marker(text: &str) -> Option<Marker> {
    if is_bullet(text) {
        return Some(Marker::Bullet);
    }
    let bare = text.trim_start_matches(['*', '_', '(']);
    if let Some(number) = number(bare) {
        return Some(Marker::Number(number));
    }
    Some(Marker::Label(label(bare)?.number))
}

/// Returns the number of a heading such as "Step 2: Drain the node".
pub(super) fn heading_step(text: &str) -> Option<u32> {
    let label = label(text.trim_start_matches(['*', '_']))?;
    if !label.names_step {
        return None;
    }
    Some(label.number)
}

/// Returns the byte offsets of consecutive steps on a single line; empty if there are too few steps. The time is linear
/// in the line's length.
pub(super) fn inline_steps(line: &str) -> Vec<usize> {
    let mut numbers = StepSequence::default();
    let mut labels = StepSequence::default();
    let mut after_space = true;
    for (at, c) in line.char_indices() {
        let begins_word = after_space && !c.is_whitespace();
        after_space = c.is_whitespace();
        if !begins_word {
            continue;
        }
        let bare = line[at..].trim_start_matches(['*', '_', '(']);
        if let Some(number) = number(bare) {
            numbers.offer(at, number);
        } else if let Some(label) = label(bare)
            && label.names_step
        {
            labels.offer(at, label.number);
        }
    }
    if labels.starts.len() > 1 && labels.last >= INLINE_LABEL_MIN {
        return labels.starts;
    }
    if numbers.starts.len() > 1 && numbers.last >= INLINE_NUMBER_MIN {
        return numbers.starts;
    }
    Vec::new()
}

/// Steps with consecutive numbers.
#[derive(Default)]
struct StepSequence {
    starts: Vec<usize>,
    last: u32,
}

impl StepSequence {
    /// Appends a step if its number is the next. The first step may be in a title above, so a sequence begins with 1 or
    /// 2.
    fn offer(&mut self, at: usize, number: u32) {
        let continues = !self.starts.is_empty() && number == self.last + 1;
        let begins = self.starts.is_empty() && matches!(number, 1 | 2);
        if continues || begins {
            self.starts.push(at);
            self.last = number;
        }
    }
}

fn is_bullet(text: &str) -> bool {
    let Some(rest) = text.strip_prefix(['-', '*', '+', '•']) else { return false };
    // "* * *" is a horizontal rule.
    rest.starts_with([' ', '\t']) && rest.contains(|c: char| !matches!(c, '-' | '*' | '_' | ' ' | '\t'))
}

/// Returns the number before `.` or `)`; "3.5" is an amount.
fn number(text: &str) -> Option<u32> {
    let (number, rest) = leading_number(text)?;
    let after = rest.strip_prefix(['.', ')', '、'])?;
    if after.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    Some(number)
}

fn leading_number(text: &str) -> Option<(u32, &str)> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    if end > DIGITS_MAX {
        return None;
    }
    let number = text[..end].parse().ok()?;
    Some((number, &text[end..]))
}

/// The label of a step or an entry.
struct Label {
    number: u32,
    /// Whether its word is one of [`STEP_WORDS`].
    names_step: bool,
}

/// Returns the label that a text begins with, a word with a number: "Step 2:", "**Step 2** -", "Day 2:".
fn label(text: &str) -> Option<Label> {
    let end = text.find(|c: char| !c.is_alphabetic())?;
    if end == 0 || end > LABEL_BYTES_MAX {
        return None;
    }
    let (word, rest) = text.split_at(end);
    let (number, rest) = leading_number(rest.trim_start_matches(' '))?;
    let rest = rest.trim_start_matches(['*', '_', ' ']);
    let word = word.to_lowercase();
    let names_step = STEP_WORDS.contains(&word.as_str()) && !rest.starts_with(|c: char| c.is_ascii_digit());
    if !names_step && !rest.starts_with([':', '：']) {
        return None;
    }
    Some(Label { number, names_step })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bullets_numbers_and_labels_are_distinguished_from_prose() {
        for (line, expected) in [
            ("- Stop the writer", Marker::Bullet),
            ("* [ ] Stop the writer", Marker::Bullet),
            ("• Stop", Marker::Bullet),
            ("1. Stop", Marker::Number(1)),
            ("12) Stop", Marker::Number(12)),
            ("(3) Stop", Marker::Number(3)),
            ("**2. Stop** the writer", Marker::Number(2)),
            ("1.", Marker::Number(1)),
            ("Step 4: stop", Marker::Label(4)),
            ("**Step 4** – stop", Marker::Label(4)),
            ("step 4 Stop", Marker::Label(4)),
            ("Schritt 2. Anhalten", Marker::Label(2)),
            ("Day 2: the glacier", Marker::Label(2)),
        ] {
            assert_eq!(marker(line), Some(expected), "{line}");
        }
        for line in ["-", "---", "* * *", "-5 degrees", "3.5 minutes", "2023. I moved.", "1st", "Room 5 is cold", ""] {
            assert_eq!(marker(line), None, "{line}");
        }
    }

    #[test]
    fn only_a_step_word_makes_a_heading_a_step() {
        assert_eq!(heading_step("Step 2: Drain"), Some(2));
        assert_eq!(heading_step("**Step 10** Drain"), Some(10));
        assert_eq!(heading_step("Chapter 2: Drains"), None);
        assert_eq!(heading_step("2. Drains"), None);
    }

    #[test]
    fn steps_on_one_line_are_found_if_their_numbers_are_consecutive() {
        assert_eq!(inline_steps("To moor: 1. slow 2. throw 3. tie"), [9, 17, 26]);
        assert_eq!(inline_steps("Step 2: add the yeast. Step 3: wait."), [0, 23]);
        assert_eq!(inline_steps("slow down. 2. throw 3. tie"), [11, 20]);
        for prose in ["I have 1. a boat 2. a car", "Born 1. May, died 7. June", "It took 3. Then 1. and 4."] {
            assert!(inline_steps(prose).is_empty(), "{prose}");
        }
    }
}
