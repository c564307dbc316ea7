//! Quotes of a table: the matching rows as sentences, or the whole table word for word.

use std::ops::Range;

use super::blocks::Block;
use super::lines::MarkdownLines;
use super::passage::{self, BLOCK_CHARS_MAX, QuotedPassage};
use super::question::QuestionTerms;

/// Names of a second column that say nothing about its cells. Each row of such a table is a name with its value.
const VALUE_NAMES: [&str; 8] = ["", "value", "values", "content", "detail", "details", "wert", "valeur"];
/// Characters of the headings above a table if they name the subject of its rows.
const SUBJECT_CHARS_MAX: usize = 60;

/// A table with its rows.
pub(super) struct MarkdownTable<'a> {
    header: Vec<String>,
    pub(super) header_text: &'a str,
    rows: Vec<TableRow<'a>>,
}

/// The text of a row, and its bytes in the content.
struct TableRow<'a> {
    text: &'a str,
    range: Range<usize>,
}

impl<'a> MarkdownTable<'a> {
    /// Reads the lines of a table.
    pub(super) fn read(content: &'a str, range: Range<usize>) -> Self {
        let mut table = Self { header: Vec::new(), header_text: "", rows: Vec::new() };
        let mut lines = MarkdownLines::of(content, range);
        while let Some(line) = lines.next_line() {
            if !line.is_separator_row() {
                table.rows.push(TableRow { text: line.text, range: line.start..line.end() });
                continue;
            }
            // The row above the first separator row is the header.
            if table.rows.len() == 1 && table.header_text.is_empty() {
                table.header_text = table.rows.remove(0).text;
                table.header = cells(table.header_text);
            }
        }
        table
    }

    /// Returns the texts of the rows.
    pub(super) fn row_texts(&self) -> Vec<&'a str> {
        self.rows.iter().map(|row| row.text).collect()
    }

    /// Returns a row as a sentence: "Acme — Renewal: 2027-02-01." if each row is a name with its value, otherwise
    /// "Customer: Acme; Renewal: 2027-02-01." Returns `None` for a row without any text.
    fn sentence(&self, row: &TableRow<'_>, subject: Option<&str>) -> Option<String> {
        let cells = cells(row.text);
        if cells.iter().all(String::is_empty) {
            return None;
        }
        let mut sentence = if self.is_key_value(&cells) {
            let name_and_value = join(&cells, ": ");
            match subject {
                Some(subject) => format!("{subject} — {name_and_value}"),
                None => name_and_value,
            }
        } else if self.header.is_empty() {
            join(&cells, ", ")
        } else {
            join(&self.named(&cells), "; ")
        };
        if !sentence.ends_with(['.', '!', '?', '。']) {
            sentence.push('.');
        }
        Some(sentence)
    }

    /// Returns whether a row of these cells is a name with its value.
    fn is_key_value(&self, cells: &[String]) -> bool {
        match self.header.as_slice() {
            [] => cells.len() == 2,
            [_, value] => cells.len() == 2 && VALUE_NAMES.contains(&value.to_lowercase().as_str()),
            _ => false,
        }
    }

    /// Returns each cell, preceded by the name of its column.
    fn named(&self, cells: &[String]) -> Vec<String> {
        let mut named = Vec::with_capacity(cells.len());
        for (column, cell) in cells.iter().enumerate() {
            match self.header.get(column) {
                Some(name) if !name.is_empty() && !cell.is_empty() => named.push(format!("{name}: {cell}")),
                _ => named.push(cell.clone()),
            }
        }
        named
    }
}

/// Quotes the rows of a table that answer a question, or the whole table if none or all of them do. `headings` are the
/// headings above the table, the outermost first.
pub(super) fn quote(
    content: &str,
    block: &Block,
    path: &str,
    question: &QuestionTerms<'_>,
    headings: &[String],
) -> QuotedPassage {
    let table = MarkdownTable::read(content, block.body..block.range.end);
    let matching = question.best_of(&table.row_texts());
    // If every row matches, the question is about all of them.
    let is_about_all = matching.is_empty() || (matching.len() == table.rows.len() && table.rows.len() > 1);
    if is_about_all {
        return quote_whole(content, block, path, &table);
    }
    let subject = subject(headings);
    let mut passage = QuotedPassage::default();
    let mut left_out = 0;
    for index in matching {
        let row = &table.rows[index];
        let Some(sentence) = table.sentence(row, subject.as_deref()) else { continue };
        let chars = passage.text.chars().count() + sentence.chars().count();
        if chars > BLOCK_CHARS_MAX && !passage.text.is_empty() {
            left_out += 1;
            continue;
        }
        if !passage.text.is_empty() {
            passage.text.push('\n');
        }
        passage.text.push_str(&sentence);
        passage.quotes.push(row.range.clone());
    }
    if left_out > 0 {
        passage.append_mark(&passage::pluralized(left_out, "more row"), path);
    }
    passage
}

/// Quotes the whole table, cut after a row if it is long.
fn quote_whole(content: &str, block: &Block, path: &str, table: &MarkdownTable<'_>) -> QuotedPassage {
    let Some(limit) = passage::cut_offset(content, &block.range, BLOCK_CHARS_MAX) else {
        return QuotedPassage::verbatim(content, block.range.clone());
    };
    let mut kept = 0;
    let mut end = block.range.end;
    for row in &table.rows {
        if row.range.end > limit && kept > 0 {
            break;
        }
        kept += 1;
        end = row.range.end;
    }
    let left_out = table.rows.len() - kept;
    if left_out == 0 {
        return QuotedPassage::verbatim(content, block.range.clone());
    }
    let mut passage = QuotedPassage::verbatim(content, block.range.start..end);
    passage.append_mark(&passage::pluralized(left_out, "more row"), path);
    passage
}

/// Returns the subject of a table's rows: its headings if they are short, otherwise the innermost of them.
fn subject(headings: &[String]) -> Option<String> {
    let all = headings.join(", ");
    let innermost = headings.last()?;
    for subject in [&all, innermost] {
        // A heading with a colon is a statement: a speaker and what they said.
        if subject.chars().count() <= SUBJECT_CHARS_MAX && !subject.contains(':') && !subject.is_empty() {
            return Some(subject.clone());
        }
    }
    None
}

/// Joins the cells that are not empty.
fn join(cells: &[String], separator: &str) -> String {
    let mut joined = String::new();
    for cell in cells.iter().filter(|cell| !cell.is_empty()) {
        if !joined.is_empty() {
            joined.push_str(separator);
        }
        joined.push_str(cell);
    }
    joined
}

/// Returns the cells of a row; `\|` is a bar within a cell.
fn cells(row: &str) -> Vec<String> {
    let row = row.strip_prefix('|').unwrap_or(row);
    let mut cells = Vec::new();
    let mut cell = String::new();
    let mut is_escaped = false;
    for c in row.chars() {
        if c == '|' && !is_escaped {
            cells.push(cell.trim().to_owned());
            cell.clear();
        } else {
            if c == '|' {
                cell.pop();
            }
            cell.push(c);
        }
        is_escaped = c == '\\' && !is_escaped;
    }
    // A row that ends with a bar has no cell after it.
    if !cell.trim().is_empty() {
        cells.push(cell.trim().to_owned());
    }
    cells
}

#[cfg(test)]
mod tests {
    use cuebase_language::tokenize::content_terms;

    use super::super::blocks::{BlockKind, blocks};
    use super::*;

    fn quoted(content: &str, question: &str, headings: &[&str]) -> (String, Vec<String>) {
        let terms = content_terms(question);
        let headings: Vec<String> = headings.iter().map(|heading| (*heading).to_owned()).collect();
        let block = blocks(content).into_iter().find(|block| block.kind == BlockKind::Table).expect("a table");
        let passage = quote(content, &block, "facts/a.md", &QuestionTerms::of(&terms), &headings);
        let quotes = passage.quotes.iter().map(|range| content[range.clone()].to_owned()).collect();
        (passage.text, quotes)
    }

    #[test]
    fn a_row_of_a_name_and_its_value_is_a_sentence_about_the_heading() {
        let content = "# Acme\n\n| field | value |\n| --- | --- |\n| Renewal | 2027-02-01 |\n| Owner | Mara |\n";
        let (text, quotes) = quoted(content, "When is the renewal?", &["Acme"]);
        assert_eq!(text, "Acme — Renewal: 2027-02-01.");
        assert_eq!(quotes, ["| Renewal | 2027-02-01 |"]);
        assert_eq!(quoted(content, "renewal and owner", &[]).0, content["# ".len()..].trim_end());
        assert_eq!(quoted(content, "the price", &["Acme"]).0, content["# ".len()..].trim_end());
    }

    #[test]
    fn a_row_of_many_columns_names_each_column() {
        let content = "Customer | Renewal | Note\n--- | --- | ---\nAcme | 2027-02-01 | a\\|b\nBolt | 2028-01-01 |\n";
        let (text, quotes) = quoted(content, "Bolt renewal", &["Customers"]);
        assert_eq!(text, "Customer: Bolt; Renewal: 2028-01-01.");
        assert_eq!(quotes, ["Bolt | 2028-01-01 |"]);
        assert_eq!(quoted(content, "Acme", &[]).0, "Customer: Acme; Renewal: 2027-02-01; Note: a|b.");
        assert_eq!(quoted("| Acme | Mara | Oslo |\n| Bolt | Tom | Rome |\n", "Bolt", &[]).0, "Bolt, Tom, Rome.");
    }

    #[test]
    fn a_long_table_is_cut_after_a_row_with_a_mark() {
        let rows: String = (0..80).map(|n| format!("| row {n:02} | a value of some length |\n")).collect();
        let content = format!("| Name | What |\n|---|---|\n{rows}");
        let (text, quotes) = quoted(&content, "nothing of that", &[]);
        let (shown, mark) = text.rsplit_once('\n').expect("a mark");
        let kept = shown.lines().count() - 2;
        assert_eq!(mark, format!("… ({} more rows in facts/a.md)", 80 - kept));
        assert!(content.starts_with(shown) && shown.ends_with('|') && kept > 20, "{text}");
        assert_eq!(quotes, [shown]);
    }
}
