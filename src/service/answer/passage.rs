//! A passage of a memory as an answer shows it, and how long ones are cut: behind a step, with a mark that says how much
//! is left out and where it is.

use std::ops::Range;

use super::blocks::{Block, Kind, Order};
use super::question::Question;
use crate::ingest::extract::procedure::is_instruction;

/// Characters of a list or a table, with its lead-in; a longer one is cut behind a step or a row. About a page of an
/// agent's context, and more than most procedures have.
pub(super) const BLOCK_CHARS_MAX: usize = 1200;
/// Characters of what is cut nowhere inside while it is shorter: a code block, a single step.
const UNCUT_CHARS_MAX: usize = 8000;

/// A passage: what the answer shows, and the bytes of the content that it quotes.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Passage {
    pub(super) text: String,
    pub(super) quotes: Vec<Range<usize>>,
}

impl Passage {
    /// A passage that is shown as it stands, without white space at its end.
    pub(super) fn verbatim(content: &str, range: Range<usize>) -> Self {
        let text = content.get(range.clone()).unwrap_or_default().trim_end();
        let end = range.start + text.len();
        let quoted = range.start..end;
        Self { text: text.to_owned(), quotes: Vec::from([quoted]) }
    }

    /// Adds a line that says what is left out; the quotes stay as they are.
    pub(super) fn mark(&mut self, left_out: &str, path: &str) {
        self.text.push_str(&format!("\n… ({left_out} in {path})"));
    }
}

/// "7 more steps", "1 more step".
pub(super) fn count(number: usize, what: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {what}{plural}")
}

/// Returns where a range reaches a number of characters; none where it is not longer.
pub(super) fn limit(content: &str, range: &Range<usize>, chars_max: usize) -> Option<usize> {
    let text = content.get(range.clone())?;
    let (at, _) = text.char_indices().nth(chars_max)?;
    Some(range.start + at)
}

/// Quotes a list whole, or its first steps where it is long.
pub(super) fn list(content: &str, block: &Block, path: &str, question: &Question<'_>) -> Passage {
    let limit = limit(content, &block.range, BLOCK_CHARS_MAX);
    let (Some(limit), Kind::List { steps, order }) = (limit, &block.kind) else {
        return Passage::verbatim(content, block.range.clone());
    };
    let mut kept = 0;
    for end in steps.iter().skip(1) {
        if *end > limit {
            break;
        }
        kept += 1;
    }
    if *order == Order::Bulleted
        && let Some(entries) = entries_behind(content, block, steps, kept, question)
    {
        return some_entries(content, &entries, steps.len(), path);
    }
    if kept == 0 {
        return first_step(content, block, steps, path);
    }
    let mut passage = Passage::verbatim(content, block.range.start..steps[kept]);
    passage.mark(&count(steps.len() - kept, "more step"), path);
    passage
}

/// The bytes of each step.
pub(super) fn step_ranges(block: &Block, steps: &[usize]) -> Vec<Range<usize>> {
    let mut ranges = Vec::with_capacity(steps.len());
    for (at, start) in steps.iter().enumerate() {
        let end = steps.get(at + 1).copied().unwrap_or(block.range.end);
        ranges.push(*start..end);
    }
    ranges
}

/// A first step that is longer than a list may be: whole, or cut at a line where it is longer than a step may be.
fn first_step(content: &str, block: &Block, steps: &[usize], path: &str) -> Passage {
    let end = steps.get(1).copied().unwrap_or(block.range.end);
    let range = block.range.start..end;
    let left_out = steps.len().saturating_sub(1);
    match limit(content, &range, UNCUT_CHARS_MAX) {
        None => {
            let mut passage = Passage::verbatim(content, range);
            if left_out > 0 {
                passage.mark(&count(left_out, "more step"), path);
            }
            passage
        }
        Some(limit) => {
            let mut passage = Passage::verbatim(content, range.start..line_end(content, range.start, limit));
            let rest = "the rest of this step".to_owned();
            let mark = if left_out > 0 { format!("{rest} and {}", count(left_out, "more step")) } else { rest };
            passage.mark(&mark, path);
            passage
        }
    }
}

/// The entries of a long bulleted list that answer a question, where one of them is behind the first ones that fit; none
/// where the list tells what to do, since its steps hold only together.
fn entries_behind(
    content: &str,
    block: &Block,
    steps: &[usize],
    kept: usize,
    question: &Question<'_>,
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
    if best.iter().all(|at| *at < kept) {
        return None;
    }
    Some(best.into_iter().map(|at| ranges[at].clone()).collect())
}

/// Entries of a list, each whole, as many as a list may be long.
fn some_entries(content: &str, entries: &[Range<usize>], total: usize, path: &str) -> Passage {
    let mut passage = Passage::default();
    let mut chars = 0;
    let mut shown = 0;
    for entry in entries {
        let entry_passage = match limit(content, entry, UNCUT_CHARS_MAX) {
            None => Passage::verbatim(content, entry.clone()),
            Some(limit) => Passage::verbatim(content, entry.start..line_end(content, entry.start, limit)),
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
    passage.mark(&format!("{others} {noun}"), path);
    passage
}

/// Quotes a code block whole with its fences, or its first lines where it is very long.
pub(super) fn code(content: &str, block: &Block, path: &str) -> Passage {
    let Some(limit) = limit(content, &block.range, UNCUT_CHARS_MAX) else {
        return Passage::verbatim(content, block.range.clone());
    };
    let end = line_end(content, block.range.start, limit);
    let mut passage = Passage::verbatim(content, block.range.start..end);
    let fence = fence_of(content.get(block.body..block.range.end).unwrap_or_default());
    let rest = content.get(end..block.range.end).unwrap_or_default().trim_start_matches(['\r', '\n']);
    let mut lines = rest.lines().count();
    if !fence.is_empty() {
        passage.text.push('\n');
        passage.text.push_str(fence);
        // The fence that closes the block is no line of code.
        lines -= usize::from(rest.lines().next_back().is_some_and(|line| line.trim() == fence));
    }
    passage.mark(&count(lines, "more line"), path);
    passage
}

/// The marks that a code block begins with; empty for an indented one.
fn fence_of(code: &str) -> &str {
    let code = code.trim_start();
    let rest = code.trim_start_matches(['`', '~']);
    &code[..code.len() - rest.len()]
}

/// Where the last line ends that is whole before a limit; the limit itself within a first line.
pub(super) fn line_end(content: &str, start: usize, limit: usize) -> usize {
    let shown = content.get(start..limit).unwrap_or_default();
    match shown.rfind('\n') {
        Some(at) if at > 0 => start + at,
        _ => limit,
    }
}

#[cfg(test)]
mod tests {
    use cuebase_retrieval::content_terms;

    use super::super::blocks::blocks;
    use super::*;

    fn quoted(content: &str, question: &str) -> (String, Vec<String>) {
        let terms = content_terms(question);
        let question = Question::of(&terms);
        let passage = blocks(content)
            .into_iter()
            .find_map(|block| match &block.kind {
                Kind::List { .. } => Some(list(content, &block, "skills/a.md", &question)),
                Kind::Code => Some(code(content, &block, "skills/a.md")),
                _ => None,
            })
            .expect("a block");
        let quotes = passage.quotes.iter().map(|range| content[range.clone()].to_owned()).collect();
        (passage.text, quotes)
    }

    #[test]
    fn a_short_list_is_whole_and_a_long_one_cut_behind_a_step_with_a_mark() {
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
    fn of_a_long_list_of_facts_the_entry_is_shown_and_of_instructions_the_beginning() {
        let facts: String = (0..60).map(|n| format!("- Customer {n:02} renews in the spring of that year\n")).collect();
        let (text, quotes) = quoted(&format!("{facts}- Zeta renews in May\n"), "When does Zeta renew?");
        assert_eq!(text, "- Zeta renews in May\n… (60 other entries in skills/a.md)");
        assert_eq!(quotes, ["- Zeta renews in May"]);
        let steps: String = (0..60).map(|n| format!("- Check the pump {n:02} for water and for oil\n")).collect();
        let (text, _) = quoted(&format!("{steps}- Start the Zeta pump\n"), "When does Zeta start?");
        assert!(text.starts_with("- Check the pump 00") && text.contains(" more steps in "), "{text}");
    }

    #[test]
    fn a_first_step_that_is_long_is_still_whole() {
        let long = format!("1. {}\n2. Stop.\n", "word ".repeat(400));
        let (text, _) = quoted(&long, "stop");
        assert!(text.ends_with("word\n… (1 more step in skills/a.md)"), "{text}");
    }

    #[test]
    fn code_is_whole_and_a_very_long_one_is_closed_before_its_mark() {
        let short = "```sh\nmake a\n\nmake b\n```";
        assert_eq!(quoted(&format!("Text.\n\n{short}\n"), "make").0, short);
        let lines: String = (0..1000).map(|n| format!("echo {n:08}\n")).collect();
        let (text, quotes) = quoted(&format!("```sh\n{lines}```\n"), "echo");
        let kept = text.matches("echo").count();
        assert!(text.ends_with(&format!("\n```\n… ({} more lines in skills/a.md)", 1000 - kept)), "{text}");
        assert!(kept > 500 && quotes[0].ends_with(|c: char| c.is_ascii_digit()), "{}", quotes[0]);
    }
}
