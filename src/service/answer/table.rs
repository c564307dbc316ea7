//! Quoting a table: the rows that match as sentences, or the table as it stands.

use std::ops::Range;

use super::blocks::{Block, Lines, is_separator_row};
use super::passage::{self, BLOCK_CHARS_MAX, Passage};
use super::question::Question;

/// Names of a second column that say nothing about its cells: each row is then a name with its value.
const VALUE_NAMES: [&str; 8] = ["", "value", "values", "content", "detail", "details", "wert", "valeur"];
/// Characters of the headings above a table that name what its rows are about.
const SUBJECT_CHARS_MAX: usize = 60;

/// A table that was read.
pub(super) struct Table<'a> {
    header: Vec<String>,
    pub(super) header_text: &'a str,
    pub(super) rows: Vec<Row<'a>>,
}

/// A row as it stands, and its bytes in the content.
pub(super) struct Row<'a> {
    pub(super) text: &'a str,
    range: Range<usize>,
}

impl<'a> Table<'a> {
    /// Reads the lines of a table.
    pub(super) fn read(content: &'a str, range: Range<usize>) -> Self {
        let mut table = Self { header: Vec::new(), header_text: "", rows: Vec::new() };
        let mut lines = Lines::of(content, range);
        while let Some(line) = lines.next_line() {
            if !is_separator_row(line.text) {
                table.rows.push(Row { text: line.text, range: line.start..line.end() });
                continue;
            }
            // What is above the first separator row is the header.
            if table.rows.len() == 1 && table.header_text.is_empty() {
                table.header_text = table.rows.remove(0).text;
                table.header = cells(table.header_text);
            }
        }
        table
    }

    /// The texts of the rows.
    pub(super) fn row_texts(&self) -> Vec<&'a str> {
        self.rows.iter().map(|row| row.text).collect()
    }

    /// A row as a sentence: "Acme — Renewal: 2027-02-01." where each row is a name with its value, otherwise
    /// "Customer: Acme; Renewal: 2027-02-01." None for a row without any text.
    fn sentence(&self, row: &Row<'_>, subject: Option<&str>) -> Option<String> {
        let cells = cells(row.text);
        let mut sentence = match (self.is_key_value(&cells), subject) {
            (true, Some(subject)) => format!("{subject} — {}", joined(&cells, ": ")),
            (true, None) => joined(&cells, ": "),
            (false, _) if self.header.is_empty() => joined(&cells, ", "),
            (false, _) => joined(&self.named(&cells), "; "),
        };
        if cells.iter().all(String::is_empty) {
            return None;
        }
        if !sentence.ends_with(['.', '!', '?', '。']) {
            sentence.push('.');
        }
        Some(sentence)
    }

    fn is_key_value(&self, cells: &[String]) -> bool {
        match self.header.as_slice() {
            [] => cells.len() == 2,
            [_, value] => cells.len() == 2 && VALUE_NAMES.contains(&value.to_lowercase().as_str()),
            _ => false,
        }
    }

    /// Each cell behind the name of its column.
    fn named(&self, cells: &[String]) -> Vec<String> {
        let mut named = Vec::with_capacity(cells.len());
        for (at, cell) in cells.iter().enumerate() {
            match self.header.get(at).filter(|name| !name.is_empty() && !cell.is_empty()) {
                Some(name) => named.push(format!("{name}: {cell}")),
                None => named.push(cell.clone()),
            }
        }
        named
    }
}

/// Quotes what a table says about a question. `headings` are those above it, the outermost first.
pub(super) fn quote(content: &str, block: &Block, path: &str, question: &Question<'_>, headings: &[String]) -> Passage {
    let table = Table::read(content, block.body..block.range.end);
    let matching = question.best_of(&table.row_texts());
    // Where every row matches alike, the question is about all of them.
    let is_about_all = matching.is_empty() || (matching.len() == table.rows.len() && table.rows.len() > 1);
    if is_about_all {
        return whole(content, block, path, &table);
    }
    let subject = subject(headings);
    let mut passage = Passage::default();
    let mut left_out = 0;
    for at in matching {
        let row = &table.rows[at];
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
        passage.mark(&passage::count(left_out, "more row"), path);
    }
    passage
}

/// The table as it stands, cut behind a row where it is long.
fn whole(content: &str, block: &Block, path: &str, table: &Table<'_>) -> Passage {
    let Some(limit) = passage::limit(content, &block.range, BLOCK_CHARS_MAX) else {
        return Passage::verbatim(content, block.range.clone());
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
        return Passage::verbatim(content, block.range.clone());
    }
    let mut passage = Passage::verbatim(content, block.range.start..end);
    passage.mark(&passage::count(left_out, "more row"), path);
    passage
}

/// What the rows of a table are about: its headings where they are short, else the innermost of them.
fn subject(headings: &[String]) -> Option<String> {
    let all = headings.join(", ");
    let innermost = headings.last()?;
    for subject in [&all, innermost] {
        // A heading with a colon is what somebody said.
        if subject.chars().count() <= SUBJECT_CHARS_MAX && !subject.contains(':') && !subject.is_empty() {
            return Some(subject.clone());
        }
    }
    None
}

fn joined(cells: &[String], separator: &str) -> String {
    let mut joined = String::new();
    for cell in cells.iter().filter(|cell| !cell.is_empty()) {
        if !joined.is_empty() {
            joined.push_str(separator);
        }
        joined.push_str(cell);
    }
    joined
}

/// The cells of a row; `\|` is a bar within a cell.
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
    // Nothing is behind the last bar of a row that ends with one.
    if !cell.trim().is_empty() {
        cells.push(cell.trim().to_owned());
    }
    cells
}

#[cfg(test)]
mod tests {
    use cuebase_retrieval::content_terms;

    use super::super::blocks::{Kind, blocks};
    use super::*;

    fn quoted(content: &str, question: &str, headings: &[&str]) -> (String, Vec<String>) {
        let terms = content_terms(question);
        let headings: Vec<String> = headings.iter().map(|heading| (*heading).to_owned()).collect();
        let block = blocks(content).into_iter().find(|block| block.kind == Kind::Table).expect("a table");
        let passage = quote(content, &block, "facts/a.md", &Question::of(&terms), &headings);
        let quotes = passage.quotes.iter().map(|range| content[range.clone()].to_owned()).collect();
        (passage.text, quotes)
    }

    #[test]
    fn a_row_of_names_and_values_is_a_sentence_about_its_heading() {
        let content = "# Acme\n\n| field | value |\n| --- | --- |\n| Renewal | 2027-02-01 |\n| Owner | Mara |\n";
        let (text, quotes) = quoted(content, "When is the renewal?", &["Acme"]);
        assert_eq!(text, "Acme — Renewal: 2027-02-01.");
        assert_eq!(quotes, ["| Renewal | 2027-02-01 |"]);
        assert_eq!(quoted(content, "renewal and owner", &[]).0, content["# ".len()..].trim_end());
        assert_eq!(quoted(content, "the price", &["Acme"]).0, content["# ".len()..].trim_end());
    }

    #[test]
    fn a_row_of_many_columns_names_each() {
        let content = "Customer | Renewal | Note\n--- | --- | ---\nAcme | 2027-02-01 | a\\|b\nBolt | 2028-01-01 |\n";
        let (text, quotes) = quoted(content, "Bolt renewal", &["Customers"]);
        assert_eq!(text, "Customer: Bolt; Renewal: 2028-01-01.");
        assert_eq!(quotes, ["Bolt | 2028-01-01 |"]);
        assert_eq!(quoted(content, "Acme", &[]).0, "Customer: Acme; Renewal: 2027-02-01; Note: a|b.");
        assert_eq!(quoted("| Acme | Mara | Oslo |\n| Bolt | Tom | Rome |\n", "Bolt", &[]).0, "Bolt, Tom, Rome.");
    }

    #[test]
    fn a_long_table_is_cut_behind_a_row_and_says_so() {
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
