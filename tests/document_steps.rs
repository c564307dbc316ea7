//! Reading a document takes time linear in the file, whatever its kind. The tests double hostile files and compare the
//! steps that are counted, instead of measuring time.

use std::io::{Cursor, Write};

use cuebase::documents::kind::DocumentKind;
use cuebase::documents::read;
use cuebase_language::text::steps::Steps;
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

use crate::support::pdf::{Line, pdf};

/// Repetitions of a fragment in the shorter of two compared files.
const REPETITIONS: usize = 8 << 10;
/// Lines of the shorter of two compared PDF files, each in a size of its own.
const LINES: u32 = 500;
/// Limit for the steps per byte of a file.
const STEPS_PER_BYTE_MAX: u64 = 20;
/// Allowance for steps that do not grow with the file.
const STEPS_FIXED: u64 = 20_000;
/// Limit for the growth of the steps when the file doubles, in tenths.
const DOUBLING_TENTHS_MAX: u64 = 22;

/// Returns the steps that reading a file takes. It may be refused.
fn steps_of(kind: &DocumentKind, bytes: &[u8]) -> u64 {
    let steps = Steps::unlimited();
    let _ = read(kind, "name", bytes, &steps);
    steps.taken()
}

/// Checks that the steps grow at most linearly from a file to one of twice its content.
fn assert_linear(kind: &DocumentKind, once: &[u8], twice: &[u8], what: &str) {
    let (steps, doubled) = (steps_of(kind, once), steps_of(kind, twice));
    assert!(steps > 0, "{kind:?}, {what:?}: nothing is counted");
    let bound = steps * DOUBLING_TENTHS_MAX / 10 + STEPS_FIXED;
    assert!(doubled <= bound, "{kind:?}, {what:?}: {steps}, then {doubled} steps");
    let bound = STEPS_PER_BYTE_MAX * twice.len() as u64 + STEPS_FIXED;
    assert!(doubled <= bound, "{kind:?}, {what:?}: {doubled} steps, limit {bound}");
}

/// Checks texts that begin with the first text and repeat the second.
fn assert_texts_linear(kind: &DocumentKind, texts: &[(&str, &str)]) {
    for (begin, fragment) in texts {
        let text = |times: usize| format!("{begin}{}", fragment.repeat(times)).into_bytes();
        assert_linear(kind, &text(REPETITIONS), &text(2 * REPETITIONS), fragment);
    }
}

#[test]
fn a_page_of_twice_the_size_takes_twice_the_steps() {
    let blanks = format!("<table><tr>{}", " ".repeat(REPETITIONS));
    let words = format!("<table><tr>{}", "word ".repeat(REPETITIONS));
    let fragments = [
        "<td>",
        "<td>a",
        "<td><p>a",
        "<tr><td>a",
        "<li>",
        "<li>a",
        "<ul>",
        "<p>a",
        "<br>",
        "<h1>a",
        "<pre>a",
        "<title>a",
        "<nav>",
        "<script>",
        "</p>",
        "<b>a",
        "<a b=c>",
        "<img alt=a>",
        "<!-- -->",
        "&amp;",
        "&",
        "<",
        " ",
        "a",
    ];
    let mut texts = vec![(blanks.as_str(), "<td>"), (words.as_str(), "<td>")];
    texts.extend(fragments.map(|fragment| ("", fragment)));
    assert_texts_linear(&DocumentKind::Html, &texts);
}

#[test]
fn markdown_of_twice_the_size_takes_twice_the_steps() {
    let fragments = [
        "a ", "# a\n", "- a\n", "> ", "> a\n", "* ", "*a ", "**a", "[", "[a](", "[a]: b\n", "`", "`a", "```\n",
        "~~~a\n", "|a|b|\n", "|-|-|\n", "\n", "a\n\n", "<p>", "&amp;", "\\", "1. ", "---\n", "a: b\n",
    ];
    let mut texts: Vec<(&str, &str)> = fragments.map(|fragment| ("", fragment)).into();
    let code = format!("```{}\n", "x".repeat(REPETITIONS));
    texts.extend([("---\n", "a: b\n"), ("|a|b|\n|-|-|\n", "|a|b|\n"), (code.as_str(), "let x = 1;\n")]);
    assert_texts_linear(&DocumentKind::Markdown, &texts);
}

#[test]
fn text_and_code_of_twice_the_size_take_twice_the_steps() {
    let texts = ["a", " ", "\n", "\r\n", "\r", "a\n", "a\n\n", "fn a() {\n\n", "\u{301}", "\t"].map(|text| ("", text));
    assert_texts_linear(&DocumentKind::PlainText, &texts);
    assert_texts_linear(&DocumentKind::SourceCode { language: "rust".into() }, &texts);
}

/// Returns a DOCX of styles and a body, without compression.
fn docx(styles: &str, body: &str) -> Vec<u8> {
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, content) in [("word/styles.xml", styles), ("word/document.xml", body)] {
        let options = SimpleFileOptions::default().compression_method(zip::CompressionMethod::Stored);
        writer.start_file(name, options).expect("starts a part");
        writer.write_all(content.as_bytes()).expect("writes a part");
    }
    writer.finish().expect("ends the archive").into_inner()
}

#[test]
fn a_docx_of_twice_the_size_takes_twice_the_steps() {
    for fragment in [
        "<w:p><w:t>a</w:t></w:p>",
        "<w:p><w:pPr><w:numPr/></w:pPr><w:t>a</w:t></w:p>",
        "<w:tbl><w:tr><w:tc><w:p><w:t>a</w:t></w:p></w:tc></w:tr></w:tbl>",
        "<w:tc><w:p/></w:tc>",
        "<w:tbl>",
        "<w:p>",
        "<w:t> </w:t>",
        "<w:tab/>",
        "&amp;",
        " ",
    ] {
        let file = |times: usize| docx("<w:styles/>", &fragment.repeat(times));
        assert_linear(&DocumentKind::Docx, &file(REPETITIONS), &file(2 * REPETITIONS), fragment);
    }
    for fragment in ["<w:style w:styleId=\"a\"><w:name w:val=\"heading 1\"/></w:style>", "<w:style>", " "] {
        let file = |times: usize| docx(&fragment.repeat(times), "<w:p><w:t>a</w:t></w:p>");
        assert_linear(&DocumentKind::Docx, &file(REPETITIONS), &file(2 * REPETITIONS), fragment);
    }
    let file = |times: usize| docx("<w:styles/>", &format!("<w:p {}/>", "a=\"b\" ".repeat(times)));
    assert_linear(&DocumentKind::Docx, &file(REPETITIONS), &file(2 * REPETITIONS), "attributes");
}

#[test]
fn a_pdf_of_twice_the_size_takes_twice_the_steps() {
    let sizes = |lines: u32| {
        let text = "Most letters are small. ".repeat(20);
        let mut page: Vec<Line<'_>> = vec![(1, text.as_str())];
        for size in 0..lines {
            page.push((10 + size, "Tide"));
        }
        pdf(&[page.as_slice()])
    };
    assert_linear(&DocumentKind::Pdf, &sizes(LINES), &sizes(2 * LINES), "sizes of headings");
    let pages = |pages: u32| {
        let page: &[Line<'_>] = &[(10, "Tide")];
        pdf(&vec![page; pages as usize])
    };
    assert_linear(&DocumentKind::Pdf, &pages(LINES), &pages(2 * LINES), "pages");
}
