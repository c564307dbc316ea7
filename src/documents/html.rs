//! HTML: headings, paragraphs, lists, tables and preformatted text, without scripts, styles and navigation.
//!
//! The tokenizer follows the HTML standard. No tree is built: a start or end of a block element ends the text before it,
//! so tags that are not closed cost nothing but a line break. No text is examined again at a later tag.

use cuebase_language::text::steps::Steps;
use html5gum::emitters::default::{StartTag, Token};
use html5gum::{DefaultEmitter, Tokenizer};

use super::blocks::{Block, BlockKind, Place, one_line};
use super::error::DocumentError;
use super::text_encoding::decode;

/// Elements whose content is not shown, or repeats on every page of a site.
const SKIPPED: [&str; 9] = ["script", "style", "template", "noscript", "svg", "nav", "select", "iframe", "object"];
/// Elements within a line of text. Every other one ends the text before it.
const INLINE: [&str; 32] = [
    "a", "abbr", "acronym", "b", "bdi", "bdo", "big", "cite", "code", "data", "del", "dfn", "em", "font", "i", "ins",
    "kbd", "label", "mark", "q", "ruby", "rb", "s", "samp", "small", "span", "strong", "sub", "sup", "time", "u",
    "var",
];

/// Returns the blocks of a page. Its title becomes the first heading, unless the page has a heading of that level.
pub(super) fn read(bytes: &[u8], steps: &Steps<'_>) -> Result<Vec<Block>, DocumentError> {
    let text = decode_page(bytes, steps)?;
    let mut page = Page::default();
    let mut emitter = DefaultEmitter::default();
    // The content of scripts and styles is not markup.
    emitter.naively_switch_states(true);
    for token in Tokenizer::new_with_emitter(text.as_str(), emitter) {
        let Ok(token) = token;
        match token {
            Token::StartTag(tag) => page.start(&tag),
            Token::EndTag(tag) => page.end(&String::from_utf8_lossy(&tag.name)),
            Token::String(text) => page.add(&String::from_utf8_lossy(&text)),
            Token::Comment(_) | Token::Doctype(_) | Token::Error(_) => {}
        }
        steps.take(1 + std::mem::take(&mut page.text.examined))?;
    }
    Ok(page.finish())
}

/// Decodes a page: in the encoding that a `meta` element near its beginning names, else as any text.
fn decode_page(bytes: &[u8], steps: &Steps<'_>) -> Result<String, DocumentError> {
    match decode(bytes, steps) {
        Err(DocumentError::NotUtf8 { offset }) => {
            let Some(encoding) = declared_encoding(bytes) else { return Err(DocumentError::NotUtf8 { offset }) };
            Ok(encoding.decode(bytes).0.into_owned())
        }
        decoded => decoded,
    }
}

/// Returns the encoding that the page names in its first kilobyte.
fn declared_encoding(bytes: &[u8]) -> Option<&'static encoding_rs::Encoding> {
    let beginning = String::from_utf8_lossy(&bytes[..bytes.len().min(1024)]).to_ascii_lowercase();
    let (_, rest) = beginning.split_once("charset=")?;
    let label = rest.trim_start_matches(['"', '\'', ' ']);
    let end = label.find(|c: char| !c.is_ascii_alphanumeric() && !"-_:".contains(c)).unwrap_or(label.len());
    encoding_rs::Encoding::for_label(&label.as_bytes()[..end])
}

/// What a piece of text belongs to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Element {
    /// The title of the page.
    Title,
    /// A heading of a level.
    Heading(u8),
    /// Text whose spaces count.
    Preformatted,
    /// An item of a list or a row of a table.
    Line,
    /// Any other block.
    #[default]
    Paragraph,
}

/// The text since the last block element.
#[derive(Default)]
struct RunningText {
    text: String,
    /// Whether the text has more than white space. A row may ask at each of millions of cells.
    has_words: bool,
    /// Bytes examined since they were last counted.
    examined: usize,
}

impl RunningText {
    fn push(&mut self, text: &str) {
        self.examined += text.len();
        self.has_words = self.has_words || !text.trim().is_empty();
        self.text.push_str(text);
    }

    /// Returns the text and begins the next one.
    fn take(&mut self) -> String {
        self.examined += self.text.len();
        self.has_words = false;
        std::mem::take(&mut self.text)
    }
}

/// The page so far.
#[derive(Default)]
struct Page {
    blocks: Vec<Block>,
    title: String,
    text: RunningText,
    element: Element,
    /// Whether a row of a table is open. Elements in its cells do not end it.
    is_row: bool,
    /// The skipped element that is open, and how often it is nested.
    skipped: Option<(&'static str, usize)>,
    /// Lines of the list or table that is being read.
    lines: Vec<String>,
}

impl Page {
    fn start(&mut self, tag: &StartTag<()>) {
        let name = String::from_utf8_lossy(&tag.name);
        if let Some((skipped, depth)) = &mut self.skipped {
            if name == *skipped {
                *depth += 1;
            }
            // A navigation that is not closed ends where the content begins.
            if !(*skipped == "nav" && matches!(&*name, "main" | "article" | "h1")) {
                return;
            }
            self.skipped = None;
        }
        if let Some(skipped) = SKIPPED.iter().find(|skipped| **skipped == name)
            && !tag.self_closing
        {
            self.skipped = Some((skipped, 1));
            return;
        }
        match &*name {
            "br" => self.text.push("\n"),
            "img" => {
                if let Some(alt) = tag.attributes.get(b"alt".as_slice()) {
                    self.add(&format!(" {} ", String::from_utf8_lossy(alt)));
                }
            }
            "td" | "th" if self.text.has_words => self.text.push(" | "),
            "td" | "th" => {}
            name if INLINE.contains(&name) => {}
            name if self.is_row && !is_table_part(name) => self.text.push(" "),
            name => {
                self.end_block();
                self.is_row = name == "tr";
                self.element = element_of(name);
                if name == "li" {
                    self.text.push("- ");
                }
            }
        }
    }

    fn end(&mut self, name: &str) {
        if let Some((skipped, depth)) = &mut self.skipped {
            if name == *skipped {
                *depth -= 1;
                if *depth == 0 {
                    self.skipped = None;
                }
            }
            return;
        }
        if INLINE.contains(&name) || matches!(name, "td" | "th") {
            return;
        }
        if self.is_row && !is_table_part(name) {
            return self.text.push(" ");
        }
        self.end_block();
        self.is_row = false;
        self.element = Element::Paragraph;
    }

    fn add(&mut self, text: &str) {
        if self.skipped.is_none() {
            self.text.push(text);
        }
    }

    /// Ends the text of an element. The lines of a list or table stay together.
    fn end_block(&mut self) {
        let text = self.text.take();
        match self.element {
            Element::Title => self.title = one_line(&text),
            Element::Heading(level) => {
                self.end_lines();
                self.push(Block::heading(level, &text, Place::Unknown));
            }
            Element::Preformatted if text.trim().is_empty() => {}
            Element::Preformatted => {
                self.end_lines();
                self.push(Block::text(&format!("```\n{}\n```", text.trim_matches('\n')), Place::Unknown));
            }
            Element::Line | Element::Paragraph => {
                let text = one_line(&text);
                let text = text.trim_matches(['|', ' ']);
                if text.is_empty() || text == "-" {
                    // The item's text may be in an element of its own.
                    if text == "-" {
                        self.text.push("- ");
                    }
                } else if self.element == Element::Line || text.starts_with("- ") {
                    self.lines.push(text.to_owned());
                } else {
                    self.end_lines();
                    self.push(Block::text(text, Place::Unknown));
                }
            }
        }
    }

    fn end_lines(&mut self) {
        let lines = std::mem::take(&mut self.lines);
        self.push(Block::text(&lines.join("\n"), Place::Unknown));
    }

    fn push(&mut self, block: Block) {
        if !block.is_blank() {
            self.blocks.push(block);
        }
    }

    fn finish(mut self) -> Vec<Block> {
        self.end_block();
        self.end_lines();
        let title = Block::heading(1, &self.title, Place::Unknown);
        let has_heading = self.blocks.iter().any(|block| block.kind == BlockKind::Heading(1));
        if !title.is_blank() && !has_heading && !self.blocks.is_empty() {
            self.blocks.insert(0, title);
        }
        self.blocks
    }
}

/// Whether an element ends the row of a table that is open.
fn is_table_part(name: &str) -> bool {
    matches!(name, "table" | "thead" | "tbody" | "tfoot" | "tr" | "caption")
}

fn element_of(name: &str) -> Element {
    match name {
        "title" => Element::Title,
        "h1" => Element::Heading(1),
        "h2" => Element::Heading(2),
        "h3" => Element::Heading(3),
        "h4" => Element::Heading(4),
        "h5" => Element::Heading(5),
        "h6" => Element::Heading(6),
        "pre" => Element::Preformatted,
        "li" | "tr" | "dt" | "dd" | "caption" => Element::Line,
        _ => Element::Paragraph,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const PAGE: &str = "<!doctype html><html><head><title>The boat &amp; you</title><style>p{}</style></head><body>\
        <nav><ul><li>Home</li></ul></nav><h1>Boat</h1><p>Lock <b>the</b>\n boat.<p>Always.\
        <ul><li>Keys<li><p>Oars</p></ul><table><tr><th>Day<th>Tide</tr><tr><td>Mon<td>6:10</tr></table>\
        <pre>a  b\n c</pre><script>if (a<b) {}</script><h2>Harbour</h2>Oban<br>Pier 2</body></html>";

    fn text(text: &str) -> Block {
        Block::text(text, Place::Unknown)
    }

    #[test]
    fn a_page_becomes_headings_and_blocks() {
        let heading = |level, text: &str| Block::heading(level, text, Place::Unknown);
        let expected = [
            heading(1, "Boat"),
            text("Lock the boat."),
            text("Always."),
            text("- Keys\n- Oars\nDay | Tide\nMon | 6:10"),
            text("```\na  b\n c\n```"),
            heading(2, "Harbour"),
            text("Oban Pier 2"),
        ];
        assert_eq!(read(PAGE.as_bytes(), &Steps::unlimited()).expect("reads"), expected);
    }

    #[test]
    fn the_title_is_the_heading_of_a_page_without_one() {
        let page = b"<title>The boat &amp; you</title><table><tr><td><p>Mon</p><td>6</tr></table>";
        let blocks = read(page, &Steps::unlimited()).expect("reads");
        assert_eq!(blocks, [Block::heading(1, "The boat & you", Place::Unknown), text("Mon | 6")]);
    }

    #[test]
    fn an_old_encoding_is_read_where_the_page_names_it() {
        let page = b"<meta charset=\"iso-8859-1\"><p>caf\xe9</p>";
        let steps = Steps::unlimited();
        assert_eq!(read(page, &steps).expect("reads"), [text("caf\u{e9}")]);
        assert!(matches!(read(b"<p>caf\xe9</p>", &steps), Err(DocumentError::NotUtf8 { offset: 6 })));
    }

    proptest! {
        #[test]
        fn any_page_is_read(page in "(<|>|/|p|nav|li|pre|td|script|title|h1|&|;|\"|=|\n|\\PC){0,120}") {
            read(page.as_bytes(), &Steps::unlimited()).expect("reads");
        }
    }
}
