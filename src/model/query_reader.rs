//! The built-in reader with a query: it reads the best candidates of the query's search.
//!
//! How many it reads is decided by the tokens of the candidates and by the speed that was measured at the start, never by
//! the clock during a request, so that the same question gets the same answer. Of a memory that is longer than what the
//! reader takes, the passages with most words of the query are read, and the best counts.

use std::cmp::Reverse;
use std::collections::HashSet;
use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use cuebase_language::text::sentences::bounds;
use cuebase_language::text::steps::Steps;
use cuebase_language::tokenize::{content_terms, is_in_other_script};
use cuebase_retrieval::{Judgement, Memory, Reranker};

use super::encoder::{MEMORY_PIECES_MAX, Reader};

/// Bytes of a passage of a long memory: as long as what the reader takes.
const PASSAGE_BYTES: usize = 300;
/// Bytes of a memory that may be short enough to be read as a whole.
const WHOLE_BYTES_MAX: usize = 1024;
/// Bytes of a first line that is read with each passage, as a title.
const TITLE_BYTES_MAX: usize = 80;
/// Passages of a memory that are read.
const PASSAGES_MAX: usize = 2;
/// Bytes of the shortest word with a digit that is a code.
const CODE_BYTES_MIN: usize = 3;
/// The most words of a short query. Longer ones are usually questions.
const EXACT_WORDS_MAX: usize = 2;
/// Bytes of a memory in which passages are looked for.
const MEMORY_BYTES_MAX: usize = 256 << 10;

/// Reads the candidates of one search.
pub struct QueryReader {
    reader: &'static Reader,
    /// Word pieces of the query.
    question: Vec<u32>,
    /// Content words of the query.
    terms: HashSet<String>,
    /// What a memory may have exactly.
    asked: ExactlyAsked,
    /// Tokens that may still be read.
    tokens_left: AtomicUsize,
    /// Memories that were read.
    read: AtomicUsize,
}

impl QueryReader {
    /// Returns the reader of a query, which may read for some time; `None` for a query in a script that the reader does not
    /// know.
    pub fn new(reader: &'static Reader, query: &str, budget: Option<Duration>) -> Option<Self> {
        if is_in_other_script(query) {
            return None;
        }
        let tokens = match budget {
            Some(budget) => f64::from(reader.tokens_per_second().ok()?) * budget.as_secs_f64(),
            None => f64::from(u32::MAX),
        };
        let terms: HashSet<String> = content_terms(query).into_iter().collect();
        Some(Self {
            reader,
            question: reader.pieces(query),
            asked: ExactlyAsked::of(query, &terms),
            terms,
            tokens_left: AtomicUsize::new(tokens as usize),
            read: AtomicUsize::new(0),
        })
    }

    /// Returns how many memories were read.
    pub fn read_count(&self) -> usize {
        self.read.load(Ordering::Relaxed)
    }

    /// Returns the passages of a memory that are read, as word pieces.
    fn passages(&self, memory: &Memory) -> Vec<Vec<u32>> {
        let ReadText { quoted, own } = ReadText::of(&memory.content);
        if quoted.len() + own.len() <= WHOLE_BYTES_MAX {
            let mut whole = self.reader.pieces(&quoted);
            whole.extend(self.reader.pieces(&own));
            if whole.len() <= MEMORY_PIECES_MAX {
                return vec![whole];
            }
        }
        let mut passages = Vec::new();
        for passage in best_passages(&own, &self.terms) {
            passages.push(self.reader.pieces(&passage));
        }
        passages
    }

    /// Takes the tokens that it costs to read passages. Returns false if they are not left.
    fn take(&self, passages: &[Vec<u32>]) -> bool {
        let mut cost = 0;
        for passage in passages {
            cost += Reader::tokens(&self.question, passage);
        }
        let left = self.tokens_left.load(Ordering::Relaxed);
        if cost > left {
            return false;
        }
        self.tokens_left.store(left - cost, Ordering::Relaxed);
        true
    }
}

impl Reranker for QueryReader {
    fn read(&self, memory: &Memory) -> Option<Judgement> {
        let passages = self.passages(memory);
        if !self.take(&passages) {
            return None;
        }
        let mut best = f64::NEG_INFINITY;
        for passage in &passages {
            best = best.max(f64::from(self.reader.relevance(&self.question, passage).ok()?));
        }
        self.read.fetch_add(1, Ordering::Relaxed);
        let is_exact = self.asked.is_in(&memory.content);
        Some(Judgement { log_odds: best, is_in_parts: passages.len() > 1, is_exact })
    }
}

impl fmt::Debug for QueryReader {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("QueryReader").field("read", &self.read).finish_non_exhaustive()
    }
}

/// The words of a query that a memory must contain exactly to keep at least its score.
enum ExactlyAsked {
    /// The words with a digit.
    Codes(Vec<String>),
    /// The content words of a short query, such as a name.
    Words(HashSet<String>),
    /// Nothing.
    Nothing,
}

impl ExactlyAsked {
    fn of(query: &str, terms: &HashSet<String>) -> Self {
        let mut codes = Vec::new();
        for word in query.split_whitespace() {
            let word = word.trim_matches(|c: char| !c.is_alphanumeric());
            if word.len() >= CODE_BYTES_MIN && word.contains(|c: char| c.is_ascii_digit()) {
                codes.push(word.to_lowercase());
            }
        }
        if !codes.is_empty() {
            return Self::Codes(codes);
        }
        let is_short = query.split_whitespace().count() <= EXACT_WORDS_MAX;
        if is_short && !terms.is_empty() { Self::Words(terms.clone()) } else { Self::Nothing }
    }

    /// Whether a text has all of it.
    fn is_in(&self, text: &str) -> bool {
        match self {
            Self::Codes(codes) => {
                let text = text.to_lowercase();
                codes.iter().all(|code| text.contains(code.as_str()))
            }
            Self::Words(words) => {
                let text: HashSet<String> = content_terms(text).into_iter().collect();
                words.is_subset(&text)
            }
            Self::Nothing => false,
        }
    }
}

/// What is read of a memory.
struct ReadText {
    /// What it quotes: of a short reply, the question.
    quoted: String,
    /// Its text, without the marks of headings.
    own: String,
}

impl ReadText {
    fn of(content: &str) -> Self {
        let content = &content[..content.floor_char_boundary(MEMORY_BYTES_MAX)];
        let (mut quoted, mut own) = (String::new(), String::with_capacity(content.len()));
        for line in content.lines() {
            let line = line.trim();
            match line.strip_prefix('>') {
                Some(line) => push_line(&mut quoted, line),
                None => push_line(&mut own, line.trim_start_matches('#')),
            }
        }
        Self { quoted, own }
    }
}

fn push_line(text: &mut String, line: &str) {
    let line = line.trim();
    if !line.is_empty() {
        if !text.is_empty() {
            text.push('\n');
        }
        text.push_str(line);
    }
}

/// Returns the passages of a text with most words of a query, each after the title of the text, if it has a short one.
fn best_passages(text: &str, terms: &HashSet<String>) -> Vec<String> {
    let (title, body) = match text.split_once('\n') {
        Some((title, body)) if title.len() <= TITLE_BYTES_MAX => (title, body),
        _ => ("", text),
    };
    let mut passages = Vec::new();
    for passage in passages_of(body) {
        let found: HashSet<String> = content_terms(passage).into_iter().filter(|term| terms.contains(term)).collect();
        passages.push((found.len(), passage));
    }
    // Stable: of equal passages the first ones are read.
    passages.sort_by_key(|(found, _)| Reverse(*found));
    passages.truncate(PASSAGES_MAX);
    passages.into_iter().map(|(_, passage)| format!("{title} {passage}")).collect()
}

/// Returns the parts of a text of at most about [`PASSAGE_BYTES`], which end with a sentence where one ends early enough.
fn passages_of(text: &str) -> Vec<&str> {
    let sentences = bounds(text, &Steps::unlimited()).unwrap_or_default();
    let mut passages = Vec::new();
    let (mut begin, mut end) = (0, 0);
    for sentence in sentences {
        if end + sentence.len() - begin > PASSAGE_BYTES && end > begin {
            passages.push(&text[begin..end]);
            begin = end;
        }
        end += sentence.len();
        // A sentence without an end: a table, or code.
        while end - begin > 2 * PASSAGE_BYTES {
            let cut = text.floor_char_boundary(begin + PASSAGE_BYTES);
            passages.push(&text[begin..cut]);
            begin = cut;
        }
    }
    if end > begin {
        passages.push(&text[begin..end]);
    }
    passages
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_passages_of_a_text_are_the_text() {
        let sentences = "Mara keeps bees. They fly to the lime trees in June, and nobody knows why. ".repeat(40);
        for text in [sentences, "x".repeat(5000), "ä ".repeat(900), String::new()] {
            let passages = passages_of(&text);
            assert_eq!(passages.concat(), text);
            assert!(passages.iter().all(|passage| passage.len() <= 2 * PASSAGE_BYTES));
        }
    }

    #[test]
    fn the_passages_with_most_words_of_the_query_are_read_after_the_title() {
        let body = "The meeting was long and nobody spoke about money at all. ".repeat(60);
        let text = format!("Minutes\n{body}The spare key of the boathouse hangs behind the clock.");
        let terms = content_terms("where is the spare key of the boathouse?").into_iter().collect();
        let passages = best_passages(&text, &terms);
        assert!(passages.len() == PASSAGES_MAX && passages[0].contains("behind the clock"), "{passages:?}");
        assert!(passages.iter().all(|passage| passage.starts_with("Minutes ")));
    }

    #[test]
    fn a_code_and_a_query_of_few_words_are_matched_exactly() {
        let asked = |query: &str| ExactlyAsked::of(query, &content_terms(query).into_iter().collect());
        for (query, text, expected) in [
            ("What did we order under QX-1187?", "The pumps are order QX-1187.", true),
            ("What did we order under QX-1187?", "The pumps are order QX-1188.", false),
            ("Lena Berg", "Lena Berg is his sister.", true),
            ("Where is Lena?", "Lena is his sister.", false),
            ("Lena's birthday", "Lena was born in May.", false),
            ("Where does Lena spend her holidays in summer?", "Lena spends her holidays in summer camps.", false),
        ] {
            assert_eq!(asked(query).is_in(text), expected, "{query} {text}");
        }
    }

    #[test]
    fn what_a_memory_quotes_is_read_before_its_text() {
        let text = ReadText::of("# Ann: On Fridays.\n\nAt nine.\n\n> Bo: When is the market?\n");
        assert_eq!([text.quoted.as_str(), &text.own], ["Bo: When is the market?", "Ann: On Fridays.\nAt nine."]);
    }
}
