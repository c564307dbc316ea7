//! The parts of a report: tables of figures and of the calibration, and what was wrong.

use super::escape::escaped;
use super::explanations::explanation;
use crate::eval::calibration::{BINS, buckets};
use crate::eval::misses::{CHARACTERS_MAX, HITS_MAX, MISSES_MAX, Miss, Misses};

/// The end of a table and of the region in which it scrolls.
const TABLE_END: &str = "</tbody>\n</table>\n</div>\n";

/// A column of a table.
#[derive(Clone, Copy)]
enum Column {
    Text(&'static str),
    Number(&'static str),
}

/// Adds the table of figures.
pub(super) fn add_figures(page: &mut String, figures: &[(String, f64)]) {
    page.push_str("<section id=\"figures\">\n<h2>Figures</h2>\n");
    let columns = [Column::Text("Figure"), Column::Number("Value"), Column::Text("Meaning")];
    begin_table(page, "What was measured", &columns);
    for (name, value) in figures {
        let value = if value.is_nan() { "not defined".to_owned() } else { format!("{value:.4}") };
        let (name, meaning) = (escaped(name), escaped(&explanation(name)));
        let row = format!("<th scope=\"row\">{name}</th><td class=\"number\">{value}</td><td>{meaning}</td>");
        add_row(page, &row);
    }
    page.push_str(TABLE_END);
    page.push_str("</section>\n");
}

/// Adds the table of the calibration.
pub(super) fn add_calibration(page: &mut String, scored: &[(f32, bool)]) {
    page.push_str(
        "<section>\n<h2>Calibration</h2>\n<p>A score is honest if it is the probability that the hit is right: in each \
         row, the mean score and the share of right hits are then about the same.</p>\n",
    );
    let columns = [
        Column::Text("Scores"),
        Column::Number("Hits"),
        Column::Number("Mean score"),
        Column::Number("Share that is right"),
    ];
    begin_table(page, "Scores of the first 24 hits of questions with an answer", &columns);
    for (number, bucket) in buckets(scored).iter().enumerate() {
        let width = 1.0 / BINS as f64;
        let (from, to) = (number as f64 * width, (number + 1) as f64 * width);
        let mut row = format!("<th scope=\"row\">{from:.1} to {to:.1}</th>");
        row.push_str(&format!("<td class=\"number\">{}</td>", bucket.hits));
        if bucket.hits == 0 {
            row.push_str("<td class=\"number\">none</td><td class=\"number\">none</td>");
        } else {
            let hits = bucket.hits as f64;
            let (score, share) = (bucket.scores / hits, bucket.relevant as f64 / hits);
            row.push_str(&format!("<td class=\"number\">{score:.3}</td><td class=\"number\">{share:.3}</td>"));
        }
        add_row(page, &row);
    }
    page.push_str(TABLE_END);
    page.push_str("</section>\n");
}

/// Adds the questions whose first hit does not answer.
pub(super) fn add_misses(page: &mut String, misses: &Misses) {
    page.push_str("<section>\n<h2>Questions that the first hit does not answer</h2>\n");
    let said = match misses.count() {
        0 => "The first hit answers every question that has an answer.".to_owned(),
        1 => "1 question is not answered by its first hit.".to_owned(),
        count => format!("{count} questions are not answered by their first hit."),
    };
    let shown = shown_part(misses.count());
    page.push_str(&format!("<p>{said}{shown} Texts are cut after {CHARACTERS_MAX} characters.</p>\n"));
    for (number, miss) in (1..).zip(misses.kept()) {
        add_miss(page, number, miss);
    }
    page.push_str("</section>\n");
}

/// Adds descriptions of what was wrong.
pub(super) fn add_lines(page: &mut String, lines: &[String]) {
    page.push_str("<section>\n<h2>What is wrong</h2>\n");
    let said = match lines.len() {
        0 => "Nothing is wrong.".to_owned(),
        1 => "1 answer is wrong.".to_owned(),
        count => format!("{count} answers are wrong."),
    };
    page.push_str(&format!("<p>{said}{}</p>\n<ol>\n", shown_part(lines.len())));
    for line in lines.iter().take(MISSES_MAX) {
        page.push_str(&format!("<li>{}</li>\n", escaped(line)));
    }
    page.push_str("</ol>\n</section>\n");
}

/// Returns a sentence that says how many are shown, if not all are.
fn shown_part(count: usize) -> String {
    if count > MISSES_MAX { format!(" The first {MISSES_MAX} are shown.") } else { String::new() }
}

fn add_miss(page: &mut String, number: usize, miss: &Miss) {
    let (question, place) = (escaped(&miss.question), escaped(&miss.place));
    page.push_str(&format!(
        "<article aria-labelledby=\"miss-{number}\">\n<h3 id=\"miss-{number}\">{question}</h3>\n\
         <p class=\"soft\">{number}, in {place}</p>\n"
    ));
    let expected = [Column::Number("Rank"), Column::Text("Id"), Column::Text("Expected memory")];
    begin_table(page, &format!("Expected for question {number}"), &expected);
    for memory in &miss.expected {
        let rank = match memory.rank {
            Some(rank) => rank.to_string(),
            None => "not found".to_owned(),
        };
        let (label, text) = (escaped(&memory.label), escaped(&memory.text));
        let row =
            format!("<td class=\"number\">{rank}</td><th scope=\"row\">{label}</th><td class=\"text\">{text}</td>");
        add_row(page, &row);
    }
    page.push_str(TABLE_END);
    let found = [Column::Number("Score"), Column::Text("Path"), Column::Text("Content")];
    begin_table(page, &format!("First {HITS_MAX} hits of question {number}"), &found);
    for hit in &miss.hits {
        let (score, path, text) = (hit.score, escaped(&hit.path), escaped(&hit.text));
        let row =
            format!("<td class=\"number\">{score:.3}</td><th scope=\"row\">{path}</th><td class=\"text\">{text}</td>");
        add_row(page, &row);
    }
    page.push_str(TABLE_END);
    page.push_str("</article>\n");
}

/// Begins a table with a caption. It scrolls by itself, also with the keyboard, where the page is narrow.
fn begin_table(page: &mut String, caption: &str, columns: &[Column]) {
    let caption = escaped(caption);
    page.push_str(&format!(
        "<div class=\"scroll\" role=\"region\" aria-label=\"{caption}\" tabindex=\"0\">\n\
         <table>\n<caption>{caption}</caption>\n<thead>\n<tr>"
    ));
    for column in columns {
        let cell = match column {
            Column::Text(name) => format!("<th scope=\"col\">{name}</th>"),
            Column::Number(name) => format!("<th scope=\"col\" class=\"number\">{name}</th>"),
        };
        page.push_str(&cell);
    }
    page.push_str("</tr>\n</thead>\n<tbody>\n");
}

fn add_row(page: &mut String, cells: &str) {
    page.push_str("<tr>");
    page.push_str(cells);
    page.push_str("</tr>\n");
}
