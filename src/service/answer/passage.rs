//! A passage of a memory as an answer shows it. A long passage is cut after a step; a mark says how much is left out
//! and where to find it.

use std::ops::Range;

use cuebase_language::extract::procedure::is_instruction;

use super::blocks::{Block, BlockKind, ListStyle};
use super::question::QuestionTerms;

/// Characters of a list or a table with its lead-in; a longer one is cut after a step or a row. This is about a page of
/// an agent's context, and more than most procedures have.
pub(super) const BLOCK_CHARS_MAX: usize = 1200;
/// Characters of a code block or a single step; a longer one is cut after a line.
const UNCUT_CHARS_MAX: usize = 8000;

/// The text that an answer shows of a passage, and the bytes of the content that it quotes.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct QuotedPassage {
    pub(super) text: String,
    pub(super) quotes: Vec<Range<usize>>,
}

impl QuotedPassage {
    /// Quotes a range word for word, without white space at its end.
    pub(super) fn verbatim(content: &str, range: Range<usize>) -> Self {
        let text = content.get(range.clone()).unwrap_or_default().trim_end();
        let end = range.start + text.len();
        let quoted = range.start..end;
        Self { text: text.to_owned(), quotes: Vec::from([quoted]) }
    }

    /// Appends a line that says what is left out. The mark is not part of the quotes.
    pub(super) fn append_mark(&mut self, left_out: &str, path: &str) {
        self.text.push_str(&format!("\n… ({left_out} in {path})"));
    }
}

/// Returns a number with a noun: "7 more steps", "1 more step".
pub(super) fn pluralized(number: usize, noun: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {noun}{plural}")
}

/// Returns the offset at which a range reaches a number of characters; `None` if the range is not longer.
pub(super) fn cut_offset(content: &str, range: &Range<usize>, chars_max: usize) -> Option<usize> {
    let text = content.get(range.clone())?;
    let (offset, _) = text.char_indices().nth(chars_max)?;
    Some(range.start + offset)
}

/// Quotes a list: the whole list, or, if it is long, its first steps or the entries that answer the question.
pub(super) fn quote_list(content: &str, block: &Block, path: &str, question: &QuestionTerms<'_>) -> QuotedPassage {
    let limit = cut_offset(content, &block.range, BLOCK_CHARS_MAX);
    let (Some(limit), BlockKind::List { steps, style }) = (limit, &block.kind) else {
        return QuotedPassage::verbatim(content, block.range.clone());
    };
    let mut kept = 0;
    for end in steps.iter().skip(1) {
        if *end > limit {
            break;
        }
        kept += 1;
    }
    if *style == ListStyle::Bulleted
        && let Some(entries) = matching_entries(content, block, steps, kept, question)
    {
        return quote_entries(content, &entries, steps.len(), path);
    }
    if kept == 0 {
        return quote_first_step(content, block, steps, path);
    }
    let mut passage = QuotedPassage::verbatim(content, block.range.start..steps[kept]);
    passage.append_mark(&pluralized(steps.len() - kept, "more step"), path);
    passage
}

/// Returns the bytes of each step.
pub(super) fn step_ranges(block: &Block, steps: &[usize]) -> Vec<Range<usize>> {
    let mut ranges = Vec::with_capacity(steps.len());
    for (index, start) in steps.iter().enumerate() {
        let end = steps.get(index + 1).copied().unwrap_or(block.range.end);
        ranges.push(*start..end);
    }
    ranges
}

/// Quotes the first step of a list if the step alone exceeds [`BLOCK_CHARS_MAX`]. It is cut after a line if it exceeds
/// [`UNCUT_CHARS_MAX`].
fn quote_first_step(content: &str, block: &Block, steps: &[usize], path: &str) -> QuotedPassage {
    let end = steps.get(1).copied().unwrap_or(block.range.end);
    let range = block.range.start..end;
    let left_out = steps.len().saturating_sub(1);
    let Some(limit) = cut_offset(content, &range, UNCUT_CHARS_MAX) else {
        let mut passage = QuotedPassage::verbatim(content, range);
        if left_out > 0 {
            passage.append_mark(&pluralized(left_out, "more step"), path);
        }
        return passage;
    };
    let mut passage = QuotedPassage::verbatim(content, range.start..line_end(content, range.start, limit));
    let mut mark = "the rest of this step".to_owned();
    if left_out > 0 {
        mark.push_str(&format!(" and {}", pluralized(left_out, "more step")));
    }
    passage.append_mark(&mark, path);
    passage
}

/// Returns the entries of a long bulleted list that answer a question best. Returns `None` if all of them are among the
/// first `kept` entries, and for a list of instructions, whose steps make sense only together.
fn matching_entries(
    content: &str,
    block: &Block,
    steps: &[usize],
    kept: usize,
    question: &QuestionTerms<'_>,
) -> Option<Vec<Range<usize>>> {
    let ranges = step_ranges(block, steps);
    let mut texts = Vec::with_capacity(ranges.len());
    let mut instructions = 0;
    for range in &ranges {
        let text = content.get(range.clone())?.trim();
        let words = text.trim_start_matches(['>', '-', '*', '+', '•', '_', ' ', '[', ']']);
        instructions += usize::from(is_instruction(words));
        texts.push(text);
    }
    if instructions * 2 > ranges.len() {
        return None;
    }
    let best = question.best_of(&texts);
    if best.iter().all(|index| *index < kept) {
        return None;
    }
    Some(best.into_iter().map(|index| ranges[index].clone()).collect())
}

/// Quotes entries of a list, each whole, up to [`BLOCK_CHARS_MAX`] characters.
fn quote_entries(content: &str, entries: &[Range<usize>], total: usize, path: &str) -> QuotedPassage {
    let mut passage = QuotedPassage::default();
    let mut chars = 0;
    let mut shown = 0;
    for entry in entries {
        let entry_passage = match cut_offset(content, entry, UNCUT_CHARS_MAX) {
            None => QuotedPassage::verbatim(content, entry.clone()),
            Some(limit) => QuotedPassage::verbatim(content, entry.start..line_end(content, entry.start, limit)),
        };
        chars += entry_passage.text.chars().count();
        if shown > 0 && chars > BLOCK_CHARS_MAX {
            break;
        }
        if shown > 0 {
            passage.text.push('\n');
        }
        passage.text.push_str(&entry_passage.text);
        passage.quotes.extend(entry_passage.quotes);
        shown += 1;
    }
    let others = total - shown;
    let noun = if others == 1 { "other entry" } else { "other entries" };
    passage.append_mark(&format!("{others} {noun}"), path);
    passage
}

/// Quotes a code block with its fences, or its first lines if it exceeds [`UNCUT_CHARS_MAX`].
pub(super) fn quote_code(content: &str, block: &Block, path: &str) -> QuotedPassage {
    let Some(limit) = cut_offset(content, &block.range, UNCUT_CHARS_MAX) else {
        return QuotedPassage::verbatim(content, block.range.clone());
    };
    let end = line_end(content, block.range.start, limit);
    let mut passage = QuotedPassage::verbatim(content, block.range.start..end);
    let fence = fence_of(content.get(block.body..block.range.end).unwrap_or_default());
    let rest = content.get(end..block.range.end).unwrap_or_default().trim_start_matches(['\r', '\n']);
    let mut lines = rest.lines().count();
    if !fence.is_empty() {
        passage.text.push('\n');
        passage.text.push_str(fence);
        // The closing fence does not count as a line of code.
        if rest.lines().next_back().map(str::trim) == Some(fence) {
            lines -= 1;
        }
    }
    passage.append_mark(&pluralized(lines, "more line"), path);
    passage
}

/// Returns the marks of a code block's opening fence; empty for an indented block.
fn fence_of(code: &str) -> &str {
    let code = code.trim_start();
    let rest = code.trim_start_matches(['`', '~']);
    &code[..code.len() - rest.len()]
}

/// Returns the end of the last whole line before a limit; the limit itself if it is in the first line.
pub(super) fn line_end(content: &str, start: usize, limit: usize) -> usize {
    let shown = content.get(start..limit).unwrap_or_default();
    match shown.rfind('\n') {
        Some(line_break) if line_break > 0 => start + line_break,
        _ => limit,
    }
}

#[cfg(test)]
mod tests {
    use cuebase_language::tokenize::content_terms;

    use super::super::blocks::blocks;
    use super::*;

    fn quoted(content: &str, question: &str) -> (String, Vec<String>) {
        let terms = content_terms(question);
        let question = QuestionTerms::of(&terms);
        let passage = blocks(content)
            .into_iter()
            .find_map(|block| match &block.kind {
                BlockKind::List { .. } => Some(quote_list(content, &block, "skills/a.md", &question)),
                BlockKind::Code => Some(quote_code(content, &block, "skills/a.md")),
                _ => None,
            })
            .expect("a block");
        let quotes = passage.quotes.iter().map(|range| content[range.clone()].to_owned()).collect();
        (passage.text, quotes)
    }

    #[test]
    fn a_short_list_is_whole_and_a_long_one_is_cut_after_a_step_with_a_mark() {
        let short = "# Rotate\n\n1. Stop.\n   - slowly\n2. Turn.\n";
        let whole = "Rotate\n\n1. Stop.\n   - slowly\n2. Turn.".to_owned();
        assert_eq!(quoted(short, "turn"), (whole.clone(), vec![whole]));
        let steps: String =
            (1..=40).map(|n| format!("{n}. Turn the valve number {n} by half.\n   Wait a minute.\n")).collect();
        let content = format!("# Valves\n\n{steps}");
        let (text, quotes) = quoted(&content, "valve number 39");
        let (shown, mark) = text.rsplit_once('\n').expect("a mark");
        let kept = shown.matches("Wait a minute.").count();
        assert_eq!(mark, format!("… ({} more steps in skills/a.md)", 40 - kept));
        assert!(shown.ends_with("Wait a minute.") && shown.chars().count() <= BLOCK_CHARS_MAX, "{text}");
        assert!(content.starts_with(&format!("# {shown}")), "{text}");
        assert_eq!(quotes, [shown]);
    }

    #[test]
    fn a_long_list_of_facts_shows_the_matching_entry_and_one_of_instructions_its_beginning() {
        let facts: String = (0..60).map(|n| format!("- Customer {n:02} renews in the spring of that year\n")).collect();
        let (text, quotes) = quoted(&format!("{facts}- Zeta renews in May\n"), "When does Zeta renew?");
        assert_eq!(text, "- Zeta renews in May\n… (60 other entries in skills/a.md)");
        assert_eq!(quotes, ["- Zeta renews in May"]);
        let steps: String = (0..60).map(|n| format!("- Check the pump {n:02} for water and for oil\n")).collect();
        let (text, _) = quoted(&format!("{steps}- Start the Zeta pump\n"), "When does Zeta start?");
        assert!(text.starts_with("- Check the pump 00") && text.contains(" more steps in "), "{text}");
    }

    #[test]
    fn a_long_first_step_is_whole() {
        let long = format!("1. {}\n2. Stop.\n", "word ".repeat(400));
        let (text, _) = quoted(&long, "stop");
        assert!(text.ends_with("word\n… (1 more step in skills/a.md)"), "{text}");
    }

    #[test]
    fn code_is_whole_and_very_long_code_gets_a_closing_fence_before_its_mark() {
        let short = "```sh\nmake a\n\nmake b\n```";
        assert_eq!(quoted(&format!("Text.\n\n{short}\n"), "make").0, short);
        let lines: String = (0..1000).map(|n| format!("echo {n:08}\n")).collect();
        let (text, quotes) = quoted(&format!("```sh\n{lines}```\n"), "echo");
        let kept = text.matches("echo").count();
        assert!(text.ends_with(&format!("\n```\n… ({} more lines in skills/a.md)", 1000 - kept)), "{text}");
        assert!(kept > 500 && quotes[0].ends_with(|c: char| c.is_ascii_digit()), "{}", quotes[0]);
    }
}
