//! The report of a measurement: one HTML page that needs nothing else, with the figures, the calibration of the scores,
//! and the questions that were missed.
//!
//! [`html`] returns the page. It has no scripts. Texts are escaped by [`escape`], [`explanations`] says what each
//! figure is, and [`sections`] writes the parts of the page.

mod escape;
mod explanations;
mod sections;

use jiff::Timestamp;

use self::escape::escaped;
use super::misses::Misses;

const STYLE: &str = include_str!("style.css");

/// What a report shows.
pub struct Report<'a> {
    /// The name of the file or folder.
    pub file: &'a str,
    /// The identity of the embedding model.
    pub model: &'a str,
    /// When it was measured.
    pub at: Timestamp,
    /// The figures with their names.
    pub figures: &'a [(String, f64)],
    /// Score and relevance of hits. If there are none, the report has no table of the calibration.
    pub scored: &'a [(f32, bool)],
    /// What was wrong.
    pub wrong: Wrong<'a>,
}

/// What was wrong.
#[derive(Clone, Copy)]
pub enum Wrong<'a> {
    /// Questions whose first hit does not answer.
    Misses(&'a Misses),
    /// Descriptions, one line each.
    Lines(&'a [String]),
}

/// Returns the report as a page.
pub fn html(report: &Report<'_>) -> String {
    let Report { file, model, at, figures, scored, wrong } = report;
    let (file, model) = (escaped(file), escaped(model));
    let date = at.strftime("%Y-%m-%d %H:%M UTC");
    let mut page = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n<title>Retrieval quality: {file}</title>\n\
         <style>\n{STYLE}</style>\n</head>\n<body>\n<a class=\"skip\" href=\"#figures\">Skip to the figures</a>\n\
         <header>\n<h1>Retrieval quality: {file}</h1>\n<dl>\n\
         <dt>Date</dt><dd><time datetime=\"{at}\">{date}</time></dd>\n\
         <dt>Input</dt><dd>{file}</dd>\n<dt>Model</dt><dd>{model}</dd>\n<dt>Cuebase</dt><dd>{version}</dd>\n</dl>\n\
         </header>\n<main>\n",
        version = env!("CARGO_PKG_VERSION"),
    );
    sections::add_figures(&mut page, figures);
    if !scored.is_empty() {
        sections::add_calibration(&mut page, scored);
    }
    match wrong {
        Wrong::Misses(misses) => sections::add_misses(&mut page, misses),
        Wrong::Lines(lines) => sections::add_lines(&mut page, lines),
    }
    page.push_str("</main>\n</body>\n</html>\n");
    page
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::eval::misses::{ExpectedMemory, FoundMemory, Miss};

    fn miss(question: &str) -> Miss {
        Miss {
            place: "boat & house".to_owned(),
            question: question.to_owned(),
            expected: vec![
                ExpectedMemory { label: "d1".to_owned(), text: "The <key>".to_owned(), rank: Some(4) },
                ExpectedMemory { label: "d2".to_owned(), text: "The stove".to_owned(), rank: None },
            ],
            hits: vec![FoundMemory { score: 0.25, path: "facts/a.md".to_owned(), text: "Lamp \"oil\"".to_owned() }],
        }
    }

    fn page_with(wrong: Wrong<'_>) -> String {
        html(&Report {
            file: "a<b>.jsonl",
            model: "table",
            at: Timestamp::UNIX_EPOCH,
            figures: &[("first".to_owned(), 0.5), ("auc".to_owned(), f64::NAN)],
            scored: &[(0.95, true), (0.91, false)],
            wrong,
        })
    }

    #[test]
    fn a_page_shows_figures_calibration_and_misses_with_escaped_texts() {
        let mut misses = Misses::default();
        misses.extend([miss("Where is <b>the key</b>?")]);
        let page = page_with(Wrong::Misses(&misses));
        for part in [
            "<title>Retrieval quality: a&lt;b&gt;.jsonl</title>",
            "<time datetime=\"1970-01-01T00:00:00Z\">1970-01-01 00:00 UTC</time>",
            "<dd>table</dd>",
            "<th scope=\"row\">first</th><td class=\"number\">0.5000</td><td>Share of",
            "<td class=\"number\">not defined</td>",
            "<th scope=\"row\">0.9 to 1.0</th><td class=\"number\">2</td><td class=\"number\">0.930</td>\
             <td class=\"number\">0.500</td>",
            "1 question is",
            "Where is &lt;b&gt;the key&lt;/b&gt;?",
            "boat &amp; house",
            "<td class=\"number\">4</td><th scope=\"row\">d1</th><td class=\"text\">The &lt;key&gt;</td>",
            "<td class=\"number\">not found</td><th scope=\"row\">d2</th>",
            "<td class=\"number\">0.250</td><th scope=\"row\">facts/a.md</th>\
             <td class=\"text\">Lamp &quot;oil&quot;</td>",
        ] {
            assert!(page.contains(part), "{part} in {page}");
        }
        assert!(!page.contains("<b>") && !page.contains("<script") && !page.contains("http"), "{page}");
    }

    #[test]
    fn a_page_says_how_many_misses_it_leaves_out() {
        let mut misses = Misses::default();
        misses.extend(vec![miss("Where?"); 502]);
        let page = page_with(Wrong::Misses(&misses));
        assert!(page.contains("502 questions are") && page.contains("The first 500 are shown."), "{page}");
        assert_eq!(page.matches("<article").count(), 500);
    }

    #[test]
    fn a_page_lists_what_is_wrong_with_dialogues() {
        let lines = vec!["p1 <update>: a former value is shown as current".to_owned(); 501];
        let page = page_with(Wrong::Lines(&lines));
        assert!(page.contains("<li>p1 &lt;update&gt;: a former value"), "{page}");
        assert!(page.contains("The first 500 are shown.") && page.matches("<li>").count() == 500, "{page}");
        let page = page_with(Wrong::Lines(&[]));
        assert!(page.contains("Nothing is wrong."), "{page}");
    }

    #[test]
    fn every_element_of_a_page_is_closed() {
        let mut misses = Misses::default();
        misses.extend([miss("Where?")]);
        let page = page_with(Wrong::Misses(&misses));
        for name in ["html", "head", "style", "body", "header", "main", "section", "article", "div", "table", "caption"]
        {
            let open = page.matches(&format!("<{name}>")).count() + page.matches(&format!("<{name} ")).count();
            assert_eq!(open, page.matches(&format!("</{name}>")).count(), "{name}");
            assert!(open > 0, "{name}");
        }
    }
}
