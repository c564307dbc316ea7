//! From blocks to passages: text under the same headings is joined up to a length, and longer text is divided.

use cuebase_language::text::steps::Steps;
use cuebase_storage::records::PassageDraft;

use super::blocks::{Block, BlockKind, Place};
use super::error::DocumentError;

/// Length of a passage in characters. One paragraph more would make it longer.
const PASSAGE_CHARS: usize = 1200;
/// Shortest part of a divided text, as a share of [`PASSAGE_CHARS`]: a division looks for a better place after it.
const PART_SHARE: usize = 2;
/// Most headings of a passage. The outermost are kept.
const TITLES_MAX: usize = 6;
const FENCE: &str = "```";
/// Longest line that begins a code block, in bytes. Each part of a divided block repeats it.
const FENCE_BYTES_MAX: usize = 100;

/// Makes passages of blocks.
pub(super) fn of_blocks(blocks: Vec<Block>, steps: &Steps<'_>) -> Result<Vec<PassageDraft>, DocumentError> {
    let mut passages = Passages::default();
    for block in blocks {
        steps.take(1 + block.text.len())?;
        if block.is_blank() {
            continue;
        }
        match block.kind {
            BlockKind::Heading(level) => passages.begin_section(level, block),
            BlockKind::Text => {
                for part in parts(&block.text) {
                    steps.take(part.len())?;
                    passages.add(&part, block.place);
                }
            }
        }
    }
    Ok(passages.finish())
}

/// The passages so far, and the one that is being filled.
#[derive(Default)]
struct Passages {
    done: Vec<PassageDraft>,
    /// The headings above, with their levels.
    titles: Vec<(u8, String)>,
    text: String,
    /// Characters of `text`.
    chars: usize,
    place: Option<Place>,
    /// A heading that has no text yet.
    empty_heading: Option<(u8, Place)>,
}

impl Passages {
    fn begin_section(&mut self, level: u8, heading: Block) {
        self.close();
        // A heading without text is a passage of its own, unless the next one is below it.
        if let Some((above, place)) = self.empty_heading.take()
            && level <= above
        {
            self.close_empty_heading(place);
        }
        while self.titles.last().is_some_and(|(above, _)| *above >= level) {
            self.titles.pop();
        }
        self.empty_heading = Some((level, heading.place));
        self.titles.push((level, heading.text));
    }

    fn add(&mut self, text: &str, place: Place) {
        self.empty_heading = None;
        let chars = text.chars().count();
        if self.chars > 0 && self.chars + chars > PASSAGE_CHARS {
            self.close();
        }
        if self.chars > 0 {
            self.text.push_str("\n\n");
        }
        self.text.push_str(text);
        self.chars += chars;
        self.place.get_or_insert(place);
    }

    /// Ends the present passage.
    fn close(&mut self) {
        let place = self.place.take().unwrap_or(Place::Unknown);
        let text = std::mem::take(&mut self.text);
        self.chars = 0;
        if !text.trim().is_empty() {
            self.push(text, place);
        }
    }

    fn close_empty_heading(&mut self, place: Place) {
        if let Some((_, title)) = self.titles.last() {
            self.push(title.clone(), place);
        }
    }

    fn push(&mut self, text: String, place: Place) {
        let titles = self.titles.iter().take(TITLES_MAX).map(|(_, title)| title.clone()).collect();
        let (page, line) = match place {
            Place::Unknown => (None, None),
            Place::Page(page) => (Some(page), None),
            Place::Line(line) => (None, Some(line)),
        };
        self.done.push(PassageDraft { titles, text, page, line });
    }

    fn finish(mut self) -> Vec<PassageDraft> {
        self.close();
        if let Some((_, place)) = self.empty_heading.take() {
            self.close_empty_heading(place);
        }
        self.done
    }
}

/// Divides a text into parts of at most [`PASSAGE_CHARS`] characters. Each part of a code block is a code block.
fn parts(text: &str) -> Vec<String> {
    if text.chars().count() <= PASSAGE_CHARS {
        return vec![text.to_owned()];
    }
    if let Some((fence, rest)) = text.split_once('\n')
        && fence.starts_with(FENCE)
        && fence.len() <= FENCE_BYTES_MAX
    {
        let code = rest.strip_suffix(FENCE).unwrap_or(rest);
        let mut fenced = Vec::new();
        for part in divided(code) {
            fenced.push(format!("{fence}\n{}\n{FENCE}", part.trim_matches('\n')));
        }
        return fenced;
    }
    divided(text).into_iter().map(str::to_owned).collect()
}

/// Divides a text at the best places: line ends, else sentence ends, else spaces, else anywhere.
fn divided(text: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut rest = text;
    while let Some((end, _)) = rest.char_indices().nth(PASSAGE_CHARS) {
        let (part, after) = rest.split_at(division(&rest[..end]));
        if !part.trim().is_empty() {
            parts.push(part.trim_matches('\n'));
        }
        rest = after;
    }
    if !rest.trim().is_empty() {
        parts.push(rest.trim_matches('\n'));
    }
    parts
}

/// Returns the offset at which to divide a text that is as long as a passage can be.
fn division(text: &str) -> usize {
    let earliest = text.floor_char_boundary(text.len() / PART_SHARE);
    let late = &text[earliest..];
    for ends in [&["\n"][..], &[". ", "! ", "? ", "。", "！", "？"], &[" "]] {
        let mut last = None;
        for end in ends {
            last = last.max(late.rfind(end).map(|offset| earliest + offset + end.len()));
        }
        if let Some(offset) = last {
            return offset;
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn heading(level: u8, text: &str) -> Block {
        Block::heading(level, text, Place::Unknown)
    }

    fn text(text: &str) -> Block {
        Block::text(text, Place::Line(1))
    }

    fn of_blocks(blocks: Vec<Block>) -> Vec<PassageDraft> {
        super::of_blocks(blocks, &Steps::unlimited()).expect("nothing interrupts")
    }

    #[test]
    fn text_is_joined_below_its_headings() {
        let blocks = vec![
            heading(1, "Guide"),
            heading(2, "Keys"),
            text("One."),
            text("Two."),
            heading(2, "Bare"),
            heading(3, "Deep"),
            text("Three."),
            heading(2, "Last"),
        ];
        let passages = of_blocks(blocks);
        let found: Vec<(String, &str)> = passages.iter().map(|p| (p.titles.join("/"), &*p.text)).collect();
        let expected = [
            ("Guide/Keys".to_owned(), "One.\n\nTwo."),
            ("Guide/Bare/Deep".to_owned(), "Three."),
            ("Guide/Last".to_owned(), "Last"),
        ];
        assert_eq!(found, expected);
        assert_eq!(passages[0].line, Some(1));
    }

    #[test]
    fn long_text_is_divided_between_sentences() {
        let sentence = "The ferry to Oban leaves at nine. ";
        let passages = of_blocks(vec![text(&sentence.repeat(100))]);
        assert!(passages.len() >= 3, "{}", passages.len());
        for passage in &passages {
            assert!(passage.text.chars().count() <= PASSAGE_CHARS && passage.text.trim_end().ends_with("nine."));
        }
    }

    #[test]
    fn each_part_of_long_code_is_a_code_block() {
        let code = format!("```rust\n{}```", "let x = 1;\n".repeat(300));
        let passages = of_blocks(vec![text(&code)]);
        assert!(passages.len() >= 3);
        for passage in passages {
            assert!(passage.text.starts_with("```rust\nlet") && passage.text.ends_with(";\n```"), "{}", passage.text);
        }
    }

    #[test]
    fn a_long_line_before_code_is_not_repeated_in_every_part() {
        let code = format!("```{}\n{}```", "x".repeat(10_000), "let x = 1;\n".repeat(3000));
        let passages = of_blocks(vec![text(&code)]);
        let chars: usize = passages.iter().map(|passage| passage.text.chars().count()).sum();
        assert!(chars <= code.len(), "{chars} characters of {}", code.len());
    }

    proptest! {
        #[test]
        fn no_character_that_is_not_space_is_lost(words in proptest::collection::vec("\\PC{1,400}", 1..40)) {
            let joined = words.join(" ");
            prop_assume!(!joined.starts_with(FENCE));
            let divided: String = divided(&joined).concat();
            let kept = |text: &str| text.chars().filter(|c| !c.is_whitespace()).collect::<String>();
            prop_assert_eq!(kept(&divided), kept(&joined));
        }
    }
}
